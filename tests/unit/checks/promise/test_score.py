"""From counts to p-values and firings: one hour alone is the same as inside a long run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from monitor.checks.promise.baseline import Calibration
from monitor.checks.promise.budget import Budget
from monitor.checks.promise.column import ColumnHours
from monitor.checks.promise.fit import fit_seasonal
from monitor.checks.promise.hours import Hours
from monitor.checks.promise.scales import DAILY, HOURLY, N_SCALES, SCALES, WEEKLY
from monitor.checks.promise.score import few_cell_p, few_windows_p, score
from monitor.checks.promise.tail import p_on_curve
from monitor.checks.promise.views import View
from monitor.checks.promise.watch import watch
from monitor.profiles.cells import CategoryCells, NumberCells
from tests.reference import slow_promise as slow
from tests.unit.checks.promise.factories import (
    FEW_RANKS,
    MONDAY,
    WANDERING,
    category_column,
    part_of,
    traffic,
    with_gaps,
)

LEARNED, ALL = 28 * 24, 42 * 24


@pytest.fixture(scope="module")
def month():
    """A number that shifts after five weeks, a category, a calendar column, a segment, and a number
    of which 4 % are missing."""
    columns, hours = traffic(
        WANDERING, 5, columns=2, days=42, shift=0.6, since=35 * 24, ranks=FEW_RANKS
    )
    rng = np.random.default_rng(0)
    rows = columns[0].counts.sum(axis=1)
    kind = category_column(rng, np.array([0.5, 0.3, 0.15, 0.05]), rows)
    weekday = np.zeros((ALL, 10), np.int64)
    weekday[np.arange(ALL), hours.hour_of_week // 24] = rows
    weekday[36 * 24, 0], weekday[36 * 24, 3] = rows[36 * 24] - 9, 9
    week = ColumnHours("weekday", CategoryCells(("1", "2", "3", "4", "5", "6", "7")), weekday)
    segment = replace(columns[0], counts=columns[0].counts // 4, segment="plan is free")
    gaps = with_gaps(replace(columns[1], name="gaps"), 0.04, seed=3)
    every = [*columns, kind, week, segment, gaps]
    baseline = fit_seasonal(part_of(every, 0, LEARNED), hours.part(0, LEARNED))
    return baseline, every, hours


@pytest.fixture(scope="module")
def long_run(month):
    baseline, columns, hours = month
    return watch(baseline, columns, hours, since=LEARNED)


def test_one_hour_alone_is_the_same_hour_of_a_long_run(month, long_run):
    """What the hourly job sees (a week and two hours back) and what a backtest sees at once."""
    baseline, columns, hours = month
    tested = 0
    for hour in (LEARNED + 1, 35 * 24 + 1, 35 * 24 + 2, 35 * 24 + 9, 36 * 24 + 1, ALL):
        start = hour - 168 - 2
        alone = watch(
            baseline, part_of(columns, start, hour), hours.part(start, hour), since=hour - 1 - start
        )
        for of_scale, of_run in zip(alone.scores, long_run.scores, strict=True):
            for place, end in enumerate((of_scale.ends + start).tolist()):
                if end <= LEARNED - 2:
                    continue
                there = int(np.flatnonzero(of_run.ends == end)[0])
                for name in ("p_value", "effect", "statistic", "degrees", "effective_rows"):
                    one = getattr(of_scale, name)[:, :, place]
                    many = getattr(of_run, name)[:, :, there]
                    assert one == pytest.approx(many, rel=1e-9, abs=1e-12, nan_ok=True)
                for name in ("rows", "excess", "cell"):
                    one = getattr(of_scale, name)[:, place]
                    assert one == pytest.approx(getattr(of_run, name)[:, there], abs=1e-6)
                tested += 1
        in_run = [one for one in long_run.firings if one.end == hours.end_of(hour - 1)]
        assert [(one.column, one.segment, one.scale, one.view) for one in alone.firings] == [
            (one.column, one.segment, one.scale, one.view) for one in in_run
        ]
    assert tested > 12


def test_the_hourly_run_remembers_a_hit_two_hours_before(month):
    """Two afternoon hours with one quiet hour between: the later one fires, in both paths."""
    baseline, columns, hours = month
    counts = columns[1].counts.copy()
    for at in (30 * 24 + 13, 30 * 24 + 15):
        moved = counts[at, :2] // 2
        counts[at, :2] -= moved
        counts[at, 4:6] += moved
    changed = [columns[0], replace(columns[1], counts=counts), *columns[2:]]
    loose = Budget(promise=20)
    at_once = watch(baseline, changed, hours.part(0, 30 * 24 + 17), loose, since=30 * 24)
    hourly = [one.end for one in at_once.firings if (one.column, one.scale) == ("c1", 1)]
    assert hourly == [hours.end_of(30 * 24 + 15)]
    start, stop = 30 * 24 + 16 - 168, 30 * 24 + 16
    seen = part_of(changed, start, stop)
    alone = watch(baseline, seen, hours.part(start, stop), loose, since=stop - 1 - start)
    assert [one.end for one in alone.firings if (one.column, one.scale) == ("c1", 1)] == hourly


def test_the_shift_fires_and_what_did_not_move_stays_quiet(month, long_run):
    _, _, hours = month
    onset = hours.end_of(35 * 24 - 1)
    fired = {(one.segment, one.column) for one in long_run.firings}
    assert ("", "c0") in fired
    assert ("", "weekday") in fired
    assert fired <= {("", "c0"), ("", "weekday"), ("plan is free", "c0")}
    first = min(one.end for one in long_run.firings if one.column == "c0")
    assert 0 < (first - onset).total_seconds() / 3600 <= 12
    assert all(one.end > onset for one in long_run.firings)
    assert all(one.p_value < one.level for one in long_run.firings)
    assert [one.end for one in long_run.firings] == sorted(one.end for one in long_run.firings)


def test_segments_and_calendar_columns_are_judged_where_they_may(month, long_run):
    baseline, _, _ = month
    for scale, scores in enumerate(long_run.scores):
        seen = ~np.isnan(scores.p_value).all(axis=2)
        weekday, segment = baseline.place["", "weekday"], baseline.place["plan is free", "c0"]
        assert seen[weekday].tolist() == [False, False, False, scale == HOURLY, False]
        assert seen[segment].any() == (scale in (DAILY, WEEKLY))
        kind = baseline.place["", "kind"]
        assert seen[kind].tolist() == [True, False, False, True, False]
        assert seen[baseline.place["", "gaps"]].all()
        assert seen[baseline.place["", "c1"]].tolist() == [True, True, True, True, False]


# Statistic to p-value, written out: surprise after the lifted wobble, the curve, and the chi-square
# tail as a floor at one and six hours.
@pytest.mark.parametrize("name", ["c1", "gaps"])
def test_p_values_are_the_curve_with_the_chi_square_tail_as_a_floor(month, long_run, name):
    baseline, columns, hours = month
    table = baseline.calibrations
    c1 = baseline.place["", name]
    for scale in range(N_SCALES):
        scores = long_run.scores[scale]
        values = (View.OMNIBUS, View.LOCATION, View.SPREAD)
        for view in (*values, View.MISSING) if name == "gaps" else values:
            at = (c1, view, scale)
            t, df = scores.statistic[c1, view], scores.degrees[c1, view]
            n = scores.effective_rows[c1, view]
            if table.kind[at] == Calibration.FEW:
                over = t / df / np.where(table.ratio[at] >= 1, 1 + n * table.tau[at],
                                         max(table.ratio[at], 0.02))  # fmt: skip
                p = stats.f.sf(over, 1, table.degrees[at])
                floor = stats.chi2.sf(t / (1 + n * table.tau[at]), df)
                p = p if scale == WEEKLY else np.maximum(p, floor)
            else:
                lifted = t / (1 + n * table.tau[at] * table.spread[at])
                surprise = -stats.chi2.logsf(lifted, df)
                place = np.zeros(len(t), np.int64)
                p = np.maximum(
                    p_on_curve(table.curves[at][None], place, surprise), np.exp(-surprise)
                )
                assert table.kind[at] == Calibration.TAIL
            assert scores.p_value[c1, view] == pytest.approx(p, rel=1e-6)
            assert (scores.p_value[c1, view] <= 1).all()
            if view is not View.MISSING:
                assert scores.effect[c1, view] == pytest.approx((t - df) / n, rel=1e-9)
    assert hours.n == ALL
    assert len(columns) == 6


# The cell view, written out: counts scaled down by the lifted wobble of all cells together, SciPy's
# beta law for the binomial tail of fractional counts, twice the cells, then curve and floor.
@pytest.mark.parametrize("scale", [HOURLY, DAILY])
def test_p_values_of_the_cell_view_written_out(month, long_run, scale):
    baseline, columns, hours = month
    table, scores = baseline.calibrations, long_run.scores[scale]
    c1 = baseline.place["", "c1"]
    column, at = baseline.columns[c1], (c1, View.OMNIBUS, scale)
    slots, length = hours.slots(column.season).tolist(), SCALES[scale].length
    ordered = columns[1].counts[:, column.layout.order]
    for place in range(0, len(scores.ends), 17):
        end, cell = int(scores.ends[place]), int(scores.cell[c1, place])
        inside = slice(end - length, end)
        expected, inflation = slow.expectation(
            ordered[inside].tolist(), slots[inside], column.totals.tolist(),
            column.season, column.strength,
        )  # fmt: skip
        m, count = ordered[inside].sum(), ordered[inside, cell].sum()
        shrink = 1 / (inflation + m * table.tau[at] * table.spread[at])
        q = expected[cell] / m
        upper = stats.beta.cdf(q, count * shrink, (m - count) * shrink + 1)
        lower = stats.beta.sf(q, count * shrink + 1, (m - count) * shrink)
        nominal = min(1.0, 2 * len(expected) * min(upper, lower))
        if table.kind[c1, View.CELL, scale] == Calibration.FEW:
            wanted = few_cell_p(-np.log([nominal]), np.array([len(expected)]),
                                table.degrees[[c1], View.CELL, scale])[0]  # fmt: skip
        else:
            curve = table.curves[c1, View.CELL, scale][None]
            wanted = p_on_curve(curve, np.zeros(1, np.int64), -np.log([nominal]))[0]
        wanted = max(wanted, nominal)
        assert scores.p_value[c1, View.CELL, place] == pytest.approx(wanted, rel=1e-6)


def test_one_days_statistic_is_that_of_plain_loops(month, long_run):
    baseline, columns, hours = month
    c1 = baseline.place["", "c1"]
    column, scores = baseline.columns[c1], long_run.scores[DAILY]
    place = 9
    end = int(scores.ends[place])
    slots = hours.slots(column.season).tolist()
    window = columns[1].counts[end - 24 : end][:, column.layout.order]
    expected, inflation = slow.expectation(
        window.tolist(), slots[end - 24 : end], column.totals.tolist(), column.season,
        column.strength,
    )  # fmt: skip
    observed = window.sum(axis=0).tolist()
    x2, groups = slow.pooled_chi_square(observed, expected)
    location, spread = slow.location_and_spread(
        observed, expected, column.layout.scores.tolist(), column.layout.data.tolist()
    )
    found = scores.statistic[c1, :, place]
    assert found[View.OMNIBUS] == pytest.approx(x2 / inflation, rel=1e-8)
    assert found[View.LOCATION] == pytest.approx(location / inflation, rel=1e-8)
    assert found[View.SPREAD] == pytest.approx(spread / inflation, rel=1e-8)
    assert scores.degrees[c1, View.OMNIBUS, place] == groups - 1


# Missing rows of a window against the shares of its hours; its p-value is checked above.
@pytest.mark.parametrize("scale", range(N_SCALES))
def test_the_missing_view_of_a_run_is_that_of_plain_loops(month, long_run, scale):
    baseline, columns, hours = month
    gaps = baseline.place["", "gaps"]
    column, scores, length = baseline.columns[gaps], long_run.scores[scale], SCALES[scale].length
    slots = hours.slots(column.season).tolist()
    for place in range(0, len(scores.ends), 1 + len(scores.ends) // 12):
        end = int(scores.ends[place])
        window = columns[5].counts[end - length : end]  # a number's cells are in order already
        expected, inflation = slow.expectation(
            window.tolist(), slots[end - length : end], column.totals.tolist(), column.season,
            column.strength,
        )  # fmt: skip
        m, missing = float(window.sum()), float(window[:, -1].sum())
        share = expected[-1] / m
        wanted = slow.missing_z2(missing / inflation, m / inflation, share)
        at = (gaps, View.MISSING, place)
        assert scores.statistic[at] == pytest.approx(wanted, rel=1e-6, abs=1e-9)
        assert scores.degrees[at] == 1
        assert scores.effective_rows[at] == pytest.approx(m / inflation)
        wanted = slow.missing_effect(missing, m, share)
        assert scores.effect[at] == pytest.approx(wanted, rel=1e-6, abs=1e-12)


def test_a_window_without_rows_is_not_judged(month):
    baseline, columns, hours = month
    quiet = [replace(one, counts=one.counts.copy()) for one in columns]
    for one in quiet:
        one.counts[30 * 24 : 31 * 24] = 0
    found = watch(baseline, quiet, hours.part(0, 35 * 24), since=LEARNED)
    hourly = found.scores[HOURLY]
    inside = (hourly.ends > 30 * 24) & (hourly.ends <= 31 * 24)
    assert np.isnan(hourly.p_value[:, :, inside]).all()
    assert (hourly.rows[:, inside] == 0).all()
    daily = found.scores[DAILY]
    assert np.isnan(daily.p_value[:, :, daily.ends == 31 * 24]).all()
    assert not any(hours.end_of(30 * 24) <= one.end <= hours.end_of(31 * 24 - 1)
                   for one in found.firings)  # fmt: skip


def test_a_column_without_rows_is_not_judged_and_harms_no_other(month, long_run):
    baseline, columns, hours = month
    gone = [replace(columns[0], counts=columns[0].counts * 0), *columns[1:]]
    found = watch(baseline, gone, hours, since=LEARNED)
    assert np.isnan(found.scores[HOURLY].p_value[0]).all()
    for mine, theirs in zip(found.scores, long_run.scores, strict=True):
        assert mine.p_value[1:] == pytest.approx(theirs.p_value[1:], nan_ok=True)


def test_excluded_hours_are_not_judged_at_any_scale(month):
    baseline, columns, hours = month
    holiday = np.zeros(ALL, bool)
    holiday[36 * 24 : 37 * 24] = True
    without = Hours(MONDAY, ALL, hours.zone, holiday)
    found = watch(baseline, columns, without, since=LEARNED)
    for scale, scores in zip(SCALES, found.scores, strict=True):
        for place, end in enumerate(scores.ends.tolist()):
            touched = holiday[end - scale.length : end].any()
            judged = ~np.isnan(scores.p_value[:, :, place])
            assert judged.any() == (not touched)


def test_columns_the_baseline_does_not_know_are_left_out(month, long_run):
    baseline, columns, hours = month
    stranger = replace(columns[1], name="new column")
    found = watch(baseline, [stranger, *columns], hours, since=LEARNED)
    assert {one.column for one in found.firings} == {one.column for one in long_run.firings}
    fewer = watch(baseline, columns[1:2], hours, since=LEARNED)
    assert np.isnan(fewer.scores[HOURLY].p_value[[0, 2]]).all()


def test_counts_on_other_cells_are_refused(month):
    baseline, columns, hours = month
    wide = NumberCells(tuple(float(edge) for edge in range(9)))
    other = ColumnHours("c0", wide, np.zeros((ALL, wide.n_cells), np.int64))
    with pytest.raises(AssertionError, match="c0: counted on other cells than its baseline"):
        score(baseline, [other, *columns[1:]], hours)


def test_too_short_a_run_has_only_short_windows(month):
    baseline, columns, hours = month
    found = watch(baseline, part_of(columns, 0, 5), hours.part(0, 5))
    assert [len(one.ends) for one in found.scores] == [5, 0, 0, 0]
    assert found.firings == ()
    assert watch(baseline, part_of(columns, 0, 0), hours.part(0, 0)).firings == ()


def test_a_stricter_budget_fires_no_more(month, long_run):
    baseline, columns, hours = month
    strict = watch(baseline, columns, hours, Budget(promise=1e-6), since=LEARNED)
    keys = {(one.column, one.segment, one.scale, one.end) for one in long_run.firings}
    assert {(one.column, one.segment, one.scale, one.end) for one in strict.firings} < keys


# SciPy's F and t laws; where healthy windows differ less than chance the divisor is their mean.
def test_p_values_from_few_windows():
    found = few_windows_p(
        np.array([9.0, 9.0, 9.0, 0.5]), np.full(4, 1_000.0), np.array([0.002, 0, 0, 0]),
        np.array([3.0, 1.0, 0.5, 0.001]), np.full(4, 16.0),
    )  # fmt: skip
    assert found == pytest.approx(stats.f.sf([9 / 3, 9, 18, 0.5 / 0.02], 1, 16))
    surprise = -np.log(np.array([1e-6, 0.5, 1.0]))
    cell = few_cell_p(surprise, np.full(3, 10), np.full(3, 16.0))
    z = stats.norm.ppf(np.array([1e-6, 0.5, 1.0]) / 20)
    assert cell == pytest.approx(np.minimum(1, 20 * stats.t.cdf(z, 16)))
    assert (cell >= np.array([1e-6, 0.5, 1.0]) - 1e-12).all()
