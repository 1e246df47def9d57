"""Messages in the outbox, and what is known of their receivers, for people to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.engine import Connection, Engine

from alerts.config import AlertConfig
from monitor.errors import UnknownSubject
from monitor.reports.database import reading
from monitor.store.alert_book import rules_in_force
from monitor.store.receivers import ReceiverState, receiver_states
from monitor.store.tables import delivery, delivery_attempt

STATES = ("waiting", "sent", "dead")


@dataclass(frozen=True)
class AttemptRow:
    """One attempt: its place in the count, when, and how it went."""

    attempt: int
    at: datetime
    outcome: str
    detail: str


@dataclass(frozen=True)
class DeliveryRow:
    """One message to one receiver. `told_by`: the id of the message that told the fallback."""

    number: int
    key: str
    state: str
    receiver: str
    severity: str
    event: str
    title: str
    attempts: int
    owed_at: datetime
    due_at: datetime | None
    finished_at: datetime | None
    alerts: tuple[int, ...]
    told_by: str | None
    last: AttemptRow | None = None


@dataclass(frozen=True)
class ReceiverRow:
    """A receiver of the rules in force, or one that messages still wait for (without a channel)."""

    name: str
    channel: str | None
    is_fallback: bool
    state: ReceiverState
    waiting: int
    dead: int
    last_sent: datetime | None
    last_failure: AttemptRow | None

    def condition(self, now: datetime) -> str:
        """In a word or two."""
        if self.channel is None:
            return "not in the rules"
        if self.state.disabled_at is not None:
            return "disabled"
        if self.state.not_before is not None and self.state.not_before > now:
            return "asked for a wait"
        return "ok"


def deliveries(
    engine: Engine,
    project_id: int,
    *,
    states: Sequence[str] = (),
    receiver: str | None = None,
    limit: int = 100,
) -> list[DeliveryRow]:
    """Messages, the newest first."""
    row = delivery.c
    query = sa.select(delivery).where(row.project_id == project_id).order_by(row.id.desc())
    if states:
        query = query.where(row.state.in_(states))
    if receiver is not None:
        query = query.where(row.receiver == receiver)
    with reading(engine, project_id) as connection:
        rows = list(connection.execute(query.limit(limit)))
        last = _last_attempts(connection, project_id, [each.id for each in rows])
    return [_delivery(each, last.get(each.id)) for each in rows]


def delivery_attempts(
    engine: Engine, project_id: int, number: int
) -> tuple[DeliveryRow, list[AttemptRow]]:
    """One message and all its attempts; UnknownSubject when the project has none."""
    with reading(engine, project_id) as connection:
        found = connection.execute(
            sa.select(delivery).where(delivery.c.project_id == project_id, delivery.c.id == number)
        ).one_or_none()
        if found is None:
            raise UnknownSubject(f"no delivery {number}; `inferwatch deliveries list` shows them")
        row = delivery_attempt.c
        attempts = connection.execute(
            sa.select(row.attempt, row.at, row.outcome, row.detail)
            .where(row.project_id == project_id, row.delivery_id == number)
            .order_by(row.id)
        )
        made = [AttemptRow(*each) for each in attempts]
    return _delivery(found, made[-1] if made else None), made


def receivers(engine: Engine, project_id: int) -> list[ReceiverRow]:
    """Every receiver of the rules in force, and others that messages wait for, by name."""
    with reading(engine, project_id) as connection:
        rules = rules_in_force(connection, project_id)
        config = rules.config if rules is not None else None
        states = receiver_states(connection, project_id)
        counts = _counts(connection, project_id)
        failures = _last_failures(connection, project_id)
    channels = {each.name: each.channel for each in config.receivers} if config else {}
    waiting = {name for name, row in counts.items() if row["waiting"]}
    return [
        _receiver(name, channels, config, states, counts.get(name, {}), failures.get(name))
        for name in sorted({*channels, *waiting})
    ]


def _receiver(
    name: str,
    channels: Mapping[str, str],
    config: AlertConfig | None,
    states: Mapping[str, ReceiverState],
    counts: Mapping[str, Any],
    failure: AttemptRow | None,
) -> ReceiverRow:
    return ReceiverRow(
        name=name,
        channel=channels.get(name),
        is_fallback=config is not None and config.delivery.fallback == name,
        state=states.get(name, ReceiverState()),
        waiting=counts.get("waiting", 0),
        dead=counts.get("dead", 0),
        last_sent=counts.get("last_sent"),
        last_failure=failure,
    )


def _counts(connection: Connection, project_id: int) -> dict[str, Mapping[str, Any]]:
    row = delivery.c
    query = (
        sa.select(
            row.receiver,
            sa.func.count().filter(row.state == "waiting").label("waiting"),
            sa.func.count().filter(row.state == "dead").label("dead"),
            sa.func.max(row.finished_at).filter(row.state == "sent").label("last_sent"),
        )
        .where(row.project_id == project_id)
        .group_by(row.receiver)
    )
    return {
        each.receiver: {"waiting": each.waiting, "dead": each.dead, "last_sent": each.last_sent}
        for each in connection.execute(query)
    }


def _last_failures(connection: Connection, project_id: int) -> dict[str, AttemptRow]:
    """The newest failed attempt at each receiver."""
    tried, sent = delivery_attempt.c, delivery.c
    query = (
        sa.select(sent.receiver, tried.attempt, tried.at, tried.outcome, tried.detail)
        .join_from(delivery_attempt, delivery, tried.delivery_id == sent.id)
        .where(tried.project_id == project_id, tried.outcome != "sent")
        .ext(distinct_on(sent.receiver))
        .order_by(sent.receiver, tried.id.desc())
    )
    return {each[0]: AttemptRow(*each[1:]) for each in connection.execute(query)}


def _last_attempts(
    connection: Connection, project_id: int, numbers: Sequence[int]
) -> dict[int, AttemptRow]:
    row = delivery_attempt.c
    query = (
        sa.select(row.delivery_id, row.attempt, row.at, row.outcome, row.detail)
        .where(row.project_id == project_id, row.delivery_id.in_(numbers))
        .ext(distinct_on(row.delivery_id))
        .order_by(row.delivery_id, row.id.desc())
    )
    return {each[0]: AttemptRow(*each[1:]) for each in connection.execute(query)}


def _delivery(row: Any, last: AttemptRow | None) -> DeliveryRow:
    return DeliveryRow(
        number=row.id,
        key=row.delivery_key,
        state=row.state,
        receiver=row.receiver,
        severity=row.severity,
        event=row.event_type,
        title=str(row.body.get("title", "")),
        attempts=row.attempts,
        owed_at=row.created_at,
        due_at=row.due_at if row.state == "waiting" else None,
        finished_at=row.finished_at,
        alerts=tuple(row.alert_ids),
        told_by=row.fallback_key,
        last=last,
    )
