"""Intervals for shares, differences of shares, rates, quantiles and noncentral effects.

Knows numbers only: no profile, no column, no clock. All limits are two-sided at `level`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special, stats

LEVEL = 0.95
FISHER_MAX_ROWS = 20_000


@dataclass(frozen=True)
class Interval:
    """`[low, high]`; None where the data set no limit on that side."""

    low: float | None
    high: float | None


@dataclass(frozen=True)
class RankBounds:
    """1-based ranks of the rows that hold a quantile; None where there is no such row."""

    low: int | None
    high: int | None


def normal_quantile(level: float = LEVEL) -> float:
    """The z with P(|Z| <= z) = level; 1.96 at 0.95."""
    return float(special.ndtri(0.5 + level / 2))


def _require_share(events: float, n: float) -> None:
    if not (n > 0 and 0 <= events <= n):
        raise AssertionError(f"a share needs 0 <= events <= n and n > 0, not {events} of {n}")


def wilson_limits(events: float, n: float, level: float = LEVEL) -> tuple[float, float]:
    """Score limits of a share, both in [0, 1] (Wilson 1927; Newcombe 1998, method 3).

    (2np + z² ± z sqrt(z² + 4np(1 - p))) / 2(n + z²). Stays sensible at 0 and n events, where
    p ± z·se collapses. Rows must be independent; use grouped resampling when an entity repeats.
    """
    _require_share(events, n)
    z2 = normal_quantile(level) ** 2
    middle = 2 * events + z2
    spread = float(np.sqrt(z2 * (z2 + 4 * events * (1 - events / n))))
    low = 0.0 if events == 0 else (middle - spread) / (2 * (n + z2))
    high = 1.0 if events == n else (middle + spread) / (2 * (n + z2))
    return max(0.0, low), min(1.0, high)


def newcombe_limits(
    events: float, n: float, events_reference: float, n_reference: float, level: float = LEVEL
) -> tuple[float, float]:
    """Limits of share - reference share from the Wilson limits (Newcombe 1998, method 10)."""
    low, high = wilson_limits(events, n, level)
    low_reference, high_reference = wilson_limits(events_reference, n_reference, level)
    share, reference = events / n, events_reference / n_reference
    difference = share - reference
    down = float(np.hypot(share - low, high_reference - reference))
    up = float(np.hypot(high - share, reference - low_reference))
    return max(-1.0, difference - down), min(1.0, difference + up)


def equal_shares_p_value(events: int, n: int, events_reference: int, n_reference: int) -> float:
    """Two-sided p-value of "both shares are the same".

    Fisher's exact test up to 20,000 rows in sum; Pearson's chi-square on 1 df (no continuity
    correction) above, where the two agree and the exact sum would cost milliseconds.
    """
    _require_share(events, n)
    _require_share(events_reference, n_reference)
    table = np.array([[events, n - events], [events_reference, n_reference - events_reference]])
    total, total_events = n + n_reference, events + events_reference
    if total_events in (0, total):
        return 1.0
    if total <= FISHER_MAX_ROWS:
        return min(1.0, float(stats.fisher_exact(table)[1]))
    pooled = total_events / total
    variance = pooled * (1 - pooled) * (1 / n + 1 / n_reference)
    squared = (events / n - events_reference / n_reference) ** 2 / variance
    return float(special.chdtrc(1, squared))


def poisson_limits(count: int, level: float = LEVEL) -> tuple[float, float]:
    """Exact limits of a Poisson mean given one count (Garwood 1936), from chi-square quantiles."""
    if count < 0:
        raise AssertionError(f"a count is not negative, but it is {count}")
    tail = (1 - level) / 2
    low = 0.0 if count == 0 else float(special.gammaincinv(count, tail))
    return low, float(special.gammaincinv(count + 1, 1 - tail))


def quantile_rank(n: int, quantile: float) -> int:
    """1-based rank of the sample quantile: the smallest k with k/n >= quantile."""
    return max(1, min(n, int(np.ceil(n * quantile - 1e-9))))


def order_statistic_ranks(n: int, quantile: float, level: float = LEVEL) -> RankBounds:
    """Ranks l < u so that [x_(l), x_(u)] holds the quantile with probability >= level.

    l = B(alpha/2), u = B(1 - alpha/2) + 1 with B the quantile function of Binomial(n, quantile)
    (David and Nagaraja 2003, section 7.1). No distribution is assumed; rows are independent.
    A rank outside 1..n is None: the rows set no limit on that side.
    """
    if n < 1 or not 0 < quantile < 1:
        raise AssertionError(f"a quantile needs n >= 1 and 0 < q < 1, not n={n}, q={quantile}")
    tail = (1 - level) / 2
    low = int(stats.binom.ppf(tail, n, quantile))
    high = int(stats.binom.ppf(1 - tail, n, quantile)) + 1
    return RankBounds(low if low >= 1 else None, high if high <= n else None)


def noncentrality_limits(
    statistic: float, degrees: float, level: float = LEVEL
) -> tuple[float, float]:
    """Limits of the noncentrality of a chi-square statistic on `degrees` df, found by inversion.

    The lower limit is 0 where even a central distribution makes the statistic likely. With
    no degrees of freedom nothing can differ: (0, 0). Degrees may be a fraction.
    """
    if degrees <= 0:
        return 0.0, 0.0
    tail = (1 - level) / 2
    central = float(special.chndtr(statistic, degrees, 0.0)) if statistic > 0 else 0.0
    low = float(special.chndtrinc(statistic, degrees, 1 - tail)) if central > 1 - tail else 0.0
    high = float(special.chndtrinc(statistic, degrees, tail)) if central > tail else 0.0
    return low, max(low, high)
