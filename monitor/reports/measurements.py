"""Measurements as people read them: of every identity the revision known last.

A window belongs to a range when it starts in it. A stored number that is not finite is told as
failed, never passed on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.engine import Connection, Engine

from monitor.checks.registry import CheckName
from monitor.measurement import MeasurementState
from monitor.records import LIVE_LEG
from monitor.reports.database import reading
from monitor.reports.paging import PAGE_SIZE, Page, fetch_page
from monitor.store.tables import measurement, model
from monitor.windows import Window

REPLAYS = "replay"
"""Stands for the legs of all replays: rules name them so, as every run has a leg of its own."""
NOT_FINITE = "the stored number is not finite"
IDENTITY = (
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


@dataclass(frozen=True)
class MeasurementRow:
    """One stored outcome. `value`, `low` and `high` are finite or None."""

    id: int
    check: str
    method: str
    method_version: int
    deployment_ids: tuple[int, ...]
    leg: str
    segment_id: int
    column: str
    window: Window
    baseline_id: int | None
    state: MeasurementState
    value: float | None
    low: float | None
    high: float | None
    level: float | None
    n: int
    n_reference: int | None
    unit: str
    direction: str
    reason: str | None
    detail: Mapping[str, Any]
    known_at: datetime


@dataclass(frozen=True)
class Filter:
    """Which measurements: empty or None means any. Legs and segments never mix.

    `scale` is the length of the window as rules name it: 6h, day, month; a local day of 23 or 25
    hours is a day. `known_by`: as it was known at that moment; revisions made later do not exist.
    `widest`: of one window the measurement of the most deployments alone, that of all together.
    """

    checks: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    column: str | None = None
    states: tuple[str, ...] = ()
    deployment_ids: tuple[int, ...] = ()
    baseline_id: int | None = None
    scale: str | None = None
    leg: str = LIVE_LEG
    segment_id: int = 0
    known_by: datetime | None = None
    widest: bool = False


def finite(number: float | None) -> float | None:
    """The number when it is finite, else None: no NaN or infinity reaches a page."""
    return None if number is None or not math.isfinite(number) else number


def latest(project_id: int, model_id: int, window: Window, wanted: Filter) -> sa.Select[Any]:
    """A query of the newest revision of every measurement whose window starts in the range."""
    inner = (
        sa.select(measurement)
        .ext(distinct_on(*IDENTITY))
        .where(*_in_range(project_id, model_id, window), *_conditions(wanted))
        .order_by(*IDENTITY, measurement.c.known_at.desc())
        .subquery("newest")
    )
    inner = _widest(inner) if wanted.widest else inner
    query = sa.select(inner)
    if wanted.states:  # after the newest revision is chosen: an old failure is no failure
        query = query.where(inner.c.state.in_(wanted.states))
    return query.order_by(
        inner.c.window_start.desc(), inner.c.check_name, inner.c.method, inner.c.column_name
    )


def _widest(found: sa.Subquery) -> sa.Subquery:
    same = [found.c[each.name] for each in IDENTITY if each.name != "deployment_ids"]
    most = sa.func.cardinality(found.c.deployment_ids).desc()
    return sa.select(found).ext(distinct_on(*same)).order_by(*same, most).subquery("widest")


def read_measurements(
    connection: Connection,
    project_id: int,
    model_id: int,
    window: Window,
    wanted: Filter,
    *,
    limit: int = 50_000,
) -> tuple[MeasurementRow, ...]:
    """The newest revisions, newest window first, at most `limit` of them."""
    query = latest(project_id, model_id, window, wanted).limit(limit)
    return tuple(row_of(row) for row in connection.execute(query))


def measurement_page(
    engine: Engine, project_id: int, model_id: int, window: Window, wanted: Filter, number: int
) -> Page[MeasurementRow]:
    """One page of all measurements of a model, newest window first."""
    with reading(engine, project_id) as connection:
        query = latest(project_id, model_id, window, wanted)
        return fetch_page(connection, query, number, row_of, PAGE_SIZE)


def row_of(row: Any) -> MeasurementRow:
    """A measurement from a row of the table."""
    made = MeasurementRow(
        id=row.id,
        check=row.check_name,
        method=row.method,
        method_version=row.method_version,
        deployment_ids=tuple(row.deployment_ids),
        leg=row.leg,
        segment_id=row.segment_id,
        column=row.column_name,
        window=Window(row.window_start, row.window_end),
        baseline_id=row.baseline_id,
        state=MeasurementState(row.state),
        value=finite(row.value),
        low=finite(row.low),
        high=finite(row.high),
        level=finite(row.level),
        n=row.n,
        n_reference=row.n_reference,
        unit=row.unit,
        direction=row.direction,
        reason=row.reason,
        detail=row.detail,
        known_at=row.known_at,
    )
    if made.state is MeasurementState.MEASURED and made.value is None:
        return replace(made, state=MeasurementState.FAILED, reason=NOT_FINITE)
    return made


def scales(
    connection: Connection, project_id: int, model_id: int, window: Window, wanted: Filter
) -> dict[str, int]:
    """Scales there are, the shortest first, with the number of windows of each."""
    start, end = measurement.c.window_start, measurement.c.window_end
    scale = scale_of(start, end).label("scale")
    # Revisions of a window are one window: counting starts needs no choice of the newest.
    query = (
        sa.select(scale, sa.func.count(start.distinct()).label("windows"))
        .where(*_in_range(project_id, model_id, window), *_conditions(wanted))
        .group_by(scale)
        .order_by(sa.func.min(end - start))
    )
    return {row.scale: row.windows for row in connection.execute(query)}


def newest_windows(project_id: int) -> sa.Subquery:
    """A query of `model_id`, `check_name` and the end of the newest window of each.

    One look at the end of the index for each pair: it costs the same however many rows there are.
    """
    checks = sa.values(sa.column("check_name", sa.Text), name="checks").data(
        [(name.value,) for name in CheckName]
    )
    newest = (
        sa.select(sa.func.max(measurement.c.window_end).label("window_end"))
        .where(
            measurement.c.project_id == project_id,
            measurement.c.model_id == model.c.id,
            measurement.c.check_name == checks.c.check_name,
        )
        .lateral("newest")
    )
    return (
        sa.select(model.c.id.label("model_id"), checks.c.check_name, newest.c.window_end)
        .select_from(model)
        .join(checks, sa.true())
        .join(newest, sa.true())
        .where(model.c.project_id == project_id, newest.c.window_end.is_not(None))
        .subquery("newest_windows")
    )


def fitting_scale(found: Mapping[str, int], at_most: int) -> str | None:
    """The shortest scale with at most so many windows, else the longest; None of none."""
    fitting = [scale for scale, windows in found.items() if windows <= at_most]
    return next(iter([*fitting, *reversed(list(found))]), None)


def scale_of(start: Any, end: Any) -> sa.ColumnElement[str]:
    """The scale of a window as an SQL expression: 6h, day (23 to 25 hours), month."""
    hours = sa.cast(sa.func.round(sa.extract("epoch", end - start) / 3600), sa.Integer)
    return sa.case(
        (hours > 24 * 27, "month"), (hours.between(23, 25), "day"), else_=sa.func.concat(hours, "h")
    )


def _in_range(project_id: int, model_id: int, window: Window) -> tuple[sa.ColumnElement[bool], ...]:
    """Windows that start in the range; the condition on their end is for the index."""
    return (
        measurement.c.project_id == project_id,
        measurement.c.model_id == model_id,
        measurement.c.window_end > window.start,
        measurement.c.window_start >= window.start,
        measurement.c.window_start < window.end,
    )


def _on_leg(leg: str) -> sa.ColumnElement[bool]:
    if leg == REPLAYS:
        return measurement.c.leg.startswith("replay:", autoescape=True)
    return measurement.c.leg == leg


def _conditions(wanted: Filter) -> list[sa.ColumnElement[bool]]:
    found: list[sa.ColumnElement[bool]] = [
        _on_leg(wanted.leg),
        measurement.c.segment_id == wanted.segment_id,
    ]
    if wanted.checks:
        found.append(measurement.c.check_name.in_(wanted.checks))
    if wanted.methods:
        found.append(measurement.c.method.in_(wanted.methods))
    if wanted.column is not None:
        found.append(measurement.c.column_name == wanted.column)
    if wanted.scale is not None:
        found.append(scale_of(measurement.c.window_start, measurement.c.window_end) == wanted.scale)
    if wanted.deployment_ids:
        found.append(measurement.c.deployment_ids == sorted(wanted.deployment_ids))
    if wanted.baseline_id is not None:
        found.append(measurement.c.baseline_id == wanted.baseline_id)
    if wanted.known_by is not None:
        found.append(measurement.c.known_at <= wanted.known_by)
    return found
