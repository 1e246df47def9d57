"""Intervals against published values (Newcombe 1998), SciPy and coverage by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from monitor.checks.intervals import (
    equal_shares_p_value,
    newcombe_limits,
    noncentrality_limits,
    order_statistic_ranks,
    poisson_limits,
    quantile_rank,
    wilson_limits,
)


# Newcombe, R. G. (1998), Two-sided confidence intervals for the single proportion, Statistics in
# Medicine 17, table I, method 3.
@pytest.mark.parametrize(
    ("events", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_matches_newcombes_table(events, n, low, high):
    assert wilson_limits(events, n) == pytest.approx((low, high), abs=5e-5)


# Newcombe, R. G. (1998), Interval estimation for the difference between independent proportions,
# Statistics in Medicine 17, table II, method 10.
@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((10, 10), (0, 20), 0.6791, 1.0),
    ],
)
def test_newcombe_difference_matches_the_published_table(first, second, low, high):
    assert newcombe_limits(*first, *second) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 500), st.data())
def test_wilson_agrees_with_scipy_and_mirrors(n, data):
    events = data.draw(st.integers(0, n))
    low, high = wilson_limits(events, n)
    expected = stats.binomtest(events, n).proportion_ci(method="wilson")
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert wilson_limits(n - events, n) == pytest.approx((1 - high, 1 - low), abs=1e-9)
    assert low <= events / n <= high


# From David and Nagaraja's formula by hand with the binomial tables of SciPy 1.17.
@pytest.mark.parametrize(
    ("n", "quantile", "low", "high"),
    [
        (1000, 0.5, 469, 532),
        (1000, 0.95, 936, 964),
        (1000, 0.99, 983, 997),
        (10_000, 0.99, 9880, 9920),
        (200, 0.99, 195, None),
        (3, 0.5, None, None),
    ],
)
def test_order_statistic_ranks(n, quantile, low, high):
    ranks = order_statistic_ranks(n, quantile)
    assert (ranks.low, ranks.high) == (low, high)


def test_order_statistics_cover_at_least_the_level_by_enumeration():
    for n in (50, 200, 777):
        for quantile in (0.1, 0.5, 0.9):
            ranks = order_statistic_ranks(n, quantile)
            assert ranks.low is not None
            assert ranks.high is not None
            # x_(l) <= q < x_(u) exactly when between l and u-1 rows lie at or below q.
            held = stats.binom.cdf(ranks.high - 1, n, quantile) - stats.binom.cdf(
                ranks.low - 1, n, quantile
            )
            assert 0.95 <= held < 0.99


def test_the_rank_of_a_quantile_is_the_inverse_of_the_empirical_distribution():
    rows = np.sort(np.random.default_rng(3).normal(size=257))
    for quantile in (0.01, 0.5, 0.95, 0.99):
        expected = np.quantile(rows, quantile, method="inverted_cdf")
        assert rows[quantile_rank(257, quantile) - 1] == expected
    assert quantile_rank(100, 0.29) == 29  # 100 * 0.29 is 28.999999999999996 in floating point


@pytest.mark.parametrize("count", [0, 1, 7, 400])
def test_poisson_limits_put_half_of_alpha_in_each_tail(count):
    low, high = poisson_limits(count)
    assert stats.poisson.cdf(count, high) == pytest.approx(0.025, rel=1e-9)
    if count:
        assert stats.poisson.sf(count - 1, low) == pytest.approx(0.025, rel=1e-9)
    else:
        # The "rule of three": -ln(0.025).
        assert (low, high) == pytest.approx((0.0, 3.688879454))


# Public case: 10 of 20 against 0 of 10, two-sided Fisher.
def test_equal_shares_uses_fishers_exact_test_on_few_rows():
    assert equal_shares_p_value(10, 20, 0, 10) == pytest.approx(0.0109937372306, rel=1e-9)
    assert equal_shares_p_value(0, 20, 0, 10) == 1.0
    assert equal_shares_p_value(20, 20, 10, 10) == 1.0


def test_equal_shares_is_continuous_where_it_changes_to_chi_square():
    exact = stats.fisher_exact([[330, 9_670], [260, 9_741]])[1]
    assert equal_shares_p_value(330, 10_000, 260, 10_001) == pytest.approx(exact, rel=0.1)
    expected = stats.chi2_contingency([[330, 9_670], [260, 9_741]], correction=False)[1]
    assert equal_shares_p_value(330, 10_000, 260, 10_001) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("statistic", "degrees"), [(50.0, 10), (500.0, 20), (20_000.0, 20)])
def test_noncentrality_limits_invert_the_noncentral_chi_square(statistic, degrees):
    low, high = noncentrality_limits(statistic, degrees)
    assert stats.ncx2.cdf(statistic, degrees, low) == pytest.approx(0.975, abs=1e-6)
    assert stats.ncx2.cdf(statistic, degrees, high) == pytest.approx(0.025, abs=1e-6)


@pytest.mark.parametrize("statistic", [-3.0, 0.0, 0.2, 5.0])
def test_noncentrality_starts_at_zero_where_no_effect_is_likely(statistic):
    low, high = noncentrality_limits(statistic, 5)
    assert low == 0.0
    assert high >= 0.0
    assert noncentrality_limits(statistic, 0) == (0.0, 0.0)


@pytest.mark.parametrize(("events", "n"), [(1, 0), (-1, 10), (11, 10)])
def test_an_impossible_share_is_a_programming_error(events, n):
    with pytest.raises(AssertionError, match="0 <= events <= n"):
        wilson_limits(events, n)
