"""An allowed range: only an interval wholly outside is a breach."""

from __future__ import annotations

from typing import Any

import pytest

from alerts.conditions.allowed import AllowedRange
from alerts.lifecycle import step
from alerts.model import Alert, AlertState, DataState, ReadingState
from alerts.rules import Verdict, data_state_of, excess_of, judge
from tests.unit.alerts.factories import NOW, config, reading, rule

ALLOWED = AllowedRange(0.1, 0.3)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.31, 0.5, Verdict.BREACH),
        (0.3, 0.5, Verdict.CLEAR),  # they touch
        (0.0, 0.09, Verdict.BREACH),
        (0.0, 0.1, Verdict.CLEAR),
        (0.15, 0.2, Verdict.CLEAR),
        (0.0, 0.9, Verdict.CLEAR),  # wide: it may lie inside
        (0.31, None, Verdict.BREACH),  # the data sets no upper limit
        (0.0, None, Verdict.CLEAR),
        (None, 0.05, Verdict.BREACH),
        (None, 0.5, Verdict.CLEAR),
        (None, None, Verdict.UNKNOWN),
    ],
)
def test_a_breach_is_an_interval_apart_from_the_range(
    low: float | None, high: float | None, verdict: Verdict
) -> None:
    one = reading(1, 0.4, low=low, high=high)
    for firing in (False, True):
        assert judge(rule(condition=ALLOWED), one, currently_firing=firing) is verdict


def test_without_an_interval_the_rule_says_that_it_could_not_judge() -> None:
    assert data_state_of(rule(condition=ALLOWED), reading(1, 0.9)) is DataState.FAILED
    missing = reading(1, None, state=ReadingState.NO_DATA)
    assert data_state_of(rule(condition=ALLOWED), missing) is DataState.NO_DATA


def test_the_excess_is_the_distance_from_the_range_and_never_almost_nothing() -> None:
    judging = rule(condition=ALLOWED)
    assert excess_of(judging, reading(1, 0.9, low=0.8, high=1.0)) == pytest.approx(0.5)
    assert excess_of(judging, reading(1, 0.31, low=0.301, high=1.0)) == pytest.approx(0.02)
    assert excess_of(judging, reading(1, 0.9)) is None


def test_the_alert_ends_when_the_interval_overlaps_the_range_again() -> None:
    alerts: dict[str, Alert] = {}
    states = []
    intervals: list[dict[str, Any]] = [
        {"low": 0.35, "high": 0.5},
        {"low": None, "high": None},
        {"low": 0.25, "high": 0.45},
    ]
    for hour, interval in enumerate(intervals, start=1):
        found = step(config(rule(condition=ALLOWED)), alerts, [reading(hour, 0.4, **interval)], NOW)
        alerts |= found.alerts
        [alert] = alerts.values()
        states.append((alert.state, alert.data_state))
    assert states == [
        (AlertState.FIRING, DataState.OK),
        (AlertState.FIRING, DataState.FAILED),
        (AlertState.RESOLVED, DataState.OK),
    ]


def test_it_is_told_in_words() -> None:
    assert ALLOWED.describe() == "interval wholly outside 0.1 to 0.3"
    assert rule(condition=ALLOWED).compared == "interval"
