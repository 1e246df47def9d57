"""Schedules of reports and the reports that were built for them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import Connection

from monitor.errors import UnknownSubject
from monitor.store.tables import model, report_built, report_schedule
from monitor.windows import Window


@dataclass(frozen=True)
class Schedule:
    """Who wants which report when; `ended_at` is None while it holds."""

    id: int
    model_id: int
    model: str
    every: str
    zone: str
    form: str
    receiver: str | None
    created_by: str
    created_at: datetime
    next_at: datetime
    ended_by: str | None
    ended_at: datetime | None


@dataclass(frozen=True)
class BuiltReport:
    """A kept report without its bytes."""

    id: int
    schedule_id: int
    model: str
    period: Window
    as_known_at: datetime
    form: str
    sha256: str
    size: int


def add_schedule(
    connection: Connection, project_id: int, model_id: int, *, every: str, zone: str, form: str,
    receiver: str | None, by: str, next_at: datetime,
) -> int:  # fmt: skip
    """Store a schedule; its number."""
    values = {"every": every, "zone": zone, "form": form, "receiver": receiver}
    statement = sa.insert(report_schedule).values(
        project_id=project_id, model_id=model_id, created_by=by, next_at=next_at, **values
    )
    return int(connection.scalar(statement.returning(report_schedule.c.id)) or 0)


def end_schedule(
    connection: Connection, project_id: int, number: int, by: str, now: datetime
) -> None:
    """End a schedule; UnknownSubject when none of that number holds."""
    row = report_schedule.c
    done = connection.execute(
        sa.update(report_schedule)
        .where(row.project_id == project_id, row.id == number, row.ended_at.is_(None))
        .values(ended_by=by, ended_at=now)
    )
    if not done.rowcount:
        raise UnknownSubject(f"no schedule {number} holds; `inferwatch reports list` shows them")


def schedules(
    connection: Connection, project_id: int, due_by: datetime | None = None
) -> list[Schedule]:
    """All schedules, the oldest first; with `due_by` only those that hold and are due."""
    row = report_schedule.c
    query = (
        sa.select(report_schedule, model.c.name)
        .join(model, model.c.id == row.model_id)
        .where(row.project_id == project_id, model.c.project_id == project_id)
        .order_by(row.id)
    )
    if due_by is not None:
        query = query.where(row.ended_at.is_(None), row.next_at <= due_by)
    return [
        Schedule(
            r.id, r.model_id, r.name, r.every, r.zone, r.form, r.receiver, r.created_by,
            r.created_at, r.next_at, r.ended_by, r.ended_at,
        )
        for r in connection.execute(query)
    ]  # fmt: skip


def keep_built(connection: Connection, project_id: int, values: dict[str, Any]) -> int | None:
    """Keep a report; None when the schedule's period has one already."""
    statement = insert(report_built).values(project_id=project_id, **values)
    number = connection.scalar(statement.on_conflict_do_nothing().returning(report_built.c.id))
    return None if number is None else int(number)


def note_delivery(connection: Connection, project_id: int, number: int, key: str) -> None:
    """Say by which message a report was told."""
    row = report_built.c
    connection.execute(
        sa.update(report_built)
        .where(row.project_id == project_id, row.id == number)
        .values(delivery_key=key)
    )


def set_next(connection: Connection, project_id: int, number: int, next_at: datetime) -> None:
    """When the schedule's following report is due."""
    row = report_schedule.c
    connection.execute(
        sa.update(report_schedule)
        .where(row.project_id == project_id, row.id == number)
        .values(next_at=next_at)
    )


def built_reports(
    connection: Connection, project_id: int, model_id: int | None = None, limit: int = 50
) -> list[BuiltReport]:
    """Kept reports, the newest first."""
    row = report_built.c
    columns = [each for each in row if each.name != "body"]
    query = (
        sa.select(*columns, model.c.name, sa.func.length(row.body).label("size"))
        .join(model, model.c.id == row.model_id)
        .where(row.project_id == project_id, model.c.project_id == project_id)
        .order_by(row.id.desc())
        .limit(limit)
    )
    if model_id is not None:
        query = query.where(row.model_id == model_id)
    return [
        BuiltReport(
            r.id, r.schedule_id, r.name, Window(r.period_start, r.period_end), r.as_known_at,
            r.form, r.sha256, r.size,
        )
        for r in connection.execute(query)
    ]  # fmt: skip


def built_body(connection: Connection, project_id: int, number: int) -> tuple[str, bytes]:
    """Form and bytes of a kept report; UnknownSubject when there is none of that number."""
    row = report_built.c
    found = connection.execute(
        sa.select(row.form, row.body).where(row.project_id == project_id, row.id == number)
    ).one_or_none()
    if found is None:
        raise UnknownSubject(f"no report {number} is kept; `inferwatch reports list` shows them")
    return found.form, bytes(found.body)
