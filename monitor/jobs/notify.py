"""The notify tick: plans what is owed from the state of alerts, and owes it, in one transaction.

State changes only mark their alerts as unsettled. Whatever made a message wait (a group, a
silence, an inhibition, an escalation step), the next plan after it finds the message still owed.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.engine import Connection, Engine

from alerts.groups import Group
from alerts.messages import render
from alerts.notify.plan import plan
from monitor.store.alert_book import lock_alerts, rules_in_force
from monitor.store.engine import Role, transaction
from monitor.store.notices import (
    Unsettled,
    delivery_key,
    is_plan_due,
    mark_told,
    owe_messages,
    set_clock,
    unsettled,
)


def notify(engine: Engine, project_id: int, now: datetime, public_url: str) -> int:
    """Plan the notifications of a project if they are due; how many messages became owed."""
    with transaction(engine, project_id, Role.WORKER) as connection:
        if not is_plan_due(connection, project_id, now):
            return 0
        lock_alerts(connection, project_id)
        return _plan(connection, project_id, now, public_url)


def _plan(connection: Connection, project_id: int, now: datetime, public_url: str) -> int:
    rules = rules_in_force(connection, project_id)
    if rules is None:
        set_clock(connection, project_id, None)
        return 0
    found = unsettled(connection, project_id)
    made = plan(rules.config, found.alerts, (), now)
    owed = [
        (delivery_key(each), render(each, public_url, now), _numbers(each, found))
        for each in made.groups
    ]
    owe_messages(connection, project_id, owed, now)
    mark_told(connection, project_id, made.told, made.settled)
    set_clock(connection, project_id, made.next_at)
    return len(owed)


def _numbers(owed: Group, found: Unsettled) -> list[int]:
    return [found.numbers[each.alert.fingerprint] for each in owed.entries]
