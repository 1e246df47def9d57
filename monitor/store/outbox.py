"""Deliveries: claimed with a lease, sent without an open transaction, every attempt a row.

The messages of one group follow each other at each receiver: only the oldest that waits can be
claimed. Whoever holds a claim renews it while it sends; a sender that dies loses it when the lease
is over. Each claim has its own name, the fence: a sender that lost its claim overwrites nothing.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import Connection

from alerts.codec import message_to_json
from alerts.messages import Message
from alerts.model import Severity
from alerts.retry import next_in_schedule
from monitor.store.tables import delivery, delivery_attempt

LEASE = timedelta(seconds=30)
UNDELIVERED_AFTER = timedelta(minutes=2)
OPENING_EVENTS = ("finding.opened", "finding.storm")
MAX_DETAIL = 500
_WOKEN_FROM = timedelta(minutes=1)

# The oldest waiting message of each group at each receiver, with the moment from which any message
# of the group is due; groups of one receiver are numbered, pages first.
_HEADS = sa.text(
    """
    with heads as (
      select distinct on (receiver, group_key) id, receiver, lease_until,
             min(due_at) over in_group as due_at,
             bool_or(severity = 'page') over in_group as has_page
      from delivery where project_id = :project and state = 'waiting'
      window in_group as (partition by receiver, group_key)
      order by receiver, group_key, id
    ), numbered as (
      select heads.id, heads.receiver, heads.has_page,
             row_number() over (partition by heads.receiver order by has_page desc, id) as place
      from heads left join receiver_state as known
        on known.project_id = :project and known.receiver = heads.receiver
      where heads.due_at <= :now and (lease_until is null or lease_until <= :now)
        and (known.not_before is null or known.not_before <= :now)
        and known.disabled_at is null
    )
    select id, receiver from numbered
    where place <= coalesce((cast(:room as jsonb) ->> receiver)::int, :usual_room)
    order by has_page desc, id limit :limit
    """
)


@dataclass(frozen=True)
class OwedDelivery:
    """A message to send now. `key` stays the same over all attempts, `attempts` counts this one.

    `first_at` is when it was owed, or when a person had it sent again; `lease` names the claim.
    """

    id: int
    key: str
    receiver: str
    severity: str
    body: dict[str, Any]
    attempts: int
    first_at: datetime
    lease: str = ""
    group: str = ""
    event: str = ""


@dataclass(frozen=True)
class Room:
    """How many messages may be claimed: in all, to a usual receiver, and to those that differ."""

    total: int = 32
    usual: int = 4
    of: Mapping[str, int] | None = None


EVERYWHERE = Room()


def claim_deliveries(
    connection: Connection, project_id: int, now: datetime, room: Room = EVERYWHERE, by: str = ""
) -> list[OwedDelivery]:
    """Take deliveries that are due and that nobody else is sending; commit before sending.

    Of each group at a receiver only the oldest, so that an end never overtakes its beginning. A
    receiver that asked for a wait is left alone until it is over, a disabled one altogether.
    """
    if room.total <= 0:
        return []
    values = {"project": project_id, "now": now, "room": json.dumps(dict(room.of or {}))}
    values |= {"usual_room": room.usual, "limit": room.total}
    heads = [row.id for row in connection.execute(_HEADS, values)]
    if not heads:
        return []
    row, name = delivery.c, f"{by} {uuid.uuid4().hex[:12]}"
    free = sa.or_(row.lease_until.is_(None), row.lease_until <= now)
    mine = (
        sa.select(row.id)
        .where(row.id.in_(heads), row.project_id == project_id, row.state == "waiting", free)
        .with_for_update(skip_locked=True)
    )
    taken = connection.execute(
        sa.update(delivery)
        .where(row.id.in_(mine))
        .values(lease_until=now + LEASE, leased_by=name, attempts=row.attempts + 1)
        .returning(*_COLUMNS)
    )
    return sorted((_owed(each) for each in taken), key=lambda owed: owed.id)


_FIRST_AT = sa.func.coalesce(delivery.c.resent_at, delivery.c.created_at)
_COLUMNS = (
    *(delivery.c.id, delivery.c.delivery_key, delivery.c.receiver, delivery.c.severity),
    *(delivery.c.body, delivery.c.attempts, delivery.c.leased_by, delivery.c.group_key),
    *(delivery.c.event_type, _FIRST_AT.label("first_at")),
)


def _owed(row: Any) -> OwedDelivery:
    return OwedDelivery(
        *(row.id, row.delivery_key, row.receiver, row.severity, row.body, row.attempts),
        *(row.first_at, row.leased_by, row.group_key, row.event_type),
    )


def is_stuck(connection: Connection, project_id: int, since: datetime) -> bool:
    """Whether a message that could have been claimed at `since` still waits for somebody."""
    values = {"project": project_id, "now": since, "room": "{}", "usual_room": 1, "limit": 1}
    return connection.execute(_HEADS, values).first() is not None


def renew_leases(
    connection: Connection, project_id: int, owed: Iterable[OwedDelivery], now: datetime
) -> int:
    """Keep claims while their messages are being sent; how many were still held."""
    row = delivery.c
    held = [(each.id, each.lease) for each in owed]
    statement = (
        sa.update(delivery)
        .where(row.project_id == project_id, row.state == "waiting")
        .where(sa.tuple_(row.id, row.leased_by).in_(held))
        .values(lease_until=now + LEASE)
    )
    return connection.execute(statement).rowcount


def record_attempt(
    connection: Connection,
    project_id: int,
    owed: OwedDelivery,
    *,
    outcome: str,
    detail: str,
    now: datetime,
    next_due: datetime | None,
) -> bool:
    """Record how an attempt went: sent, tried again at `next_due`, or given up (dead).

    False when the claim was lost meanwhile: the attempt is a row, the delivery stays as it is.
    """
    connection.execute(
        sa.insert(delivery_attempt).values(
            project_id=project_id,
            delivery_id=owed.id,
            attempt=owed.attempts,
            at=now,
            outcome=outcome,
            detail=detail[:MAX_DETAIL],
        )
    )
    values: dict[str, Any] = {"lease_until": None, "leased_by": None}
    if outcome == "sent" or next_due is None:
        values |= {"state": "sent" if outcome == "sent" else "dead", "finished_at": now}
    else:
        values |= {"due_at": next_due}
    done = connection.execute(
        sa.update(delivery)
        .where(delivery.c.project_id == project_id, delivery.c.id == owed.id)
        .where(delivery.c.leased_by == owed.lease, delivery.c.state == "waiting")
        .values(**values)
    )
    return done.rowcount == 1


def wait_behind(connection: Connection, project_id: int, owed: OwedDelivery, now: datetime) -> None:
    """After a failure, put off the due messages behind it in its group.

    Each waits as its own schedule says for its age, so that a page behind an old notice still has
    the group tried within seconds.
    """
    row = delivery.c
    behind = connection.execute(
        sa.select(row.id, row.severity, _FIRST_AT.label("first_at"))
        .where(row.project_id == project_id, row.receiver == owed.receiver)
        .where(row.group_key == owed.group, row.state == "waiting")
        .where(row.id != owed.id, row.due_at <= now)
    )
    waits = [
        {"which": each.id, "due": next_in_schedule(Severity(each.severity), each.first_at, now)}
        for each in behind
    ]
    if waits:
        connection.execute(
            sa.update(delivery).where(row.id == sa.bindparam("which")).values(
                due_at=sa.bindparam("due")
            ),
            waits,
        )  # fmt: skip


def wake_receiver(connection: Connection, project_id: int, receiver: str, now: datetime) -> None:
    """A receiver that takes messages again gets those at once that would have waited for long."""
    row = delivery.c
    connection.execute(
        sa.update(delivery)
        .where(row.project_id == project_id, row.receiver == receiver, row.state == "waiting")
        .where(row.due_at > now + _WOKEN_FROM)
        .values(due_at=now)
    )


def owe(
    connection: Connection,
    project_id: int,
    key: str,
    message: Message,
    alert_ids: Sequence[int],
    now: datetime,
) -> None:
    """Put one message into the outbox; a key is owed once."""
    statement = insert(delivery).values(
        project_id=project_id,
        delivery_key=key,
        receiver=message.receiver,
        severity=message.severity.value,
        event_type=message.event.value,
        body=message_to_json(message),
        alert_ids=list(alert_ids),
        group_key=message.group,
        created_at=now,
        due_at=now,
    )
    connection.execute(statement.on_conflict_do_nothing())


def undelivered_pages(
    connection: Connection, project_id: int, now: datetime
) -> frozenset[tuple[int, str, datetime]]:
    """Pages that were not taken within 2 minutes, or never: alert, receiver and when it was owed.

    Whoever plans notifications tells the next step of the escalation at once.
    """
    row = delivery.c
    late = sa.and_(row.state == "waiting", row.created_at <= now - UNDELIVERED_AFTER)
    each_alert = sa.func.unnest(row.alert_ids).label("alert")
    query = sa.select(each_alert, row.receiver, row.created_at).where(
        row.project_id == project_id,
        row.severity == Severity.PAGE.value,
        row.event_type.in_(OPENING_EVENTS),
        row.state != "sent",
        sa.or_(late, row.state == "dead"),
        row.created_at > now - timedelta(days=7),
    )
    return frozenset(
        (int(each.alert), each.receiver, each.created_at) for each in connection.execute(query)
    )


def next_undelivered_at(connection: Connection, project_id: int, now: datetime) -> datetime | None:
    """When the next waiting page will have waited for 2 minutes; None when none waits."""
    row = delivery.c
    query = sa.select(sa.func.min(row.created_at)).where(
        row.project_id == project_id,
        row.severity == Severity.PAGE.value,
        row.event_type.in_(OPENING_EVENTS),
        row.state == "waiting",
        row.created_at > now - UNDELIVERED_AFTER,
    )
    first: datetime | None = connection.scalar(query)
    return first + UNDELIVERED_AFTER if first is not None else None
