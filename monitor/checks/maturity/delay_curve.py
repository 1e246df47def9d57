"""The delay curve: which share of requests has its label by an age, from counts per delay bucket.

Knows counts and ages, nothing of models, windows or the clock.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import optimize

from monitor.checks.intervals import LEVEL, normal_quantile, wilson_limits
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.delays import DELAY_BUCKETS, DELAY_EDGES

_HOUR = 3_600_000_000
_RATIO = DELAY_EDGES[-1] / DELAY_EDGES[-2]
UPPER_HOURS = np.array([*DELAY_EDGES, DELAY_EDGES[-1] * _RATIO]) / _HOUR
"""Where each bucket ends, float64[32], in hours; the open last one is closed at 566 days."""

LOWER_HOURS = np.concatenate(([0.0], UPPER_HOURS[:-1]))


@dataclass(frozen=True, eq=False)
class Followed:
    """Requests of one window: their age, `labelled` int64[32] by delay bucket, and the others."""

    age_hours: float
    labelled: Integers
    unlabelled: int


@dataclass(frozen=True)
class DelayCurve:
    """F(t) = 1 - S(t): the share of requests whose label is known t hours after the request.

    Per delay bucket (32): `rates`, the hazard an hour (infinite where everything that was left got
    its label), `variances` of the rates, `at_risk` and `events`. `follow_up_hours` is the age of
    the oldest request, beyond which nothing is known; `n` requests. `settled`: some requests are as
    old as a label may be, so that the curve's end is the plateau and not just the end of patience.
    """

    rates: tuple[float, ...]
    variances: tuple[float, ...]
    at_risk: tuple[int, ...]
    events: tuple[int, ...]
    n: int
    follow_up_hours: float
    settled: bool

    def known_by(self, age_hours: float) -> float:
        """F(age) in [0, 1]; flat beyond the oldest request followed."""
        return -math.expm1(-self._at(age_hours)[0])

    def standard_error(self, age_hours: float) -> float:
        """Greenwood's standard error of F(age) (1926): S · sqrt(Σ d/(r(r - d)))."""
        hazard, variance = self._at(age_hours)
        return 0.0 if math.isinf(hazard) else math.exp(-hazard) * math.sqrt(variance)

    def limits(self, age_hours: float, level: float = LEVEL) -> tuple[float, float]:
        """Pointwise limits of F(age), made on the log-log scale so that they stay in [0, 1].

        S^exp(∓ z·σ/│ln S│), σ² Greenwood's sum (Kalbfleisch and Prentice 2002, section 1.4). Where
        S is 1 or 0 the scale has no value: the open side is then Wilson's limit of "none of those
        at risk".
        """
        hazard, variance = self._at(age_hours)
        if hazard == 0 or math.isinf(hazard):
            return self._limits_at_the_end(age_hours, hazard, level)
        reach = normal_quantile(level) * math.sqrt(variance) / hazard
        return -math.expm1(-hazard * math.exp(-reach)), -math.expm1(-hazard * math.exp(reach))

    @property
    def plateau(self) -> float:
        """F at the end of follow-up: the share that ever gets a label, once `settled`."""
        return self.known_by(self.follow_up_hours)

    def hours_until(self, share: float) -> float | None:
        """The age at which this share of all requests has its label; None when it never does."""
        wanted = -math.log1p(-share) if share < 1 else math.inf
        for bucket in range(DELAY_BUCKETS):
            before, after = self._sums[0][bucket], self._sums[0][bucket + 1]
            if after < wanted or after == before:
                continue
            rate = self.rates[bucket]
            inside = 0.0 if math.isinf(rate) else (wanted - before) / rate
            return float(LOWER_HOURS[bucket] + inside)
        return None

    @property
    def median_hours(self) -> float | None:
        """The age at which half of all requests have their label; None below a plateau of 0.5."""
        return self.hours_until(0.5) if self.plateau >= 0.5 else None

    @property
    def ninety_hours(self) -> float | None:
        """The age at which 90 % of the labels that ever come have come; None without labels."""
        return self.hours_until(0.9 * self.plateau) if self.plateau > 0 else None

    @cached_property
    def _sums(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Cumulative hazard and its variance at the 33 bucket borders."""
        lengths = self._lengths()
        hazards = [0.0 if not length else length * r
                   for length, r in zip(lengths, self.rates, strict=True)]  # fmt: skip
        spreads = [length * length * v for length, v in zip(lengths, self.variances, strict=True)]
        return _cumulated(hazards), _cumulated(spreads)

    def _lengths(self) -> list[float]:
        """Hours of each bucket that were followed."""
        ends = np.minimum(UPPER_HOURS, self.follow_up_hours)
        return [float(length) for length in np.maximum(ends - LOWER_HOURS, 0.0)]

    def _at(self, age_hours: float) -> tuple[float, float]:
        age = min(max(age_hours, 0.0), self.follow_up_hours)
        bucket = min(int(np.searchsorted(UPPER_HOURS, age, "left")), DELAY_BUCKETS - 1)
        inside = age - float(LOWER_HOURS[bucket])
        hazards, spreads = self._sums
        if inside <= 0:
            return hazards[bucket], spreads[bucket]
        more = inside * self.rates[bucket]
        return hazards[bucket] + more, spreads[bucket] + inside * inside * self.variances[bucket]

    def _limits_at_the_end(
        self, age_hours: float, hazard: float, level: float
    ) -> tuple[float, float]:
        bucket = min(int(np.searchsorted(UPPER_HOURS, age_hours, "left")), DELAY_BUCKETS - 1)
        if hazard == 0:
            followed = [n for n in self.at_risk[: bucket + 1] if n > 0]
            return 0.0, wilson_limits(0, min(followed), level)[1] if followed else 1.0
        emptied = next(place for place, rate in enumerate(self.rates) if math.isinf(rate))
        left = wilson_limits(0, max(1, self.at_risk[emptied]), level)[1]
        return 1 - math.exp(-self._sums[0][emptied]) * left, 1.0


def learn_curve(followed: Sequence[Followed], settled_after_hours: float) -> DelayCurve | None:
    """The Kaplan-Meier curve over all requests, those without a label censored at their age.

    None without requests of a positive age. Where every bucket is either followed to its end or not
    at all, S(t) = Π(1 - d/r) at its end exactly (Kaplan and Meier 1958). A bucket that some windows
    have seen only a part of keeps their counts by taking the hazard inside it as constant (grouped
    survival data: Prentice and Gloeckler 1978); so does the curve between two borders. Greenwood's
    terms are the same likelihood's inverse information.

    Never learn from labelled requests alone: recent ones show only their fast labels. Rows are
    taken as independent, and delays as the same for old and new windows.
    """
    used = [one for one in followed if one.age_hours > 0 and (one.unlabelled or one.labelled.any())]
    if not used:
        return None
    ages = np.array([one.age_hours for one in used])
    events = _within_age(np.array([one.labelled for one in used], np.int64), ages)
    totals = events.sum(axis=1) + np.array([one.unlabelled for one in used], np.int64)
    before = np.cumsum(events, axis=1) - events
    rates, variances, at_risk, happened = [], [], [], []
    for bucket in range(DELAY_BUCKETS):
        seen = ages > LOWER_HOURS[bucket]
        lengths = np.minimum(ages[seen], UPPER_HOURS[bucket]) - LOWER_HOURS[bucket]
        rows, labelled = (totals - before[:, bucket])[seen], events[seen, bucket]
        rate, variance = _rate(lengths, rows, labelled)
        rates.append(rate)
        variances.append(variance)
        at_risk.append(int(rows.sum()))
        happened.append(int(labelled.sum()))
    follow_up = float(ages.max())
    return DelayCurve(
        tuple(rates), tuple(variances), tuple(at_risk), tuple(happened),
        int(totals.sum()), follow_up, follow_up >= settled_after_hours,
    )  # fmt: skip


def _within_age(events: Integers, ages: Floats) -> Integers:
    """Labels told to be later than their request is old count at its age."""
    last = np.minimum(np.searchsorted(UPPER_HOURS, ages, "left"), DELAY_BUCKETS - 1)
    late = np.arange(DELAY_BUCKETS)[None, :] > last[:, None]
    clipped = np.where(late, 0, events)
    clipped[np.arange(len(ages)), last] += np.where(late, events, 0).sum(axis=1)
    return np.asarray(clipped, np.int64)


def _rate(lengths: Floats, rows: Integers, labelled: Integers) -> tuple[float, float]:
    """The hazard λ that makes labels most likely, P(label within L) = 1 - e^(-λL), and 1/I(λ)."""
    n, d = int(rows.sum()), int(labelled.sum())
    if d == 0 or n == 0:
        return 0.0, 0.0
    if d == n:
        return math.inf, 0.0
    whole = float(lengths.max())
    if np.all(lengths[rows > 0] == whole):
        rate = -math.log1p(-d / n) / whole
    else:
        rate = _most_likely_rate(lengths, rows, labelled)
    left = np.exp(-rate * lengths)
    information = float(np.sum(rows * lengths**2 * left / -np.expm1(-rate * lengths)))
    return rate, 1 / information if information > 0 else 0.0


def _most_likely_rate(lengths: Floats, rows: Integers, labelled: Integers) -> float:
    still = float(np.sum((rows - labelled) * lengths))

    def score(rate: float) -> float:
        with np.errstate(over="ignore"):
            return float(np.sum(labelled * lengths / np.expm1(rate * lengths))) - still

    low = high = float(labelled.sum() / np.sum(rows * lengths))
    while score(low) < 0:
        low /= 2
    while score(high) > 0:
        high *= 2
    return float(optimize.brentq(score, low, high, xtol=1e-300, rtol=1e-14)) if high > low else low


def _cumulated(steps: Sequence[float]) -> tuple[float, ...]:
    return (0.0, *(float(total) for total in np.cumsum(steps)))
