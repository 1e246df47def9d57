"""Deliveries: claimed with a lease, sent without an open transaction, every attempt a row."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.store.tables import delivery, delivery_attempt

LEASE = timedelta(seconds=60)


@dataclass(frozen=True)
class OwedDelivery:
    """A message to send now. `key` stays the same over all attempts."""

    id: int
    key: str
    receiver: str
    severity: str
    body: dict[str, Any]
    attempts: int
    created_at: datetime


def claim_deliveries(
    connection: Connection, project_id: int, now: datetime, limit: int
) -> list[OwedDelivery]:
    """Take deliveries that are due and that nobody else is sending; commit before sending.

    One receiver gets its messages one at a time in the order they were owed, so that an end never
    overtakes its beginning.
    """
    row, earlier = delivery.c, delivery.alias("earlier")
    first_of_receiver = ~sa.exists().where(
        earlier.c.project_id == project_id,
        earlier.c.receiver == row.receiver,
        earlier.c.state == "waiting",
        earlier.c.id < row.id,
    )
    free = sa.or_(row.lease_until.is_(None), row.lease_until < now)
    waiting = (
        sa.select(row.id)
        .where(row.project_id == project_id, row.state == "waiting", row.due_at <= now, free)
        .where(first_of_receiver)
        .order_by(row.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    taken = connection.execute(
        sa.update(delivery)
        .where(row.id.in_(waiting))
        .values(lease_until=now + LEASE, attempts=row.attempts + 1)
        .returning(
            row.id,
            row.delivery_key,
            row.receiver,
            row.severity,
            row.body,
            row.attempts,
            row.created_at,
        )
    )
    return sorted(
        (
            OwedDelivery(
                r.id, r.delivery_key, r.receiver, r.severity, r.body, r.attempts, r.created_at
            )
            for r in taken
        ),
        key=lambda owed: owed.id,
    )


def record_attempt(
    connection: Connection,
    project_id: int,
    owed: OwedDelivery,
    *,
    outcome: str,
    detail: str,
    now: datetime,
    next_due: datetime | None,
) -> None:
    """Record how an attempt went: sent, tried again at `next_due`, or given up (dead)."""
    connection.execute(
        sa.insert(delivery_attempt).values(
            project_id=project_id,
            delivery_id=owed.id,
            attempt=owed.attempts,
            at=now,
            outcome=outcome,
            detail=detail[:500],
        )
    )
    values: dict[str, Any] = {"lease_until": None}
    if outcome == "sent" or next_due is None:
        values |= {"state": "sent" if outcome == "sent" else "dead", "finished_at": now}
    else:
        values |= {"due_at": next_due}
    # The number of attempts is the fence: a sender whose lease ran out must not overwrite.
    connection.execute(
        sa.update(delivery)
        .where(delivery.c.project_id == project_id, delivery.c.id == owed.id)
        .where(delivery.c.attempts == owed.attempts, delivery.c.state == "waiting")
        .values(**values)
    )
