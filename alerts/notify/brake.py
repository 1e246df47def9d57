"""The storm brake: what is more than people can read becomes one message, and nothing is lost.

Pure. Counted are messages that open alerts, pages and everything else apart. While a storm's
message is still new, later openings wait and are told as one when the time is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from alerts.delivery_policy import Storm
from alerts.durations import duration_text
from alerts.groups import EventType, GroupKey
from alerts.model import Severity
from alerts.notify.outlook import Lane, Outlook
from alerts.notify.piles import STORM_LABEL, Draft
from alerts.text import moment_text

QUIET, LONGEST_GATHERING = timedelta(seconds=10), timedelta(seconds=60)
"""The rest of a storm is told when no more came for a while, or when it gathered for long."""


@dataclass(frozen=True)
class Braked:
    """What may go now, what has to wait, and until when at the earliest."""

    go: tuple[Draft, ...]
    wait: tuple[Draft, ...] = ()
    look_at: datetime | None = None


def lane_of(draft: Draft) -> Lane:
    """Which messages it is counted with."""
    return Lane(draft.key.receiver, draft.severity is Severity.PAGE)


def brake(
    lane: Lane, drafts: Sequence[Draft], storm: Storm, outlook: Outlook, now: datetime
) -> Braked:
    """Let openings of one lane pass, as far as there is room for them."""
    recent = sorted(t for t in outlook.openings.get(lane, ()) if t > now - storm.within)
    last = outlook.storms.get(lane)
    stormy = last is not None and now - last < 2 * storm.within
    room = 0 if stormy else max(storm.messages - len(recent), 0)
    ordered = sorted(drafts, key=lambda each: (each.severity.rank, each.noticed_at[0], each.key))
    if len(ordered) <= room:
        return Braked(tuple(ordered))
    alone, rest = ordered[:room], ordered[room:]
    if len(recent) + len(alone) > storm.messages:
        free_at = recent[-(storm.messages + 1)] + storm.within
        return Braked(tuple(alone), tuple(rest), free_at)
    ready = _gathered_at(rest)
    if now < ready:
        return Braked(tuple(alone), tuple(rest), ready)
    return Braked((*alone, _as_one(lane, rest, storm, now)))


def _gathered_at(rest: Sequence[Draft]) -> datetime:
    first = min(each.noticed_at[0] for each in rest)
    last = max(each.noticed_at[1] for each in rest)
    return min(last + QUIET, first + LONGEST_GATHERING)


def _as_one(lane: Lane, rest: Sequence[Draft], storm: Storm, now: datetime) -> Draft:
    if len(rest) == 1:
        return rest[0]
    told = tuple(item for draft in rest for item in draft.told)
    project = rest[0].key.project
    labels = ((STORM_LABEL, "storm of pages" if lane.pages else "storm"),)
    note = (
        f"Storm: more than {storm.messages} messages within {duration_text(storm.within)}. "
        f"{len(told):,} alerts of {len(rest):,} groups are told as one. More are gathered "
        f"and told by {moment_text(now + storm.within)}."
    )
    return Draft(GroupKey(lane.receiver, project, labels), EventType.STORM, told, (), note)
