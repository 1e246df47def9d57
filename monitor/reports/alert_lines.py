"""The newest numbers behind alerts of a list, for the small chart of each: one question for all."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from monitor.measurement import MeasurementState
from monitor.reports.alert_detail import judged_length, labelled_filter
from monitor.reports.alerts import Finding, findings_of_rows
from monitor.reports.database import reading
from monitor.reports.measurements import finite, latest
from monitor.reports.rules import bounds_of
from monitor.store.tables import alert, model
from monitor.windows import Window

POINTS = 30
BEFORE = timedelta(days=30)


@dataclass(frozen=True)
class AlertLine:
    """What a rule looked at, oldest window first; None where a window has no number.

    `bounds` are the lower and the upper threshold, where the rule has them.
    """

    values: tuple[float | None, ...]
    bounds: tuple[float | None, float | None]
    since: datetime | None
    until: datetime | None


def alert_lines(engine: Engine, project_id: int, numbers: tuple[int, ...]) -> dict[int, AlertLine]:
    """By number of the alert; alerts without measurements of their own have none."""
    with reading(engine, project_id) as connection:
        query = sa.select(alert).where(alert.c.project_id == project_id, alert.c.id.in_(numbers))
        found = findings_of_rows(connection, project_id, tuple(connection.execute(query)))
        ids = _model_ids(connection, project_id, {one.model for one in found})
        asked = [
            _points(connection, project_id, ids[one.model], one)
            for one in found
            if one.model in ids and "check" in one.labels
        ]
        rows = list(connection.execute(sa.union_all(*asked))) if asked else []
    by_alert: dict[int, list[Any]] = {}
    for row in rows:
        by_alert.setdefault(row.alert_id, []).append(row)
    return {one.id: _line(one, by_alert[one.id]) for one in found if one.id in by_alert}


def _model_ids(connection: Connection, project_id: int, names: set[str]) -> dict[str, int]:
    query = sa.select(model.c.name, model.c.id).where(
        model.c.project_id == project_id, model.c.name.in_(names)
    )
    return {row.name: row.id for row in connection.execute(query)}


def _points(connection: Connection, project_id: int, model_id: int, one: Finding) -> sa.Select[Any]:
    end = (one.judged.at if one.judged is not None else one.since) + timedelta(seconds=1)
    wanted = labelled_filter(connection, project_id, model_id, one.labels)
    start = end - max(BEFORE, POINTS * judged_length(one))
    rows = latest(project_id, model_id, Window(start, end), wanted).limit(POINTS).subquery()
    return sa.select(
        sa.literal(one.id).label("alert_id"), rows.c.window_start, rows.c.window_end,
        rows.c.state, rows.c.value,
    )  # fmt: skip


def _line(one: Finding, rows: list[Any]) -> AlertLine:
    rows = sorted(rows, key=lambda row: row.window_start)
    measured = MeasurementState.MEASURED.value
    values = tuple(finite(row.value) if row.state == measured else None for row in rows)
    return AlertLine(
        values, bounds_of(one.rule), rows[0].window_start, max(row.window_end for row in rows)
    )
