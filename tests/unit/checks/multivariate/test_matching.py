"""Both samples get the same mix of hours, whatever each of them holds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.checks.multivariate.matching import MatchedBy, match_rows

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)


def micros(moments: list[datetime]) -> np.ndarray:
    return np.array([round(moment.timestamp() * 1e6) for moment in moments], np.int64)


def spread(day: int, days: int, n: int, seed: int, first: int = 0, last: int = 24) -> np.ndarray:
    rng = np.random.default_rng(seed)
    starts = rng.integers(day, day + days, n) * 86_400
    seconds = starts + rng.integers(first * 3_600, last * 3_600, n)
    return round(MONDAY.timestamp() * 1e6) + seconds * 1_000_000


def local_slots(times: np.ndarray, zone: str) -> list[tuple[bool, int]]:
    moments = [
        datetime.fromtimestamp(t / 1e6, UTC).astimezone(ZoneInfo(zone)) for t in times.tolist()
    ]
    return [(moment.weekday() >= 5, moment.hour) for moment in moments]


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 900),
    st.integers(300, 900),
    st.integers(50, 1_000),
    st.sampled_from(["UTC", "Asia/Kathmandu", "America/New_York"]),
)
@settings(max_examples=40, deadline=None)
def test_slots_are_in_one_proportion(seed: int, n: int, m: int, limit: int, zone: str) -> None:
    reference, current = spread(0, 28, 20 * n, seed), spread(28, 1, m, seed + 1)
    found = match_rows(reference, current, zone, limit, np.random.default_rng(seed))
    assert len(np.unique(found.reference)) == len(found.reference) <= limit
    assert len(np.unique(found.current)) == len(found.current) <= min(limit, m)
    if found.by is not MatchedBy.NOTHING:
        width = 48 if found.by is MatchedBy.WEEKDAY_TYPE_AND_HOUR else 24
        counts = np.zeros((2, 48), np.int64)
        for side, times in enumerate((reference[found.reference], current[found.current])):
            for weekend, hour in local_slots(times, zone):
                counts[side, (hour + 24 * weekend) % width] += 1
        ratio = len(found.reference) // len(found.current)
        assert (counts[0] == ratio * counts[1]).all()


def test_hours_that_one_side_lacks_are_left_out() -> None:
    reference = spread(0, 28, 40_000, 1)
    current = spread(28, 1, 2_000, 2, first=8, last=18)
    found = match_rows(reference, current, "UTC", 2_000, np.random.default_rng(0))
    assert found.by is MatchedBy.WEEKDAY_TYPE_AND_HOUR
    assert len(found.reference) == len(found.current) == 2_000
    hours = {hour for _, hour in local_slots(reference[found.reference], "UTC")}
    assert hours == set(range(8, 18))
    assert not any(weekend for weekend, _ in local_slots(reference[found.reference], "UTC"))


def test_a_small_day_gets_several_reference_rows_for_each_of_its_own() -> None:
    found = match_rows(
        spread(0, 28, 40_000, 3), spread(28, 1, 300, 4), "UTC", 2_000, np.random.default_rng(0)
    )
    assert len(found.current) == 300
    assert len(found.reference) == 1_800


@pytest.mark.parametrize(
    ("reference", "by"),
    [
        (spread(5, 2, 30_000, 5), MatchedBy.HOUR),  # a weekend against a Monday
        (np.zeros(5_000, np.int64), MatchedBy.NOTHING),  # a file without times
    ],
    ids=["weekend only", "no times"],
)
def test_what_can_not_be_matched_is_matched_by_less(reference: np.ndarray, by: MatchedBy) -> None:
    found = match_rows(reference, spread(28, 1, 900, 6), "UTC", 2_000, np.random.default_rng(0))
    assert found.by is by
    assert len(found.current) == 900


def test_chance_is_an_argument() -> None:
    reference, current = spread(0, 28, 20_000, 7), spread(28, 1, 2_500, 8)
    first, again, other = (
        match_rows(reference, current, "UTC", 1_000, np.random.default_rng(seed))
        for seed in (1, 1, 2)
    )
    assert np.array_equal(first.reference, again.reference)
    assert np.array_equal(first.current, again.current)
    assert len(np.intersect1d(first.reference, other.reference)) < 200


def test_nothing_to_match() -> None:
    none = np.zeros(0, np.int64)
    found = match_rows(
        none, micros([MONDAY, MONDAY + timedelta(hours=1)]), "UTC", 9, np.random.default_rng(0)
    )
    assert len(found.reference) == len(found.current) == 0
