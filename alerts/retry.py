"""When a message that was not taken is tried again.

Pure: the time and the chance come in. A page waits seconds at first, because somebody is to be
woken; then everything follows the schedule that Standard Webhooks 1.0.0 recommends.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from alerts.model import Severity

_TAIL = tuple(timedelta(hours=hours) for hours in (0.5, 2, 5, 10, 14, 20, 24))
_PAGE_HEAD = tuple(timedelta(seconds=each) for each in (0, 2, 5, 10, 20, 40, 90, 180, 300))
_USUAL_HEAD = (timedelta(0), timedelta(seconds=5), timedelta(minutes=5))
_JITTER = 0.1
GIVE_UP_AFTER = timedelta(hours=120)
_SOONEST = timedelta(seconds=1)


class Chance(Protocol):
    """A source of chance: `random.Random` and numpy's Generator both are one."""

    def random(self) -> float:
        """A number in [0, 1)."""


def waits(severity: Severity) -> tuple[timedelta, ...]:
    """The wait before each attempt, the first included, counted from the attempt before."""
    return (_PAGE_HEAD if severity is Severity.PAGE else _USUAL_HEAD) + _TAIL


def next_attempt(
    attempts_so_far: int,
    severity: Severity,
    first_at: datetime,
    now: datetime,
    *,
    retry_after: timedelta | None,
    rng: Chance,
) -> datetime | None:
    """When to try next; None means give up.

    `first_at` is when the message was first owed, `now` the moment of the failure. Up to a tenth is
    added to the wait, so that receivers that come back are not met by everybody at once. A wait
    asked for by the receiver is never cut short. Given up when the schedule is through, or when the
    next attempt would be more than 120 hours after `first_at`.

    Attempts that came sooner than the schedule says, because more urgent messages waited behind
    this one or because the receiver seemed to be back, use up none of it.
    """
    schedule = waits(severity)
    place = min(attempts_so_far, max(1, _places_passed(schedule, now - first_at)))
    if place >= len(schedule):
        return None
    wait = schedule[place] * (1.0 + _JITTER * rng.random())
    if retry_after is not None:
        wait = max(wait, retry_after)
    due = now + wait
    return due if due - first_at <= GIVE_UP_AFTER else None


def _places_passed(schedule: Sequence[timedelta], age: timedelta) -> int:
    """How many attempts the schedule has within this age, the first included."""
    moments = itertools.accumulate(schedule)
    return sum(moment <= age for moment in moments)


def next_in_schedule(severity: Severity, first_at: datetime, now: datetime) -> datetime:
    """When a message that was never tried itself would be tried next, by its age alone.

    For messages that wait behind another one of their group. Never before a second from `now`.
    """
    moment = first_at
    for wait in waits(severity):
        moment += wait
        if moment >= now + _SOONEST:
            return moment
    return now + _TAIL[-1]
