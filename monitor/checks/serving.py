"""How the service itself behaves: latency percentiles, errors, abstentions, request rate."""

from __future__ import annotations

import numpy as np

from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import (
    LEVEL,
    order_statistic_ranks,
    poisson_limits,
    quantile_rank,
    wilson_limits,
)
from monitor.measurement import Measured, Outcome, TooFew
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.part import Part
from monitor.profiles.serving import outcome_counts, value_counts
from monitor.records import RequestOutcome

PERCENTILES = {"p50": 0.50, "p95": 0.95, "p99": 0.99}
MIN_ROWS = 20
CELL_ERROR = 1 / 129
_ERRORS = (RequestOutcome.FAILED, RequestOutcome.TIMED_OUT)


def percentiles(part: Part, column: str) -> dict[str, Outcome]:
    """p50, p95 and p99 of a timing, count or cost column, in its own unit."""
    return percentiles_of(*value_counts(part, column))


def percentiles_of(values: Floats, counts: Integers) -> dict[str, Outcome]:
    """Percentiles from cells in ascending order (value, rows), with order-statistic limits.

    No distribution is assumed. A limit is None where the data sets none (p99 of 200 rows has no
    upper one). Each value stands for a cell and is off by at most 1/129 of itself. Percentiles
    are never averaged: merge the parts of windows first. TooFew under 20 rows, or when
    not even one row is expected above the percentile.
    """
    return {name: quantile_of(values, counts, q) for name, q in PERCENTILES.items()}


def quantile_of(values: Floats, counts: Integers, quantile: float) -> Outcome:
    """One quantile in (0, 1), told as `percentiles_of` tells its three."""
    cumulated = np.cumsum(counts)
    n = int(cumulated[-1]) if len(cumulated) else 0
    return _percentile(values, cumulated, n, quantile)


def _percentile(values: Floats, cumulated: Integers, n: int, quantile: float) -> Outcome:
    needed = max(MIN_ROWS, round(1 / (1 - quantile)))
    if n == 0:
        return TooFew(0, needed, "no values")
    value = _of_rank(values, cumulated, quantile_rank(n, quantile))
    if n < needed:
        return TooFew(n, needed, "rows with a value", {"provisional": value})
    ranks = order_statistic_ranks(n, quantile)
    low = None if ranks.low is None else _of_rank(values, cumulated, ranks.low)
    high = None if ranks.high is None else _of_rank(values, cumulated, ranks.high)
    detail = {
        "relative_error": CELL_ERROR,
        "rank_low": ranks.low,
        "rank_high": ranks.high,
        "interval_method": "order statistics",
    }
    return Measured(value, n, low, high, LEVEL, detail=detail)


def _of_rank(values: Floats, cumulated: Integers, rank: int) -> float:
    return float(values[np.searchsorted(cumulated, rank)])


def serving_rates(part: Part, seconds: float) -> dict[str, Outcome]:
    """error_rate, abstention_rate and request_rate of one window of `seconds` length."""
    counts = outcome_counts(part)
    n = sum(counts.values())
    errors = sum(counts[outcome] for outcome in _ERRORS)
    by_outcome = {outcome.name.lower(): count for outcome, count in counts.items() if count}
    return {
        "error_rate": _share(errors, n, by_outcome),
        "abstention_rate": _share(counts[RequestOutcome.ABSTAINED], n, by_outcome),
        "request_rate": request_rate(n, seconds),
    }


def _share(events: int, n: int, by_outcome: dict[str, int]) -> Outcome:
    value, limits = (events / n, wilson_limits(events, n)) if n else (None, None)
    floors = (Floor(n, 1, "requests"),)
    detail = {"count": events, "by_outcome": by_outcome}
    return measured_above(floors, value, n, limits, detail, "no requests")


def request_rate(n: int, seconds: float) -> Outcome:
    """Requests per second with exact Poisson limits; none at all is a measured 0.

    The limits take arrivals as independent; bursts make them too narrow.
    """
    if not seconds > 0:
        raise AssertionError(f"a window is longer than 0 s, not {seconds}")
    low, high = poisson_limits(n)
    return Measured(n / seconds, n, low / seconds, high / seconds, LEVEL)
