"""Messages that reached nobody: found to be told of, and sent again by a person."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from alerts.codec import message_from_json
from alerts.groups import EventType
from alerts.service_messages import DeadLetter
from monitor.store.tables import delivery, delivery_attempt

TOLD_WITHIN = timedelta(days=7)
PAUSE = timedelta(minutes=5)
MOST = 500
_UNTOLD_EVENTS = (EventType.DEAD_LETTERED.value, EventType.PING.value)


@dataclass(frozen=True)
class Untold:
    """Dead letters of one receiver nobody was told of: their numbers and what they held."""

    receiver: str
    ids: tuple[int, ...]
    letters: tuple[DeadLetter, ...]
    alert_ids: tuple[int, ...]


def untold_dead_letters(connection: Connection, project_id: int, now: datetime) -> list[Untold]:
    """Dead letters by receiver, the oldest first.

    Receivers of whom the fallback was told within the last minutes wait, so that an outage gives
    few messages.
    """
    row = delivery.c
    query = (
        sa.select(delivery)
        .where(row.project_id == project_id, row.state == "dead", row.fallback_key.is_(None))
        .where(row.event_type.not_in(_UNTOLD_EVENTS), row.finished_at > now - TOLD_WITHIN)
        .order_by(row.id)
        .limit(MOST)
        .with_for_update(skip_locked=True)  # two workers tell of each once
    )
    rows = list(connection.execute(query))
    if not rows:
        return []
    busy = _told_lately(connection, project_id, now)
    last = _last_attempts(connection, project_id, [each.id for each in rows])
    by_receiver: dict[str, list[Any]] = {}
    for each in rows:
        if each.receiver not in busy:
            by_receiver.setdefault(each.receiver, []).append(each)
    return [_untold(receiver, found, last) for receiver, found in by_receiver.items()]


def _untold(receiver: str, rows: Sequence[Any], last: Mapping[int, str]) -> Untold:
    letters = tuple(
        DeadLetter(
            key=each.delivery_key,
            message=message_from_json(each.body),
            attempts=each.attempts,
            reason=last.get(each.id, "receiver disabled"),
            owed_at=each.created_at,
        )
        for each in rows
    )
    alerts = tuple(sorted({number for each in rows for number in each.alert_ids}))
    return Untold(receiver, tuple(each.id for each in rows), letters, alerts)


def _told_lately(connection: Connection, project_id: int, now: datetime) -> frozenset[str]:
    """Receivers whose dead letters the fallback was told of a moment ago."""
    about = delivery.alias("about")
    teller = delivery.alias("teller")
    query = (
        sa.select(about.c.receiver)
        .distinct()
        .where(about.c.project_id == project_id, about.c.state == "dead")
        .where(about.c.fallback_key == teller.c.delivery_key)
        .where(teller.c.project_id == project_id, teller.c.created_at > now - PAUSE)
        .where(teller.c.event_type == EventType.DEAD_LETTERED.value)
    )
    return frozenset(connection.scalars(query))


def _last_attempts(
    connection: Connection, project_id: int, numbers: Collection[int]
) -> dict[int, str]:
    """How the last attempt of each delivery went, in words."""
    row = delivery_attempt.c
    query = (
        sa.select(row.delivery_id, row.outcome, row.detail)
        .where(row.project_id == project_id, row.delivery_id.in_(numbers))
        .order_by(row.id)
    )
    return {each.delivery_id: each.detail or each.outcome for each in connection.execute(query)}


def mark_told_of(
    connection: Connection, project_id: int, numbers: Collection[int], key: str
) -> None:
    """Remember by which message the fallback was told."""
    row = delivery.c
    connection.execute(
        sa.update(delivery)
        .where(row.project_id == project_id, row.id.in_(numbers))
        .values(fallback_key=key)
    )


def send_again(
    connection: Connection, project_id: int, numbers: Collection[int], now: datetime
) -> list[int]:
    """Dead letters wait again, with the whole schedule before them; the numbers that were dead."""
    row = delivery.c
    done = connection.execute(
        sa.update(delivery)
        .where(row.project_id == project_id, row.id.in_(numbers), row.state == "dead")
        .values(**_fresh(now))
        .returning(row.id)
    )
    return sorted(done.scalars())


def send_missed_again(
    connection: Connection, project_id: int, receiver: str, since: datetime, now: datetime
) -> list[int]:
    """What a receiver missed since it was disabled waits again; the numbers."""
    row = delivery.c
    done = connection.execute(
        sa.update(delivery)
        .where(row.project_id == project_id, row.receiver == receiver, row.state == "dead")
        .where(row.finished_at >= since)
        .values(**_fresh(now))
        .returning(row.id)
    )
    return sorted(done.scalars())


def _fresh(now: datetime) -> dict[str, Any]:
    return {
        "state": "waiting",
        "attempts": 0,
        "resent_at": now,
        "due_at": now,
        "finished_at": None,
        "lease_until": None,
        "leased_by": None,
        "fallback_key": None,
    }
