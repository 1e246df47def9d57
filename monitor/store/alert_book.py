"""Alert rules in force, alerts, their transitions and the messages they owe.

A change of state, its transition and the owed deliveries are rows of one transaction: either all
are there or none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import Connection

from alerts.channels.registry import CHANNELS
from alerts.codec import message_to_json, reading_from_json, reading_to_json
from alerts.config import AlertConfig, read_alert_config
from alerts.grouping import Group
from alerts.messages import Message
from alerts.model import (
    Alert,
    AlertState,
    DataState,
    FindingKey,
    Labels,
    Reading,
    ResolvedReason,
    Transition,
)
from alerts.rules import Rule
from monitor.errors import UnknownSubject
from monitor.store.tables import alert, alert_config, alert_transition, delivery

ALERT_LOCK = 7_205_301_150
"""Advisory lock (with the project): alerts of a project change one writer at a time."""


@dataclass(frozen=True)
class RulesInForce:
    """The newest applied alert configuration of a project."""

    version: int
    config: AlertConfig


@dataclass(frozen=True)
class KnownAlerts:
    """Alerts by fingerprint, with their row numbers and the openings already told."""

    alerts: Mapping[str, Alert]
    numbers: Mapping[str, int]
    told: frozenset[FindingKey]


def apply_rules(connection: Connection, project_id: int, source: str, *, name: str, by: str) -> int:
    """Check and store alert rules as the next version; the same text again changes nothing.

    Raises AlertConfigError with every mistake.
    """
    read_alert_config(source, name, CHANNELS)
    newest = _newest_config(connection, project_id)
    if newest is not None and newest.source == source:
        return int(newest.version)
    version = 1 if newest is None else int(newest.version) + 1
    connection.execute(
        sa.insert(alert_config).values(
            project_id=project_id, version=version, source=source, applied_by=by
        )
    )
    return version


def rules_in_force(connection: Connection, project_id: int) -> RulesInForce | None:
    """The newest rules, None when none were applied."""
    newest = _newest_config(connection, project_id)
    if newest is None:
        return None
    name = f"alert rules version {newest.version}"
    return RulesInForce(newest.version, read_alert_config(newest.source, name, CHANNELS))


def lock_alerts(connection: Connection, project_id: int) -> None:
    """Wait until no other transaction changes alerts of this project."""
    connection.execute(
        sa.text("select pg_advisory_xact_lock(:key + :project)"),
        {"key": ALERT_LOCK, "project": project_id},
    )


def known_alerts(connection: Connection, project_id: int, model: str) -> KnownAlerts:
    """All alerts of a model, resolved ones included."""
    query = sa.select(alert).where(alert.c.project_id == project_id, alert.c.model == model)
    found, numbers, told = {}, {}, set()
    for row in connection.execute(query):
        found[row.fingerprint] = alert_from_row(row)
        numbers[row.fingerprint] = row.id
        if row.body.get("told_episode"):
            told.add(FindingKey(row.fingerprint, row.body["told_episode"]))
    return KnownAlerts(found, numbers, frozenset(told))


def save_alerts(
    connection: Connection,
    project_id: int,
    changed: Iterable[tuple[Alert, Rule]],
    told: Mapping[str, int],
    config_version: int,
) -> dict[str, int]:
    """Store alerts (`told` gives the newest told episode by fingerprint); their row numbers."""
    numbers = {}
    for one, rule in changed:
        values = {**_values(one, rule), "config_version": config_version}
        values["body"] = {**_body(one), "told_episode": told.get(one.fingerprint)}
        statement = insert(alert).values(project_id=project_id, **values)
        statement = statement.on_conflict_do_update(
            index_elements=["project_id", "fingerprint"], set_=values
        )
        numbers[one.fingerprint] = int(connection.scalar(statement.returning(alert.c.id)))
    return numbers


def save_transitions(
    connection: Connection,
    project_id: int,
    transitions: Sequence[Transition],
    numbers: Mapping[str, int],
    *,
    by: str | None = None,
    comment: str | None = None,
) -> None:
    """Record changes of state."""
    for each in transitions:
        reading = reading_to_json(each.reading) if each.reading is not None else None
        connection.execute(
            sa.insert(alert_transition).values(
                project_id=project_id,
                alert_id=numbers[each.fingerprint],
                episode=each.episode,
                from_state=each.from_state.value,
                to_state=each.to_state.value,
                reason=each.reason.value,
                by=by,
                comment=comment,
                at=each.at,
                recorded_at=each.recorded_at,
                body={"reading": reading, "since": each.since.isoformat() if each.since else None},
            )
        )


def delivery_key(owed: Group) -> str:
    """The webhook-id: the same findings told to the same receiver always have the same key."""
    keys = sorted(f"{key.fingerprint}/{key.episode}" for key in owed.new)
    text = "\n".join((owed.event.value, owed.key.receiver, owed.key.text, *keys))
    return "msg_" + hashlib.sha256(text.encode()).hexdigest()[:40]


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
            due_at=now,
        )
        connection.execute(statement.on_conflict_do_nothing())


def find_alert(connection: Connection, project_id: int, number: int) -> tuple[Alert, Rule, int]:
    """An alert by its row number, with its rule and the rules' version; UnknownSubject if none."""
    row = connection.execute(
        sa.select(alert).where(alert.c.project_id == project_id, alert.c.id == number)
    ).one_or_none()
    if row is None:
        raise UnknownSubject(f"no alert {number}; `inferwatch alerts list --all` shows them")
    config = connection.scalar(
        sa.select(alert_config.c.source).where(
            alert_config.c.project_id == project_id, alert_config.c.version == row.config_version
        )
    )
    rule = read_alert_config(str(config), "alert rules", CHANNELS).rule(row.rule)
    if rule is None:
        raise AssertionError("an alert's rule is in the configuration version it was judged by")
    return alert_from_row(row), rule, int(row.config_version)


def alert_from_row(row: Any) -> Alert:
    """The alert that a row holds."""
    body = row.body
    return Alert(
        fingerprint=row.fingerprint,
        rule=row.rule,
        labels=Labels.from_mapping(body["labels"]),
        state=AlertState(row.state),
        data_state=DataState(row.data_state),
        episode=row.episode,
        since=row.since,
        pending_since=_moment(body["pending_since"]),
        fired_at=row.fired_at,
        resolved_at=row.resolved_at,
        resolved_reason=ResolvedReason(row.resolved_reason) if row.resolved_reason else None,
        last_reading=_reading(body["last_reading"]),
        last_judged=_reading(body["last_judged"]),
        breaches=body["breaches"],
        clears=body["clears"],
        version=body["version"],
        acknowledged_by=row.acknowledged_by,
        acknowledged_at=row.acknowledged_at,
        resolved_by=body["resolved_by"],
        comment=body["comment"],
    )


def _values(one: Alert, rule: Rule) -> dict[str, Any]:
    return {
        "fingerprint": one.fingerprint,
        "rule": one.rule,
        "model": one.labels.get("model", ""),
        "state": one.state.value,
        "data_state": one.data_state.value,
        "severity": rule.severity.value,
        "owner": rule.owner,
        "response": rule.response.value,
        "episode": one.episode,
        "since": one.since,
        "fired_at": one.fired_at,
        "resolved_at": one.resolved_at,
        "resolved_reason": one.resolved_reason.value if one.resolved_reason else None,
        "acknowledged_by": one.acknowledged_by,
        "acknowledged_at": one.acknowledged_at,
    }


def _body(one: Alert) -> dict[str, Any]:
    return {
        "labels": dict(one.labels),
        "pending_since": one.pending_since.isoformat() if one.pending_since else None,
        "last_reading": reading_to_json(one.last_reading) if one.last_reading else None,
        "last_judged": reading_to_json(one.last_judged) if one.last_judged else None,
        "breaches": one.breaches,
        "clears": one.clears,
        "version": one.version,
        "resolved_by": one.resolved_by,
        "comment": one.comment,
    }


def _reading(kept: Mapping[str, Any] | None) -> Reading | None:
    return reading_from_json(kept) if kept is not None else None


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text is not None else None


def _newest_config(connection: Connection, project_id: int) -> Any:
    return connection.execute(
        sa.select(alert_config)
        .where(alert_config.c.project_id == project_id)
        .order_by(alert_config.c.version.desc())
        .limit(1)
    ).one_or_none()
