"""The five views against plain loops and SciPy's exact laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from monitor.checks.promise.column import CellOrder, ColumnHours, Layouts
from monitor.checks.promise.views import (
    MIN_ROWS,
    View,
    largest_cell,
    pooled_chi_square,
    statistics,
    surprise_of,
)
from monitor.profiles.cells import CategoryCells, NumberCells
from tests.reference import slow_promise as slow
from tests.unit.checks.promise.factories import window_table


def _drawn(rng, cells: int, windows: int, thin: float = 0.3):
    """Random expectations, some of them thin, and counts that follow them only roughly."""
    shares = rng.dirichlet(np.full(cells, thin), windows)
    rows = rng.integers(25, 600, windows)
    bent = shares * rng.uniform(0.5, 2, shares.shape)
    return rng.multinomial(rows, bent / bent.sum(axis=1, keepdims=True)), shares * rows[:, None]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 26))
def test_the_pooled_chi_square_is_that_of_plain_loops(seed, cells):
    observed, expected = _drawn(np.random.default_rng(seed), cells, 12)
    statistic, groups = pooled_chi_square(observed.astype(float), expected)
    for place in range(12):
        slowly = slow.pooled_chi_square(observed[place].tolist(), expected[place].tolist())
        assert groups[place] == slowly[1]
        if groups[place]:
            assert statistic[place] == pytest.approx(slowly[0], rel=1e-9, abs=1e-9)


def test_without_pooling_it_is_scipys_chi_square():
    observed, expected = np.array([[9.0, 21, 30, 40]]), np.array([[10.0, 20, 35, 35]])
    statistic, groups = pooled_chi_square(observed, expected)
    theirs = stats.chisquare(observed[0], expected[0])
    assert (statistic[0], groups[0]) == (pytest.approx(theirs.statistic), 4)
    assert np.exp(-surprise_of(statistic, groups - 1)[0]) == pytest.approx(theirs.pvalue)


# By hand: 3 + 2 make a group, 6 stands alone, 4 + 1 make one, the last 2 join it:
# (5, 6, 7) expected, (6, 9, 3) seen: 1/5 + 9/6 + 16/7.
def test_thin_neighbours_are_pooled_in_order_and_the_rest_joins_the_last():
    statistic, groups = pooled_chi_square(
        np.array([[4.0, 2, 9, 1, 1, 1]]), np.array([[3.0, 2, 6, 4, 1, 2]])
    )
    assert groups[0] == 3
    assert statistic[0] == pytest.approx(1 / 5 + 9 / 6 + 16 / 7)


def test_pooling_does_not_look_at_what_was_seen():
    rng = np.random.default_rng(3)
    _, expected = _drawn(rng, 12, 1)
    many = np.repeat(expected, 40, axis=0)
    seen = rng.multinomial(round(expected.sum()), expected[0] / expected.sum(), 40).astype(float)
    assert len(set(pooled_chi_square(seen, many)[1].tolist())) == 1


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 24))
def test_location_and_spread_are_those_of_plain_loops(seed, cells):
    rng = np.random.default_rng(seed)
    observed, expected = _drawn(rng, cells, 8, thin=2.0)
    layout = CellOrder.of(column_is_number=True, totals=rng.integers(1, 100, cells))
    inflation = rng.uniform(1, 2, 8)
    found = statistics(window_table(observed, expected, inflation=inflation), Layouts.of([layout]))
    for place in range(8):
        if observed[place][:-1].sum() < MIN_ROWS:
            assert np.isnan(found.statistic[View.LOCATION, place])
            continue
        location, spread = slow.location_and_spread(
            observed[place].tolist(), expected[place].tolist(),
            layout.scores.tolist(), layout.data.tolist(),
        )  # fmt: skip
        for view, slowly in ((View.LOCATION, location), (View.SPREAD, spread)):
            fast = found.statistic[view, place]
            assert fast == pytest.approx(slowly / inflation[place], rel=1e-6, abs=1e-9, nan_ok=True)
        rows = observed[place][:-1].sum() / inflation[place]
        assert found.effective_rows[View.LOCATION, place] == pytest.approx(rows)


# The scores are the normal quantiles of the middle ranks, half a row added to each cell: by hand.
def test_scores_are_normal_quantiles_of_middle_ranks():
    layout = CellOrder.of(column_is_number=True, totals=np.array([9, 29, 59, 50]))
    shares = np.array([9.5, 29.5, 59.5]) / 98.5
    middle = [shares[0] / 2, shares[0] + shares[1] / 2, 1 - shares[2] / 2]
    assert layout.scores[:3] == pytest.approx(stats.norm.ppf(middle))
    assert (layout.scores[3], layout.data.tolist()) == (0.0, [True, True, True, False])


def test_missing_rows_count_in_omnibus_cell_and_missing_and_nowhere_else():
    layouts = Layouts.of([CellOrder.of(True, np.array([100, 100, 100, 100, 4]))])
    expected = [100.0, 100, 100, 100, 5]
    half = statistics(window_table([50.0, 50, 50, 50, 205], expected), layouts)
    assert half.statistic[View.LOCATION, 0] == pytest.approx(0, abs=1e-12)
    assert half.statistic[View.SPREAD, 0] == pytest.approx(0, abs=1e-12)
    assert half.statistic[View.OMNIBUS, 0] > 1_000
    wanted = slow.missing_z2(205, 405, 5 / 405)
    assert half.statistic[View.MISSING, 0] == pytest.approx(wanted, rel=0.015)  # beyond 1e-250
    assert wanted > 1_200
    assert half.effective_rows[:, 0].tolist() == [405, 200, 200, 405, 405]
    assert (
        largest_cell(window_table([50.0, 50, 50, 50, 205], expected), layouts, np.zeros(1)).cell[0]
        == 4
    )


def test_views_that_can_not_look_say_nan():
    layouts = Layouts.of([CellOrder.of(True, np.array([10, 10, 10, 10, 0]))])
    few = [5.0, 5, 5, 4, 0]
    enough = [5.0, 5, 5, 5, 0]
    rows = window_table(
        [few, enough, enough, [20.0, 0, 0, 0, 0], [0.0, 0, 0, 0, 30]],
        [few, enough, enough, [19.99, 0.004, 0.003, 0.003, 0], [0.0, 0, 0, 0, 30]],
        valid=[True, True, False, True, True],
    )
    seen = ~np.isnan(statistics(rows, layouts).statistic)
    assert seen[:, 0].tolist() == [False] * 5
    assert seen[:, 1].tolist() == [True] * 5
    assert seen[:, 2].tolist() == [False] * 5
    assert seen[View.OMNIBUS].tolist() == [False, True, False, False, False]  # one pooled cell
    assert seen[View.CELL].tolist() == [False, True, False, True, True]
    assert seen[View.LOCATION].tolist() == [False, True, False, True, False]
    assert seen[View.MISSING].tolist() == [False, True, False, True, True]


def test_categories_have_no_location_and_spread_and_are_pooled_by_size():
    layout = CellOrder.of(column_is_number=False, totals=np.array([5, 90, 40, 90, 0]))
    assert layout.order.tolist() == [1, 3, 2, 0, 4]
    both = Layouts.of([layout, CellOrder.of(True, np.array([9, 9, 9, 0]))])
    rows = window_table([[30.0, 30, 20, 5, 0]] * 2, [[30.0, 30, 20, 5, 0]] * 2, column=[0, 1])
    found = statistics(rows, both).statistic
    assert np.isnan(found[[View.LOCATION, View.SPREAD], 0]).all()
    assert not np.isnan(found[:, 1]).any()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 26))
def test_the_least_likely_cell_and_its_p_value_are_scipys(seed, cells):
    observed, expected = _drawn(np.random.default_rng(seed), cells, 8, thin=1.0)
    layouts = Layouts.of([CellOrder.of(True, np.ones(cells, np.int64))])
    found = largest_cell(window_table(observed, expected), layouts, np.zeros(8))
    for place in range(8):
        cell, p = slow.least_likely_cell_p(observed[place].tolist(), expected[place].tolist())
        assert found.cell[place] == cell
        assert np.exp(-found.surprise[place]) == pytest.approx(p, rel=1e-7, abs=1e-290)
        seen, wanted = observed[place][cell], expected[place][cell]
        assert found.excess[place] == pytest.approx(abs(seen - wanted))
        q = wanted / observed[place].sum()
        share = (seen + q / 2) / (observed[place].sum() + 0.5)
        assert found.effect[place] == pytest.approx((share - q) * np.log(share / q), abs=1e-12)


def test_wobble_and_inflation_make_the_cell_less_surprising():
    layouts = Layouts.of([CellOrder.of(True, np.ones(4, np.int64))])
    seen, wanted = [400.0, 300, 300, 0], [330.0, 330, 340, 0]
    plain = largest_cell(window_table(seen, wanted), layouts, np.zeros(1)).surprise[0]
    # A factor 1 + 1000·0.001 = 2 leaves half of the rows: SciPy's binomial at 200 of 500.
    wobbling = largest_cell(window_table(seen, wanted), layouts, np.array([0.001])).surprise[0]
    assert np.exp(-wobbling) == pytest.approx(8 * stats.binom(500, 0.33).sf(199), rel=1e-9)
    inflated = largest_cell(window_table(seen, wanted, inflation=[2.0]), layouts, np.zeros(1))
    assert inflated.surprise[0] == pytest.approx(wobbling)
    assert wobbling < plain


# Bonferroni over cells and sides bounds the p-value whichever cell is looked at: in 4,000 null
# windows no more than binomial chance is at or below each level (0.9999 quantile).
@pytest.mark.parametrize("cells", [3, 24])
def test_the_cell_view_keeps_its_level_without_a_change(cells):
    rng = np.random.default_rng(cells)
    shares = np.arange(1, cells + 1) ** 2.0
    shares /= shares.sum()
    rows = rng.integers(20, 400, 4_000)
    observed, expected = rng.multinomial(rows, shares), shares * rows[:, None]
    layouts = Layouts.of([CellOrder.of(False, np.ones(cells, np.int64))])
    p = np.exp(-largest_cell(window_table(observed, expected), layouts, np.zeros(4_000)).surprise)
    for level in (0.05, 0.01, 0.001):
        assert (p <= level).sum() <= stats.binom.ppf(0.9999, 4_000, level)


# Tail accuracy without a change: asymptotic chi-square over thin cells is far too bold, pooled
# to 5 rows it stays within 3 times the level even at 1e-4 (40,000 windows of 200 rows; 24 cells of
# which four hold 0.1 to 0.9 %).
def test_pooling_keeps_the_chi_square_tail_honest_where_thin_cells_do_not():
    rng = np.random.default_rng(15)
    ranks = np.array([0, 0.001, 0.01, *np.arange(1, 20) / 20, 0.99, 0.999, 1])
    shares = np.diff(ranks)
    observed = rng.multinomial(200, shares, 40_000).astype(float)
    expected = np.tile(shares * 200, (40_000, 1))
    statistic, groups = pooled_chi_square(observed, expected)
    pooled = int((stats.chi2.sf(statistic, groups - 1) <= 1e-4).sum())
    thin = ((observed - expected) ** 2 / expected).sum(axis=1)
    bold = int((stats.chi2.sf(thin, len(shares) - 1) <= 1e-4).sum())
    assert pooled <= stats.poisson.ppf(0.9999, 3 * 4)
    assert bold > 10 * 4


@pytest.mark.parametrize("degrees", [1, 3, 23])
def test_surprise_is_minus_the_logarithm_of_the_chi_square_tail_everywhere(degrees):
    x = np.array([0.0, 0.5, 5.0, 60.0, 700.0])
    assert surprise_of(x, np.full(5, degrees)) == pytest.approx(-stats.chi2.logsf(x, degrees))
    far = np.array([1_600.0, 3_000.0, 20_000.0])
    half = degrees / 2
    # Exact for whole degrees/2 and bracketed by two terms of the series elsewhere.
    first = -((half - 1) * np.log(far / 2) - far / 2 - special.gammaln(half))
    second = first - np.log1p((half - 1) / (far / 2) * (half > 1))
    found = surprise_of(far, np.full(3, degrees))
    assert (found >= second - 1e-9).all()
    assert found == pytest.approx(first, rel=1e-3)
    near = np.linspace(1_300, 1_450, 400)
    assert (np.diff(surprise_of(near, np.full(400, degrees))) > 0).all()


def test_counts_that_do_not_fit_the_cells_are_refused():
    with pytest.raises(AssertionError, match=r"amount: counts \(5, 3\) do not fit 4 cells"):
        ColumnHours("amount", NumberCells((1.0, 2.0)), np.zeros((5, 3), np.int64))
    with pytest.raises(AssertionError, match="weight 0"):
        ColumnHours("amount", CategoryCells(("a",)), np.zeros((5, 4), np.int64), weight=0)
