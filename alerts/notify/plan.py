"""The plan of notifications: from the state of alerts to the messages that are owed now.

Pure and driven by state, not by events: what an alert is, and what each receiver was last told of
it, decide what is owed. The same state planned twice owes nothing the second time; a message that
had to wait (for a group, a silence, an inhibition, a storm) is owed when the waiting is over.

The way of a message: who (`destinations`), what (`items`), not now (`holds`), together (`piles`),
not too many (`brake`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from alerts.config import AlertConfig
from alerts.groups import Change, Entry, EventType, Group, GroupKey
from alerts.model import Alert, AlertState, Told, ToldEvent
from alerts.notify.brake import brake, lane_of
from alerts.notify.destinations import Directory
from alerts.notify.items import Account, Accountant, Item, Known
from alerts.notify.outlook import NOTHING_SENT, Lane, Outlook
from alerts.notify.piles import Draft, Pace, Sorted, repeat_of, sort_pile, split_pairs
from alerts.silences import Silence

__all__ = ["Known", "Plan", "plan"]


@dataclass(frozen=True)
class Plan:
    """What is owed now.

    `groups` are in the order in which they must be sent. `told` gives, by fingerprint, what the
    receivers of each alert know once the messages are owed. `settled` are alerts nobody is owed a
    word about any more. `next_at` is when to plan again if nothing happens before; None: never.
    `held` says, by fingerprint, why something is not told now.
    """

    groups: tuple[Group, ...]
    told: Mapping[str, Mapping[str, Told]]
    settled: frozenset[str]
    next_at: datetime | None = None
    held: Mapping[str, str] = field(default_factory=dict)


def plan(
    config: AlertConfig,
    alerts: Iterable[Known],
    silences: Iterable[Silence],
    now: datetime,
    outlook: Outlook = NOTHING_SENT,
) -> Plan:
    """The messages owed now for these alerts, which are all that are not settled."""
    known = tuple(alerts)
    directory = Directory(config)
    accountant = Accountant(directory, known, silences, outlook.undelivered, now)
    accounts = [accountant.account(each) for each in known]
    out = Sorted()
    for key, items in _piles(accounts).items():
        sort_pile(key, items, _pace(directory, key.receiver), now, out)
    out.looks += [each.escalation.next_at for each in accounts if each.escalation.next_at]
    out.news = _braked(config, out, outlook, now)
    split_pairs(out.news, out)
    drafts = [*_by_key(out.ends), *_by_key(out.news), *_by_key(out.late_ends)]
    ledger = _Ledger(now)
    for draft in drafts:
        ledger.tell(draft)
    for item in out.passed:
        ledger.pass_over(item)
    out.looks += [each for draft in drafts for each in _next_looks(draft, directory, now)]
    return Plan(
        groups=tuple(_group(each, ledger) for each in drafts if _is_sent(each, directory)),
        told=ledger.told,
        settled=frozenset(
            each.known.alert.fingerprint for each in accounts if ledger.is_settled(each)
        ),
        next_at=min((each for each in out.looks if each > now), default=None),
        held={
            each.known.alert.fingerprint: "; ".join(hold.text for hold in each.holds)
            for each in accounts
            if each.holds
        },
    )


def _piles(accounts: Iterable[Account]) -> dict[GroupKey, list[Item]]:
    piles: dict[GroupKey, list[Item]] = {}
    for account in accounts:
        for item in account.items:
            piles.setdefault(item.key, []).append(item)
    return piles


def _pace(directory: Directory, name: str) -> Pace:
    receiver = directory.receivers.get(name)
    return Pace(
        repeat_after=receiver.repeat_after if receiver is not None else None,
        storm=directory.config.delivery.storm.within,
    )


def _braked(config: AlertConfig, out: Sorted, outlook: Outlook, now: datetime) -> list[Draft]:
    """The news that may go now; when the rest is to be looked at is noted."""
    lanes: dict[Lane, list[Draft]] = {}
    free: list[Draft] = []
    for draft in out.news:
        if draft.event is EventType.OPENED:
            lanes.setdefault(lane_of(draft), []).append(draft)
        else:
            free.append(draft)
    for lane, drafts in lanes.items():
        braked = brake(lane, drafts, config.delivery.storm, outlook, now)
        free += braked.go
        if braked.look_at is not None:
            out.looks.append(braked.look_at)
    return free


def _next_looks(draft: Draft, directory: Directory, now: datetime) -> Iterator[datetime]:
    """When this message gives cause for another one: a repetition or a first escalation step."""
    pace = _pace(directory, draft.key.receiver)
    still = [
        each
        for each in (*draft.told, *draft.shown)
        if each.change is not Change.ENDED and each.alert.acknowledged_by is None
    ]
    repeat = repeat_of(still, pace)
    if repeat is not None:
        yield now + repeat
    if draft.event in (EventType.OPENED, EventType.STORM):
        rules = {each.rule.name: each.rule for each in draft.told}.values()
        yield from (now + step.after for rule in rules for step in directory.steps(rule)[:1])


def _by_key(drafts: Sequence[Draft]) -> list[Draft]:
    return sorted(drafts, key=lambda each: each.key)


def _is_sent(draft: Draft, directory: Directory) -> bool:
    """Ends are kept from receivers that do not want them, everything from those that are gone."""
    receiver = directory.receivers.get(draft.key.receiver)
    if receiver is None:
        return False
    return receiver.send_resolved or draft.event is not EventType.RESOLVED


class _Ledger:
    """What receivers know after the messages of a plan."""

    def __init__(self, now: datetime) -> None:
        self.told: dict[str, dict[str, Told]] = {}
        self._now = now

    def tell(self, draft: Draft) -> None:
        """A message is owed."""
        for item in draft.told:
            self._put(item, draft.key, self._after(item, draft))
        if draft.event is EventType.RESOLVED and draft.shown:
            # Ended alerts will be forgotten: an open one remembers when its group was told last.
            item = draft.shown[0]
            before = self._before(item, draft.key)
            if before is not None:
                self._put(item, draft.key, replace(before, at=self._now))

    def pass_over(self, item: Item) -> None:
        """An episode that opened and ended while nobody was to be told of it."""
        before = self._before(item, item.key)
        if before is None or before.event is ToldEvent.ENDED:
            episode = item.alert.episode
            self._put(item, item.key, Told(episode, ToldEvent.ENDED, self._now, times=0))

    def is_settled(self, account: Account) -> bool:
        """Whether nobody is owed a word about an alert any more."""
        alert = account.known.alert
        if alert.is_firing:
            return False
        told = self.told.get(alert.fingerprint, alert.told)
        if any(each.event is not ToldEvent.ENDED for each in told.values()):
            return False
        if alert.state is not AlertState.RESOLVED or not account.items:
            return True
        return all(_is_about(told.get(each.key.receiver), alert) for each in account.items)

    def times(self, item: Item, receiver: str) -> int:
        """How often the receiver was told of the item's episode, this time included."""
        known = self.told.get(item.fingerprint, item.alert.told).get(receiver)
        return known.times if known is not None and known.episode == item.alert.episode else 1

    def _after(self, item: Item, draft: Draft) -> Told:
        alert, now = item.alert, self._now
        before = self._before(item, draft.key)
        if before is None or before.episode != alert.episode:
            ended = item.pair and draft.event is EventType.STORM
            event = ToldEvent.ENDED if ended else ToldEvent.OPENED
            return Told(alert.episode, event, now, 1, alert.excess, now, draft.key.labels)
        after = replace(before, at=now, times=before.times + 1)
        if item.change is Change.ENDED:
            return replace(after, event=ToldEvent.ENDED)
        if item.change is Change.GOT_WORSE:
            return replace(after, event=ToldEvent.GOT_WORSE, excess=alert.excess)
        return after

    def _before(self, item: Item, key: GroupKey) -> Told | None:
        return self.told.get(item.fingerprint, item.alert.told).get(key.receiver)

    def _put(self, item: Item, key: GroupKey, told: Told) -> None:
        kept = self.told.setdefault(item.fingerprint, dict(item.alert.told))
        kept[key.receiver] = told


def _is_about(told: Told | None, alert: Alert) -> bool:
    return told is not None and told.episode == alert.episode


def _group(draft: Draft, ledger: _Ledger) -> Group:
    told = [_entry(each, draft, ledger) for each in draft.told]
    shown = [_entry(each, draft, ledger) for each in draft.shown]
    entries = (*sorted(told, key=_urgency), *sorted(shown, key=_urgency))
    return Group(draft.key, draft.event, entries, draft.note)


def _entry(item: Item, draft: Draft, ledger: _Ledger) -> Entry:
    ended = item.pair and draft.event is EventType.STORM
    change = Change.ENDED if ended else item.change
    return Entry(item.alert, item.rule, change, times=ledger.times(item, draft.key.receiver))


def _urgency(entry: Entry) -> tuple[bool, int, str]:
    return (entry.change is Change.NONE, entry.rule.severity.rank, entry.rule.name)
