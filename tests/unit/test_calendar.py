"""Days and months of a time zone, clock changes included."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.calendar import local_day, local_month
from monitor.windows import Grain, Window

MOMENTS = st.datetimes(
    min_value=datetime(2000, 1, 1),  # noqa: DTZ001 -- hypothesis adds the zone
    max_value=datetime(2040, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
# Zones whose offset is a whole hour all the time since 2000, and some where it is not.
WHOLE = ["UTC", "Europe/Berlin", "Europe/Warsaw", "America/New_York", "America/Sao_Paulo",
         "Pacific/Kiritimati", "Africa/Casablanca", "America/Havana", "Asia/Beirut"]  # fmt: skip
UNEVEN = ["Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns"]


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_the_hour_that_comes_twice_is_two_hours_of_one_long_day() -> None:
    # pub-027: Europe/Berlin, both read 02:20 local
    events = [utc("2023-10-29T00:20"), utc("2023-10-29T01:20")]
    hours = {Window.holding(event, Grain.HOUR) for event in events}
    days = {local_day(event, "Europe/Berlin") for event in events}
    assert len(hours) == 2
    assert days == {Window(utc("2023-10-28T22:00"), utc("2023-10-29T23:00"))}
    assert days.pop().end - utc("2023-10-28T22:00") == timedelta(hours=25)


def test_no_day_is_left_out_when_clocks_go_forward() -> None:
    # pub-028: Europe/Warsaw, 30 March to 2 April 2024: one day each, the 31st 23 hours long
    starts = [local_day(utc(f"{day}T12:00"), "Europe/Warsaw") for day in
              ("2024-03-30", "2024-03-31", "2024-04-01", "2024-04-02")]  # fmt: skip
    lengths = [(window.end - window.start) // timedelta(hours=1) for window in starts]
    assert lengths == [24, 23, 24, 24]
    assert all(a.end == b.start for a, b in pairwise(starts))
    assert starts[0].start == utc("2024-03-29T23:00")


@pytest.mark.parametrize("zone", WHOLE)
@given(moment=MOMENTS)
def test_a_day_is_what_the_local_calendar_says(zone: str, moment: datetime) -> None:
    window = local_day(moment, zone)
    assert moment in window
    local = moment.astimezone(ZoneInfo(zone)).date()
    assert window.start.astimezone(ZoneInfo(zone)).date() == local
    last = (window.end - timedelta(seconds=1)).astimezone(ZoneInfo(zone)).date()
    assert last == local
    before = (window.start - timedelta(seconds=1)).astimezone(ZoneInfo(zone)).date()
    assert before < local


@pytest.mark.parametrize("zone", UNEVEN + WHOLE)
@given(moment=MOMENTS)
def test_days_are_whole_utc_hours_and_touch(zone: str, moment: datetime) -> None:
    window = local_day(moment, zone)
    assert moment in window
    for end in (window.start, window.end):
        assert Window.holding(end, Grain.HOUR).start == end
    assert local_day(window.end, zone).start == window.end
    assert local_day(window.start, zone) == window
    assert timedelta(hours=22) <= window.end - window.start <= timedelta(hours=26)


@pytest.mark.parametrize("zone", UNEVEN + WHOLE)
@given(moment=MOMENTS)
def test_a_month_is_made_of_its_days(zone: str, moment: datetime) -> None:
    window = local_month(moment, zone)
    assert moment in window
    assert local_day(window.start, zone).start == window.start
    assert local_day(window.end, zone).start == window.end
    assert local_month(window.end, zone).start == window.end
    assert local_month(window.end - timedelta(seconds=1), zone) == window
    assert timedelta(days=27) < window.end - window.start < timedelta(days=32)


def test_months_in_the_west_begin_on_the_first_there() -> None:
    window = local_month(utc("2024-05-01T03:59"), "America/New_York")
    assert window == Window(utc("2024-04-01T04:00"), utc("2024-05-01T04:00"))


def test_a_leap_day_has_its_month() -> None:
    window = local_month(utc("2024-02-29T12:00"), "UTC")
    assert window == Window(utc("2024-02-01T00:00"), utc("2024-03-01T00:00"))


def test_every_zone_there_is_has_days() -> None:
    moment = utc("2024-06-15T10:30")
    for zone in available_timezones():
        assert moment in local_day(moment, zone)
        assert moment in local_month(moment, zone)
    assert local_day(moment, "UTC") == Window.of_day(date(2024, 6, 15))
