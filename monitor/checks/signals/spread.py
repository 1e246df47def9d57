"""Means and shares with limits that allow for entities that come more than once. Pure.

Rows of one entity are alike: limits that take them as independent are too narrow. The rows come
summed up in groups of entities (20 keyed-hash groups of a prediction block).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from monitor.checks.clustering import entities_seen
from monitor.checks.intervals import LEVEL, normal_quantile
from monitor.profiles.arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class GroupedScores:
    """Scores of rows summed by entity group: `counts` int64[g], `sums`, `squares` float64[g].

    `clustered`: the groups are of entities that may come more than once, not of single rows.
    """

    counts: Integers
    sums: Floats
    squares: Floats
    clustered: bool = False

    @property
    def n(self) -> int:
        """How many rows."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float | None:
        """Their mean score; None without a row."""
        return float(self.sums.sum() / self.n) if self.n else None


@dataclass(frozen=True)
class Spread:
    """A mean, its squared standard error, and the quantile that its limits reach out by."""

    mean: float
    variance: float
    reach: float


def grouped(values: Floats, groups: Integers, n_groups: int, *, clustered: bool) -> GroupedScores:
    """Scores of rows, float64[n], summed by group number, int64[n]."""

    def summed(weights: Floats) -> Floats:
        return np.asarray(np.bincount(groups, weights, n_groups)[:n_groups], np.float64)

    counts = np.bincount(groups, minlength=n_groups)[:n_groups].astype(np.int64)
    return GroupedScores(counts, summed(values), summed(values**2), clustered)


def spread_of(scores: GroupedScores, level: float = LEVEL) -> Spread:
    """Mean and variance of the mean; at least one row.

    Independent rows: s²/n with t on n - 1 df. Clustered: the larger of that and the jackknife over
    groups, (G-1)/G Σ ((S_g - m N_g)/(n - N_g))², with t on G - 1 df (Efron and Stein 1981); the
    larger of the two errs to the wide side. G counts the groups that have rows.
    """
    n, mean = scores.n, scores.mean
    if mean is None:
        raise AssertionError("a mean needs a row")
    within = max(0.0, float(scores.squares.sum() / n - mean**2))
    variance = within / max(n - 1, 1)
    reach = float(special.stdtrit(max(n - 1, 1), 0.5 + level / 2))
    there = scores.counts > 0
    groups = int(there.sum())
    if not scores.clustered or groups < 2:
        return Spread(mean, variance, reach)
    counts = scores.counts[there]
    moved = (scores.sums[there] - mean * counts) / (n - counts)
    between = (groups - 1) / groups * float(np.sum(moved**2))
    reach = float(special.stdtrit(groups - 1, 0.5 + level / 2))
    return Spread(mean, max(variance, between), reach)


def mean_limits(scores: GroupedScores, low: float, high: float) -> tuple[float, float]:
    """mean ± t · se, cut to the scale [low, high].

    Skewed scores need some dozens of rows for the stated level; printed from 50 rows on.
    """
    found = spread_of(scores)
    half = found.reach * found.variance**0.5
    return max(low, found.mean - half), min(high, found.mean + half)


def share_limits(scores: GroupedScores) -> tuple[float, float]:
    """Score limits of a share whose rows score between 0 and 1.

    Wilson (1927) on the effective number of rows n* = m(1 - m)/variance (Dean and Pagano 2015 for
    designs): fewer than n where entities repeat, more where ties make scores less scattered than
    wins and losses. Plain Wilson for independent rows of 0 and 1. Where all rows agree n* is the
    number of entities that the filled groups tell of.
    """
    n, mean = scores.n, scores.mean
    if mean is None:
        raise AssertionError("a share needs a row")
    scattered = mean * (1 - mean)
    found = spread_of(scores)
    if not 0 < mean < 1 or found.variance <= 0:
        apart = entities_seen(scores.counts) if scores.clustered else float(n)
        return score_limits(mean, apart, normal_quantile())
    if scores.clustered:
        return score_limits(mean, scattered / found.variance, found.reach)
    within = float(scores.squares.sum() / n - mean**2)
    return score_limits(mean, n * scattered / within, normal_quantile())


def score_limits(share: float, n: float, quantile: float) -> tuple[float, float]:
    """(2np + q² ± q sqrt(q² + 4np(1 - p))) / 2(n + q²), for any n > 0 and 0 <= p <= 1."""
    squared = quantile**2
    middle = 2 * n * share + squared
    half = quantile * (squared + 4 * n * share * (1 - share)) ** 0.5
    low = 0.0 if share <= 0 else (middle - half) / (2 * (n + squared))
    high = 1.0 if share >= 1 else (middle + half) / (2 * (n + squared))
    return max(0.0, low), min(1.0, high)
