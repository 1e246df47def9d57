"""A desk that plans at any moment and keeps what a store would: alerts and what was told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from alerts.config import AlertConfig
from alerts.groups import EventType, Group
from alerts.model import Alert, AlertState, End, Labels, ResolvedReason, Severity, ToldEvent
from alerts.notify.items import Known
from alerts.notify.outlook import Lane, Outlook
from alerts.notify.plan import Plan, plan
from alerts.rules import Rule
from alerts.silences import Silence

from .factories import NOW

OPENINGS = (EventType.OPENED, EventType.STORM)


def at(minutes: float) -> datetime:
    """Minutes after the beginning."""
    return NOW + timedelta(minutes=minutes)


class NoticeDesk:
    """`fire`, `end` and `change` are the world; `look` is one plan, kept like a store would."""

    def __init__(self, setup: AlertConfig) -> None:
        self.setup = setup
        self.alerts: dict[str, Alert] = {}
        self.settled: set[str] = set()
        self.silences: list[Silence] = []
        self.undelivered: set[tuple[str, str]] = set()
        self.sent: list[tuple[datetime, Group]] = []
        self.plan = Plan((), {}, frozenset())

    def fire(self, rule: str = "psi-high", minute: float = 0, **labels: str) -> str:
        """A rule's alert on a subject fires; again after it was over: a new episode."""
        subject = Labels.of(**{"project": "air", "model": "m1", **labels})
        key = subject.fingerprint(rule)
        before = self.alerts.get(key) or Alert(key, rule, subject)
        ends = dict(before.ends)
        if before.resolved_reason is not None and before.resolved_at is not None:
            ends[before.episode] = End(before.resolved_reason, before.resolved_at)
        moment = at(minute)
        self.alerts[key] = Alert(
            key, rule, subject, state=AlertState.FIRING, episode=before.episode + 1, since=moment,
            pending_since=moment, fired_at=moment, noticed_at=moment, excess=0.1,
            told=before.told, archive=before.archive, ends=ends,
        )  # fmt: skip
        self.settled.discard(key)
        return key

    def end(
        self, key: str, minute: float, reason: ResolvedReason = ResolvedReason.RECOVERED
    ) -> None:
        """The alert is over."""
        self.change(key, state=AlertState.RESOLVED, resolved_at=at(minute), resolved_reason=reason)

    def change(self, key: str, **fields: object) -> None:
        """Anything else that happens to an alert."""
        self.alerts[key] = replace(self.alerts[key], **fields)  # type: ignore[arg-type]
        self.settled.discard(key)

    def look(self, minute: float) -> list[str]:
        """One plan: receiver and event of each message."""
        now = at(minute)
        rules = {each.name: each for each in self.setup.rules}
        known = [
            Known(each, rules[each.rule])
            for key, each in self.alerts.items()
            if key not in self.settled
        ]
        self.plan = plan(self.setup, known, self.silences, now, self._outlook(now))
        for key, told in self.plan.told.items():
            self.alerts[key] = replace(self.alerts[key], told=told)
        self.settled |= self.plan.settled
        self.sent += [(now, each) for each in self.plan.groups]
        return [said(each) for each in self.plan.groups]

    def run(self, minutes: Iterable[float]) -> dict[float, list[str]]:
        """Plans at these minutes; those that owed something."""
        looked = {minute: self.look(minute) for minute in minutes}
        return {minute: messages for minute, messages in looked.items() if messages}

    def _outlook(self, now: datetime) -> Outlook:
        openings: dict[Lane, list[datetime]] = {}
        storms: dict[Lane, datetime] = {}
        for moment, group in self.sent:
            pages = any(each.rule.severity is Severity.PAGE for each in group.entries)
            lane = Lane(group.key.receiver, pages)
            if group.event in OPENINGS:
                openings.setdefault(lane, []).append(moment)
            if group.event is EventType.STORM:
                storms[lane] = moment
        return Outlook(openings, storms, frozenset(self.undelivered))

    def knows_as_open(self, key: str) -> set[str]:
        """The receivers that were told of an opening and not of its end."""
        told = self.alerts[key].told
        return {name for name, each in told.items() if each.event is not ToldEvent.ENDED}


def said(group: Group) -> str:
    """`on-call opened 3`: who hears what about how many new alerts."""
    event = group.event.value.removeprefix("finding.")
    return f"{group.key.receiver} {event} {len(group.new)}"


def config_of(rules: Iterable[Rule], **fields: object) -> AlertConfig:
    """The usual configuration of these tests with some parts replaced."""
    from .factories import config

    return replace(config(*rules), **fields)  # type: ignore[arg-type]
