"""Calibration as people look at it: the diagram, what the tests say, and whether it changed.

The whole model, one of its classes, or one of its segments; never two of them mixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import sqlalchemy as sa
from sqlalchemy.engine import Engine

from monitor.checks.registry import CheckName
from monitor.measurement import MeasurementState
from monitor.reports.column_segments import segment_names
from monitor.reports.database import reading
from monitor.reports.measurements import Filter, MeasurementRow, read_measurements
from monitor.store.tables import measurement
from monitor.windows import Window

CALIBRATION = CheckName.CALIBRATION.value
_WHOLE, _CLASS = ("debiased_error", "combined_test"), ("class_error", "class_test")


@dataclass(frozen=True)
class CalibrationChoices:
    """What calibration was tried of: classes by name, segments by number and definition."""

    classes: tuple[str, ...]
    segments: Mapping[int, str]


@dataclass(frozen=True, eq=False)
class Diagram:
    """`curve`: `score`, `observed`, two rows a step; `band`: `score`, `low`, `high`; `groups`: `n`,
    `mean_score`, `observed`, `low`, `high` of the filled groups. Empty frames where not stored.
    """

    curve: pd.DataFrame
    band: pd.DataFrame
    groups: pd.DataFrame


@dataclass(frozen=True)
class CalibrationFacts:
    """The newest diagram's measurement, the tests of the same rows, and the change it made, if any.

    `error` may be too few or failed; then nothing better was measured in the window.
    """

    error: MeasurementRow
    test: MeasurementRow | None
    change: MeasurementRow | None

    @property
    def is_measured(self) -> bool:
        return self.error.state is MeasurementState.MEASURED


def calibration_choices(
    engine: Engine, project_id: int, model_id: int, window: Window, wanted: Filter
) -> CalibrationChoices:
    """Classes and segments that calibration was tried of in windows that start in this one."""
    row = measurement.c
    tried = sa.select(row.column_name, row.segment_id).distinct()
    tried = tried.where(
        row.project_id == project_id, row.model_id == model_id, row.check_name == CALIBRATION,
        row.leg == wanted.leg, row.window_start >= window.start, row.window_start < window.end,
        *([] if wanted.known_by is None else [row.known_at <= wanted.known_by]),
    )  # fmt: skip
    with reading(engine, project_id) as connection:
        found = connection.execute(tried).all()
        names = segment_names(connection, project_id, model_id)
    classes = sorted({one.column_name for one in found if one.column_name})
    numbers = sorted({one.segment_id for one in found if one.segment_id})
    return CalibrationChoices(
        tuple(classes), {number: names.get(number, f"segment {number}") for number in numbers}
    )


def calibration_facts(
    engine: Engine, project_id: int, model_id: int, window: Window, wanted: Filter
) -> CalibrationFacts | None:
    """The newest measured diagram of the choice; None when nothing was tried.

    `wanted.column` names a class, `wanted.segment_id` a segment. Of one window, the measurement of
    the most deployments counts.
    """
    size, test = _CLASS if wanted.column else _WHOLE
    asked = replace(wanted, checks=(CALIBRATION,), column=wanted.column or "")
    with reading(engine, project_id) as connection:
        sizes = read_measurements(
            connection, project_id, model_id, window, replace(asked, methods=(size,)), limit=500
        )
        if not sizes:
            return None
        error = max(sizes, key=_preference)
        others = read_measurements(
            connection, project_id, model_id, window,
            replace(asked, methods=(test, "change"), deployment_ids=()), limit=500,
        )  # fmt: skip
    of_rows = [one for one in others if one.method == test and _same_rows(one, error)]
    changes = [one for one in others if one.method == "change"]
    newest = max(changes, key=_preference, default=None)
    return CalibrationFacts(error, of_rows[0] if of_rows else None, newest)


def _preference(row: MeasurementRow) -> tuple[Any, ...]:
    measured = row.state is MeasurementState.MEASURED
    return measured, row.window.end, len(row.deployment_ids), row.n


def _same_rows(one: MeasurementRow, other: MeasurementRow) -> bool:
    return one.window == other.window and one.deployment_ids == other.deployment_ids


def diagram_of(detail: Mapping[str, Any]) -> Diagram:
    """The diagram in the detail of a measurement."""
    steps = detail.get("curve") or ()
    points = [(score, step[2]) for step in steps for score in (step[0], step[1])]
    groups = [row for row in detail.get("table") or () if row["n"]]
    return Diagram(
        curve=pd.DataFrame(points, columns=["score", "observed"]),
        band=pd.DataFrame(list(detail.get("band") or ()), columns=["score", "low", "high"]),
        groups=pd.DataFrame(groups, columns=["n", "mean_score", "observed", "low", "high"]),
    )
