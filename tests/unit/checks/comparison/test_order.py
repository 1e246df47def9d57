"""Quantiles: published ranks, Harrell-Davis, and how often intervals of p99 cover."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats.mstats import hdquantiles

from monitor.checks.comparison.order import (
    harrell_davis,
    quantile_with_limits,
    weighted_quantiles,
)
from monitor.checks.intervals import order_statistic_ranks

SAMPLE = np.array([3.1, 2.2, 5.6, 4.4, 9.8, 2.9, 3.3, 7.1, 2.5, 12.4, 3.8, 4.1, 2.7, 6.0, 3.5, 30.2,
                   2.4, 4.9, 3.0, 5.2])  # fmt: skip


@pytest.mark.parametrize(
    ("n", "quantile", "low", "high"),
    [
        (1000, 0.5, 469, 532),
        (1000, 0.95, 936, 964),
        (1000, 0.99, 983, 997),
        (10_000, 0.99, 9880, 9920),
        (200, 0.99, 195, None),  # the 201st of 200: no upper limit
    ],
)
def test_ranks_of_order_statistics(n: int, quantile: float, low: int, high: int | None) -> None:
    ranks = order_statistic_ranks(n, quantile)
    assert (ranks.low, ranks.high) == (low, high)
    values = np.arange(1.0, n + 1)
    found = quantile_with_limits(values, np.ones(n, np.int64), quantile)
    assert found == (n * quantile, low, high)


def test_harrell_davis_gives_the_worked_numbers() -> None:
    assert harrell_davis(SAMPLE, 0.5) == pytest.approx(4.02467285, abs=5e-9)
    assert harrell_davis(SAMPLE, 0.9) == pytest.approx(14.88427159, abs=5e-9)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=60), st.floats(0.02, 0.98))
def test_harrell_davis_equals_scipy(values: list[float], quantile: float) -> None:
    sample = np.array(values)
    expected = float(hdquantiles(sample, [quantile])[0])
    assert harrell_davis(sample, quantile) == pytest.approx(expected, rel=1e-7, abs=1e-7)


def test_harrell_davis_at_p90_of_twenty_rows_is_one_outlier() -> None:
    without = np.where(SAMPLE == 30.2, 12.5, SAMPLE)
    assert harrell_davis(SAMPLE, 0.9) - harrell_davis(without, 0.9) > 4
    assert np.quantile(SAMPLE, 0.9) - np.quantile(without, 0.9) < 0.1


@given(st.lists(st.integers(0, 9), min_size=3, max_size=30).filter(any), st.floats(0.01, 0.99))
def test_a_weighted_quantile_is_that_of_the_repeated_rows(counts: list[int], q: float) -> None:
    values = np.arange(len(counts), dtype=float)
    rows = np.repeat(values, counts)
    expected = rows[max(1, int(np.ceil(len(rows) * q - 1e-9))) - 1]
    weights = np.array([counts], float) * 0.37
    assert weighted_quantiles(values, weights, q)[0] == expected


def test_order_statistics_cover_p99_and_a_bootstrap_of_few_rows_does_not() -> None:
    # of 2,000 repeats the bootstrap covers .895 at n=200 and .915 at n=1,000, order statistics
    # .975 and .97 (they set no upper limit at n=200); here 400 repeats
    rng = np.random.default_rng(8)
    truth = np.exp(0.5 * 2.3263478740408408)
    for n, most in ((200, 0.935), (1000, 0.945)):
        hits = bootstrap_hits = 0
        for _ in range(400):
            sample = np.sort(rng.lognormal(0, 0.5, n))
            _, low, high = quantile_with_limits(sample, np.ones(n, np.int64), 0.99) or (0, 0, 0)
            hits += (low is None or low <= truth) and (high is None or truth <= high)
            draws = np.quantile(sample[rng.integers(0, n, (200, n))], 0.99, axis=1)
            ends = np.quantile(draws, [0.025, 0.975])
            bootstrap_hits += ends[0] <= truth <= ends[1]
        assert hits / 400 >= 0.95 - 0.02
        assert bootstrap_hits / 400 < most
