"""Whether a reading stands apart from the minutes before. Descriptive: no test, no verdict.

A reading moved when the median of its minutes now lies outside every one of its minutes before,
and is at least a fifth away from their median. Of noise alone the first happens less and less often
the more minutes there are before; it is no error rate, and nothing is decided on it. Not for
judging a model: levels and means of servers say nothing of single requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from monitor.checks.context.symptoms import Movement

FEWEST_BEFORE = 10
"""With fewer minutes before, what is usual is not known."""
LEAST_CHANGE = 0.2

Minutes = Sequence[tuple[datetime, float]]


@dataclass(frozen=True)
class Moved:
    """A reading beside itself: medians before and now, and since when it stands apart."""

    movement: Movement
    before: float
    now: float
    since: datetime | None = None


def movement_of(before: Minutes, now: Minutes) -> Moved | None:
    """How the minutes now stand beside those before; None when either are too few."""
    if len(before) < FEWEST_BEFORE or not now:
        return None
    values = [value for _, value in before]
    usual, current = median(values), median([value for _, value in now])
    low, high = min(values), max(values)
    if abs(current - usual) < LEAST_CHANGE * abs(usual) or low <= current <= high:
        return Moved(Movement.SAME, usual, current)
    movement = Movement.UP if current > high else Movement.DOWN
    return Moved(movement, usual, current, _since(before, now, low, high))


def _since(before: Minutes, now: Minutes, low: float, high: float) -> datetime:
    """The first of the last minutes that all lie outside."""
    first = now[-1][0]
    for at, value in reversed([*before, *now]):
        if low <= value <= high:
            break
        first = at
    return first
