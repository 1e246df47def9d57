"""Missing values: a view and a wobble of their own, where there are enough of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from monitor.checks.promise.column import CellOrder, Layouts
from monitor.checks.promise.fit import fit_seasonal
from monitor.checks.promise.hours import Hours
from monitor.checks.promise.scales import DAILY, HOURLY, SIX_HOURS
from monitor.checks.promise.views import View, missing_effect, statistics, surprise_of
from monitor.checks.promise.watch import Watched, watch
from tests.reference import slow_promise as slow
from tests.unit.checks.promise.factories import (
    FEW_RANKS,
    MONDAY,
    WANDERING,
    number_column,
    outages,
    part_of,
    traffic,
    window_table,
    with_gaps,
)


def _near(z2: float):
    """That statistic, to 1.5 % where the tail is below 1e-250 (z² 1,142 and more)."""
    return pytest.approx(z2, rel=1e-6 if z2 < 1_140 else 0.015, abs=1e-7)


def _gaps(rng, windows: int, *, missing_at: int = -1):
    """Four cells of which one is the missing one: counts, expectations, and how many are missing
    and should be; shares from a tenth of a percent to nearly all."""
    rows = rng.integers(20, 3_000, windows)
    share = np.concatenate((10 ** rng.uniform(-3, -0.3, windows - 1), [0.97]))
    seen = rng.binomial(rows, np.clip(share * rng.uniform(0.3, 3, windows), 0, 1))
    parts = [np.insert((rows - seen)[:, None] * [0.5, 0.3, 0.2], missing_at % 4, seen, axis=1)]
    parts.append(np.insert((rows * (1 - share))[:, None] * [0.5, 0.3, 0.2], missing_at % 4,
                           rows * share, axis=1))  # fmt: skip
    return parts[0], parts[1], rows, seen, share


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_the_missing_view_is_scipys_binomial_tail(seed):
    observed, expected, rows, seen, share = _gaps(np.random.default_rng(seed), 12)
    layouts = Layouts.of([CellOrder.of(True, np.array([50, 30, 20, 9]))])
    windows = window_table(observed, expected)
    found = statistics(windows, layouts)
    p = np.exp(-surprise_of(found.statistic[View.MISSING], found.degrees[View.MISSING]))
    effect = missing_effect(windows, layouts)
    assert (found.degrees[View.MISSING] == 1).all()
    for place in range(12):
        law, count = stats.binom(rows[place], share[place]), seen[place]
        tail = min(law.sf(count - 1), law.cdf(count))
        assert p[place] == pytest.approx(min(1.0, 2 * tail), rel=1e-6, abs=1e-240)
        slowly = slow.missing_z2(int(count), int(rows[place]), share[place])
        assert found.statistic[View.MISSING, place] == _near(slowly)
        slowly = slow.missing_effect(count, rows[place], share[place])
        assert effect[place] == pytest.approx(slowly, rel=1e-7, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_inflation_scales_the_rows_of_the_missing_view_down(seed):
    """Parts of rows by the beta law; halves of even counts by the binomial law itself."""
    rng = np.random.default_rng(seed)
    observed, expected, rows, seen, share = _gaps(rng, 12)
    layouts = Layouts.of([CellOrder.of(True, np.array([50, 30, 20, 9]))])
    inflation = np.where(np.arange(12) < 6, rng.uniform(1, 3, 12), 1.0)
    found = statistics(window_table(observed, expected, inflation=inflation), layouts)
    twice = statistics(
        window_table(2 * observed, 2 * expected, inflation=np.full(12, 2.0)), layouts
    )
    for place in range(12):
        f = inflation[place]
        slowly = slow.missing_z2(seen[place] / f, rows[place] / f, share[place])
        assert found.statistic[View.MISSING, place] == _near(slowly)
        assert found.effective_rows[View.MISSING, place] == pytest.approx(rows[place] / f)
        slowly = slow.missing_z2(int(seen[place]), int(rows[place]), share[place])
        assert twice.statistic[View.MISSING, place] == _near(slowly)


def test_the_missing_cell_is_looked_at_wherever_it_is_pooled():
    """Missing values are this category's second largest cell, and the next column's last one."""
    rng = np.random.default_rng(4)
    layout = CellOrder.of(column_is_number=False, totals=np.array([5, 90, 2, 40]))
    assert layout.order.tolist() == [1, 3, 0, 2]
    both = Layouts.of([layout, CellOrder.of(False, np.array([90, 40, 9, 5, 4, 2]))])
    assert both.missing.tolist() == [1, 5]
    observed, expected, rows, seen, share = _gaps(rng, 8, missing_at=1)
    wide = np.zeros((8, 2))
    windows = window_table(np.hstack((observed, wide)), np.hstack((expected, wide)))
    found = statistics(windows, both).statistic[View.MISSING]
    effect = missing_effect(windows, both)
    for place in range(8):
        wanted = slow.missing_z2(int(seen[place]), int(rows[place]), share[place])
        assert found[place] == _near(wanted)
        wanted = slow.missing_effect(seen[place], rows[place], share[place])
        assert effect[place] == pytest.approx(wanted, rel=1e-7, abs=1e-12)
    observed, expected, rows, *_ = _gaps(rng, 8, missing_at=3)
    other = window_table(
        np.hstack((wide, observed)), np.hstack((wide, expected)), column=np.ones(8)
    )
    wanted = [slow.missing_z2(int(c), int(m), e / m) for c, m, e in
              zip(other.observed[:, 5], rows, other.expected[:, 5], strict=True)]  # fmt: skip
    found = statistics(other, both).statistic[View.MISSING]
    for place in range(8):
        assert found[place] == _near(wanted[place])


# By hand: 100 rows, 1 expected. Five missing are four too many; six: q = .01, q̂ = 6.005/100.5;
# 21 are 20 too many, and the whole effect counts.
def test_a_few_missing_rows_have_no_effect_and_less_than_twenty_no_big_one():
    layouts = Layouts.of([CellOrder.of(False, np.array([100, 1]))])
    counts = np.array([0.0, 5, 6, 20, 21])
    windows = window_table(np.stack((100 - counts, counts), axis=1), [[99.0, 1]] * 5)
    share = (counts + 0.005) / 100.5
    full = (share - 0.01) * np.log(share / 0.01)
    assert full[3] > 0.25
    found = missing_effect(windows, layouts)
    assert found == pytest.approx([0, 0, full[2], 0.25, full[4]])


# The exact tail counts the value itself on both sides, so twice the smaller one keeps every level
# without a change, also where a window expects one missing row or less.
@pytest.mark.parametrize("share", [0.001, 0.02, 0.4])
def test_the_missing_view_keeps_its_level_without_a_change(share):
    rng = np.random.default_rng(7)
    rows = rng.integers(20, 1_000, 20_000)
    seen = rng.binomial(rows, share)
    layouts = Layouts.of([CellOrder.of(False, np.array([100, 1]))])
    windows = window_table(
        np.stack((rows - seen, seen), axis=1), np.stack((rows * (1 - share), rows * share), axis=1)
    )
    found = statistics(windows, layouts)
    p = np.exp(-surprise_of(found.statistic[View.MISSING], np.ones(20_000)))
    for level in (0.05, 0.01, 0.001, 0.0001):
        assert (p <= level).sum() <= stats.binom.ppf(0.9999, 20_000, level)
    assert share < 0.4 or (p <= 0.05).sum() >= stats.binom.ppf(0.0001, 20_000, 0.04)


# 19 missing rows in the weeks learned from are too few for a view of their own, 20 are enough;
# those of weeks that are not learned from do not count.
def test_a_view_of_missing_values_needs_twenty_of_them_in_the_learned_weeks():
    column, hours = number_column(np.zeros(8 * 168)), Hours(MONDAY, 8 * 168)
    for missing, ahead, tested in [(0, 0, False), (19, 0, False), (20, 0, True), (19, 9, False)]:
        counts = column.counts.copy()
        counts[np.arange(missing) * 50 + 2 * 168, -1] += 1
        counts[np.arange(ahead), -1] += 1  # in the first week
        accepted = {column.key: np.arange(1, 8)}
        fitted = fit_seasonal([replace(column, counts=counts)], hours, accepted=accepted)
        kind = fitted.calibrations.kind[0]
        assert (kind[View.MISSING] > 0).tolist() == [tested] * 4
        assert (kind[: View.MISSING] > 0).all()
        assert fitted.views.tolist() == [[4 + tested] * 4]


# Whether values are there and what they are vary apart: outages that differ by the day are wobble
# of the missing view, and the values' own views stay as sharp as without them.
def test_missing_values_have_a_wobble_of_their_own():
    plain, hours = number_column(np.zeros(8 * 168)), Hours(MONDAY, 8 * 168)
    steady, uneven = with_gaps(plain, 0.05), with_gaps(plain, outages(hours.n))
    calm, restless = (fit_seasonal([one], hours).calibrations for one in (steady, uneven))
    for scale in (HOURLY, SIX_HOURS, DAILY):
        there, here = restless.tau[0, :, scale], calm.tau[0, :, scale]
        assert there[View.MISSING] > 0.005  # 0.08²/12 over 0.05 · 0.95 is 0.011
        assert here[View.MISSING] < 0.0005
        assert there[[View.LOCATION, View.SPREAD]].max() < 0.0005


# Out of 20,000 rows 5 % and then 10, 20, … % and all are missing: the tails from the second on are
# below the smallest float, and z² still grows. It must, because a wobble of 0.01 divides it by 200.
def test_far_out_the_statistic_goes_on_growing():
    layouts = Layouts.of([CellOrder.of(False, np.array([100, 5]))])
    counts = np.array([1_000.0, 1_500, 2_000, 4_000, 8_000, 16_000, 20_000])
    windows = window_table(np.stack((20_000 - counts, counts), axis=1), [[19_000.0, 1_000]] * 7)
    found = statistics(windows, layouts).statistic[View.MISSING]
    wanted = [slow.missing_z2(int(count), 20_000, 0.05) for count in counts]
    assert found == pytest.approx(wanted, rel=0.01)
    assert (np.diff(found) > 100).all()
    assert found[-1] > 100_000
    none = window_table([[200_000.0, 0]], [[190_000.0, 10_000]])
    assert statistics(none, layouts).statistic[View.MISSING, 0] > 10_000


LEARNED, ONSET, ALL = 42 * 24, 49 * 24, 56 * 24


def _watched(before: float | np.ndarray, after: float | np.ndarray, seed: int = 2) -> Watched:
    """Three columns learned for six weeks and watched for two; `c0` is missing by chance, with one
    share before the onset a week later and another from there on."""
    columns, hours = traffic(WANDERING, seed, columns=3, days=56, ranks=FEW_RANKS)
    share = np.broadcast_to(before, (ALL,)).copy()
    share[ONSET:] = after
    columns[0] = with_gaps(columns[0], share)
    baseline = fit_seasonal(part_of(columns, 0, LEARNED), hours.part(0, LEARNED))
    return watch(baseline, columns, hours, since=LEARNED)


def test_a_missing_share_that_doubles_fires_in_the_missing_view_and_no_value_view():
    found = _watched(0.04, 0.08)
    onset = Hours(MONDAY, ALL).end_of(ONSET - 1)
    assert found.firings
    assert {one.column for one in found.firings} == {"c0"}
    assert all(one.end > onset for one in found.firings)
    assert {one.view for one in found.firings} == {"missing"}
    first = min(one.end for one in found.firings)
    assert (first - onset).total_seconds() / 3600 <= 12
    for place, of_scale in enumerate(found.scores):
        values = of_scale.p_value[0, [View.LOCATION, View.SPREAD]]
        assert (values[~np.isnan(values)] >= found.levels[0, place]).all()


def test_new_missing_values_of_a_column_never_missing_fire_in_cell():
    found = _watched(0.0, 0.04)
    onset = Hours(MONDAY, ALL).end_of(ONSET - 1)
    assert {one.column for one in found.firings} == {"c0"}
    assert all(one.end > onset for one in found.firings)
    assert {one.view for one in found.firings} == {"cell"}
    for of_scale in found.scores:
        assert np.isnan(of_scale.p_value[:, View.MISSING]).all()
        after = of_scale.ends > ONSET + 168
        assert (of_scale.cell[0, after] == len(FEW_RANKS) + 1).all()


def test_a_column_whose_gaps_differ_from_day_to_day_stays_quiet_until_it_is_gone():
    """1 to 9 % by the day is its way; 95 % is not, wobble or no wobble."""
    usual = outages(ALL)
    quiet, gone = _watched(usual, usual[ONSET:]), _watched(usual, 0.95)
    assert quiet.firings == ()
    onset = Hours(MONDAY, ALL).end_of(ONSET - 1)
    assert min(one.end for one in gone.firings) - onset <= Hours(MONDAY, 2).end_of(0) - MONDAY
    for place, of_scale in enumerate(gone.scores):
        whole = of_scale.ends == ALL
        assert (of_scale.p_value[0, View.MISSING, whole] < gone.levels[0, place]).all()
