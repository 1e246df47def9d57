"""Measures of quality by day: as first reported, and as known now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from monitor.measurement import MeasurementState
from monitor.records import LIVE_LEG
from monitor.reports.database import reading
from monitor.reports.measurements import MeasurementRow, row_of
from monitor.store.tables import measurement
from monitor.windows import Window


@dataclass(frozen=True)
class Revised:
    """A measurement of a day as it was first told and as it is known now, with what changed it."""

    window: Window
    first: MeasurementRow
    newest: MeasurementRow
    revisions: int

    @property
    def change(self) -> float | None:
        """Newest less first value; None where one of them is no number."""
        if self.first.value is None or self.newest.value is None:
            return None
        return self.newest.value - self.first.value


def revisions(
    engine: Engine,
    project_id: int,
    model_id: int,
    window: Window,
    method: str,
    known_by: datetime | None = None,
    leg: str = LIVE_LEG,
) -> tuple[Revised, ...]:
    """How a quality measure of each day was first told and is known now, newest day first.

    Of several sets of deployments the widest of each day is shown.
    """
    row = measurement.c
    query = (
        sa.select(measurement)
        .where(row.project_id == project_id, row.model_id == model_id)
        .where(row.check_name == "quality", row.method == method, row.segment_id == 0)
        .where(row.leg == leg, row.column_name == "")
        .where(row.window_start >= window.start, row.window_start < window.end)
        .where(row.window_end > window.start)
        .where(row.window_end - row.window_start < timedelta(days=2))
        .order_by(row.known_at)
    )
    if known_by is not None:
        query = query.where(row.known_at <= known_by)
    found: dict[tuple[Window, tuple[int, ...]], list[MeasurementRow]] = {}
    with reading(engine, project_id) as connection:
        for one in connection.execute(query):
            made = row_of(one)
            found.setdefault((made.window, made.deployment_ids), []).append(made)
    widest: dict[Window, list[MeasurementRow]] = {}
    for (day, numbers), mine in sorted(found.items(), key=lambda item: len(item[0][1])):
        if len(numbers) >= len(widest[day][0].deployment_ids if day in widest else ()):
            widest[day] = mine
    return tuple(
        Revised(day, _first_measured(mine), mine[-1], len(mine))
        for day, mine in sorted(widest.items(), key=lambda item: item[0].start, reverse=True)
    )


def revised_methods(
    engine: Engine, project_id: int, model_id: int, window: Window
) -> tuple[str, ...]:
    """Quality measures of all requests that there are in a range, by name."""
    row = measurement.c
    query = (
        sa.select(row.method)
        .distinct()
        .where(row.project_id == project_id, row.model_id == model_id)
        .where(row.check_name == "quality", row.segment_id == 0, row.column_name == "")
        .where(row.window_end > window.start, row.window_start >= window.start)
        .where(row.window_start < window.end, row.state == MeasurementState.MEASURED.value)
    )
    with reading(engine, project_id) as connection:
        return tuple(sorted(connection.scalars(query)))


def _first_measured(mine: list[MeasurementRow]) -> MeasurementRow:
    measured = [one for one in mine if one.state is MeasurementState.MEASURED]
    return measured[0] if measured else mine[0]
