"""What the plan of notifications reads and writes: unsettled alerts, owed messages, its clock."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import Connection

from alerts.codec import message_to_json
from alerts.groups import Group
from alerts.messages import Message
from alerts.model import Told
from alerts.notify.plan import Known
from monitor.store.alert_book import rules_of_version
from monitor.store.alert_rows import alert_from_row, told_to_json
from monitor.store.tables import alert, delivery, notice_clock


@dataclass(frozen=True)
class Unsettled:
    """Alerts somebody may be owed a word about, and their row numbers by fingerprint."""

    alerts: tuple[Known, ...]
    numbers: Mapping[str, int]


def is_plan_due(connection: Connection, project_id: int, now: datetime) -> bool:
    """Whether something changed, or the time has come that the last plan named."""
    query = sa.select(notice_clock.c.due_at).where(notice_clock.c.project_id == project_id)
    return bool(connection.scalar(query.where(notice_clock.c.due_at <= now)))


def unsettled(connection: Connection, project_id: int) -> Unsettled:
    """All alerts that are not settled, each with the rule it was judged by."""
    row = alert.c
    query = sa.select(alert).where(row.project_id == project_id, ~row.settled).order_by(row.id)
    rows = list(connection.execute(query))
    versions = {each.config_version for each in rows}
    configs = {each: rules_of_version(connection, project_id, each).config for each in versions}
    found = []
    for each in rows:
        rule = configs[each.config_version].rule(each.rule)
        if rule is not None:
            found.append(Known(alert_from_row(each), rule))
    return Unsettled(tuple(found), {each.fingerprint: each.id for each in rows})


def mark_told(
    connection: Connection,
    project_id: int,
    told: Mapping[str, Mapping[str, Told]],
    settled: Iterable[str],
) -> None:
    """Remember what receivers know, and whom nobody is owed a word about any more."""
    row = alert.c
    if told:
        body = row.body.op("||")(
            sa.func.jsonb_build_object("told", sa.bindparam("told", type_=alert.c.body.type))
        )
        connection.execute(
            sa.update(alert)
            .where(row.project_id == project_id, row.fingerprint == sa.bindparam("which"))
            .values(body=body),
            [{"which": key, "told": told_to_json(each)} for key, each in told.items()],
        )
    done = list(settled)
    if done:
        connection.execute(
            sa.update(alert)
            .where(row.project_id == project_id, row.fingerprint.in_(done))
            .values(settled=True)
        )


def set_clock(connection: Connection, project_id: int, next_at: datetime | None) -> None:
    """When to plan again; None: only when something changes."""
    connection.execute(
        sa.update(notice_clock)
        .where(notice_clock.c.project_id == project_id)
        .values(due_at=next_at)
    )


def delivery_key(owed: Group, times: int = 1) -> str:
    """The webhook-id: the same news for the same receiver always have the same key.

    `times` tells repetitions of the same news apart.
    """
    news = sorted(
        f"{each.key.fingerprint}/{each.key.episode}/{each.change}" for each in owed.entries
    )
    head = (owed.event.value, owed.key.receiver, owed.key.text, str(times))
    return "msg_" + hashlib.sha256("\n".join((*head, *news)).encode()).hexdigest()[:40]


def owe_messages(
    connection: Connection,
    project_id: int,
    messages: Iterable[tuple[str, Message, Sequence[int]]],
    now: datetime,
) -> None:
    """Put messages (key, message, alert numbers) into the outbox; a key is owed once."""
    for key, message, alert_ids in messages:
        statement = insert(delivery).values(
            project_id=project_id,
            delivery_key=key,
            receiver=message.receiver,
            severity=message.severity.value,
            event_type=message.event.value,
            body=message_to_json(message),
            alert_ids=list(alert_ids),
            group_key=message.group,
            due_at=now,
        )
        connection.execute(statement.on_conflict_do_nothing())
