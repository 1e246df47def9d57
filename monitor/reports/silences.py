"""Silences as people read them: those that hold now, those to come, and which alerts they keep."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from alerts.model import Alert
from alerts.rules import Rule
from alerts.silences import Silence
from alerts.subjects import facts_of
from monitor.reports.database import reading
from monitor.store.silences import silence_from_row
from monitor.store.tables import silence

MAX_SILENCES = 500


@dataclass(frozen=True)
class SilenceLine:
    """A silence with its end by hand, if it had one."""

    silence: Silence
    created_at: datetime
    ended_by: str | None
    ended_at: datetime | None


def silence_lines(
    engine: Engine, project_id: int, *, every: bool = False
) -> tuple[SilenceLine, ...]:
    """Silences that hold or will hold, the first to end first; with `every` past ones too."""
    row = silence.c
    query = sa.select(silence).where(row.project_id == project_id)
    if not every:
        query = query.where(row.ends_at > sa.func.now())
    query = query.order_by(row.ends_at, row.id).limit(MAX_SILENCES)
    with reading(engine, project_id) as connection:
        return tuple(
            SilenceLine(silence_from_row(each), each.created_at, each.ended_by, each.ended_at)
            for each in connection.execute(query)
        )


def silences_now(connection: Connection, project_id: int) -> tuple[Silence, ...]:
    """Silences that hold by the database's clock."""
    row = silence.c
    query = (
        sa.select(silence)
        .where(row.project_id == project_id)
        .where(row.starts_at <= sa.func.now(), row.ends_at > sa.func.now())
        .order_by(row.ends_at.desc(), row.id)
    )
    return tuple(silence_from_row(each) for each in connection.execute(query))


def holding(silences: tuple[Silence, ...], one: Alert, rule: Rule | None) -> tuple[Silence, ...]:
    """Those of the silences that keep this alert quiet."""
    known = facts_of(one.labels, rule) if rule is not None else {**one.labels, "rule": one.rule}
    return tuple(each for each in silences if all(m.matches(known) for m in each.matchers))
