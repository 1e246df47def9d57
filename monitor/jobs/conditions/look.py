"""Looks at the conditions of a project that its rules ask for, and says which data is late.

Readings of conditions are judged like measurements, by the same lifecycle. They are not stored as
measurements: those are about deployments, conditions are about Inferwatch and what it is fed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from sqlalchemy.engine import Connection, Engine

from alerts.config import AlertConfig
from alerts.lifecycle import LATE_AT_LEAST, LATE_WINDOWS, StepResult, mark_late, step
from alerts.model import Alert, Reading
from alerts.related import related_rules
from monitor.checks.registry import CheckName
from monitor.jobs.conditions.base import CHECK, Condition, Finding, Look, labels_of, reading_of
from monitor.jobs.conditions.registry import CONDITIONS
from monitor.store.alert_book import (
    KnownAlerts,
    RulesInForce,
    lock_alerts,
    rules_in_force,
    save_alerts,
    save_transitions,
)
from monitor.store.conditions import alerts_of_rules, condition_alerts, late_alerts, retired_models
from monitor.store.engine import Role, transaction
from monitor.store.models import ModelContext

COMMON_LABELS = frozenset({"project", "check", "method"})
IRREGULAR = (CheckName.INCIDENT, CheckName.GOLDEN, CheckName.SHADOW)
"""Checks that measure when something happens, and not every hour or day."""


def look_at_conditions(
    engine: Engine, project_id: int, project: str, models: Sequence[ModelContext], now: datetime
) -> int:
    """Judge the conditions that rules ask for, and mark late data; how many alerts changed."""
    with transaction(engine, project_id, Role.WORKER) as connection:
        rules = rules_in_force(connection, project_id)
        if rules is None:
            return 0
        wanted = [each for each in CONDITIONS if is_asked_for(rules.config, each)]
        lock_alerts(connection, project_id)
        retired = retired_models(connection, project_id)
        in_use = [each for each in models if each.model_id not in retired]
        look = Look(connection, project_id, project, in_use, rules.config, now)
        return _judge(look, rules, wanted) + _mark_late(connection, project_id, rules, now)


def is_asked_for(config: AlertConfig, condition: Condition) -> bool:
    """Whether any rule may be about it, as far as check and method tell."""
    named = {"check": CHECK, "method": condition.method}
    return any(
        all(each.matches(named) for each in rule.when if each.label in named)
        for rule in config.rules
        if rule.when
    )


def readings(look: Look, wanted: Iterable[Condition], alerts: Iterable[Alert]) -> Iterator[Reading]:
    """All readings of these conditions; no count of a subject with an open alert is left out."""
    opened = [each for each in alerts if each.is_open]
    for condition in wanted:
        found = list(condition.find(look))
        yield from (reading_of(look, condition, one) for one in found)
        if condition.is_count:
            known = {labels_of(look, condition, one) for one in found}
            mine = {each.labels for each in opened if each.labels["method"] == condition.method}
            for labels in mine - known:
                own = {name: text for name, text in labels.items() if name not in COMMON_LABELS}
                yield reading_of(look, condition, Finding(own, 0.0))


def _judge(look: Look, rules: RulesInForce, wanted: Sequence[Condition]) -> int:
    if not wanted:
        return 0
    known = condition_alerts(look.connection, look.project_id, CHECK)
    found = list(readings(look, wanted, known.alerts.values()))
    other = alerts_of_rules(look.connection, look.project_id, related_rules(rules.config))
    known = KnownAlerts({**other.alerts, **known.alerts}, {**other.numbers, **known.numbers})
    result = step(rules.config, known.alerts, found, look.now)
    _save(look.connection, look.project_id, rules, known, result)
    return len(result.alerts)


def _mark_late(connection: Connection, project_id: int, rules: RulesInForce, now: datetime) -> int:
    waits = {rule.name: rule.late_after for rule in rules.config.rules if rule.late_after}
    known = late_alerts(connection, project_id, now, waits, LATE_WINDOWS, LATE_AT_LEAST, IRREGULAR)
    result = mark_late(rules.config, known.alerts, now)
    _save(connection, project_id, rules, known, result)
    return len(result.alerts)


def _save(
    connection: Connection,
    project_id: int,
    rules: RulesInForce,
    known: KnownAlerts,
    result: StepResult,
) -> None:
    by_name = {rule.name: rule for rule in rules.config.rules}
    changed = [(one, by_name[one.rule]) for one in result.alerts.values() if one.rule in by_name]
    numbers = save_alerts(connection, project_id, changed, rules.version)
    save_transitions(connection, project_id, result.transitions, {**known.numbers, **numbers})
