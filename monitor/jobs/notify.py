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
from monitor.jobs.alert_context import with_context
from monitor.store.action_orders import Outside
from monitor.store.alert_book import lock_alerts, rules_in_force
from monitor.store.engine import Role, transaction
from monitor.store.notices import (
    Unsettled,
    delivery_key,
    hold_clock,
    is_plan_due,
    mark_told,
    outlook_of,
    owe_messages,
    set_clock,
    unsettled,
)
from monitor.store.outbox import next_undelivered_at
from monitor.store.silences import silences_at


def notify(
    engine: Engine, project_id: int, now: datetime, public_url: str, api_url: str = ""
) -> int:
    """Plan the notifications of a project if they are due; how many messages became owed.

    Links begin with `public_url` (pages) and `api_url` (deeds by one click; none without it).
    """
    with transaction(engine, project_id, Role.WORKER) as connection:
        if not is_plan_due(connection, project_id, now):
            return 0
        lock_alerts(connection, project_id)
        hold_clock(connection, project_id)
        return _plan(connection, project_id, now, Outside(public_url, api_url))


def _plan(connection: Connection, project_id: int, now: datetime, outside: Outside) -> int:
    rules = rules_in_force(connection, project_id)
    if rules is None:
        set_clock(connection, project_id, None)
        return 0
    found = unsettled(connection, project_id)
    # Alerts may have changed after `now`: while the lock was waited for, or by a clock ahead.
    noticed = (each.alert.noticed_at for each in found.alerts)
    now = max(now, *(each for each in noticed if each is not None), now)
    silences = silences_at(connection, project_id, now)
    outlook = outlook_of(connection, project_id, rules.config, found, now)
    made = plan(rules.config, found.alerts, silences, now, outlook)
    groups = with_context(
        connection, project_id, rules.config, made.groups, found.numbers, now, outside
    )
    owed = [
        (delivery_key(each), render(each, outside.pages, now), _numbers(each, found))
        for each in groups
    ]
    owe_messages(connection, project_id, owed, now)
    mark_told(connection, project_id, made.told, made.settled)
    late_at = next_undelivered_at(connection, project_id, now)
    moments = [each for each in (made.next_at, late_at) if each is not None]
    set_clock(connection, project_id, min(moments, default=None))
    return len(owed)


def _numbers(owed: Group, found: Unsettled) -> list[int]:
    return [found.numbers[each.alert.fingerprint] for each in owed.entries]
