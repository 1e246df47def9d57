"""The backtest on healthy weeks, exact Poisson limits, and baselines as bytes and back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from monitor.checks.promise.backtest import clean_days, leave_one_week_out, upper_limit
from monitor.checks.promise.baseline import SeasonalBaseline, carried_over
from monitor.checks.promise.codec import baseline_from_bytes, baseline_to_bytes
from monitor.checks.promise.column import ColumnHours
from monitor.checks.promise.fit import fit_seasonal
from monitor.checks.promise.hours import HOUR, Hours
from monitor.checks.promise.incidents import incidents_of
from monitor.checks.promise.watch import watch
from monitor.profiles.cells import CategoryCells
from tests.unit.checks.promise.factories import (
    FEW_RANKS,
    MONDAY,
    SEASONAL,
    category_column,
    part_of,
    traffic,
)
from tests.unit.checks.promise.test_incidents import _firing


# Exact Poisson, known values; half of chi-square's 0.95 quantile on 2k + 2 degrees (Garwood 1936).
@pytest.mark.parametrize(
    ("events", "months", "limit", "digits"),
    [(0, 1, 3.0, 0.005), (0, 2, 1.5, 0.005), (0, 3, 1.0, 0.005), (0, 6, 0.5, 0.005),
     (1, 1, 4.74, 0.005), (2, 1, 6.30, 0.005), (3, 1, 7.75, 0.005),
     (40, 60, 0.868, 0.0005), (55, 60, 1.148, 0.0005), (70, 60, 1.423, 0.0005)],
)  # fmt: skip
def test_upper_limits_of_a_rate(events, months, limit, digits):
    found = upper_limit(events, months)
    assert found == pytest.approx(limit, abs=digits)
    assert stats.poisson.cdf(events, found * months) == pytest.approx(0.05)
    assert upper_limit(events, 0) == np.inf


@pytest.fixture(scope="module")
def weeks():
    columns, hours = traffic(SEASONAL, 12, columns=3, days=63, ranks=FEW_RANKS)
    return columns, hours


def test_healthy_weeks_are_quiet_and_their_p_values_honest(weeks):
    columns, hours = weeks
    steps = []
    found = leave_one_week_out(
        columns, hours, np.arange(9), progress=lambda done, n: steps.append((done, n))
    )
    assert steps == [(done, 9) for done in range(1, 10)]
    assert found.days == 63
    assert len(found.incidents) <= 1
    assert found.upper == pytest.approx(upper_limit(len(found.incidents), 2.1))
    assert found.a_month == pytest.approx(len(found.incidents) / 2.1)
    # 3 columns, 4 views: 168 hours, 55 of six hours, 25 days and one week in each of nine weeks.
    assert found.p_values == 9 * 3 * 4 * (168 + 55 + 25 + 1)
    # Overlapping windows repeat each other up to 4 times: limits for a quarter of the p-values.
    for level, below in zip((0.01, 0.001), found.below, strict=True):
        assert below / 4 <= stats.binom.ppf(0.9999, found.p_values // 4, level)


def test_a_planted_bad_week_is_found_and_only_that_one(weeks):
    columns, hours = weeks
    bad = columns[1].counts.copy()
    inside = slice(4 * 168 + 50, 4 * 168 + 90)
    moved = bad[inside, :2] // 2
    bad[inside, :2] -= moved
    bad[inside, 4:6] += moved
    spoilt = [columns[0], replace(columns[1], counts=bad), columns[2]]
    found = leave_one_week_out(spoilt, hours, np.arange(9))
    (one,) = found.incidents
    assert set(one.columns) == {"c1"}
    assert hours.end_of(4 * 168 + 50) <= one.opened <= hours.end_of(4 * 168 + 56)
    without = leave_one_week_out(spoilt, hours, np.array([0, 1, 2, 3, 5, 6, 7, 8]))
    assert without.incidents == ()
    assert without.days == 56


def test_four_weeks_can_not_be_tested(weeks):
    columns, hours = weeks
    with pytest.raises(AssertionError, match="4 weeks to test; 5 needed"):
        leave_one_week_out(columns, hours, np.arange(4))


def test_weeks_that_begin_at_local_midnight_hold_windows_of_seven_days(weeks):
    columns, hours = weeks
    berlin = Hours(MONDAY - HOUR, hours.n, "Europe/Berlin")
    found = leave_one_week_out(columns[:1], berlin, np.arange(5))
    assert found.p_values == 5 * 4 * (168 + 55 + 25 + 1)


def test_excluded_days_of_tested_weeks_are_no_clean_days(weeks):
    columns, hours = weeks
    holiday = np.zeros(hours.n, bool)
    holiday[24:48] = True  # inside a tested week
    holiday[8 * 168 : 8 * 168 + 72] = True  # in a week that is not tested
    without = Hours(MONDAY, hours.n, "UTC", holiday)
    found = leave_one_week_out(columns[:1], without, np.arange(5))
    assert found.days == 34


def test_clean_days_leave_out_incidents_and_exclusions():
    holiday = np.zeros(240, bool)
    holiday[0:24] = True
    hours = Hours(MONDAY, 240, "UTC", holiday)
    assert clean_days(hours, []) == 9
    # Open from the second day's end, 48 h, for 24 h after the last firing at 60 h: 36 h.
    incidents = incidents_of([_firing(48), _firing(60)])
    assert clean_days(hours, incidents) == 9 - 1.5
    assert clean_days(hours, [*incidents, *incidents]) == 9 - 1.5
    assert clean_days(hours, incidents_of([_firing(-100)])) == 9
    assert clean_days(hours, incidents_of([_firing(230)])) == pytest.approx(9 - 10 / 24)


@pytest.fixture(scope="module")
def mixed():
    columns, hours = traffic(SEASONAL, 2, columns=2, days=56, ranks=FEW_RANKS)
    rng = np.random.default_rng(1)
    kind = category_column(rng, np.array([0.7, 0.2, 0.1]), np.full(hours.n, 80), 'odd "name" ☃')
    counts = np.zeros((hours.n, 10), np.int64)
    counts[np.arange(hours.n), hours.hour_of_week // 24] = 50
    weekday = ColumnHours("weekday", CategoryCells(("1", "2", "3", "4", "5", "6", "7")), counts)
    segment = replace(columns[0], segment="plan is free", weight=0.1)
    every = [*columns, kind, weekday, segment]
    short = {columns[1].key: np.arange(3)}
    return fit_seasonal(every, hours, accepted=short), every, hours


def _same(one: SeasonalBaseline, two: SeasonalBaseline) -> None:
    for name in ("kind", "tau", "spread", "ratio", "degrees", "curves"):
        mine, theirs = getattr(one.calibrations, name), getattr(two.calibrations, name)
        assert mine.dtype == theirs.dtype
        assert mine.tobytes() == theirs.tobytes()
    for mine, theirs in zip(one.columns, two.columns, strict=True):
        for name in ("name", "segment", "weight", "season", "column_class", "weeks", "withheld"):
            assert getattr(mine, name) == getattr(theirs, name)
        for name in ("order", "scores", "data"):
            there, back = getattr(mine.layout, name), getattr(theirs.layout, name)
            assert there.dtype == back.dtype
            assert there.tobytes() == back.tobytes()
        assert mine.totals.tobytes() == theirs.totals.tobytes()
        assert mine.totals.shape == theirs.totals.shape


def test_a_baseline_survives_the_round_trip_to_the_last_bit(mixed):
    baseline, columns, hours = mixed
    stored = baseline_to_bytes(baseline)
    back = baseline_from_bytes(stored)
    _same(baseline, back)
    assert baseline_to_bytes(back) == stored
    one, two = watch(baseline, columns, hours), watch(back, columns, hours)
    assert one.levels.tobytes() == two.levels.tobytes()
    assert one.firings == two.firings
    for mine, theirs in zip(one.scores, two.scores, strict=True):
        assert mine.p_value.tobytes() == theirs.p_value.tobytes()


def test_what_was_withheld_keeps_the_yardstick_it_had(mixed):
    now, columns, hours = mixed
    before = fit_seasonal(columns, hours)
    assert not now.columns[1].available
    joined = carried_over(now, before)
    assert joined.columns[1] is before.columns[1]
    assert (joined.calibrations.curves[1] == before.calibrations.curves[1]).all()
    assert (joined.calibrations.kind[0] == now.calibrations.kind[0]).all()
    assert (now.calibrations.kind[1] == 0).all()  # its argument is left as it was
    assert carried_over(before, now) is before
    fresh = fit_seasonal(part_of(columns[:1], 0, hours.n), hours)
    assert carried_over(now, fresh) is now
