"""Worst slices: slow oracle, planted slices, the null's rate of false confirmations, shrinkage."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from monitor.checks.shrinkage import empirical_bayes_shrunk
from monitor.checks.slice_counts import (
    GroupedRows,
    SliceColumn,
    SliceStatistic,
    coarse_column,
    column_sets,
    counted,
    output_z,
    rest_z,
    share_z,
)
from monitor.checks.slices import SliceRows, SliceSearch, first_half, worst_slices
from monitor.measurement import Failed, Measured, TooFew
from monitor.profiles.cells import CategoryCells, NumberCells

LETTERS = "abcdefgh"


def _columns(count: int, groups: int = 8) -> list[SliceColumn]:
    return [SliceColumn(f"c{k}", np.arange(groups), tuple(LETTERS[:groups])) for k in range(count)]


def _rows(rng, columns: int, n: int, groups: int = 8, rate: float = 0.1) -> SliceRows:
    cells = rng.integers(0, groups, (columns, n))
    hashes = rng.integers(-(2**63), 2**63 - 1, n)
    return SliceRows(cells, hashes, (rng.random(n) < rate).astype(float))


def _planted(rng, n: int = 50_000) -> SliceRows:
    rows = _rows(rng, 12, n)
    inside = (rows.cells[2] == 3) & (rows.cells[5] == 1)
    output = (rng.random(n) < 0.1 + 0.25 * inside).astype(float)
    return SliceRows(rows.cells, rows.hashes, output)


# 12 columns of 8 groups: 12 · 8 + 66 · 64 = 4320 slices; Bonferroni at 5 % one-sided: z = 4.23.
# Planted +.25 on a base of .11 in 1/64 of 50,000 rows: z near .25/sqrt(.093/780) = 23.
def test_a_planted_slice_is_first_among_all_4320():
    rows = _planted(np.random.default_rng(0))
    grouped = GroupedRows(rows.cells.astype(np.int64), rows.output)
    started = time.perf_counter()
    found = []
    for chosen in column_sets(12, 2):
        totals = counted(grouped, chosen, [8] * 12, SliceStatistic.AGAINST_REST)
        z = rest_z(totals, grouped.whole)
        found += [(float(z[k]), chosen, int(k)) for k in np.flatnonzero(totals.n >= 100)]
    assert time.perf_counter() - started < 2  # 0.1 s on an idle core
    found.sort(reverse=True)
    assert len(found) == 4320
    assert found[0][1:] == ((2, 5), 3 * 8 + 1)
    assert 20 < found[0][0] < 28
    assert found[1][0] < 11
    assert stats.norm.isf(0.05 / 4320) == pytest.approx(4.23, abs=0.005)
    assert np.sqrt(2 * np.log(4320)) == pytest.approx(4.09, abs=0.005)


def test_the_planted_slice_is_found_and_confirmed():
    rows = _planted(np.random.default_rng(0))
    search = worst_slices(_columns(12), rows, None, SliceStatistic.AGAINST_REST)
    assert isinstance(search, SliceSearch)
    assert (search.tested, search.n) == (4320, 50_000)
    best = search.slices[0]
    assert best.label == "c2 = d and c5 = b"
    assert best.confirmed()
    assert best.p_confirmed < 1e-20
    assert len(search.slices) <= 10
    first = first_half(rows.hashes)
    inside = (rows.cells[2] == 3) & (rows.cells[5] == 1)
    assert (best.discovered.n, best.confirming.n) == (
        int((inside & first).sum()),
        int((inside & ~first).sum()),
    )
    assert isinstance(best.effect, Measured)
    assert best.effect.low < 0.25 < best.effect.high
    # Slices of two columns that say less than one of them alone are left out.
    alone = {one.columns for one in search.slices if one.confirmed()}
    assert alone <= {("c2", "c5"), ("c2",), ("c5",)}


def test_share_and_output_find_planted_drift_against_the_reference():
    rng = np.random.default_rng(2)
    reference = _rows(rng, 6, 20_000)
    now = _planted(rng, 20_000)
    current = SliceRows(now.cells[:6], now.hashes, now.output)
    search = worst_slices(_columns(6), current, reference, SliceStatistic.OUTPUT)
    assert search.slices[0].label == "c2 = d and c5 = b"
    assert search.slices[0].confirmed()
    moved = current.cells.copy()
    moved[0, rng.random(20_000) < 0.05] = 7
    moved[1, moved[0] == 7] = 2
    grown = SliceRows(moved, current.hashes)
    search = worst_slices(_columns(6), grown, reference, SliceStatistic.SHARE)
    best = search.slices[0]
    assert best.label == "c0 = h and c1 = c"
    assert best.confirmed()
    truth = np.mean((moved[0] == 7) & (moved[1] == 2)) - 1 / 64
    assert best.effect.low < truth < best.effect.high


def test_a_slice_that_moves_the_other_way_in_the_other_half_is_not_confirmed():
    rng = np.random.default_rng(4)
    rows = _rows(rng, 2, 6000, 4)
    first, inside = first_half(rows.hashes), rows.cells[0] == 1
    output = (rng.random(6000) < np.where(inside, np.where(first, 0.6, 0.1), 0.35)).astype(float)
    turned = SliceRows(rows.cells, rows.hashes, output)
    search = worst_slices(_columns(2, 4), turned, None, SliceStatistic.AGAINST_REST)
    one = next(one for one in search.slices if one.label == "c0 = b")
    assert one.discovered.z > 5
    assert one.confirming.z < -5
    assert one.p_confirmed == 1


def test_a_slice_that_vanished_is_found():
    rng = np.random.default_rng(3)
    reference, current = _rows(rng, 3, 8000), _rows(rng, 3, 8000)
    cells = current.cells.copy()
    cells[1, cells[1] == 4] = 5
    search = worst_slices(
        _columns(3), SliceRows(cells, current.hashes), reference, SliceStatistic.SHARE
    )
    vanished = next(one for one in search.slices if one.label == "c1 = e")
    assert vanished.confirmed()
    assert (vanished.discovered.n, vanished.confirming.n) == (0, 0)
    assert vanished.confirming.z < -10


# Each search confirms falsely with probability at most .05; of 300 null searches more than 25
# have it with probability .01 (binomial).
@pytest.mark.parametrize("statistic", list(SliceStatistic))
def test_false_confirmations_keep_their_rate(statistic):
    rng = np.random.default_rng(17)
    columns = _columns(5, 4)
    false = 0
    for _ in range(300):
        reference, current = _rows(rng, 5, 1500, 4, 0.3), _rows(rng, 5, 1500, 4, 0.3)
        search = worst_slices(columns, current, reference, statistic)
        false += any(one.confirmed() for one in search.slices)
    assert false <= stats.binom.ppf(0.99, 300, 0.05)


def test_the_searched_half_alone_would_not_keep_it():
    """What confirmation is for: the best of many slices looks significant on its own half."""
    rng = np.random.default_rng(18)
    large = 0
    for _ in range(60):
        search = worst_slices(
            _columns(8, 4), _rows(rng, 8, 4000, 4), None, SliceStatistic.AGAINST_REST
        )
        best = max(search.slices, key=lambda one: abs(one.discovered.z))
        large += 2 * len(search.slices) * stats.norm.sf(abs(best.discovered.z)) < 0.05
    assert large > 30


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_z_values_are_those_of_plain_formulas(seed):
    rng = np.random.default_rng(seed)
    now, then = (
        GroupedRows(rng.integers(0, 3, (2, n)), rng.integers(0, 2, n).astype(float))
        for n in (300, 500)
    )
    chosen, sizes = (0, 1), [3, 3]
    tables = [counted(side, chosen, sizes, SliceStatistic.OUTPUT) for side in (now, then)]
    shares = share_z(*tables, now.whole, then.whole)
    outputs, rests = output_z(*tables), rest_z(tables[0], now.whole)
    for place, groups in enumerate(itertools.product(range(3), range(3))):
        inside, inside_then = now.flags(chosen, groups), then.flags(chosen, groups)
        table = [[inside.sum(), 300 - inside.sum()], [inside_then.sum(), 500 - inside_then.sum()]]
        chi = stats.chi2_contingency(table, correction=False).statistic
        assert shares[place] ** 2 == pytest.approx(chi)
        a, b = now.output[inside], then.output[inside_then]
        two = [[a.sum(), len(a) - a.sum()], [b.sum(), len(b) - b.sum()]]
        if np.min(np.sum(two, axis=0)) > 0:
            chi = stats.chi2_contingency(two, correction=False).statistic
            assert outputs[place] ** 2 == pytest.approx(chi)
        rest = now.output[~inside]
        error = now.output.std() * np.sqrt(1 / len(a) + 1 / len(rest))
        assert rests[place] == pytest.approx((a.mean() - rest.mean()) / error)


def test_halves_are_fixed_by_the_hash_and_even_for_any_low_bits():
    hashes = np.arange(20_000, dtype=np.int64) * 1024
    half = first_half(hashes)
    assert abs(half.mean() - 0.5) < 0.02
    assert (first_half(hashes[::-1])[::-1] == half).all()
    assert abs(first_half(-hashes - 1).mean() - 0.5) < 0.02


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(6)
    reference, current = _rows(rng, 4, 3000), _planted(rng, 3000)
    current = SliceRows(current.cells[:4], current.hashes, current.output)
    order = rng.permutation(3000)
    turned = SliceRows(current.cells[:, order], current.hashes[order], current.output[order])
    one = worst_slices(_columns(4), current, reference, SliceStatistic.SHARE)
    assert one == worst_slices(_columns(4), turned, reference, SliceStatistic.SHARE)


def test_a_column_twice_is_named_once():
    rng = np.random.default_rng(9)
    rows = _planted(rng, 20_000)
    cells = np.stack((rows.cells[2], rows.cells[2], rows.cells[5]))
    search = worst_slices(
        _columns(3), SliceRows(cells, rows.hashes, rows.output), None, SliceStatistic.AGAINST_REST
    )
    strong = [one.columns for one in search.slices if one.confirmed()]
    assert len({frozenset(columns) for columns in strong}) == len(strong)
    assert ("c0", "c1") not in strong
    assert not {("c0",), ("c1",)} <= set(strong)


def test_refusals_are_named():
    rng = np.random.default_rng(1)
    few, many = _rows(rng, 2, 250), _rows(rng, 2, 2000)
    assert isinstance(worst_slices(_columns(2), few, many, SliceStatistic.SHARE), TooFew)
    assert isinstance(worst_slices(_columns(2), many, few, SliceStatistic.SHARE), TooFew)
    assert isinstance(worst_slices(_columns(2), many, None, SliceStatistic.SHARE), Failed)
    blind = SliceRows(many.cells, many.hashes)
    assert isinstance(worst_slices(_columns(2), blind, many, SliceStatistic.OUTPUT), Failed)
    broken = SliceRows(many.cells, many.hashes, np.full(2000, np.nan))
    assert isinstance(worst_slices(_columns(2), broken, many, SliceStatistic.OUTPUT), Failed)
    with pytest.raises(AssertionError, match="at most 30 columns"):
        worst_slices(_columns(31), many, many, SliceStatistic.SHARE)


def test_number_cells_become_eight_groups_at_most_of_like_size():
    cells = NumberCells(tuple(float(edge) for edge in range(1, 41)))
    counts = np.append(np.full(41, 10), 3)
    column = coarse_column("amount", cells, counts)
    assert len(column.labels) == 8
    assert column.labels[-1] == "missing"
    assert column.group_of_cell[-1] == 7
    assert (np.diff(column.group_of_cell) >= 0).all()
    sizes = np.bincount(column.group_of_cell, counts)[:-1]
    assert sizes.min() >= 50
    assert sizes.max() <= 70
    values = np.random.default_rng(0).uniform(-5, 50, 500)
    edges = [float(label.split(" ")[0]) for label in column.labels[1:-1]]
    expected = np.searchsorted(edges, values, side="right")
    assert (column.group_of_cell[cells.assign(values)] == expected).all()


def test_few_number_cells_and_categories_stay_as_they_are():
    cells = NumberCells((1.0, 2.0))
    column = coarse_column("x", cells, np.array([5, 5, 5, 0]))
    assert column.labels == cells.labels()
    assert column.group_of_cell.tolist() == [0, 1, 2, 3]
    category = CategoryCells(("red", "blue"))
    column = coarse_column("colour", category, np.zeros(5, int))
    assert column.labels == ("red", "blue", "other", "new", "missing")


# μ = 158/790 = .2; τ², M and rates by the moment formulas, worked by hand elsewhere.
def test_shrunk_rates_of_the_worked_example():
    shrunk = empirical_bayes_shrunk((3, 12, 45, 8, 90), (10, 60, 200, 20, 500))
    assert shrunk.mean == pytest.approx(0.20)
    assert shrunk.variance == pytest.approx(0.0014005, abs=5e-8)
    assert shrunk.strength == pytest.approx(113.25, abs=0.005)
    assert shrunk.rates == pytest.approx((0.2081, 0.2000, 0.2160, 0.2300, 0.1837), abs=5e-5)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=8))
def test_shrunk_rates_lie_between_their_own_and_the_mean(groups):
    successes = [x for x, _ in groups]
    totals = [x + other + 1 for x, other in groups]
    shrunk = empirical_bayes_shrunk(successes, totals)
    for x, n, rate in zip(successes, totals, shrunk.rates, strict=True):
        low, high = sorted((x / n, shrunk.mean))
        assert low - 1e-9 <= rate <= high + 1e-9


def test_groups_that_do_not_differ_get_the_mean():
    shrunk = empirical_bayes_shrunk((10, 20, 30), (100, 200, 300))
    assert (shrunk.rates, shrunk.strength) == ((0.1, 0.1, 0.1), None)
    assert empirical_bayes_shrunk((0, 0), (5, 9)).rates == (0.0, 0.0)
    with pytest.raises(AssertionError, match="two groups or more"):
        empirical_bayes_shrunk((3,), (10,))
