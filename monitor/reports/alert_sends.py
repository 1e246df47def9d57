"""What was owed to receivers about one alert: each message with every attempt to send it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.store.tables import delivery, delivery_attempt

MAX_SENDS = 100
MAX_ATTEMPTS = 500


@dataclass(frozen=True)
class AttemptLine:
    """One try to send a message."""

    number: int
    at: datetime
    outcome: str
    detail: str


@dataclass(frozen=True)
class SendLine:
    """One owed message: waiting, sent or dead. `due_at` is the next try of a waiting one."""

    id: int
    key: str
    receiver: str
    event: str
    severity: str
    state: str
    created_at: datetime
    due_at: datetime
    finished_at: datetime | None
    drill: bool
    attempts: tuple[AttemptLine, ...]


def sends_of(connection: Connection, project_id: int, alert_id: int) -> tuple[SendLine, ...]:
    """The newest messages about an alert, at most MAX_SENDS, the newest first."""
    row = delivery.c
    query = (
        sa.select(delivery)
        .where(row.project_id == project_id)
        .where(sa.literal(alert_id, sa.BigInteger) == sa.any_(row.alert_ids))
        .order_by(row.id.desc())
        .limit(MAX_SENDS)
    )
    rows = list(connection.execute(query))
    attempts = _attempts(connection, project_id, [each.id for each in rows])
    return tuple(
        SendLine(
            id=each.id,
            key=each.delivery_key,
            receiver=each.receiver,
            event=each.event_type,
            severity=each.severity,
            state=each.state,
            created_at=each.created_at,
            due_at=each.due_at,
            finished_at=each.finished_at,
            drill=bool(each.body.get("drill", False)),
            attempts=tuple(attempts[each.id]),
        )
        for each in rows
    )


def _attempts(
    connection: Connection, project_id: int, ids: list[int]
) -> defaultdict[int, list[AttemptLine]]:
    row = delivery_attempt.c
    query = (
        sa.select(delivery_attempt)
        .where(row.project_id == project_id, row.delivery_id.in_(ids))
        .order_by(row.id.desc())
        .limit(MAX_ATTEMPTS)
    )
    found: defaultdict[int, list[AttemptLine]] = defaultdict(list)
    for each in connection.execute(query):
        line = AttemptLine(each.attempt, each.at, each.outcome, each.detail)
        found[each.delivery_id].append(line)
    return found
