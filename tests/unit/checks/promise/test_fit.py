"""What is learned from healthy weeks: seasons, classes, weeks left out, calibrations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from monitor.checks.promise.baseline import Calibration, ColumnClass
from monitor.checks.promise.column import ColumnHours, Layouts
from monitor.checks.promise.expect import Cut, windows_of
from monitor.checks.promise.fit import FitOptions, fit_seasonal
from monitor.checks.promise.hours import WEEK_HOURS, Hours, Season
from monitor.checks.promise.scales import DAILY, HOURLY, SIX_HOURS, WEEKLY
from monitor.checks.promise.tail import surprise_needed
from monitor.checks.promise.views import GAUSSIAN_VIEWS, View, statistics
from monitor.checks.promise.wobble import wobble_of
from monitor.profiles.cells import CategoryCells
from tests.reference import slow_promise as slow
from tests.unit.checks.promise.factories import (
    FEW_RANKS,
    MONDAY,
    NUMBER_CELLS,
    STEADY,
    WANDERING,
    World,
    category_column,
    number_column,
    outages,
    traffic,
    with_gaps,
)


def _learned(column: ColumnHours, hours: Hours, **how):
    return fit_seasonal([column], hours, **how).columns[0]


HOUR = np.arange(8 * 168)
WEEKEND = (HOUR % 168 >= 120).astype(float)
MEANS = {
    Season.NONE: np.zeros(len(HOUR)),
    Season.HOUR: 0.4 * np.sin(2 * np.pi * HOUR / 24),
    Season.DAY_TYPE_HOUR: np.where(WEEKEND, 0.4, 0.4 * np.sin(2 * np.pi * HOUR / 24)),
    Season.HOUR_OF_WEEK: 0.4 * np.sin(2 * np.pi * HOUR / 56),
}


@pytest.mark.parametrize("season", list(Season))
def test_the_true_season_is_learned(season):
    column = _learned(number_column(MEANS[season]), Hours(MONDAY, len(HOUR)))
    assert column.season is season
    assert column.totals.shape == (season.n_slots, NUMBER_CELLS.n_cells)
    assert column.n == 200 * len(HOUR)
    assert (column.column_class, column.withheld) == (ColumnClass.ROW, "")


def test_seasons_follow_the_local_clock_across_summer_time():
    """The same wall clock all through, 8 weeks around the change: an hour's season is found, and
    a fit in UTC has to take one that knows more to fit worse."""
    first = MONDAY.replace(month=3, day=4)
    local = Hours(first, 8 * 168, "Europe/Berlin")
    mean = 0.8 * np.sin(2 * np.pi * (local.hour_of_week % 24) / 24)
    column = number_column(mean)
    in_zone = fit_seasonal([column], local)
    in_utc = fit_seasonal([column], Hours(first, 8 * 168))
    assert in_zone.columns[0].season is Season.HOUR
    at = (0, View.OMNIBUS, HOURLY)
    assert in_zone.calibrations.tau[at] * in_zone.calibrations.spread[at] < 0.0005
    assert in_utc.calibrations.tau[at] > 0.001


def test_fewer_than_four_weeks_are_withheld_and_not_tested():
    for hours in (0, 100, 168, 3 * 168 + 167):
        column = number_column(np.zeros(hours))
        baseline = fit_seasonal([column], Hours(MONDAY, hours))
        weeks = hours // 168
        assert baseline.withheld == {"x": f"{weeks} healthy weeks, 4 needed"}
        assert (baseline.calibrations.kind == Calibration.NONE).all()
        assert not baseline.columns[0].available
    column = with_gaps(number_column(np.zeros(4 * 168)), 0.03)
    baseline = fit_seasonal([column], Hours(MONDAY, 4 * 168))
    assert baseline.withheld == {}
    assert (baseline.calibrations.kind > 0).all()


def test_no_column_is_refused():
    with pytest.raises(AssertionError, match="no column"):
        fit_seasonal([], Hours(MONDAY, 8 * 168))


def test_only_accepted_weeks_are_learned_from():
    column = number_column(np.zeros(8 * 168))
    spoilt = column.counts.copy()
    spoilt[2 * 168 : 4 * 168] = 0
    spoilt[2 * 168 : 4 * 168, 0] = 7_777
    weeks = np.array([0, 1, 4, 5, 6, 7])
    accepted = {("", "x"): weeks}
    hours = Hours(MONDAY, 8 * 168)
    good = fit_seasonal([column], hours, accepted=accepted)
    bad = fit_seasonal([replace(column, counts=spoilt)], hours, accepted=accepted)
    assert good.columns[0].weeks == tuple(weeks.tolist())
    assert bad.columns[0].totals.tolist() == good.columns[0].totals.tolist()
    for name in ("kind", "tau", "spread", "ratio", "degrees", "curves"):
        one, two = getattr(bad.calibrations, name), getattr(good.calibrations, name)
        assert (one == two).all()
    three = fit_seasonal([column], hours, accepted={("", "x"): weeks[:3]})
    assert three.withheld == {"x": "3 healthy weeks, 4 needed"}
    other = fit_seasonal([column], hours, accepted={("", "y"): weeks[:3]})
    assert other.columns[0].weeks == tuple(range(8))


def test_weeks_without_a_row_of_the_column_are_not_healthy_weeks():
    """A column that is five weeks old in a history of eight: five weeks count, and its tails are
    drawn from those, or every p-value would be floored by the chance of drawing empty weeks."""
    column = number_column(np.zeros(8 * 168))
    young = column.counts.copy()
    young[: 3 * 168] = 0
    hours = Hours(MONDAY, 8 * 168)
    baseline = fit_seasonal([replace(column, counts=young)], hours)
    assert baseline.columns[0].weeks == (3, 4, 5, 6, 7)
    assert baseline.withheld == {}
    curve = baseline.calibrations.curves[0, View.LOCATION, HOURLY]
    assert surprise_needed(curve, 3e-5) < 60
    young[: 5 * 168] = 0
    baseline = fit_seasonal([replace(column, counts=young)], hours)
    assert baseline.withheld == {"x": "3 healthy weeks, 4 needed"}
    young[:] = 0
    baseline = fit_seasonal([replace(column, counts=young)], hours)
    assert not baseline.columns[0].available


def test_excluded_hours_are_not_learned_from():
    column = number_column(np.zeros(8 * 168))
    holiday = np.zeros(8 * 168, bool)
    holiday[1000:1024] = True
    strange = column.counts.copy()
    strange[holiday] = 0
    strange[holiday, 0] = 5_000
    without = Hours(MONDAY, 8 * 168, "UTC", holiday)
    one = fit_seasonal([column], without)
    two = fit_seasonal([replace(column, counts=strange)], without)
    assert two.columns[0].totals.tolist() == one.columns[0].totals.tolist()
    assert (two.calibrations.tau == one.calibrations.tau).all()
    assert (two.calibrations.curves == one.calibrations.curves).all()
    assert one.columns[0].n == 200 * (8 * 168 - 24)
    learned = fit_seasonal([replace(column, counts=strange)], Hours(MONDAY, 8 * 168))
    assert learned.calibrations.tau[0, View.OMNIBUS, DAILY] > 0.01


# Calendar: the hour fixes the value (at least 98 % of rows in their slot's usual cell) and not
# because there is only one (at most 90 % in one cell overall).
def test_a_column_that_the_hour_fixes_is_a_calendar_column():
    hours = Hours(MONDAY, 8 * 168, "Europe/Berlin")
    days = CategoryCells(("mo", "tu", "we", "th", "fr", "sa", "su"))
    counts = np.zeros((hours.n, days.n_cells), np.int64)
    counts[np.arange(hours.n), hours.hour_of_week // 24] = 300
    weekday = ColumnHours("weekday", days, counts)
    baseline = fit_seasonal([weekday], hours)
    assert baseline.columns[0].column_class is ColumnClass.CALENDAR
    assert baseline.columns[0].available
    kinds = baseline.calibrations.kind[0]
    assert kinds[View.CELL, HOURLY] == Calibration.REGULAR
    assert (kinds > 0).sum() == 1
    assert baseline.views.tolist() == [[1, 0, 0, 0]]
    mixed = counts.copy()
    mixed[np.arange(hours.n), (hours.hour_of_week // 24 + 1) % 7] += 15  # 4.8 % elsewhere
    assert _learned(replace(weekday, counts=mixed), hours).column_class is ColumnClass.ROW


def test_a_constant_column_is_no_calendar():
    counts = np.zeros((8 * 168, 4), np.int64)
    counts[:, 0] = 100
    column = _learned(ColumnHours("c", CategoryCells(("a",)), counts), Hours(MONDAY, 8 * 168))
    assert (column.column_class, column.season) == (ColumnClass.ROW, Season.NONE)


# Context: all rows of an hour share one value that wanders from day to day, so a day holds a few
# independent values only; the daily wobble is far above 0.02.
def _weather(seed: int = 5, weeks: int = 8, rows: int = 100) -> ColumnHours:
    rng = np.random.default_rng(seed)
    n = weeks * 168
    level = np.zeros(n)
    for at in range(1, n):
        level[at] = 0.97 * level[at - 1] + np.sqrt(1 - 0.97**2) * rng.normal()
    counts = np.zeros((n, NUMBER_CELLS.n_cells), np.int64)
    counts[np.arange(n), NUMBER_CELLS.assign(level)] = rows
    return ColumnHours("temperature", NUMBER_CELLS, counts)


def test_an_outside_state_is_a_context_column_and_keeps_its_missing_share():
    baseline = fit_seasonal([_weather(), number_column(np.zeros(8 * 168))], Hours(MONDAY, 8 * 168))
    names = [one.name for one in baseline.columns]
    assert names == ["temperature", "x", "temperature (missing)"]
    weather, _, missing = baseline.columns
    assert weather.column_class is ColumnClass.CONTEXT
    assert "wanders by itself" in weather.withheld
    assert set(baseline.withheld) == {"temperature"}
    tested = baseline.calibrations.kind[0] > 0
    assert tested.sum() <= 1  # at most whether it moves at all
    assert missing.column_class is ColumnClass.ROW
    assert (baseline.calibrations.kind[2, View.CELL] > 0).all()
    assert baseline.place["", "temperature (missing)"] == 2


def test_hours_that_depend_on_each_other_are_judged_by_the_day():
    world = World(wander=0.1, memory=0.985, rows=500)
    columns, hours = traffic(world, 3, columns=2, days=56)
    baseline = fit_seasonal(columns, hours)
    place = int(np.argmin(baseline.calibrations.degrees[:, View.OMNIBUS, HOURLY]))
    independent = baseline.calibrations.degrees[place, View.OMNIBUS, HOURLY]
    column = baseline.columns[place]
    assert column.column_class is ColumnClass.ROW
    if independent < 20:
        assert f"({independent:.0f} count as independent)" in column.withheld
        assert (baseline.calibrations.kind[place][:, [HOURLY, SIX_HOURS]] == 0).all()
    assert (baseline.calibrations.kind[place][:, DAILY] > 0).any()


def test_calibrations_by_scale_for_eight_weeks_and_for_four():
    column, hours = with_gaps(number_column(MEANS[Season.HOUR]), 0.03), Hours(MONDAY, 8 * 168)
    kinds = fit_seasonal([column], hours).calibrations.kind[0]
    assert (kinds[:, [HOURLY, SIX_HOURS]] == Calibration.TAIL).all()
    assert (kinds[GAUSSIAN_VIEWS, DAILY] == Calibration.TAIL_ALONE).all()
    assert kinds[View.CELL, DAILY] == Calibration.TAIL  # cells must surprise by sampling too
    assert (kinds[:, WEEKLY] == Calibration.FEW).all()
    four = replace(column, counts=column.counts[: 4 * 168])
    table = fit_seasonal([four], Hours(MONDAY, 4 * 168)).calibrations
    assert (table.kind[0][:, DAILY] == Calibration.FEW).all()  # 28 days are fewer than 40
    assert table.degrees[0, View.OMNIBUS, [DAILY, WEEKLY]].tolist() == [28 + 8, 4 + 8]


# Each week is held against the others: τ of the hour is that of statistics against baselines
# without the window's own week, here put together week by week.
def test_the_wobble_is_learned_on_held_out_weeks():
    columns, hours = traffic(WANDERING, 7, columns=1, days=35, ranks=FEW_RANKS)
    columns = [with_gaps(columns[0], outages(hours.n))]
    baseline = fit_seasonal(columns, hours)
    one, parts = baseline.columns[0], []
    counts = columns[0].counts[:, one.layout.order].astype(float)
    slots = hours.slots(one.season)
    for week in range(5):
        mine = slice(week * WEEK_HOURS, (week + 1) * WEEK_HOURS)
        others = np.ones(hours.n, bool)
        others[mine] = False
        totals = np.zeros_like(one.totals)
        np.add.at(totals, slots[others], counts[others])
        shares = slow.smoothed_shares(totals.tolist(), one.season, one.strength)
        windows = windows_of(
            counts[mine], np.array(shares), totals, hours.part(mine.start, mine.stop), one.season,
            Cut(1, np.arange(1, 169)),
        )  # fmt: skip
        parts.append(statistics(windows, Layouts.of([one.layout])))
    t, df, n = (
        np.concatenate([getattr(part, name) for part in parts], axis=1)
        for name in ("statistic", "degrees", "effective_rows")
    )
    for view in (View.OMNIBUS, View.LOCATION, View.SPREAD, View.MISSING):
        seen = ~np.isnan(t[view])
        wobble = wobble_of(t[view][seen], df[view][seen], n[view][seen])
        at = (0, view, HOURLY)
        assert baseline.calibrations.tau[at] == pytest.approx(wobble.tau, rel=1e-9)
        assert baseline.calibrations.spread[at] == pytest.approx(wobble.spread, rel=1e-9)
        assert baseline.calibrations.degrees[at] == pytest.approx(wobble.n_independent, rel=1e-9)


# Moderation by hand: (n·own + 8·median)/(n + 8) over the columns, with n = 8 weeks.
def test_few_windows_are_drawn_to_the_columns_median():
    columns, hours = traffic(WANDERING, 9, columns=5, days=56, ranks=FEW_RANKS)
    table = fit_seasonal(columns, hours).calibrations
    alone = [fit_seasonal([one], hours).calibrations for one in columns]
    at = (View.LOCATION, WEEKLY)
    own = np.array([one.tau[0][at] for one in alone])  # a column alone is its own median
    together = np.array([table.tau[place][at] for place in range(5)])
    assert together == pytest.approx((8 * own + 8 * np.median(own)) / 16, rel=1e-9)
    assert (table.spread[:, View.LOCATION, WEEKLY] == 1).all()


def test_segments_are_judged_by_day_and_week_and_learned_among_themselves():
    column, hours = with_gaps(number_column(MEANS[Season.HOUR]), 0.03), Hours(MONDAY, 8 * 168)
    segment = with_gaps(number_column(MEANS[Season.HOUR], seed=1, rows=30), 0.03)
    segment = replace(segment, segment="country is NO")
    baseline = fit_seasonal([column, segment], hours)
    kinds = baseline.calibrations.kind
    assert (kinds[0] > 0).all()
    assert (kinds[1][:, [HOURLY, SIX_HOURS]] == 0).all()
    assert (kinds[1][:, [DAILY, WEEKLY]] > 0).all()
    assert baseline.place == {("", "x"): 0, ("country is NO", "x"): 1}
    alone = fit_seasonal([column], hours).calibrations
    assert (baseline.calibrations.tau[0] == alone.tau[0]).all()
    short = fit_seasonal([column, segment], Hours(MONDAY, 8 * 168),
                         accepted={segment.key: np.arange(3)})  # fmt: skip
    assert short.withheld == {}  # segments do not withhold the model's promise
    assert short.columns[1].withheld


def test_segments_of_a_calendar_column_are_not_learned():
    hours = Hours(MONDAY, 8 * 168)
    days = CategoryCells(("mo", "tu", "we", "th", "fr", "sa", "su"))
    counts = np.zeros((hours.n, days.n_cells), np.int64)
    counts[np.arange(hours.n), hours.hour_of_week // 24] = 300
    weekday = ColumnHours("weekday", days, counts)
    inside = replace(weekday, segment="plan is free")
    number = replace(number_column(np.zeros(hours.n)), segment="plan is free")
    baseline = fit_seasonal([weekday, inside, replace(number, segment=""), number], hours)
    keys = [one.key for one in baseline.columns]
    assert keys == [("", "weekday"), ("", "x"), ("plan is free", "x")]


def test_the_same_seed_gives_the_same_baseline():
    columns, hours = traffic(STEADY, 1, columns=2, days=28, ranks=FEW_RANKS)
    one, two = fit_seasonal(columns, hours), fit_seasonal(columns, hours)
    other = fit_seasonal(columns, hours, options=FitOptions(seed=1))
    assert (one.calibrations.curves == two.calibrations.curves).all()
    assert (one.calibrations.curves != other.calibrations.curves).any()
    assert (one.calibrations.tau == other.calibrations.tau).all()


def test_the_order_of_columns_changes_nothing():
    columns, hours = traffic(WANDERING, 2, columns=3, days=35, ranks=FEW_RANKS)
    one, turned = fit_seasonal(columns, hours), fit_seasonal(columns[::-1], hours)
    for name in ("kind", "tau", "spread", "curves"):
        there, back = getattr(one.calibrations, name), getattr(turned.calibrations, name)[::-1]
        assert there == pytest.approx(back, rel=1e-12)


def test_too_few_rows_in_any_window_say_so():
    counts = np.zeros((8 * 168, 4), np.int64)
    counts[::12, 0] = 1
    column = _learned(ColumnHours("rare", CategoryCells(("a",)), counts[:]), Hours(MONDAY, 8 * 168))
    assert column.withheld == "too few rows in any window"


def test_categories_have_two_views():
    rng = np.random.default_rng(0)
    column = category_column(rng, np.array([0.6, 0.3, 0.1]), np.full(8 * 168, 100))
    baseline = fit_seasonal([column], Hours(MONDAY, 8 * 168))
    assert baseline.views.tolist() == [[2, 2, 2, 2]]
    assert baseline.columns[0].layout.order[0] == 0
    assert (baseline.calibrations.kind[0, [View.LOCATION, View.SPREAD]] == 0).all()


def test_the_strength_is_learned_with_the_season():
    """Hours of the week from few rows an hour: an exact product asks for more of it than hours
    of the week that follow no product."""
    hours, learned = Hours(MONDAY, 8 * 168), {}
    day = np.repeat([0.0, 0.3, 0.6, -0.3, 0.9, -0.9, -0.6], 24)
    for name, mean in (
        ("both", day + 0.5 * np.sin(2 * np.pi * np.arange(168) / 24)),
        ("neither", np.random.default_rng(1).normal(0, 0.7, 168)),
    ):
        learned[name] = _learned(number_column(np.tile(mean, 8), rows=40), hours)
        assert learned[name].season is Season.HOUR_OF_WEEK
        one = learned[name]
        slowly = slow.smoothed_shares(one.totals.tolist(), "hour_of_week", one.strength)
        assert one.shares == pytest.approx(np.array(slowly), rel=1e-12)
    assert learned["both"].strength > learned["neither"].strength


def test_the_switch_of_the_wobble_leaves_it_out():
    columns, hours = traffic(WANDERING, 4, columns=1, days=35, ranks=FEW_RANKS)
    table = fit_seasonal(columns, hours, options=FitOptions(use_wobble=False)).calibrations
    assert (table.tau == 0).all()
    assert fit_seasonal(columns, hours).calibrations.tau[0, View.LOCATION, HOURLY] > 0
