"""Who gets what of an alert now, and why: the plan's decisions on what is stored."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy.engine import Connection

from alerts.config import AlertConfig
from alerts.notify.explain import Explanation, explain
from alerts.notify.items import Known
from alerts.notify.supposed import supposed_alert
from monitor.errors import ConfigurationError, Problem, UnknownSubject
from monitor.store.alert_book import find_alert, rules_in_force
from monitor.store.notices import outlook_of, unsettled
from monitor.store.silences import silences_at


def explain_alert(
    connection: Connection, project_id: int, number: int, now: datetime
) -> Explanation:
    """The ways of a stored alert; UnknownSubject when there is none or no rules are in force."""
    alert, rule, _ = find_alert(connection, project_id, number)
    config = _config(connection, project_id)
    return _explain(connection, project_id, config, Known(alert, rule), now)


def explain_labels(
    connection: Connection, project_id: int, labels: Mapping[str, str], now: datetime
) -> Explanation:
    """The ways of an alert that would fire with these labels and words of a rule.

    Raises ConfigurationError for a word that does not exist, UnknownSubject without rules.
    """
    config = _config(connection, project_id)
    known = read_supposed(config, labels, now)
    return _explain(connection, project_id, config, known, now)


def read_supposed(config: AlertConfig, labels: Mapping[str, str], now: datetime) -> Known:
    """The supposed alert; ConfigurationError for labels that can't be."""
    try:
        return supposed_alert(config, labels, now)
    except ValueError as error:
        raise ConfigurationError("command", [Problem("--label", str(error))]) from None


def _explain(
    connection: Connection, project_id: int, config: AlertConfig, known: Known, now: datetime
) -> Explanation:
    found = unsettled(connection, project_id)
    others = [each for each in found.alerts if each.alert.fingerprint != known.alert.fingerprint]
    silences = silences_at(connection, project_id, now)
    outlook = outlook_of(connection, project_id, config, found, now)
    return explain(config, known, others, silences, now, outlook)


def _config(connection: Connection, project_id: int) -> AlertConfig:
    rules = rules_in_force(connection, project_id)
    if rules is None:
        raise UnknownSubject("no alert rules are in force; run `inferwatch alerts apply FILE`")
    return rules.config
