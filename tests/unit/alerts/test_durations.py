"""Durations are read in one way everywhere, and a wrong one is told with its line."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerts.durations import duration_text, parse_duration, read_duration
from alerts.yaml_source import Problems, compose, section


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("5m", 300), ("2h", 7200), ("14d", 1_209_600), ("1h30m", 5400), ("0", 0),
     ("0s", 0), ("90m", 5400), ("1d12h", 129_600), (" 5m ", 300)],
)  # fmt: skip
def test_a_duration_is_days_hours_minutes_and_seconds(text: str, seconds: int) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", ["", "5", "m", "5 m", "30m1h", "1.5h", "-5m", "5M", "5min", "1w", "367d", "9999999999s"]
)
def test_anything_else_is_refused_with_the_text(text: str) -> None:
    with pytest.raises(ValueError, match=r"must (be a duration such as|not exceed)"):
        parse_duration(text)


@given(st.integers(min_value=0, max_value=366 * 86_400))
def test_what_is_written_is_read_back(seconds: int) -> None:
    duration = timedelta(seconds=seconds)
    assert parse_duration(duration_text(duration)) == duration


def test_mistakes_in_a_file_name_line_place_and_value() -> None:
    problems = Problems()
    root = compose("a: 5m\nb: soon\nc: [1]\nd: 3d\n", problems)
    assert root is not None
    each = section(root, "route", problems)
    assert each is not None
    read = [read_duration(each, name, most=timedelta(days=1)) for name in "abcde"]
    assert read == [timedelta(minutes=5), None, None, None, None]
    told = [(problem.line, problem.place, problem.message) for problem in problems.found]
    assert told == [
        (2, "route.b", "must be a duration such as 30s, 5m, 1h30m or 14d, got 'soon'"),
        (3, "route.c", "must be a duration such as 30s, 5m, 1h30m or 14d, got a list"),
        (4, "route.d", "must lie within 0s to 1d, got '3d'"),
    ]
