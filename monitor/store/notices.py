"""What the plan of notifications reads and writes: unsettled alerts, owed messages, its clock."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from alerts.config import AlertConfig
from alerts.groups import EventType, Group
from alerts.messages import Message
from alerts.model import Severity, Told
from alerts.notify.items import Known
from alerts.notify.outlook import Lane, Outlook
from monitor.store.alert_book import rules_of_version
from monitor.store.alert_rows import alert_from_row, told_to_json
from monitor.store.outbox import owe, undelivered_pages
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


def hold_clock(connection: Connection, project_id: int) -> None:
    """Keep the clock until the transaction ends.

    Who wants a plan meanwhile waits and gets the next one: what a plan did not see yet must not be
    taken for planned when it sets the clock.
    """
    query = sa.select(notice_clock.c.due_at).where(notice_clock.c.project_id == project_id)
    connection.execute(query.with_for_update())


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
    if told:
        rows = [{"key": key, "told": told_to_json(each)} for key, each in told.items()]
        connection.execute(_TELL, {"project": project_id, "rows": json.dumps(rows)})
    done = list(settled)
    if done:
        connection.execute(_SETTLE, {"project": project_id, "keys": done})


_TELL = sa.text(
    """
    update alert set body = body || jsonb_build_object('told', new.told)
    from jsonb_to_recordset(cast(:rows as jsonb)) as new(key text, told jsonb)
    where alert.project_id = :project and alert.fingerprint = new.key
    """
)
_SETTLE = sa.text(
    """
    update alert set settled = true
    where project_id = :project and fingerprint = any(cast(:keys as text[]))
    """
)


def outlook_of(
    connection: Connection, project_id: int, config: AlertConfig, found: Unsettled, now: datetime
) -> Outlook:
    """What the plan must know of the outbox: recent openings, storms, pages that nobody took."""
    row = delivery.c
    since = now - 2 * config.delivery.storm.within
    query = sa.select(row.receiver, row.severity, row.event_type, row.created_at).where(
        row.project_id == project_id,
        row.event_type.in_((EventType.OPENED.value, EventType.STORM.value)),
        row.created_at > since,
        row.created_at <= now,
        sa.func.cardinality(row.alert_ids) > 0,  # drills tell of no stored alert and brake none
    )
    openings: dict[Lane, list[datetime]] = {}
    storms: dict[Lane, datetime] = {}
    for each in connection.execute(query):
        lane = Lane(each.receiver, each.severity == Severity.PAGE.value)
        openings.setdefault(lane, []).append(each.created_at)
        if each.event_type == EventType.STORM.value:
            storms[lane] = max(each.created_at, storms.get(lane, each.created_at))
    undelivered = _undelivered(connection, project_id, found, now)
    return Outlook(openings, storms, undelivered)


def _undelivered(
    connection: Connection, project_id: int, found: Unsettled, now: datetime
) -> frozenset[tuple[str, str]]:
    """Alerts whose own opening was not taken: a message lists others that were told before."""
    pages = undelivered_pages(connection, project_id, now)
    if not pages:
        return frozenset()
    alerts = {found.numbers[each.alert.fingerprint]: each.alert for each in found.alerts}
    known = ((alerts[number], name, at) for number, name, at in pages if number in alerts)
    return frozenset(
        (alert.fingerprint, name)
        for alert, name, at in known
        if name in alert.told and alert.told[name].first_at == at
    )


def set_clock(connection: Connection, project_id: int, next_at: datetime | None) -> None:
    """When to plan again; None: only when something changes."""
    connection.execute(
        sa.update(notice_clock)
        .where(notice_clock.c.project_id == project_id)
        .values(due_at=next_at)
    )


def delivery_key(owed: Group) -> str:
    """The webhook-id: the same news for the same receiver always have the same key."""
    news = sorted(
        f"{each.key.fingerprint}/{each.key.episode}/{each.change}/{each.times}"
        for each in owed.entries
    )
    head = (owed.event.value, owed.key.receiver, owed.key.text)
    return "msg_" + hashlib.sha256("\n".join((*head, *news)).encode()).hexdigest()[:40]


def owe_messages(
    connection: Connection,
    project_id: int,
    messages: Iterable[tuple[str, Message, Sequence[int]]],
    now: datetime,
) -> None:
    """Put messages (key, message, alert numbers) into the outbox; a key is owed once."""
    for key, message, alert_ids in messages:
        owe(connection, project_id, key, message, alert_ids, now)
