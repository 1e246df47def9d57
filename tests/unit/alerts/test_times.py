"""Times of day in zones: both clock changes, midnight, leap days, ends of months."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alerts.times import Span, TimeInterval


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def clock(text: str) -> tuple[int, int]:
    start, end = (int(part[:2]) * 60 + int(part[3:]) for part in text.split("-"))
    return start, end


def interval(zone: str, times: str = "", **fields: object) -> TimeInterval:
    minutes = (clock(times),) if times else ()
    return TimeInterval("it", zone, (Span(minutes=minutes, **fields),))  # type: ignore[arg-type]


MINUTE = timedelta(minutes=1)


def minutes_inside(one: TimeInterval, start: str, hours: int) -> int:
    first = utc(start)
    return sum(one.holds(first + number * MINUTE) for number in range(hours * 60))


def test_the_end_is_no_part_of_the_interval() -> None:
    office = interval("UTC", "09:00-17:00")
    inside = [
        office.holds(utc(f"2026-03-02T{each}")) for each in ("08:59", "09:00", "16:59", "17:00")
    ]
    assert inside == [False, True, True, False]


def test_a_night_wraps_over_midnight_and_belongs_to_the_day_on_which_it_began() -> None:
    nights = interval("UTC", "22:00-06:00", weekdays=((0, 4),))
    assert nights.holds(utc("2026-03-06T23:00"))  # Friday evening
    assert nights.holds(utc("2026-03-07T05:59"))  # the same night, on Saturday
    assert not nights.holds(utc("2026-03-07T22:00"))  # Saturday evening
    assert not nights.holds(utc("2026-03-09T05:00"))  # the night began on Sunday


@pytest.mark.parametrize(
    ("zone", "start", "hours", "times", "minutes"),
    [
        # Berlin, 29 March 2026: 02:00 to 03:00 does not exist.
        ("Europe/Berlin", "2026-03-28T23:00", 23, "02:00-03:00", 0),
        ("Europe/Berlin", "2026-03-28T23:00", 23, "01:30-03:30", 60),
        ("Europe/Berlin", "2026-03-28T21:00", 12, "22:00-06:00", 7 * 60),
        # 25 October 2026: 02:00 to 03:00 comes twice.
        ("Europe/Berlin", "2026-10-24T22:00", 25, "02:00-03:00", 120),
        ("Europe/Berlin", "2026-10-24T18:00", 14, "22:00-06:00", 9 * 60),
        # New York, 8 March and 1 November 2026.
        ("America/New_York", "2026-03-08T05:00", 23, "00:00-04:00", 3 * 60),
        ("America/New_York", "2026-11-01T04:00", 25, "00:00-04:00", 5 * 60),
        # Lord Howe changes by half an hour: 5 April and 4 October 2026.
        ("Australia/Lord_Howe", "2026-04-04T13:00", 24, "01:00-03:00", 150),
        ("Australia/Lord_Howe", "2026-10-03T13:30", 23, "01:00-03:00", 90),
        # Kolkata knows no change.
        ("Asia/Kolkata", "2026-03-28T18:30", 24, "09:00-17:00", 8 * 60),
    ],
)
def test_hours_that_are_skipped_or_repeated_count_as_the_wall_clock_shows_them(
    zone: str, start: str, hours: int, times: str, minutes: int
) -> None:
    assert minutes_inside(interval(zone, times), start, hours) == minutes


def test_three_zones_read_one_instant_differently() -> None:
    moment = utc("2026-01-15T20:00")
    inside = {
        zone: interval(zone, "09:00-17:00").holds(moment)
        for zone in ("Europe/Berlin", "America/New_York", "Asia/Tokyo")
    }
    assert inside == {"Europe/Berlin": False, "America/New_York": True, "Asia/Tokyo": False}


def test_a_leap_day_is_the_29th_and_the_last_of_february() -> None:
    leap_day = interval("UTC", days=((29, 29),), months=((2, 2),))
    last_day = interval("UTC", days=((-1, -1),), months=((2, 2),))
    days = ("2024-02-29T12:00", "2026-02-28T12:00", "2024-02-28T12:00", "2024-03-01T00:00")
    assert [leap_day.holds(utc(each)) for each in days] == [True, False, False, False]
    assert [last_day.holds(utc(each)) for each in days] == [True, True, False, False]


def test_the_last_week_of_every_month_is_counted_from_its_end() -> None:
    week = interval("UTC", days=((-7, -1),))
    assert [day for day in range(1, 32) if week.holds(utc(f"2026-01-{day:02}T00:00"))] == list(
        range(25, 32)
    )
    assert [day for day in range(1, 29) if week.holds(utc(f"2026-02-{day:02}T00:00"))] == list(
        range(22, 29)
    )


def test_weekdays_and_months_may_wrap() -> None:
    weekend = interval("UTC", weekdays=((4, 0),))
    days = [weekend.holds(utc(f"2026-03-{day:02}T12:00")) for day in range(2, 9)]
    assert days == [True, False, False, False, True, True, True]
    winter = interval("UTC", months=((11, 2),))
    months = [winter.holds(utc(f"2026-{month:02}-10T12:00")) for month in range(1, 13)]
    assert months == [True, True, *[False] * 8, True, True]


def test_years_bound_an_interval() -> None:
    freeze = interval("UTC", years=((2026, 2026),), months=((12, 12),), days=((24, 31),))
    moments = ("2026-12-24T00:00", "2026-12-31T23:59", "2027-01-01T00:00", "2025-12-25T00:00")
    assert [freeze.holds(utc(each)) for each in moments] == [True, True, False, False]


ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC")


@given(
    st.sampled_from(ZONES),
    st.integers(0, 1439),
    st.integers(1, 1439),
    st.integers(0, 366 * 24 * 60),
)
@settings(max_examples=60, deadline=None)
def test_the_next_change_is_the_first_minute_with_another_answer(
    zone: str, start: int, length: int, offset: int
) -> None:
    one = TimeInterval("it", zone, (Span(minutes=((start, (start + length) % 1440 or 1440),)),))
    now = utc("2026-01-01T00:00") + offset * MINUTE
    inside = one.holds(now)
    slow = now + MINUTE
    while one.holds(slow) is inside:
        slow += MINUTE
    assert one.changes_after(now) == slow


def test_an_interval_that_never_changes_is_looked_at_again_after_some_days() -> None:
    always = interval("Europe/Berlin", weekdays=((0, 6),))
    now = utc("2026-03-01T00:00")
    assert timedelta(days=6) < always.changes_after(now) - now < timedelta(days=9)


def test_the_wall_clock_of_the_zone_decides_not_the_one_of_the_instant() -> None:
    nights = interval("Europe/Berlin", "22:00-06:00")
    moment = datetime(2026, 7, 1, 5, 30, tzinfo=ZoneInfo("Asia/Tokyo"))  # 22:30 in Berlin
    assert nights.holds(moment)
