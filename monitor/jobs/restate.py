"""States again, each minute, what a receiver forgets: the alerts that it was told of and that fire.

An Alertmanager keeps no alert over a restart. What it was told through the outbox is therefore
repeated to it directly: a minute after it came back it knows everything again. Nothing is owed by
this: a failure is logged, and the next minute states everything anew.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy.engine import Connection, Engine

from alerts.alert_body import GENEROUS, alert_body
from alerts.channels.alertmanager import Alertmanager, Stated
from alerts.channels.outbound import Outbound
from alerts.channels.registry import CHANNELS, open_channel
from alerts.config import AlertConfig, Receiver
from alerts.errors import SendFailed
from alerts.groups import Change, Entry, EventType, Group, GroupKey
from alerts.model import ToldEvent
from monitor.jobs.alert_context import Reach, with_context
from monitor.store.action_orders import Outside
from monitor.store.alert_book import rules_in_force
from monitor.store.engine import Role, transaction
from monitor.store.told_alerts import ToldAlert, told_alerts

log = logging.getLogger("inferwatch.restate")

ENDS_FOR = timedelta(minutes=15)
"""How long an end is stated again: longer than a receiver that restarts is away."""
REACH = Reach(listed=1000, in_full=100)


def restate(
    engine: Engine,
    project_id: int,
    now: datetime,
    environment: Mapping[str, str],
    outside: Outside,
    http: Outbound,
) -> int:
    """State everything again to the receivers of a project that forget; how many alerts."""
    with transaction(engine, project_id, Role.WORKER) as connection:
        rules = rules_in_force(connection, project_id)
        forgetful = [each for each in rules.config.receivers if forgets(each)] if rules else []
        due = [
            (each, _stated(connection, project_id, rules.config, each.name, now, outside))
            for each in forgetful
            if rules is not None
        ]
    return sum(_state(receiver, what, now, environment, http) for receiver, what in due if what)


def forgets(receiver: Receiver) -> bool:
    """Whether all that is open must be stated to it again and again."""
    return issubclass(CHANNELS[receiver.channel], Alertmanager)


def _stated(
    connection: Connection,
    project_id: int,
    config: AlertConfig,
    receiver: str,
    now: datetime,
    outside: Outside,
) -> list[Stated]:
    known = told_alerts(connection, project_id, receiver, now - ENDS_FOR)
    if not known:
        return []
    told = {each.alert.fingerprint: each.told.at for each in known}
    group = Group(GroupKey(receiver, ""), EventType.UPDATED, tuple(map(_entry, known)))
    numbers = {each.alert.fingerprint: each.number for each in known}
    (full,) = with_context(connection, project_id, config, [group], numbers, now, outside, REACH)
    pages = outside.pages.rstrip("/")
    return [
        Stated(alert_body(each, pages, GENEROUS), told[each.alert.fingerprint])
        for each in full.entries
    ]


def _entry(known: ToldAlert) -> Entry:
    """As the receiver knows it: an alert that opened again is told by a message of its own."""
    ended = known.told.event is ToldEvent.ENDED
    alert = replace(known.alert, episode=known.told.episode)
    return Entry(alert, known.rule, Change.ENDED if ended else Change.NONE)


def _state(
    receiver: Receiver,
    stated: list[Stated],
    now: datetime,
    environment: Mapping[str, str],
    http: Outbound,
) -> int:
    try:
        channel = open_channel(receiver, environment)
        return (
            channel.restate(stated, now=now, http=http) if isinstance(channel, Alertmanager) else 0
        )
    except SendFailed as error:
        log.warning(
            "not stated again receiver=%s alerts=%d reason=%s", receiver.name, len(stated), error
        )
        return 0
