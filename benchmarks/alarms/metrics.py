"""Figures of AlarmBench: false incidents, the promise ratio, delays and their comparison. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

from monitor.profiles.arrays import Floats

MERGE_HOURS = 24.0
LONGEST_DELAY = 168.0
WITHIN_HOURS = (6.0, 24.0, 168.0)
MONTH_DAYS = 30.0
RESAMPLINGS = 10_000


def merged(ends: Iterable[float], gap: float = MERGE_HOURS) -> list[tuple[float, float]]:
    """Alarms as incidents (first, last): one goes on while the next alarm comes within `gap` hours
    of the one before."""
    incidents: list[tuple[float, float]] = []
    for end in sorted(set(ends)):
        if incidents and end - incidents[-1][1] <= gap:
            incidents[-1] = (incidents[-1][0], end)
        else:
            incidents.append((end, end))
    return incidents


def open_hours(incidents: Iterable[tuple[float, float]], until: float) -> float:
    """Hours with an open incident, each open for 24 h after its last alarm, at most to `until`."""
    return sum(min(last + MERGE_HOURS, until) - first for first, last in incidents)


def poisson_upper(count: int, months: float, level: float = 0.95) -> float:
    """Upper limit of a monthly rate after `count` incidents in `months` months.

    Exact one-sided Poisson limit chi2(level; 2k + 2) / 2 / months (Garwood 1936).
    """
    return float(stats.chi2.ppf(level, 2 * count + 2)) / 2 / months


def binomial_limit(n: int, share: float, level: float = 0.999) -> float:
    """The share that n independent tests at level `share` exceed with probability 1 - level."""
    return float(stats.binom.ppf(level, n, share)) / n if n else math.nan


@dataclass(frozen=True)
class Rate:
    """False incidents over months, against a promise of so many a month."""

    count: int
    months: float
    promise: float = 1.0

    @property
    def per_month(self) -> float:
        """Incidents in 30 days."""
        return self.count / self.months

    @property
    def upper95(self) -> float:
        """Upper 95 % limit of that."""
        return poisson_upper(self.count, self.months)

    @property
    def promise_ratio(self) -> float:
        """Upper limit ÷ promise."""
        return self.upper95 / self.promise


@dataclass(frozen=True)
class Delays:
    """Hours from onset to detection, NaN where missed, float64[n]."""

    hours: Floats

    @property
    def restricted(self) -> Floats:
        """min(delay, 168 h), a missed shift counted as 168."""
        return np.minimum(np.nan_to_num(self.hours, nan=LONGEST_DELAY), LONGEST_DELAY)

    @property
    def mean(self) -> float:
        """Restricted mean detection time in hours (RMDT)."""
        return float(self.restricted.mean())

    @property
    def median(self) -> float:
        """Median hours; infinite when half of the shifts are missed."""
        return float(np.median(np.nan_to_num(self.hours, nan=np.inf)))

    def within(self, hours: float) -> float:
        """Share detected within so many hours."""
        return float(np.mean(self.hours <= hours))


def first_delay(ends: Iterable[float], onset: float) -> float:
    """Hours from the onset to the end of the first alarming window that ends after it, or NaN."""
    after = [end - onset for end in ends if end > onset]
    return min(after) if after else math.nan


@dataclass(frozen=True)
class Difference:
    """Mean of the other's restricted delays minus ours over the same shifts, hours, with its 95 %
    interval."""

    mean: float
    low: float
    high: float


def paired_difference(other: Floats, ours: Floats, seed: int) -> Difference:
    """Paired bootstrap over (shift, seed), percentile interval (Efron 1979); float64[n] each."""
    differences = np.asarray(other - ours)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(differences), (RESAMPLINGS, len(differences)))
    low, high = np.quantile(differences[drawn].mean(axis=1), (0.025, 0.975))
    return Difference(float(differences.mean()), float(low), float(high))


def worse_classes(
    other: Mapping[str, Floats], ours: Mapping[str, Floats], by_hours: float = 24.0
) -> list[str]:
    """Shift classes in which our mean restricted delay is more than `by_hours` longer."""
    return [name for name in ours if ours[name].mean() - other[name].mean() > by_hours]


def tuned_threshold(
    candidates: Iterable[float], rate_at: Callable[[float], float], allowed: float = 1.0
) -> float:
    """The smallest threshold such that it and every larger one keep to the allowed rate.

    Going down from the strictest one matters: a very loose one merges everything into a single
    endless incident, which also counts as few. Infinity when none does.
    """
    chosen = math.inf
    for threshold in sorted(set(candidates), reverse=True):
        if rate_at(threshold) > allowed:
            break
        chosen = threshold
    return chosen
