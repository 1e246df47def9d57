"""Measurements to readings, readings to alerts: one transaction.

Called inside the transaction that stores the measurements, so that a state never changes without
the number that changed it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy.engine import Connection

from alerts.config import AlertConfig
from alerts.history import History
from alerts.lifecycle import StepResult, step
from alerts.model import Reading
from monitor.jobs.base import JobContext
from monitor.jobs.readings import readings_of
from monitor.jobs.rule_history import StoredHistory
from monitor.measurement import Measurement
from monitor.store.alert_book import (
    KnownAlerts,
    RulesInForce,
    known_alerts,
    lock_alerts,
    rules_in_force,
    save_alerts,
    save_transitions,
)
from monitor.store.conditions import retired_models


def evaluate_rules(
    connection: Connection, context: JobContext, measurements: Sequence[Measurement]
) -> None:
    """Judge measurements by the rules in force and store what follows."""
    rules = rules_in_force(connection, context.project_id)
    if rules is None:
        return
    readings = readings_of(connection, context, rules.config, measurements)
    judge_readings(
        connection, context, rules, readings, StoredHistory(connection, context, rules.config)
    )


def judge_readings(
    connection: Connection,
    context: JobContext,
    rules: RulesInForce,
    readings: Sequence[Reading],
    history: History,
    judging: Collection[str] | None = None,
) -> None:
    """Judge readings of one model by rules (all by default) and store what follows.

    A retired model is judged no more: its alerts have ended for that reason.
    """
    if not readings:
        return
    lock_alerts(connection, context.project_id)
    if context.model_id in retired_models(connection, context.project_id):
        return
    known = known_alerts(connection, context.project_id, context.contract.model)
    result = step(
        rules.config, known.alerts, readings, context.now, history=history, judging=judging
    )
    store_step(connection, context, rules.config, rules.version, known, result)


def store_step(
    connection: Connection,
    context: JobContext,
    config: AlertConfig,
    version: int,
    known: KnownAlerts,
    result: StepResult,
) -> None:
    """Store changed alerts and their transitions; what they owe is planned from them."""
    rules = {rule.name: rule for rule in config.rules}
    changed = [(one, rules[one.rule]) for one in result.alerts.values() if one.rule in rules]
    numbers = {
        **known.numbers,
        **save_alerts(connection, context.project_id, changed, version),
    }
    save_transitions(connection, context.project_id, result.transitions, numbers)
