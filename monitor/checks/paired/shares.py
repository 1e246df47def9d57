"""Two yes-or-no answers to the same inputs: McNemar's test and the difference of shares.

Pairs must be independent of each other: of several pairs of one entity use the bootstrap.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy import special, stats

from monitor.checks.intervals import LEVEL, wilson_limits
from monitor.profiles.arrays import Flags

EXACT_BELOW = 25


class PairedTest(StrEnum):
    """Which form of McNemar's test gave the p-value."""

    EXACT = "exact binomial"
    CORRECTED = "chi-square with continuity correction"


@dataclass(frozen=True)
class PairedCounts:
    """Pairs by who was right: `both`, only the first, only the second, `neither`."""

    both: int
    only_first: int
    only_second: int
    neither: int

    def __post_init__(self) -> None:
        if min(self.both, self.only_first, self.only_second, self.neither) < 0:
            raise AssertionError(f"counts of pairs are not negative, but these are: {self}")

    @classmethod
    def of(cls, first: Flags, second: Flags) -> PairedCounts:
        """Counts of two bool[n] of the same pairs."""
        if len(first) != len(second):
            raise AssertionError(f"pairs are of equal number, not {len(first)} and {len(second)}")
        return cls(
            both=int((first & second).sum()),
            only_first=int((first & ~second).sum()),
            only_second=int((~first & second).sum()),
            neither=int((~first & ~second).sum()),
        )

    @property
    def n(self) -> int:
        """Pairs in all."""
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def discordant(self) -> int:
        """Pairs in which the two differ."""
        return self.only_first + self.only_second

    @property
    def first(self) -> int:
        """Pairs in which the first was right."""
        return self.both + self.only_first

    @property
    def second(self) -> int:
        """Pairs in which the second was right."""
        return self.both + self.only_second


@dataclass(frozen=True)
class McNemar:
    """A p-value in [0, 1] of "both are right equally often", and the form that gave it."""

    p_value: float
    test: PairedTest
    discordant: int


def mcnemar(counts: PairedCounts) -> McNemar:
    """Two-sided test that both sides are right equally often (McNemar 1947).

    Below 25 discordant pairs the exact binomial test of b of b + c at 1/2, min(1, 2 P(X <= min));
    from 25 on chi-square (|b - c| - 1)² / (b + c) on 1 df (Edwards 1948). Pairs in which both
    agree say nothing about which is better and do not enter. No discordant pair: p = 1.
    """
    b, c = counts.only_first, counts.only_second
    n = b + c
    if n < EXACT_BELOW:
        exact = 2 * float(stats.binom.cdf(min(b, c), n, 0.5)) if n else 1.0
        return McNemar(min(1.0, exact), PairedTest.EXACT, n)
    statistic = max(0, abs(b - c) - 1) ** 2 / n
    return McNemar(float(special.chdtrc(1, statistic)), PairedTest.CORRECTED, n)


def paired_difference(counts: PairedCounts) -> float:
    """Share of the second less share of the first, in [-1, 1]: (c - b) / n."""
    return (counts.only_second - counts.only_first) / _pairs(counts)


def paired_difference_limits(counts: PairedCounts, level: float = LEVEL) -> tuple[float, float]:
    """Limits of second - first from the Wilson limits of each (Newcombe 1998b, method 10).

    d - sqrt(δ₂² - 2φδ₂ε₁ + ε₁²) and d + sqrt(ε₂² - 2φε₂δ₁ + δ₁²), δ and ε the distances to the
    lower and upper Wilson limits, φ the correlation of the two answers with n/2 taken from its
    numerator where it is positive, not below 0 (Newcombe 1998, Statistics in Medicine 17,
    2635-2650). Stays inside [-1, 1] and sensible where no pair is discordant. Conservative (it
    covers up to 99 %) where fewer than about five pairs are.
    """
    n = _pairs(counts)
    first, second = counts.first / n, counts.second / n
    low_first, high_first = wilson_limits(counts.first, n, level)
    low_second, high_second = wilson_limits(counts.second, n, level)
    phi = _correlation(counts)
    down = _reach(second - low_second, high_first - first, phi)
    up = _reach(high_second - second, first - low_first, phi)
    difference = second - first
    return max(-1.0, difference - down), min(1.0, difference + up)


def _reach(one: float, other: float, phi: float) -> float:
    return float(np.sqrt(max(0.0, one * one - 2 * phi * one * other + other * other)))


def _correlation(counts: PairedCounts) -> float:
    n = counts.n
    margins = (counts.first, n - counts.first, counts.second, n - counts.second)
    if 0 in margins:
        return 0.0
    product = counts.both * counts.neither - counts.only_first * counts.only_second
    numerator = max(product - n / 2, 0.0) if product > 0 else float(product)
    return numerator / float(np.sqrt(np.prod(np.array(margins, np.float64))))


def _pairs(counts: PairedCounts) -> int:
    if counts.n == 0:
        raise AssertionError("a difference of shares needs at least one pair")
    return counts.n
