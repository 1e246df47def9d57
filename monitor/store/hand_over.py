"""What people do to alerts, incidents and rules: acknowledge, resolve, judge, put rules in force.

Each is one transaction that holds the project's alert lock: the state, its transition and the
message it owes are stored together or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from alerts.channels.registry import CHANNELS
from alerts.config import AlertConfig, read_alert_config
from alerts.grouping import Group, group
from alerts.lifecycle import acknowledge, close, close_without_rule
from alerts.messages import render
from alerts.model import Alert, AlertState, ResolvedReason, Transition
from monitor.errors import ConfigurationError, Problem
from monitor.store.alert_book import (
    KnownAlerts,
    RulesInForce,
    apply_rules,
    delivery_key,
    find_alert,
    known_alerts,
    lock_alerts,
    owe_messages,
    rules_in_force,
    save_alerts,
    save_transitions,
)
from monitor.store.engine import Role, transaction
from monitor.store.incidents import StoredIncident, Verdict, judge_incident
from monitor.store.tables import alert as alert_table
from monitor.store.tables import alert_config, alert_transition

ACKNOWLEDGED = "acknowledged"
MAX_NAME, MAX_COMMENT = 200, 2_000
_OPEN = (AlertState.PENDING.value, AlertState.FIRING.value)


@dataclass(frozen=True)
class AppliedRules:
    """The version in force, and how many open alerts ended because their rule is gone."""

    version: int
    closed: int


@dataclass(frozen=True)
class JudgedIncident:
    """An incident with its verdict, and the numbers of the alerts that ended with it."""

    incident: StoredIncident
    ended: tuple[int, ...]


@dataclass(frozen=True)
class _Act:
    """Who did something, when, with what comment, and where links in messages lead."""

    by: str
    comment: str | None
    now: datetime
    public_url: str = ""


def acknowledge_alert(
    engine: Engine,
    project_id: int,
    number: int,
    by: str,
    comment: str,
    now: datetime,
    *,
    role: Role = Role.WORKER,
) -> Alert:
    """Somebody takes an open alert on; it stays open. The alert as it is now.

    Raises UnknownSubject when there is no such alert, AlertNotOpen when it is over.
    """
    act = _Act(*_checked(by, comment), now)
    with transaction(engine, project_id, role) as connection:
        lock_alerts(connection, project_id)
        before, rule, version = find_alert(connection, project_id, number)
        after = acknowledge(before, act.by, act.now, act.comment or "")
        known = known_alerts(connection, project_id, before.labels.get("model", ""))
        save_alerts(connection, project_id, [(after, rule)], _told(known), version)
        _record_acknowledgement(connection, project_id, number, after, act)
        return after


def resolve_alert(
    engine: Engine,
    project_id: int,
    number: int,
    by: str,
    comment: str,
    now: datetime,
    public_url: str,
    *,
    role: Role = Role.WORKER,
) -> Alert:
    """A person ends an alert; who was told of its opening is told of its end. Errors as above."""
    act = _Act(*_checked(by, comment), now, public_url)
    with transaction(engine, project_id, role) as connection:
        lock_alerts(connection, project_id)
        return _end(connection, project_id, number, ResolvedReason.CLOSED_BY_HAND, act)


def judge(
    engine: Engine,
    project_id: int,
    incident: int,
    verdict: Verdict,
    by: str,
    comment: str,
    now: datetime,
    public_url: str,
    *,
    role: Role = Role.WORKER,
) -> JudgedIncident:
    """A person says what an incident was; its open alerts end with it if it was a false alarm.

    Raises ConfigurationError when name or comment can't be used, UnknownSubject when there is no
    such incident.
    """
    act = _Act(*_checked(by, comment), now, public_url)
    with transaction(engine, project_id, role) as connection:
        return _judge(connection, project_id, incident, verdict, act)


def false_alarm(
    engine: Engine,
    project_id: int,
    number: int,
    by: str,
    comment: str,
    now: datetime,
    public_url: str,
    *,
    role: Role = Role.WORKER,
) -> JudgedIncident:
    """A person says that the incident of an alert was none. Of an alert that is over already only
    the incident is judged.

    Raises UnknownSubject when there is no such alert, ConfigurationError when it tells of no
    incident or name or comment can't be used.
    """
    act = _Act(*_checked(by, comment), now, public_url)
    with transaction(engine, project_id, role) as connection:
        found, _, _ = find_alert(connection, project_id, number)
        incident = found.labels.get("incident", "")
        if not incident:
            message = (
                "it tells of no drift incident, and only those are learned from;"
                f" end it with `inferwatch alerts resolve {number}`"
            )
            raise ConfigurationError("command", [Problem(f"alert {number}", message)])
        return _judge(connection, project_id, int(incident), Verdict.FALSE_ALARM, act)


def _judge(
    connection: Connection, project_id: int, incident: int, verdict: Verdict, act: _Act
) -> JudgedIncident:
    judged = judge_incident(connection, project_id, incident, verdict, act.by, act.comment, act.now)
    if verdict is not Verdict.FALSE_ALARM:
        return JudgedIncident(judged, ())
    # After the incident's row: the worker, too, changes incidents before alerts.
    lock_alerts(connection, project_id)
    row = alert_table.c
    query = sa.select(row.id).where(
        row.project_id == project_id,
        row.state.in_(_OPEN),
        row.body["labels"]["incident"].astext == str(incident),
    )
    ended = tuple(connection.scalars(query.order_by(row.id)))
    for number in ended:
        _end(connection, project_id, number, ResolvedReason.FALSE_ALARM, act)
    return JudgedIncident(judged, ended)


def _end(
    connection: Connection, project_id: int, number: int, reason: ResolvedReason, act: _Act
) -> Alert:
    """End one open alert; told under the rules in force, or those it was judged by."""
    before, rule, version = find_alert(connection, project_id, number)
    after, closing = close(before, reason, act.now, by=act.by, comment=act.comment or "")
    rules = rules_in_force(connection, project_id)
    if rules is None or rules.config.rule(rule.name) is None:
        rules = _rules_of_version(connection, project_id, version)
    known = known_alerts(connection, project_id, before.labels.get("model", ""))
    _store(connection, project_id, rules, known, {after.fingerprint: after}, [closing], act)
    return after


def apply_alert_rules(
    engine: Engine,
    project_id: int,
    source: str,
    *,
    name: str,
    by: str,
    now: datetime,
    public_url: str,
) -> AppliedRules:
    """Put rules in force; open alerts of rules that are gone end as no longer evaluated.

    `name` is the file's, for messages. Raises AlertConfigError with every mistake.
    """
    act = _Act(*_checked(by, ""), now, public_url)
    # The owner of the database, because no role of a running part may change rules.
    with transaction(engine, project_id, Role.OWNER) as connection:
        lock_alerts(connection, project_id)
        before = rules_in_force(connection, project_id)
        version = apply_rules(connection, project_id, source, name=name, by=act.by)
        if before is None or before.version == version:
            return AppliedRules(version, 0)
        wanted = read_alert_config(source, name, CHANNELS)
        models = _models_with_open_alerts(connection, project_id)
        closed = sum(_close_lost(connection, project_id, before, wanted, m, act) for m in models)
        return AppliedRules(version, closed)


def _close_lost(
    connection: Connection,
    project_id: int,
    before: RulesInForce,
    wanted: AlertConfig,
    model: str,
    act: _Act,
) -> int:
    """End a model's alerts whose rule `wanted` does not have; told under the rules `before`."""
    known = known_alerts(connection, project_id, model)
    result = close_without_rule(wanted, known.alerts, act.now)
    judged_by = {rule.name for rule in before.config.rules}
    lost = {key: one for key, one in result.alerts.items() if one.rule in judged_by}
    transitions = [each for each in result.transitions if each.fingerprint in lost]
    _store(connection, project_id, before, known, lost, transitions, act)
    return len(lost)


def _store(
    connection: Connection,
    project_id: int,
    rules: RulesInForce,
    known: KnownAlerts,
    changed: Mapping[str, Alert],
    transitions: Sequence[Transition],
    act: _Act,
) -> None:
    """Store alerts that ended, their transitions and the messages that their ends owe."""
    grouped = group(rules.config, {**known.alerts, **changed}, transitions, known.told)
    by_name = {rule.name: rule for rule in rules.config.rules}
    rows = [(one, by_name[one.rule]) for one in changed.values()]
    saved = save_alerts(connection, project_id, rows, _told(known), rules.version)
    numbers = {**known.numbers, **saved}
    save_transitions(connection, project_id, transitions, numbers, by=act.by, comment=act.comment)
    owed = [
        (delivery_key(each), render(each, act.public_url, act.now), _numbers(each, numbers))
        for each in grouped.groups
    ]
    owe_messages(connection, project_id, owed, act.now)


def _record_acknowledgement(
    connection: Connection, project_id: int, number: int, after: Alert, act: _Act
) -> None:
    """A row of the alert's history; its state is the same before and after."""
    connection.execute(
        sa.insert(alert_transition).values(
            project_id=project_id,
            alert_id=number,
            episode=after.episode,
            from_state=after.state.value,
            to_state=after.state.value,
            reason=ACKNOWLEDGED,
            by=act.by,
            comment=act.comment,
            at=act.now,
            recorded_at=act.now,
            body={},
        )
    )


def _rules_of_version(connection: Connection, project_id: int, version: int) -> RulesInForce:
    source = connection.scalar(
        sa.select(alert_config.c.source).where(
            alert_config.c.project_id == project_id, alert_config.c.version == version
        )
    )
    name = f"alert rules version {version}"
    return RulesInForce(version, read_alert_config(str(source), name, CHANNELS))


def _models_with_open_alerts(connection: Connection, project_id: int) -> list[str]:
    row = alert_table.c
    query = sa.select(row.model).distinct().where(row.project_id == project_id)
    return sorted(connection.scalars(query.where(row.state.in_(_OPEN))))


def _told(known: KnownAlerts) -> dict[str, int]:
    return {key.fingerprint: key.episode for key in known.told}


def _numbers(owed: Group, numbers: Mapping[str, int]) -> list[int]:
    return [numbers[e.key.fingerprint] for e in owed.entries if e.key.fingerprint in numbers]


def _checked(by: str, comment: str) -> tuple[str, str | None]:
    by, comment = by.strip(), comment.strip()
    if not 1 <= len(by) <= MAX_NAME or not by.isprintable():
        message = f"write who you are in 1 to {MAX_NAME} printable characters"
        raise ConfigurationError("command", [Problem("by", message)])
    if len(comment) > MAX_COMMENT or "\0" in comment:
        message = f"write at most {MAX_COMMENT} characters, none of them U+0000"
        raise ConfigurationError("command", [Problem("comment", message)])
    return by, comment or None
