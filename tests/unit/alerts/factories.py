"""Small makers of readings, rules and configurations for the tests of alerting."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from alerts.config import AlertConfig, Owner, Receiver
from alerts.groups import Group
from alerts.model import Alert, Labels, Reading, ReadingState, ResponseAction, Severity
from alerts.notify.plan import Known, plan
from alerts.rules import Bounds, Matcher, Rule

DAY = datetime(2026, 3, 2, tzinfo=UTC)
NOW = datetime(2026, 3, 3, tzinfo=UTC)
SUBJECT = Labels.of(project="air", model="delay", check="drift", method="psi", column="distance")


def hour(number: int) -> datetime:
    """The full hour of the test day."""
    return DAY + timedelta(hours=number)


def reading(at: int, value: float | None, **fields: Any) -> Reading:
    """A window of one hour that ends at the hour; without a value it held no rows."""
    given: dict[str, Any] = {
        "labels": SUBJECT,
        "state": ReadingState.NO_DATA if value is None else ReadingState.MEASURED,
        "n": 0 if value is None else 500,
    }
    return Reading(at=hour(at), window_start=hour(at - 1), value=value, **(given | fields))


def rule(**fields: Any) -> Rule:
    """psi above 0.2, a ticket for flight-ml; fields replace parts of it."""
    given: dict[str, Any] = {
        "name": "psi-high",
        "when": (Matcher("method", ("psi",)),),
        "condition": Bounds(upper=0.2),
        "severity": Severity.TICKET,
        "owner": "flight-ml",
        "response": ResponseAction.INVESTIGATE,
    }
    return Rule(**(given | fields))


def config(*rules: Rule, send_resolved: bool = True) -> AlertConfig:
    """One owner, one receiver and these rules."""
    return AlertConfig(
        owners=(Owner("flight-ml", ("ada@example.org",), "on-call"),),
        receivers=(Receiver("on-call", "webhook", send_resolved),),
        rules=rules or (rule(),),
    )


def groups_of(setup: AlertConfig, alerts: Mapping[str, Alert]) -> tuple[Group, ...]:
    """What is owed for these alerts, of whom nobody was told before."""
    rules = {each.name: each for each in setup.rules}
    known = [Known(each, rules[each.rule]) for each in alerts.values()]
    return plan(setup, known, (), NOW).groups
