"""Measurements over time as frames for charts, with what could not be measured beside them.

Columns of a frame: `at` and `end` (UTC), `check`, `method`, `column`, `deployments` (whose it is,
in words), `breadth` (of how many deployments), `value`, `low`, `high` (finite or missing), `level`,
`n`, `unit`, `state`, `reason`, `known_at`, `maturity` (of its labels, empty where that is of no
account). Names of a model's columns are values in it, never names
of the frame's columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from monitor.measurement import MeasurementState
from monitor.reports.database import reading
from monitor.reports.measurements import (
    Filter,
    MeasurementRow,
    fitting_scale,
    read_measurements,
    scales,
)
from monitor.store.tables import deployment
from monitor.windows import Window

FRAME_COLUMNS = (
    *("at", "end", "check", "method", "column", "deployments", "breadth"),
    *("value", "low", "high", "level", "n", "unit", "state", "reason", "known_at", "maturity"),
)


@dataclass(frozen=True, eq=False)
class Series:
    """Measurements of one scale, oldest first; `scale` is None when nothing was tried.

    `scales` are all there are to choose from, the shortest first.
    """

    frame: pd.DataFrame
    scale: str | None
    scales: tuple[str, ...]
    measured: int
    too_few: int
    failed: int
    reasons: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Nothing was even tried."""
        return self.scale is None

    @property
    def shown(self) -> pd.DataFrame:
        """The measured rows."""
        return self.frame[self.frame["state"] == MeasurementState.MEASURED.value]

    def of(self, *methods: str) -> pd.DataFrame:
        """The measured rows of some methods."""
        return self.shown[self.shown["method"].isin(methods)]

    def widest(self) -> pd.DataFrame:
        """Of every window and method the measured row of the most deployments."""
        ordered = self.shown.sort_values("breadth", kind="stable")
        return ordered.drop_duplicates(["at", "method", "column"], keep="last").sort_values("at")


def series(
    engine: Engine,
    project_id: int,
    model_id: int,
    window: Window,
    wanted: Filter,
    at_most: int = 130,
) -> Series:
    """Newest revisions over time; without `wanted.scale` the one that suits a chart."""
    with reading(engine, project_id) as connection:
        return read_series(connection, project_id, model_id, window, wanted, at_most)


def read_series(
    connection: Connection,
    project_id: int,
    model_id: int,
    window: Window,
    wanted: Filter,
    at_most: int = 130,
) -> Series:
    """The same inside a transaction."""
    there = scales(connection, project_id, model_id, window, replace(wanted, scale=None))
    scale = wanted.scale if wanted.scale in there else fitting_scale(there, at_most)
    if scale is None:
        return make_series((), {}, None)
    wanted = replace(wanted, scale=scale)
    rows = read_measurements(connection, project_id, model_id, window, wanted)
    titles = deployment_titles(connection, project_id, model_id)
    return make_series(rows, titles, scale, tuple(there))


def make_series(
    rows: Sequence[MeasurementRow],
    titles: Mapping[int, str],
    scale: str | None,
    there: tuple[str, ...] = (),
) -> Series:
    """A series of rows that were read already."""
    rows = sorted(rows, key=lambda row: (row.window.start, row.method, row.deployment_ids))
    states = [row.state for row in rows]
    reasons = dict.fromkeys(row.reason for row in reversed(rows) if row.reason)
    return Series(
        frame=frame_of(rows, titles),
        scale=scale,
        scales=there,
        measured=states.count(MeasurementState.MEASURED),
        too_few=states.count(MeasurementState.TOO_FEW),
        failed=states.count(MeasurementState.FAILED),
        reasons=tuple(reasons)[:5],
    )


def deployment_titles(connection: Connection, project_id: int, model_id: int) -> dict[int, str]:
    """Names of a model's deployments; one without a name is called by its number."""
    query = sa.select(deployment.c.id, deployment.c.name).where(
        deployment.c.project_id == project_id, deployment.c.model_id == model_id
    )
    return {row.id: row.name or f"deployment {row.id}" for row in connection.execute(query)}


def whose(numbers: Sequence[int], titles: Mapping[int, str]) -> str:
    """A set of deployments in words."""
    if len(numbers) > 2:
        return f"{len(numbers)} deployments together"
    return " and ".join(titles.get(number, f"deployment {number}") for number in numbers)


def maturity_of(row: MeasurementRow) -> str:
    """How far the labels of a cohort had come: too_early, partial, provisional, final, or empty."""
    return str(row.detail.get("maturity") or "")


def frame_of(rows: Sequence[MeasurementRow], titles: Mapping[int, str]) -> pd.DataFrame:
    """One row a measurement."""
    records = [
        (
            row.window.start,
            row.window.end,
            row.check,
            row.method,
            row.column,
            whose(row.deployment_ids, titles),
            len(row.deployment_ids),
            row.value,
            row.low,
            row.high,
            row.level,
            row.n,
            row.unit,
            row.state.value,
            row.reason,
            row.known_at,
            maturity_of(row),
        )
        for row in rows
    ]
    frame = pd.DataFrame.from_records(records, columns=FRAME_COLUMNS)
    numbers = dict.fromkeys(("value", "low", "high", "level"), "float64")
    return frame.astype(numbers)
