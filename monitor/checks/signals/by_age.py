"""Events of a cohort by age: what happened so far, at which age, and compared at equal age. Pure.

A cohort is the requests of one day. Its age is the time since its youngest request, so that every
request was watched at least that long. Where only events are ever reported, silence means "did not
happen" once `max_age` has passed; before that a rate is one of so far, and is compared with that
of other cohorts at the same age only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

import numpy as np

from monitor.checks.intervals import newcombe_limits, normal_quantile, wilson_limits

PARTIAL_FROM, PROVISIONAL_FROM = 0.5, 0.8
_HOURS = (1, 3, 6, 12, *(24 * d for d in (1, 2, 3, 5, 7, 10, 14, 21, 30, 45, 60, 90, 120, 180)))


class Maturity(StrEnum):
    """How far a cohort's watching time has come."""

    TOO_EARLY = "too_early"
    PARTIAL = "partial"
    PROVISIONAL = "provisional"
    FINAL = "final"


@dataclass(frozen=True)
class Watched:
    """How long the youngest request of a cohort has been watched, of how long it will be."""

    age: timedelta
    max_age: timedelta

    @property
    def share(self) -> float:
        """Age / longest age, 0 to 1."""
        return float(np.clip(self.age / self.max_age, 0.0, 1.0))

    @property
    def state(self) -> Maturity:
        """Final at max_age; provisional from 0.8 of it on, partial from half of it on."""
        if self.share >= 1:
            return Maturity.FINAL
        if self.share >= PROVISIONAL_FROM:
            return Maturity.PROVISIONAL
        return Maturity.PARTIAL if self.share >= PARTIAL_FROM else Maturity.TOO_EARLY

    @property
    def told_age(self) -> timedelta:
        """The age at which events are counted: never beyond max_age."""
        return min(self.age, self.max_age)


@dataclass(frozen=True)
class AgePoint:
    """Events by an age: `events` of n requests watched at least so long, with Wilson limits."""

    hours: float
    events: int
    n: int
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.events / self.n


@dataclass(frozen=True)
class Contrast:
    """A difference of shares with its limits, and what it is held against."""

    difference: float
    low: float
    high: float
    share: float
    n: int


def told_ages(watched: Watched) -> tuple[timedelta, ...]:
    """Ages at which a cohort's events are told: fixed ones that it has reached, and its own."""
    own = watched.told_age
    fixed = (timedelta(hours=hours) for hours in _HOURS)
    return (*(age for age in fixed if age < own), own) if own > timedelta(0) else ()


def age_point(age: timedelta, events: int, n: int) -> AgePoint:
    """One point of the curve; at least one request."""
    low, high = wilson_limits(events, n)
    return AgePoint(age.total_seconds() / 3600, events, n, low, high)


def at_equal_age(young: AgePoint, others: Sequence[AgePoint]) -> Contrast | None:
    """The share of a cohort minus that of others by the same age, pooled (Newcombe 1998).

    None without others. Points of another age are left out, never extrapolated. Rows must be
    independent: where entities repeat, the limits are too narrow.
    """
    same = [point for point in others if abs(point.hours - young.hours) < 1e-6]
    n, events = sum(point.n for point in same), sum(point.events for point in same)
    if n == 0:
        return None
    low, high = newcombe_limits(young.events, young.n, events, n)
    return Contrast(young.share - events / n, low, high, events / n, n)


def expected_final(
    so_far: AgePoint, known_by_then: int, known_in_the_end: int
) -> tuple[float, float, float] | None:
    """The final share that a young cohort heads for, with limits: share so far / F(age).

    F(age) = events of mature cohorts that were known by this age / all of theirs. Log-normal
    limits, var(log) = (1 - p)/(np) + (1 - F)/(mF). Valid if events come as soon as they did in
    those cohorts. None without an event on either side.
    """
    if so_far.events == 0 or known_by_then == 0:
        return None
    by_then = known_by_then / known_in_the_end
    value = so_far.share / by_then
    variance = (1 - so_far.share) / so_far.events + (1 - by_then) / known_by_then
    reach = float(np.exp(normal_quantile() * variance**0.5))
    return min(1.0, value), min(1.0, value / reach), min(1.0, value * reach)
