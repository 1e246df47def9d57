"""Quantiles of two kinds: by order statistics from cells, and Harrell and Davis's as a cross-check.

Never average percentiles: merge or weigh the counts first.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from monitor.checks.intervals import LEVEL, order_statistic_ranks, quantile_rank
from monitor.profiles.arrays import Floats, Integers


def harrell_davis(sample: Floats, quantile: float) -> float:
    """Σ w_i x_(i), w_i = I(i/n) - I((i-1)/n), I the Beta((n+1)q, (n+1)(1-q)) distribution.

    Harrell and Davis (1982). Smoother than one order statistic in the middle of the distribution;
    at p90 and beyond with few rows one outlier drives it, so it is a cross-check and not what is
    printed. Raises AssertionError for an empty sample or a quantile outside (0, 1).
    """
    n = len(sample)
    if n == 0 or not 0 < quantile < 1:
        raise AssertionError(f"needs a sample and 0 < q < 1, not n={n}, q={quantile}")
    steps = special.betainc((n + 1) * quantile, (n + 1) * (1 - quantile), np.arange(n + 1) / n)
    return float(np.diff(steps) @ np.sort(np.asarray(sample, np.float64)))


def quantile_with_limits(
    values: Floats, counts: Integers, quantile: float, level: float = LEVEL
) -> tuple[float, float | None, float | None] | None:
    """The quantile of cells in ascending order and its order-statistic limits; None without rows.

    A limit is None where the rows set none. Conservative: the coverage is at least `level` when
    rows are independent (David and Nagaraja 2003, section 7.1).
    """
    cumulated = np.cumsum(counts)
    n = int(cumulated[-1]) if len(cumulated) else 0
    if n == 0:
        return None
    ranks = order_statistic_ranks(n, quantile, level)
    low, high = (None if r is None else _of(values, cumulated, r) for r in (ranks.low, ranks.high))
    return _of(values, cumulated, quantile_rank(n, quantile)), low, high


def weighted_quantiles(values: Floats, weights: Floats, quantile: float) -> Floats:
    """The quantile of each row of `weights` float64[m, k] over `values` float64[k], float64[m]."""
    cumulated = np.cumsum(weights, axis=1)
    wanted = quantile * cumulated[:, -1:] * (1 - 1e-12)
    places = np.minimum((cumulated < wanted).sum(axis=1), len(values) - 1)
    found: Floats = values[places]
    return found


def _of(values: Floats, cumulated: Integers, rank: int) -> float:
    return float(values[np.searchsorted(cumulated, rank)])
