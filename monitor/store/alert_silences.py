"""Silences that a person makes from an alert: for all like it, or for its very subject."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.engine import Engine

from alerts.model import Alert
from alerts.rules import Matcher
from alerts.silences import Silence
from monitor.store.alert_book import find_alert
from monitor.store.engine import Role, transaction
from monitor.store.silences import WantedSilence, add_silence, matchers_of_alert


def silence_alert(
    engine: Engine,
    project_id: int,
    number: int,
    until: datetime,
    by: str,
    reason: str,
    now: datetime,
    *,
    only_this_subject: bool = False,
    role: Role = Role.WORKER,
) -> Silence:
    """Keep the alerts of the same rule and model quiet, or those of this subject only.

    Raises UnknownSubject when there is no such alert, ConfigurationError with every mistake.
    """
    with transaction(engine, project_id, role) as connection:
        one, _, _ = find_alert(connection, project_id, number)
    matchers = matchers_of_alert(one) if only_this_subject else matchers_like(one)
    return add_silence(
        engine, project_id, WantedSilence(matchers, now, until, by, reason), now, role=role
    )


def matchers_like(one: Alert) -> tuple[Matcher, ...]:
    """Alerts of the same rule and, where it names one, model."""
    model = one.labels.get("model")
    of_rule = Matcher("rule", (one.rule,))
    return (of_rule, Matcher("model", (model,))) if model else (of_rule,)
