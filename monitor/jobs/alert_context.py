"""Groups of alerts with their surroundings, looked up when somebody is told of them.

A message never waits for its surroundings: what can't be found out is left out, and an error while
looking is logged and takes nothing but the surroundings.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from urllib.parse import urlencode

from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from alerts.config import AlertConfig
from alerts.context import AlertContext
from alerts.groups import Entry, Group
from alerts.links import LinkDeed
from alerts.message_body import MAXIMUM_LISTED, TOLD_IN_FULL
from alerts.messages import in_order_of_news
from alerts.model import Alert
from alerts.owners import only_person
from alerts.text import words
from monitor.jobs.alert_model import KnownModel, known_models
from monitor.store.action_orders import Outside
from monitor.store.alert_context import LastAction, last_actions, times_fired
from monitor.store.alert_links import LinkMaker, link_maker
from monitor.store.engine import told_without_values

log = logging.getLogger("inferwatch.notify")

DAYS_30 = timedelta(days=30)


@dataclass(frozen=True)
class Reach:
    """How far to look: alerts of a group that get surroundings at all, alerts of a group whose
    windows and deployments are looked into, and how many of these in one plan."""

    listed: int = MAXIMUM_LISTED
    in_full: int = TOLD_IN_FULL
    at_once: int = 100


USUAL_REACH = Reach()


def with_context(
    connection: Connection,
    project_id: int,
    config: AlertConfig,
    groups: Sequence[Group],
    numbers: Mapping[str, int],
    now: datetime,
    outside: Outside,
    reach: Reach = USUAL_REACH,
) -> tuple[Group, ...]:
    """The groups, each alert that will be listed with what is known around it.

    `numbers` are the alerts' row numbers by fingerprint.
    """
    ordered = tuple(in_order_of_news(group) for group in groups)
    if not ordered:
        return ordered
    try:
        with connection.begin_nested():
            asked = _Surroundings(connection, project_id, config, numbers, now, outside, reach)
            return asked.of(ordered)
    except Exception as error:
        # A message without surroundings beats none. Of a database error no values are logged.
        traceback = None if isinstance(error, DBAPIError) else error
        log.error(
            "no surroundings for messages: %s", told_without_values(error), exc_info=traceback
        )
        return ordered


@dataclass
class _Surroundings:
    """Everything asked for once, then handed to alert after alert."""

    connection: Connection
    project_id: int
    config: AlertConfig
    numbers: Mapping[str, int]
    now: datetime
    outside: Outside
    reach: Reach

    def of(self, groups: Sequence[Group]) -> tuple[Group, ...]:
        listed = [entry for group in groups for entry in group.entries[: self.reach.listed]]
        ids = sorted({self.numbers[each.alert.fingerprint] for each in listed if self._has(each)})
        self._fired = times_fired(
            self.connection, self.project_id, ids, _earliest(listed, self.now) - DAYS_30
        )
        self._actions = last_actions(self.connection, self.project_id, ids)
        self._links = link_maker(self.connection, self.project_id, self.outside.api, self.now)
        self._models = known_models(self.connection, self.project_id, self.now)
        self._left = self.reach.at_once
        return tuple(replace(group, entries=tuple(self._entries(group))) for group in groups)

    def _has(self, entry: Entry) -> bool:
        return entry.alert.fingerprint in self.numbers

    def _entries(self, group: Group) -> Iterator[Entry]:
        for place, entry in enumerate(group.entries):
            if place >= self.reach.listed or not self._has(entry):
                yield entry
                continue
            known = self._known(entry, only_person(self.config.owners, group.key.receiver))
            model = self._models.get(entry.alert.labels.get("model", ""))
            if model is not None and place < self.reach.in_full and self._left > 0:
                self._left -= 1
                known = looked_into(known, entry, model)
            yield replace(entry, context=known)

    def _known(self, entry: Entry, who: str | None) -> AlertContext:
        alert, number = entry.alert, self.numbers[entry.alert.fingerprint]
        until = _judged_at(alert, self.now)
        fired = [at for at in self._fired.get(number, []) if until - DAYS_30 < at <= until]
        known = replace(
            entry.context,
            fired=len(fired) or None,
            action=_action_words(self._actions.get((number, alert.episode))),
            command=command_of(entry, self.config, number),
            evidence_link=evidence_link(alert, self.outside.pages),
        )
        return with_links(known, entry, self._links, who)


def looked_into(known: AlertContext, entry: Entry, model: KnownModel) -> AlertContext:
    """What the model's own rows add: baseline, changed tags, quality, servers, fresh data."""
    servers = model.servers_then(entry.alert)
    return replace(
        known,
        server=servers.server,
        look_at=servers.look_at,
        baseline=model.baseline_words(entry.alert),
        changed=model.changed_before(entry.alert),
        quality=model.known_then(entry),
        traffic=model.traffic_of(entry.alert),
        data_until=model.data_until,
    )


def command_of(entry: Entry, config: AlertConfig, number: int) -> str | None:
    """The rule's exact command, or its defined response's, with the alert's number filled in."""
    named = {each.name: each for each in config.responses}.get(entry.rule.response_name or "")
    template = entry.rule.command or (named.command if named is not None else None)
    return replace(entry.rule, command=template).command_for(number)


def evidence_link(alert: Alert, pages: str) -> str | None:
    """The page of the model that shows the numbers behind the alert."""
    labels = alert.labels
    if not pages or "model" not in labels:
        return None
    asked = {name: labels[name] for name in ("project", "model") if name in labels}
    return f"{pages.rstrip('/')}/model?{urlencode(asked)}"


def with_links(
    known: AlertContext, entry: Entry, maker: LinkMaker, who: str | None
) -> AlertContext:
    """Links that act, while there is something to act on and an address to reach it.

    `who` is the only person who gets the message, None when several do or nobody knows.
    """
    if not maker.api_url or not entry.alert.is_firing:
        return known
    return replace(
        known,
        acknowledge_link=maker.address(LinkDeed.ACKNOWLEDGE, entry.key, who),
        silence_link=maker.address(LinkDeed.SILENCE, entry.key, who),
        links_until=maker.until,
    )


def _action_words(last: LastAction | None) -> str | None:
    """`reduce traffic, dry run: done (moved 40 % to 5 %)`, `reduce traffic: refused (…)`."""
    if last is None:
        return None
    dry = ", dry run" if last.dry_run else ""
    told = last.outcome or last.reason
    why = f" ({told})" if told else ""
    return f"{words(last.action)}{dry}: {words(last.state)}{why}, asked by {last.requested_by}"


def _judged_at(alert: Alert, now: datetime) -> datetime:
    reading = alert.last_judged or alert.last_reading
    return reading.at if reading is not None else now


def _earliest(entries: Sequence[Entry], now: datetime) -> datetime:
    return min((_judged_at(each.alert, now) for each in entries), default=now)
