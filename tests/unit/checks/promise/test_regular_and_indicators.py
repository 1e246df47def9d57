"""Calendar columns row by row, and what is left to watch of context columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from monitor.checks.promise.baseline import Calibration, ColumnClass
from monitor.checks.promise.column import ColumnHours
from monitor.checks.promise.fit import fit_seasonal
from monitor.checks.promise.hours import Hours
from monitor.checks.promise.indicators import (
    cells_seen,
    least_cells_seen,
    missing_indicator,
    stuck_p,
    with_indicators,
)
from monitor.checks.promise.regular import regular_scores
from monitor.checks.promise.scales import DAILY, HOURLY
from monitor.checks.promise.views import View
from monitor.checks.promise.watch import watch
from monitor.profiles.cells import CategoryCells, NumberCells
from tests.unit.checks.promise.factories import MONDAY, part_of

DAYS = CategoryCells(("mo", "tu", "we", "th", "fr", "sa", "su"))
WEEKS = 8 * 168


def _weekday(hours: Hours, rows: int = 50) -> ColumnHours:
    counts = np.zeros((hours.n, DAYS.n_cells), np.int64)
    counts[np.arange(hours.n), hours.hour_of_week // 24] = rows
    return ColumnHours("weekday", DAYS, counts)


# p0 = (k + 1)/(n + 2) with 84 mismatches of 67,200 healthy rows; P(X >= k) is SciPy's binomial.
def test_rows_with_another_value_have_the_binomial_tail():
    hours = Hours(MONDAY, WEEKS + 10)
    column = _weekday(hours)
    column.counts[: 84 * 6 : 6, DAYS.other] = 1
    column.counts[: 84 * 6 : 6, :7] -= column.counts[: 84 * 6 : 6, :7] // 50
    baseline = fit_seasonal(part_of([column], 0, WEEKS), hours.part(0, WEEKS))
    one = baseline.columns[0]
    assert one.column_class is ColumnClass.CALENDAR
    now = column.counts.copy()
    for place, wrong in enumerate((0, 1, 2, 5, 50)):
        now[WEEKS + place] = 0
        now[WEEKS + place, 0], now[WEEKS + place, 4] = 50 - wrong, wrong
    now[WEEKS + 5] = 0
    found = regular_scores(
        one, now[:, one.layout.order].astype(float), hours, np.arange(WEEKS + 1, WEEKS + 7)
    )
    share = 85 / (8 * 168 * 50 + 2)
    law = stats.binom(50, share)
    assert found.p_value[:2].tolist() == [1.0, 1.0]  # one row alone is never held against it
    assert found.p_value[2:5] == pytest.approx(law.sf([1, 4, 49]))
    assert np.isnan(found.p_value[5])
    assert found.rows.tolist() == [50, 50, 50, 50, 50, 0]
    assert found.excess[3] == pytest.approx(5 - 50 * share)
    assert one.layout.order[found.cell[4]] == 4
    seen = (5 + share / 2) / 50.5
    assert found.effect[3] == pytest.approx((seen - share) * np.log(seen / share))


def test_one_percent_of_wrong_rows_is_found_within_hours_and_none_before():
    hours = Hours(MONDAY, WEEKS + 400)
    column = _weekday(hours, rows=300)
    baseline = fit_seasonal(part_of([column], 0, WEEKS), hours.part(0, WEEKS))
    wrong = column.counts.copy()
    late = slice(WEEKS + 200, WEEKS + 210)
    wrong[late, :7] = wrong[late, :7] * 297 // 300
    wrong[late, DAYS.new] = 3
    found = watch(baseline, [replace(column, counts=wrong)], hours, since=WEEKS)
    assert {(one.column, one.view, one.scale) for one in found.firings} == {("weekday", "cell", 1)}
    onset = hours.end_of(WEEKS + 200 - 1)
    delays = [(one.end - onset).total_seconds() / 3600 for one in found.firings]
    assert 1 <= min(delays) <= 2
    assert max(delays) <= 10


def test_a_clock_moved_by_an_hour_is_found_at_the_first_midnight():
    hours = Hours(MONDAY, WEEKS + 100)
    column = _weekday(hours)
    baseline = fit_seasonal(part_of([column], 0, WEEKS), hours.part(0, WEEKS))
    late = np.concatenate((column.counts[:WEEKS], column.counts[WEEKS - 1 : -1]))
    found = watch(baseline, [replace(column, counts=late)], hours, since=WEEKS)
    assert found.firings[0].end == hours.end_of(WEEKS)
    assert len(found.firings) == 5  # the first hour of each day


def _level(n: int, seed: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    level = np.zeros(n)
    for at in range(1, n):
        level[at] = 0.9 * level[at - 1] + np.sqrt(1 - 0.81) * rng.normal()
    return level


CELLS = NumberCells(tuple(np.linspace(-2, 2, 21).tolist()))


def _weather(hours: Hours, missing: float = 0.02, rows: int = 200) -> ColumnHours:
    rng = np.random.default_rng(8)
    absent = rng.binomial(rows, missing, hours.n)
    counts = np.zeros((hours.n, CELLS.n_cells), np.int64)
    counts[np.arange(hours.n), CELLS.assign(_level(hours.n))] = rows - absent
    counts[:, CELLS.missing] = absent
    return ColumnHours("temperature", CELLS, counts)


@pytest.fixture(scope="module")
def weather():
    hours = Hours(MONDAY, WEEKS + 14 * 24)
    column = _weather(hours)
    baseline = fit_seasonal(part_of([column], 0, WEEKS), hours.part(0, WEEKS))
    assert baseline.columns[0].column_class is ColumnClass.CONTEXT
    return baseline, column, hours


def test_the_level_of_a_context_column_never_fires(weather):
    baseline, column, hours = weather
    assert watch(baseline, [column], hours, since=WEEKS).firings == ()
    hot = np.roll(column.counts, 4, axis=1)
    hot[:, CELLS.missing] = column.counts[:, CELLS.missing]
    hot[:, :4] = 0
    hot[:, CELLS.missing - 1] += column.counts.sum(axis=1) - hot.sum(axis=1)
    assert (hot.sum(axis=1) == column.counts.sum(axis=1)).all()
    assert watch(baseline, [replace(column, counts=hot)], hours, since=WEEKS).firings == ()


def test_more_missing_values_of_a_context_column_fire(weather):
    baseline, column, hours = weather
    late = column.counts.copy()
    moved = late[WEEKS + 100 :, :-1] // 10
    late[WEEKS + 100 :, :-1] -= moved
    late[WEEKS + 100 :, -1] += moved.sum(axis=1)
    found = watch(baseline, [replace(column, counts=late)], hours, since=WEEKS).firings
    assert found
    assert {one.column for one in found} == {"temperature (missing)"}
    onset = hours.end_of(WEEKS + 100 - 1)
    assert 0 < (found[0].end - onset).total_seconds() / 3600 <= 6


def test_a_stuck_context_column_fires_within_a_day(weather):
    baseline, column, hours = weather
    assert baseline.calibrations.kind[0, View.CELL, DAILY] == Calibration.STUCK
    stuck = column.counts.copy()
    stuck[WEEKS + 100 :, :-1] = 0
    stuck[WEEKS + 100 :, 9] = column.counts[WEEKS + 100 :, :-1].sum(axis=1)
    found = watch(baseline, [replace(column, counts=stuck)], hours, since=WEEKS).firings
    assert {(one.column, one.scale, one.view) for one in found} == {("temperature", 24, "cell")}
    onset = hours.end_of(WEEKS + 100 - 1)
    assert 12 < (found[0].end - onset).total_seconds() / 3600 <= 30


def test_a_day_with_few_rows_is_not_a_stuck_one(weather):
    """Little traffic shows few cells for that reason alone, as in learning."""
    baseline, column, hours = weather
    quiet = column.counts.copy()
    quiet[WEEKS + 98 : WEEKS + 147] = 0
    found = watch(baseline, [replace(column, counts=quiet)], hours, since=WEEKS)
    assert found.firings == ()
    daily = found.scores[DAILY]
    assert found.scores[DAILY].p_value[0, View.CELL, daily.ends == WEEKS + 120] == 1


def test_the_missing_indicator_counts_present_and_missing():
    counts = np.array([[3, 4, 0, 2], [0, 0, 0, 5]])
    made = missing_indicator(
        ColumnHours("x", NumberCells((1.0, 2.0)), counts, weight=3.0, segment="s")
    )
    assert (made.name, made.weight, made.segment) == ("x (missing)", 3.0, "s")
    assert made.counts[:, [0, -1]].tolist() == [[7, 2], [0, 5]]
    assert (made.counts.sum(axis=1) == counts.sum(axis=1)).all()
    source = ColumnHours("x", NumberCells((1.0, 2.0)), counts)
    known = [("", "x (missing)"), ("", "x")]
    assert [one.name for one in with_indicators([source], known)] == ["x", "x (missing)"]
    assert [one.name for one in with_indicators([source], known[1:])] == ["x"]


def test_cells_seen_in_healthy_windows():
    observed = np.array(
        [[1.0, 2, 0, 4, 1, 1, 1, 9], [0, 0, 0, 0, 0, 0, 0, 1], [1, 1, 1, 1, 1, 1, 0, 3]]
    )
    assert cells_seen(observed).tolist() == [7, 1, 7]
    rows = observed.sum(axis=1)
    assert least_cells_seen(observed, rows, usual=18) == 7  # the quiet window does not count
    assert least_cells_seen(observed, rows, usual=0) == 0  # fewer than 6: nothing to go by
    assert least_cells_seen(observed * 0, rows * 0, usual=0) == 0
    least, usual = np.array([14.0, 7, 15]), np.array([20.0, 1, 9])
    assert stuck_p(observed, least, usual).tolist() == [1, 0, 0]
    assert stuck_p(observed, least, usual * 3).tolist() == [1, 1, 1]  # too few rows to tell
    assert stuck_p(observed, np.zeros(3), usual).tolist() == [1, 1, 1]


def test_hourly_levels_of_a_calendar_column_are_all_its_share():
    hours = Hours(MONDAY, WEEKS)
    baseline = fit_seasonal([_weekday(hours)], hours)
    levels = watch(baseline, [_weekday(hours)], hours).levels
    assert levels[0, HOURLY] == pytest.approx(0.5 / 720)
    assert (levels[0, 1:] == 0).all()
