"""Stored measurements, read back as they were made: for burn rates and for trying rules out."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.engine import Connection

from monitor.measurement import (
    Direction,
    Failed,
    Measured,
    Measurement,
    MeasurementState,
    Outcome,
    Subject,
    TooFew,
)
from monitor.store.tables import measurement
from monitor.windows import Window

_IDENTITY = (
    measurement.c.check_name,
    measurement.c.method,
    measurement.c.column_name,
    measurement.c.segment_id,
    measurement.c.leg,
    measurement.c.deployment_ids,
    measurement.c.window_start,
    measurement.c.window_end,
    measurement.c.baseline_id,
)

_TOO_FEW = re.compile(r"\d+ (.*), (\d+) needed", re.DOTALL)


@dataclass(frozen=True)
class Wanted:
    """Which measurements; empty means any."""

    checks: Collection[str] = ()
    methods: Collection[str] = ()
    columns: Collection[str] = ()


def newest_revisions(
    connection: Connection,
    project_id: int,
    model_id: int,
    after: datetime,
    until: datetime,
    wanted: Wanted,
) -> list[Measurement]:
    """Of every measurement whose window ends in `(after, until]` the revision known last."""
    query = (
        sa.select(measurement)
        .ext(distinct_on(*_IDENTITY))
        .where(*_conditions(project_id, model_id, after, until, wanted))
        .order_by(*_IDENTITY, measurement.c.known_at.desc())
    )
    return [_measurement_of(row) for row in connection.execute(query)]


def all_revisions(
    connection: Connection,
    project_id: int,
    model_id: int,
    after: datetime,
    until: datetime,
    wanted: Wanted,
) -> list[Measurement]:
    """Every revision of those measurements, in the order in which they became known."""
    query = (
        sa.select(measurement)
        .where(*_conditions(project_id, model_id, after, until, wanted))
        .order_by(measurement.c.known_at, measurement.c.window_end, measurement.c.id)
    )
    return [_measurement_of(row) for row in connection.execute(query)]


def served_in(
    connection: Connection,
    project_id: int,
    model_id: int,
    after: datetime,
    until: datetime,
    apart: Collection[str] = (),
) -> dict[tuple[str, Window], frozenset[int]]:
    """Which deployments measurements of a leg's window are about, but for the checks `apart`."""
    row = measurement.c
    query = (
        sa.select(row.leg, row.window_start, row.window_end, row.deployment_ids)
        .distinct()
        .where(*_conditions(project_id, model_id, after, until, Wanted()))
        .where(row.check_name.not_in(apart))
    )
    found: dict[tuple[str, Window], set[int]] = defaultdict(set)
    for leg, start, end, numbers in connection.execute(query):
        found[(leg, Window(start, end))].update(numbers)
    return defaultdict(frozenset, {key: frozenset(numbers) for key, numbers in found.items()})


def _conditions(
    project_id: int, model_id: int, after: datetime, until: datetime, wanted: Wanted
) -> list[sa.ColumnElement[bool]]:
    row = measurement.c
    found: list[sa.ColumnElement[bool]] = [
        row.project_id == project_id,
        row.model_id == model_id,
        row.window_end > after,
        row.window_end <= until,
    ]
    for column, values in (
        (row.check_name, wanted.checks),
        (row.method, wanted.methods),
        (row.column_name, wanted.columns),
    ):
        if values:
            found.append(column.in_(sorted(values)))
    return found


def _measurement_of(row: Any) -> Measurement:
    return Measurement(
        check=row.check_name,
        method=row.method,
        method_version=row.method_version,
        subject=Subject(tuple(row.deployment_ids), row.leg, row.segment_id, row.column_name),
        window=Window(row.window_start, row.window_end),
        outcome=_outcome_of(row),
        unit=row.unit,
        direction=Direction(row.direction),
        known_at=row.known_at,
        baseline_id=row.baseline_id,
    )


def _outcome_of(row: Any) -> Outcome:
    state = MeasurementState(row.state)
    if state is MeasurementState.FAILED:
        return Failed(row.reason, row.detail)
    if state is MeasurementState.TOO_FEW:
        told = _TOO_FEW.fullmatch(row.reason)
        reason, needed = (told[1], int(told[2])) if told else (row.reason, 0)
        return TooFew(row.n, needed, reason, row.detail)
    numbers = (row.value, row.low, row.high, row.level)
    if not all(each is None or math.isfinite(each) for each in numbers):
        return Failed("the stored number is not finite", row.detail)
    return Measured(row.value, row.n, row.low, row.high, row.level, row.n_reference, row.detail)
