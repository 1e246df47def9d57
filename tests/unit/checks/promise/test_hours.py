"""Hours and scales: local slots against the wall clock hour by hour, windows on one grid."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.checks.promise.hours import Hours, Season
from monitor.checks.promise.scales import DAILY, HOURLY, SCALES, SIX_HOURS, WEEKLY
from tests.reference.slow_promise import local_hour_of_week, slot

# Two years hold each change of summer time twice; Kolkata is half an hour off, Lord Howe changes
# by half an hour, Kathmandu is three quarters off, Apia skipped a whole day in 2011.
ZONES = (
    ("UTC", datetime(2023, 1, 1, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2023, 1, 1, 5, tzinfo=UTC)),
    ("America/New_York", datetime(2023, 2, 28, 23, tzinfo=UTC)),
    ("Asia/Kolkata", datetime(2024, 2, 27, 11, tzinfo=UTC)),
    ("Asia/Kathmandu", datetime(2024, 2, 27, 11, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2024, 3, 1, tzinfo=UTC)),
    ("Pacific/Apia", datetime(2011, 12, 20, tzinfo=UTC)),
)


@pytest.mark.parametrize(("zone", "first"), ZONES, ids=[zone for zone, _ in ZONES])
def test_hours_of_the_week_are_those_of_the_wall_clock(zone, first):
    hours = Hours(first, 366 * 24, zone)
    expected = [local_hour_of_week(first, hour, zone) for hour in range(hours.n)]
    assert hours.hour_of_week.tolist() == expected
    for season in Season:
        slots = hours.slots(season)
        assert slots.tolist() == [slot(one, season.value) for one in expected]
        assert len(set(slots.tolist())) == season.n_slots


# Sunday 29 October 2023: the clock goes back at 01:00 UTC, hour 2 comes twice and none is lost.
# Sunday 12 March 2023: New York goes forward at 07:00 UTC, hour 2 does not happen.
def test_the_days_on_which_the_clock_changes():
    autumn = Hours(datetime(2023, 10, 28, 22, tzinfo=UTC), 25, "Europe/Berlin")
    day = 6 * 24
    assert (autumn.hour_of_week - day).tolist() == [0, 1, 2, 2, *range(3, 24)]
    spring = Hours(datetime(2023, 3, 12, 5, tzinfo=UTC), 23, "America/New_York")
    assert (spring.hour_of_week - day).tolist() == [0, 1, *range(3, 24)]


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 20_000), st.integers(1, 400), st.sampled_from([zone for zone, _ in ZONES]),
    st.data(),
)  # fmt: skip
def test_a_part_is_what_its_hours_are_alone(start, n, zone, data):
    first = datetime(2022, 1, 1, tzinfo=UTC) + timedelta(hours=start)
    excluded = np.arange(n) % 7 == 3
    hours = Hours(first, n, zone, excluded)
    at = data.draw(st.integers(0, n - 1))
    stop = data.draw(st.integers(at, n))
    part = hours.part(at, stop)
    assert part.hour_of_week.tolist() == hours.hour_of_week[at:stop].tolist()
    assert part.without.tolist() == hours.without[at:stop].tolist()
    assert part.epoch_hour == hours.epoch_hour + at
    assert part.end_of(0) == hours.end_of(at)


def test_hours_refuse_what_they_can_not_mean():
    with pytest.raises(AssertionError, match="full hour"):
        Hours(datetime(2024, 1, 1, 0, 30, tzinfo=UTC), 3)
    with pytest.raises(AssertionError, match="2 exclusions for 3 hours"):
        Hours(datetime(2024, 1, 1, tzinfo=UTC), 3, "UTC", np.zeros(2, bool))
    assert not Hours(datetime(2024, 1, 1, tzinfo=UTC), 3).without.any()
    assert Hours(datetime(2024, 1, 1, tzinfo=UTC), 500).n_weeks == 2


def test_windows_a_month_and_words():
    assert [scale.windows_a_month for scale in SCALES] == [720, 240, 120, 30]
    assert [scale.word for scale in SCALES] == ["1 h", "6 h", "24 h", "7 d"]
    assert sum(scale.share for scale in SCALES) == pytest.approx(1)


# By hand: 1 January 2024 00:00 UTC is a Monday, so weeks and days end on its multiples.
def test_windows_end_on_a_grid_that_does_not_depend_on_the_first_hour():
    monday = Hours(datetime(2024, 1, 1, tzinfo=UTC), 400)
    assert SCALES[WEEKLY].ends_within(monday.epoch_hour, 0, 400)[:3].tolist() == [168, 192, 216]
    assert SCALES[DAILY].ends_within(monday.epoch_hour, 0, 60).tolist() == [24, 30, 36, 42, 48, 54,
                                                                            60]  # fmt: skip
    for place in (HOURLY, SIX_HOURS, DAILY, WEEKLY):
        scale = SCALES[place]
        whole = {monday.end_of(end - 1) for end in scale.ends_within(monday.epoch_hour, 200, 400)}
        later = monday.part(17, 400)
        part = {later.end_of(end - 1) for end in scale.ends_within(later.epoch_hour, 183, 383)}
        assert whole == part
        assert len(whole) >= 200 // scale.stride


def test_windows_lie_inside_the_hours():
    ends = SCALES[DAILY].ends_within(Hours(datetime(2024, 1, 1, 5, tzinfo=UTC), 100).epoch_hour, 0,
                                     100)  # fmt: skip
    assert ends.min() >= 24
    assert (np.diff(ends) == 6).all()
    assert len(SCALES[WEEKLY].ends_within(0, 0, 100)) == 0
