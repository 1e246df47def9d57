"""Items of one group at one receiver become drafts of messages, or wait. Pure.

A group that the receiver does not know is told when its first alert has waited for the route's
group wait; what ends within the wait is not told at all. A known group is told news at most once in
a group interval. The end of an earlier episode comes first, then openings, then the ends of what
opened and ended meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from alerts.durations import duration_text
from alerts.groups import Change, EventType, GroupKey
from alerts.model import ResolvedReason, Severity
from alerts.notify.items import Item
from alerts.routing import AT_ONCE

STORM_LABEL = "storm"


@dataclass(frozen=True)
class Draft:
    """A message to be: `told` is what it tells, `shown` what else is open in the group."""

    key: GroupKey
    event: EventType
    told: tuple[Item, ...]
    shown: tuple[Item, ...] = ()
    note: str = ""

    @property
    def severity(self) -> Severity:
        """The most urgent of what it tells."""
        return min((each.rule.severity for each in self.told), key=lambda each: each.rank)

    @property
    def noticed_at(self) -> tuple[datetime, datetime]:
        """When the first and the last of what it tells was noticed."""
        moments = [noticed_at(each) for each in self.told]
        return min(moments), max(moments)


@dataclass
class Sorted:
    """What became of piles: messages in three rounds, items passed over, and when to look again."""

    ends: list[Draft] = field(default_factory=list)
    news: list[Draft] = field(default_factory=list)
    late_ends: list[Draft] = field(default_factory=list)
    passed: list[Item] = field(default_factory=list)
    looks: list[datetime] = field(default_factory=list)


@dataclass(frozen=True)
class Pace:
    """How often one receiver is told the same, if it says so, and how long a storm counts."""

    repeat_after: timedelta | None = None
    storm: timedelta = AT_ONCE


def sort_pile(key: GroupKey, items: Sequence[Item], pace: Pace, now: datetime, out: Sorted) -> None:
    """Put the messages that one group is owed now into `out`."""
    free = [each for each in items if each.hold is None]
    out.looks += [each.hold.until for each in items if each.hold and each.hold.until is not None]
    out.passed += [each for each in items if _needs_no_word(each)]
    openings = [each for each in free if each.change is Change.OPENED and not _needs_no_word(each)]
    ends = [each for each in free if each.change is Change.ENDED]
    worse = [each for each in free if each.change is Change.GOT_WORSE]
    still = [
        replace(each, change=Change.NONE)
        for each in items
        if each.before is not None and each.change is not Change.ENDED
    ]
    told_at = [each.before.at for each in (*still, *ends) if each.before is not None]
    news = [*openings, *worse, *ends]
    if not news:
        _remind(key, still, max(told_at, default=now), pace, now, out)
        return
    ready = _ready_at(key, openings, told_at, pace, news)
    if now < ready:
        urgent = [each for each in openings if each.step]
        waiting = [each for each in openings if not each.step]
        if not told_at:
            out.passed += [each for each in waiting if each.pair]
            waiting = [each for each in waiting if not each.pair]
        if urgent:
            out.news.append(_news(key, urgent, [], still))
        if waiting or worse or ends:
            out.looks.append(ready)
        return
    if ends:
        out.ends.append(Draft(key, EventType.RESOLVED, tuple(ends), tuple(still)))
    if openings or worse:
        out.news.append(_news(key, openings, worse, still))


def split_pairs(drafts: Iterable[Draft], out: Sorted) -> None:
    """Owe the ends of what opened and ended meanwhile, after the message that opens it."""
    for draft in drafts:
        pairs = [replace(each, change=Change.ENDED) for each in draft.told if each.pair]
        if pairs and draft.event is not EventType.STORM:
            opened = [each for each in draft.told if not each.pair]
            shown = tuple(replace(each, change=Change.NONE) for each in (*opened, *draft.shown))
            out.late_ends.append(Draft(draft.key, EventType.RESOLVED, tuple(pairs), shown))


def noticed_at(item: Item) -> datetime:
    """When an alert was found to fire, by the clock; of old rows when it fired by its data."""
    alert = item.alert
    moment = alert.noticed_at or alert.fired_at
    if moment is None:
        raise AssertionError("an alert that is told of has fired")
    return moment


def _needs_no_word(item: Item) -> bool:
    """It came and went while it was kept quiet, or before it was told another took its place."""
    superseded = item.alert.resolved_reason is ResolvedReason.SUPERSEDED
    return item.pair and (item.hold is not None or superseded)


def _ready_at(
    key: GroupKey,
    openings: Sequence[Item],
    told_at: Sequence[datetime],
    pace: Pace,
    news: Sequence[Item],
) -> datetime:
    if told_at:
        interval = max(each.branch.group_interval for each in news)
        return max(told_at) + (max(interval, pace.storm) if is_storm(key) else interval)
    return min(noticed_at(each) + each.branch.group_wait for each in openings)


def is_storm(key: GroupKey) -> bool:
    """Whether a group is what was more than people can read."""
    return bool(key.labels) and key.labels[0][0] == STORM_LABEL


def _news(
    key: GroupKey, openings: Sequence[Item], worse: Sequence[Item], still: Sequence[Item]
) -> Draft:
    event = EventType.OPENED if openings else EventType.UPDATED
    told = {each.fingerprint for each in worse}
    shown = tuple(each for each in still if each.fingerprint not in told)
    notes = {each.note for each in openings}
    note = notes.pop() if len(notes) == 1 and not worse else ""
    return Draft(key, event, (*openings, *worse), shown, note)


def _remind(
    key: GroupKey,
    still: Sequence[Item],
    last: datetime,
    pace: Pace,
    now: datetime,
    out: Sorted,
) -> None:
    """Tell again what is still open: for a reason of its own, or by the repeat interval."""
    repeat = repeat_of([each for each in still if each.may_remind], pace)
    reasons = sorted({each.reminded for each in still if each.reminded})
    if reasons:
        out.news.append(_again(key, still, f"Still open; {' and '.join(reasons)}."))
    elif repeat is not None and last + repeat <= now:
        note = f"Still open; told again after {duration_text(repeat)}."
        out.news.append(_again(key, still, note))
    elif repeat is not None:
        out.looks.append(last + repeat)


def repeat_of(items: Sequence[Item], pace: Pace) -> timedelta | None:
    """The repeat interval that holds for alerts of one group: the route's or else the receiver's,
    never shorter than the group interval; None when nothing is repeated."""
    waits = [
        max(wait, each.branch.group_interval)
        for each in items
        if (wait := each.branch.repeat_after or pace.repeat_after) is not None
    ]
    return min(waits, default=None)


def _again(key: GroupKey, still: Sequence[Item], note: str) -> Draft:
    return Draft(key, EventType.UPDATED, tuple(still), (), note)
