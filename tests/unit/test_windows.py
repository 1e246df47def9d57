"""Windows are half-open, aligned in UTC, and know no clock."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.windows import Grain, Window, require_utc

MOMENTS = st.datetimes(
    min_value=datetime(1900, 1, 1),  # noqa: DTZ001 -- hypothesis adds the zone
    max_value=datetime(2200, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)


@given(MOMENTS, st.sampled_from(Grain))
def test_every_moment_lies_in_one_aligned_window(moment: datetime, grain: Grain) -> None:
    window = Window.holding(moment, grain)
    assert window.start <= moment < window.end
    assert window.end - window.start == grain.length
    assert window.start.timestamp() % int(grain) == 0
    assert Window.holding(window.start, grain) == window
    assert Window.holding(window.end, grain).start == window.end
    assert Window.holding(window.end - timedelta(microseconds=1), grain) == window


@given(MOMENTS, st.integers(1, 100), st.sampled_from(Grain))
def test_split_pieces_touch_and_cover(moment: datetime, many: int, grain: Grain) -> None:
    start = Window.holding(moment, grain).start
    whole = Window(start, start + many * grain.length)
    pieces = list(whole.split(grain))
    assert len(pieces) == many
    assert pieces[0].start == whole.start
    assert pieces[-1].end == whole.end
    assert all(a.end == b.start for a, b in pairwise(pieces))


def test_a_window_needs_a_zone_and_some_length() -> None:
    start = datetime(2024, 5, 1, tzinfo=UTC)
    with pytest.raises(AssertionError, match="no time zone"):
        Window(datetime(2024, 5, 1), start)  # noqa: DTZ001
    for end in (start, start - timedelta(seconds=1)):
        with pytest.raises(AssertionError, match="starts before it ends"):
            Window(start, end)


def test_other_zones_become_utc() -> None:
    india = timezone(timedelta(hours=5, minutes=30))
    assert require_utc(datetime(2024, 3, 7, 13, 15, tzinfo=india)) == datetime(
        2024, 3, 7, 7, 45, tzinfo=UTC
    )
    summer = timezone(timedelta(hours=2))
    window = Window(datetime(2024, 5, 1, 2, tzinfo=summer), datetime(2024, 5, 2, tzinfo=UTC))
    assert window.start.tzinfo is UTC
    assert window == Window.of_day(date(2024, 5, 1))


@pytest.mark.parametrize(("minutes", "closed"), [(9, False), (10, True), (11, True)])
def test_a_window_closes_when_its_lateness_has_passed(minutes: int, closed: bool) -> None:
    window = Window.of_day(date(2024, 5, 1))
    now = window.end + timedelta(minutes=minutes)
    assert window.closed(timedelta(minutes=10), now) is closed


def test_the_end_is_outside() -> None:
    window = Window.of_day(date(2024, 2, 29))
    assert window.start in window
    assert window.end - timedelta(microseconds=1) in window
    assert window.end not in window
    assert "2024-02-29" not in window
    assert str(window) == "2024-02-29T00:00Z to 2024-03-01T00:00Z"
