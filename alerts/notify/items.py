"""What each receiver is owed of one alert, whenever it may be told. Pure.

Decided by two states only: the alert's, and what the receiver was last told of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from alerts.groups import Change, GroupKey
from alerts.inhibition import Facts, Inhibitors
from alerts.model import Alert, AlertState, FindingKey, ResolvedReason, Told, ToldEvent
from alerts.notify.destinations import (
    NOT_ESCALATED,
    Destination,
    Directory,
    Escalation,
    escalation_of,
)
from alerts.notify.holds import Clock, Hold, holds_of_alert
from alerts.routing import Branch
from alerts.rules import Rule
from alerts.silences import Silence
from alerts.subjects import facts_of


@dataclass(frozen=True)
class Known:
    """One alert and the rule it was judged by."""

    alert: Alert
    rule: Rule


@dataclass(frozen=True)
class Item:
    """One alert for one receiver. `alert` is as it is, or an earlier episode as it ended.

    A `pair` is an episode that opened and ended before it could be told: both are told in order. A
    `hold` keeps what is new back; `may_remind` says that a repetition would be welcome, `reminded`
    why one is due now.
    """

    key: GroupKey
    alert: Alert
    rule: Rule
    change: Change
    branch: Branch
    before: Told | None = None
    pair: bool = False
    step: int = 0
    note: str = ""
    hold: Hold | None = None
    may_remind: bool = False
    reminded: str = ""

    @property
    def fingerprint(self) -> str:
        """The alert's identity."""
        return self.alert.fingerprint

    @property
    def finding(self) -> FindingKey:
        """The episode it is about."""
        return self.alert.key


@dataclass(frozen=True)
class Account:
    """All that is owed of one alert, and why some of it is held back."""

    known: Known
    items: tuple[Item, ...]
    holds: tuple[Hold, ...] = ()
    escalation: Escalation = NOT_ESCALATED
    destinations: tuple[Destination, ...] = ()


class Accountant:
    """Makes the accounts of alerts at one moment."""

    def __init__(
        self,
        directory: Directory,
        alerts: Iterable[Known],
        silences: Iterable[Silence],
        undelivered: frozenset[tuple[str, str]],
        now: datetime,
    ) -> None:
        self._directory = directory
        self._silences = tuple(each for each in silences if each.starts_at <= now < each.ends_at)
        self._undelivered = undelivered
        self._now = now
        self.clock = Clock(directory.config.times, now)
        firing: dict[str, Facts] = {
            each.alert.fingerprint: facts_of(each.alert.labels, each.rule)
            for each in alerts
            if each.alert.is_firing and directory.config.inhibitions
        }
        self.inhibitors = Inhibitors(directory.config.inhibitions, firing)

    def account(self, known: Known) -> Account:
        """What is owed of one alert to whom."""
        alert, rule = known.alert, known.rule
        facts = facts_of(alert.labels, rule)
        usual = self._directory.usual(facts, rule) if _concerns_people(known) else ()
        steps = self._directory.steps(rule) if alert.is_firing else ()
        escalation = escalation_of(steps, alert, usual, self._undelivered, self._now)
        wanted = (*usual, *self._directory.escalated(rule, usual, escalation))
        holds: tuple[Hold, ...] = ()
        if wanted:
            holds = holds_of_alert(alert, facts, self._silences, self.inhibitors, self._now)
        items = tuple(self._items(known, facts, wanted, holds))
        return Account(known, items, holds, escalation, wanted)

    def _items(
        self,
        known: Known,
        facts: Facts,
        wanted: tuple[Destination, ...],
        holds: tuple[Hold, ...],
    ) -> Iterator[Item]:
        alert, rule = known.alert, known.rule
        by_name: Mapping[str, Destination] = {each.receiver: each for each in wanted}
        for name in dict.fromkeys((*by_name, *alert.told)):
            to = by_name.get(name)
            branch = to.branch if to is not None else _NOWHERE
            before = alert.told.get(name)
            timed = self.clock.hold_of(branch, rule)
            base = Item(_key(name, branch, facts, before), alert, rule, Change.NONE, branch, before)
            knows = before is not None and before.episode == alert.episode
            if before is not None and not knows and before.event is not ToldEvent.ENDED:
                past = past_episode(alert, before.episode)
                yield replace(base, alert=past, change=Change.ENDED, hold=timed)
                base = replace(base, key=_key(name, branch, facts, None), before=None)
            hold = timed or (holds[0] if holds else None)
            if knows:
                yield from self._of_known(base, to, timed, hold)
            elif to is not None:
                yield from _of_untold(replace(base, before=None), to, hold)

    def _of_known(
        self, base: Item, to: Destination | None, timed: Hold | None, hold: Hold | None
    ) -> Iterator[Item]:
        """Of an episode that the receiver was told of."""
        alert, before = base.alert, base.before
        if before is None or before.event is ToldEvent.ENDED:
            return
        if alert.state is AlertState.RESOLVED:
            yield replace(base, change=Change.ENDED, hold=timed)
        elif alert.is_firing:
            worse = to is not None and _is_worse(alert, before)
            yield replace(
                base,
                change=Change.GOT_WORSE if worse else Change.NONE,
                hold=hold,
                may_remind=to is not None and hold is None and alert.acknowledged_by is None,
                reminded=self._reminder(alert, before) if to is not None and not hold else "",
            )

    def _reminder(self, alert: Alert, before: Told) -> str:
        """Why what is still open is told again now; empty: it is not."""
        for moment, reason in (
            (alert.remind_at, "what was done about it has run out"),
            (alert.snoozed_until, "its snooze is over"),
        ):
            if moment is not None and before.at < moment <= self._now:
                return reason
        return ""


def _of_untold(base: Item, to: Destination, hold: Hold | None) -> Iterator[Item]:
    """Of an episode that the receiver knows nothing of."""
    alert = base.alert
    opened = replace(base, change=Change.OPENED, step=to.step, note=to.note, hold=hold)
    if alert.is_firing:
        yield opened
    elif alert.state is AlertState.RESOLVED and alert.fired_at is not None and not to.step:
        yield replace(opened, pair=True)


_NOWHERE = Branch(place="no route any more")


def _concerns_people(known: Known) -> bool:
    """Whether receivers can be owed an opening: parts of other rules are told of by those."""
    alert = known.alert
    is_over = alert.state is AlertState.RESOLVED and alert.fired_at is not None
    return not known.rule.component and (alert.is_firing or is_over)


def _is_worse(alert: Alert, before: Told) -> bool:
    return alert.excess is not None and before.excess is not None and alert.excess > before.excess


def _key(receiver: str, branch: Branch, facts: Facts, before: Told | None) -> GroupKey:
    """The group that it was told in, or else the one that the route makes."""
    project = facts.get("project", "")
    if before is not None and before.group is not None:
        return GroupKey(receiver, project, before.group)
    labels = tuple((name, facts.get(name, "")) for name in branch.group_by if name != "project")
    return GroupKey(receiver, project, labels)


def past_episode(alert: Alert, episode: int) -> Alert:
    """An earlier episode as it ended, for a receiver that knows of it as open."""
    end = alert.ends.get(episode)
    return replace(
        alert,
        episode=episode,
        state=AlertState.RESOLVED,
        resolved_reason=end.reason if end is not None else ResolvedReason.RECOVERED,
        resolved_at=end.at if end is not None else alert.resolved_at,
    )
