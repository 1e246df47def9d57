"""Drift of all columns of a model by time: one value a column and window."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import pandas as pd
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from monitor.records import LIVE_LEG
from monitor.reports.database import reading
from monitor.reports.measurements import Filter
from monitor.reports.series import Series, read_series
from monitor.store.tables import measurement
from monitor.windows import Window

MAX_COLUMNS_SHOWN = 30
MAX_WINDOWS_SHOWN = 130
FIRST_CHOICE = "drift psi"
OWN_BASELINE = "seasonal"
"""Held against what its own hours should show, so there is no baseline to choose."""


@dataclass(frozen=True, eq=False)
class DriftMatrix:
    """Worst value per column and window over the deployments, the worst columns first.

    `frame` has the columns of a series frame, a row a column and window; `value` is missing unless
    measured. Where windows overlap, `at` is moved to the end of the window before, so that every
    row has a time of its own. `choices` are the questions there are: check and method.
    `left_out` columns moved less than those shown.
    """

    frame: pd.DataFrame
    choice: str | None
    choices: tuple[str, ...]
    unit: str
    scale: str | None
    columns: tuple[str, ...]
    left_out: int


def drift_matrix(
    engine: Engine,
    project_id: int,
    model_id: int,
    window: Window,
    choice: str | None,
    baseline_id: int | None,
    known_by: datetime | None = None,
    deployment_ids: tuple[int, ...] = (),
) -> DriftMatrix:
    """Drift against one baseline, or deployments against each other (`contrast within_hours`).

    `known_by`: as it was known at that moment. `deployment_ids`: only measurements of this set.
    """
    with reading(engine, project_id) as connection:
        choices = _choices(connection, project_id, model_id, window)
        first = FIRST_CHOICE if FIRST_CHOICE in choices else next(iter(choices), None)
        chosen = choice if choice in choices else first
        if chosen is None:
            return DriftMatrix(pd.DataFrame(), None, (), "", None, (), 0)
        check, _, method = chosen.partition(" ")
        baseline = baseline_id if check == "drift" and method != OWN_BASELINE else None
        wanted = Filter(
            (check,), (method,), deployment_ids=deployment_ids, baseline_id=baseline,
            known_by=known_by,
        )  # fmt: skip
        found = read_series(connection, project_id, model_id, window, wanted, MAX_WINDOWS_SHOWN)
    return _matrix(found, chosen, choices)


def _choices(
    connection: Connection, project_id: int, model_id: int, window: Window
) -> tuple[str, ...]:
    query = (
        sa.select(measurement.c.check_name, measurement.c.method)
        .distinct()
        .where(
            measurement.c.project_id == project_id,
            measurement.c.model_id == model_id,
            measurement.c.check_name.in_(("drift", "contrast")),
            measurement.c.leg == LIVE_LEG,
            measurement.c.segment_id == 0,
            measurement.c.window_end > window.start,
            measurement.c.window_start >= window.start,
            measurement.c.window_start < window.end,
        )
        .order_by(measurement.c.check_name.desc(), measurement.c.method)
    )
    return tuple(f"{row.check_name} {row.method}" for row in connection.execute(query))


def _matrix(found: Series, choice: str, choices: tuple[str, ...]) -> DriftMatrix:
    frame = found.frame
    if frame.empty:
        return DriftMatrix(frame, choice, choices, "", found.scale, (), 0)
    # A measured window beats one without a number; of measured ones the worst deployment counts.
    ordered = frame.sort_values("value", ascending=False, na_position="last")
    worst = _side_by_side(ordered.drop_duplicates(["column", "at"])).sort_values("at")
    ranking = worst.groupby("column")["value"].max().sort_values(ascending=False)
    columns = tuple(str(name) for name in ranking.index)
    shown = columns[:MAX_COLUMNS_SHOWN]
    kept = worst[worst["column"].isin(shown)].reset_index(drop=True)
    unit = str(frame["unit"].iloc[0])
    left_out = len(columns) - len(shown)
    return DriftMatrix(kept, choice, choices, unit, found.scale, shown, left_out)


def _side_by_side(frame: pd.DataFrame) -> pd.DataFrame:
    """Overlapping windows cut to the step between their ends."""
    ends = pd.Series(frame["end"].unique()).sort_values()
    step = ends.diff().min()
    if not isinstance(step, timedelta) or pd.isna(step):
        return frame
    cut = frame["end"] - step
    return frame.assign(at=frame["at"].where(frame["at"] >= cut, cut))
