"""What people do to alerts, incidents and rules: acknowledge, resolve, judge, put rules in force.

Each is one transaction that holds the project's alert lock: the state, its transition and the
message it owes are stored together or not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from alerts.channels.registry import CHANNELS
from alerts.config import AlertConfig, read_alert_config
from alerts.deeds import Deed, acknowledge, archive, close, snooze, unarchive
from alerts.errors import AlertNotOpen
from alerts.lifecycle import close_all, close_without_rule
from alerts.model import Alert, AlertState, ResolvedReason
from monitor.errors import ConfigurationError, Problem
from monitor.store.alert_book import (
    RulesInForce,
    apply_rules,
    find_alert,
    known_alerts,
    lock_alerts,
    rules_in_force,
    save_alerts,
    save_transitions,
)
from monitor.store.engine import Role, transaction
from monitor.store.incidents import StoredIncident, Verdict, judge_incident
from monitor.store.models import model_number
from monitor.store.tables import alert as alert_table
from monitor.store.tables import model as model_table

MAX_NAME, MAX_COMMENT = 200, 2_000
_OPEN = tuple(each.value for each in (AlertState.PENDING, AlertState.FIRING, AlertState.RECOVERING))


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
class FalseAlarm:
    """The incident that was none, where the alert told of one, and the alerts that ended."""

    incident: int | None
    ended: tuple[int, ...]


@dataclass(frozen=True)
class _Act:
    """Who did something, when, with what comment."""

    by: str
    comment: str | None
    now: datetime


def acknowledge_alert(
    engine: Engine,
    project_id: int,
    number: int,
    by: str,
    comment: str,
    now: datetime,
    *,
    episode: int | None = None,
    role: Role = Role.WORKER,
) -> Alert:
    """Somebody takes an open alert on; it stays open. The alert as it is now.

    Raises UnknownSubject when there is no such alert, AlertNotOpen when it is over or its episode
    is another one than `episode`.
    """
    act = _Act(*_checked(by, comment), now)

    def done(before: Alert) -> Deed:
        if episode is not None and before.episode != episode:
            raise AlertNotOpen(f"alert {number} is in episode {before.episode}, not {episode}")
        return acknowledge(before, act.by, act.now, act.comment or "")

    return _do(engine, project_id, number, done, role)


def snooze_alert(
    engine: Engine,
    project_id: int,
    number: int,
    until: datetime,
    by: str,
    comment: str,
    now: datetime,
    *,
    role: Role = Role.WORKER,
) -> Alert:
    """Nothing is told of an open alert until then, except its end. Errors as above."""
    act = _Act(*_checked(by, comment), now)
    if until <= now:
        message = f"must lie in the future, got {until.isoformat()}"
        raise ConfigurationError("command", [Problem("until", message)])

    def done(before: Alert) -> Deed:
        return snooze(before, until, act.by, act.now, act.comment or "")

    return _do(engine, project_id, number, done, role)


def archive_alert(
    engine: Engine,
    project_id: int,
    number: int,
    by: str,
    comment: str,
    now: datetime,
    *,
    role: Role = Role.WORKER,
) -> Alert:
    """Nothing is told of an open alert until it is much worse than now. Errors as above."""
    act = _Act(*_checked(by, comment), now)

    def done(before: Alert) -> Deed:
        return archive(before, act.by, act.now, act.comment or "")

    return _do(engine, project_id, number, done, role)


def unarchive_alert(
    engine: Engine,
    project_id: int,
    number: int,
    by: str,
    comment: str,
    now: datetime,
    *,
    role: Role = Role.WORKER,
) -> Alert:
    """An archived alert is told of again; AlertNotOpen when it is not archived."""
    act = _Act(*_checked(by, comment), now)

    def done(before: Alert) -> Deed:
        return unarchive(before, act.by, act.now, act.comment or "")

    return _do(engine, project_id, number, done, role)


def resolve_alert(
    engine: Engine,
    project_id: int,
    number: int,
    by: str,
    comment: str,
    now: datetime,
    *,
    role: Role = Role.WORKER,
) -> Alert:
    """A person ends an alert; who was told of its opening is told of its end. Errors as above."""
    act = _Act(*_checked(by, comment), now)
    return _do(engine, project_id, number, _closing(ResolvedReason.CLOSED_BY_HAND, act), role)


def _do(
    engine: Engine, project_id: int, number: int, deed: Callable[[Alert], Deed], role: Role
) -> Alert:
    with transaction(engine, project_id, role) as connection:
        lock_alerts(connection, project_id)
        return _store_deed(connection, project_id, number, deed)


def _store_deed(
    connection: Connection, project_id: int, number: int, deed: Callable[[Alert], Deed]
) -> Alert:
    before, rule, version = find_alert(connection, project_id, number)
    after, transition = deed(before)
    save_alerts(connection, project_id, [(after, rule)], version)
    save_transitions(connection, project_id, [transition], {after.fingerprint: number})
    return after


def _closing(reason: ResolvedReason, act: _Act) -> Callable[[Alert], Deed]:
    def done(before: Alert) -> Deed:
        return close(before, reason, act.now, by=act.by, comment=act.comment or "")

    return done


def retire_model(
    engine: Engine, project_id: int, name: str, by: str, comment: str, now: datetime
) -> int:
    """A model is served no more: its open alerts end for that reason; how many did.

    Raises UnknownSubject when the project has no such model.
    """
    act = _Act(*_checked(by, comment), now)
    with transaction(engine, project_id, Role.OWNER) as connection:
        lock_alerts(connection, project_id)
        model_number(connection, project_id, name)
        row = model_table.c
        connection.execute(
            sa.update(model_table)
            .where(row.project_id == project_id, row.name == name)
            .values(retired_at=now, retired_by=act.by)
        )
        known = known_alerts(connection, project_id, name)
        result = close_all(
            known.alerts, ResolvedReason.MODEL_RETIRED, now, by=act.by, comment=act.comment or ""
        )
        for fingerprint, after in result.alerts.items():
            _, rule, version = find_alert(connection, project_id, known.numbers[fingerprint])
            save_alerts(connection, project_id, [(after, rule)], version)
        save_transitions(connection, project_id, result.transitions, known.numbers)
        return len(result.alerts)


def judge(
    engine: Engine,
    project_id: int,
    incident: int,
    verdict: Verdict,
    by: str,
    comment: str,
    now: datetime,
    *,
    role: Role = Role.WORKER,
) -> JudgedIncident:
    """A person says what an incident was; its open alerts end with it if it was a false alarm.

    Raises ConfigurationError when name or comment can't be used, UnknownSubject when there is no
    such incident.
    """
    act = _Act(*_checked(by, comment), now)
    with transaction(engine, project_id, role) as connection:
        return _judge(connection, project_id, incident, verdict, act)


def false_alarm(
    engine: Engine,
    project_id: int,
    number: int,
    by: str,
    comment: str,
    now: datetime,
    *,
    role: Role = Role.WORKER,
) -> FalseAlarm:
    """A person says that nothing was wrong: the alert ends for that reason.

    Where it tells of a drift incident, that is judged too, and all its open alerts end; of an alert
    that is over already only the incident is judged. Raises UnknownSubject when there is no such
    alert, AlertNotOpen when one of no incident is over, ConfigurationError when name or comment
    can't be used.
    """
    act = _Act(*_checked(by, comment), now)
    with transaction(engine, project_id, role) as connection:
        found, _, _ = find_alert(connection, project_id, number)
        incident = found.labels.get("incident", "")
        if incident:
            judged = _judge(connection, project_id, int(incident), Verdict.FALSE_ALARM, act)
            return FalseAlarm(int(incident), judged.ended)
        lock_alerts(connection, project_id)
        _store_deed(connection, project_id, number, _closing(ResolvedReason.FALSE_ALARM, act))
        return FalseAlarm(None, (number,))


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
        _store_deed(connection, project_id, number, _closing(ResolvedReason.FALSE_ALARM, act))
    return JudgedIncident(judged, ended)


def apply_alert_rules(
    engine: Engine,
    project_id: int,
    source: str,
    *,
    name: str,
    by: str,
    now: datetime,
) -> AppliedRules:
    """Put rules in force; open alerts of rules that are gone end as no longer evaluated.

    `name` is the file's, for messages. Raises AlertConfigError with every mistake.
    """
    act = _Act(*_checked(by, ""), now)
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
    by_name = {rule.name: rule for rule in before.config.rules}
    lost = {key: one for key, one in result.alerts.items() if one.rule in by_name}
    rows = [(one, by_name[one.rule]) for one in lost.values()]
    save_alerts(connection, project_id, rows, before.version)
    ends = [each for each in result.transitions if each.fingerprint in lost]
    save_transitions(connection, project_id, ends, known.numbers)
    return len(lost)


def _models_with_open_alerts(connection: Connection, project_id: int) -> list[str]:
    row = alert_table.c
    query = sa.select(row.model).distinct().where(row.project_id == project_id)
    return sorted(connection.scalars(query.where(row.state.in_(_OPEN))))


def _checked(by: str, comment: str) -> tuple[str, str | None]:
    by, comment = by.strip(), comment.strip()
    if not 1 <= len(by) <= MAX_NAME or not by.isprintable():
        message = f"write who you are in 1 to {MAX_NAME} printable characters"
        raise ConfigurationError("command", [Problem("by", message)])
    if len(comment) > MAX_COMMENT or "\0" in comment:
        message = f"write at most {MAX_COMMENT} characters, none of them U+0000"
        raise ConfigurationError("command", [Problem("comment", message)])
    return by, comment or None
