"""Seeded bootstrap: how often each row or cell is drawn, and percentile limits of the results."""

from __future__ import annotations

import numpy as np

from monitor.checks.intervals import LEVEL
from monitor.profiles.arrays import Floats, Integers

DRAWS = 200


def drawn_rows(rng: np.random.Generator, n: int) -> Integers:
    """How often each of n rows is drawn in one sample of n with replacement, int64[n]."""
    return np.bincount(rng.integers(0, n, n), minlength=n)


def drawn_counts(rng: np.random.Generator, counts: Integers, draws: int) -> Integers:
    """`draws` multinomial samples of a count table of any shape, int64[draws, *shape]."""
    n = int(counts.sum())
    sampled = rng.multinomial(n, counts.ravel() / n, size=draws)
    return sampled.reshape(draws, *counts.shape).astype(np.int64, copy=False)


def percentile_limits(
    results: Floats, value: float, level: float = LEVEL
) -> tuple[float, float] | None:
    """Percentile interval of bootstrap results, widened to hold `value` (Efron 1979).

    Results that are not finite (0/0 in a draw) are left out; None when more than one draw in
    twenty is, because the rest is then no picture of the uncertainty.
    """
    finite = results[np.isfinite(results)]
    if len(finite) < 0.95 * len(results):
        return None
    low, high = np.quantile(finite, [(1 - level) / 2, (1 + level) / 2])
    return min(float(low), value), max(float(high), value)
