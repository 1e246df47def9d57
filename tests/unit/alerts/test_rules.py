"""When a reading is a breach, clear or unknown."""

from __future__ import annotations

import pytest

from alerts.model import DataState, Labels, ReadingState
from alerts.rules import (
    Bounds,
    Matcher,
    StateCondition,
    ValueSource,
    Verdict,
    data_state_of,
    judge,
)

from .factories import reading, rule

ABOVE = Bounds(upper=0.2, recover_upper=0.1)
BELOW = Bounds(lower=0.8, recover_lower=0.9)
OUTSIDE = Bounds(lower=-1.0, upper=1.0)


def test_a_command_names_the_alert_it_is_for() -> None:
    assert rule(command="respond run {alert} --by me").command_for(17) == "respond run 17 --by me"
    assert rule().command_for(17) is None


@pytest.mark.parametrize(
    ("bounds", "value", "firing", "verdict"),
    [
        (ABOVE, 0.3, False, Verdict.BREACH),
        (ABOVE, 0.2, False, Verdict.CLEAR),  # equality is no breach
        (ABOVE, 0.15, False, Verdict.CLEAR),
        (ABOVE, 0.15, True, Verdict.BREACH),  # still over the recovery threshold
        (ABOVE, 0.1, True, Verdict.CLEAR),
        (BELOW, 0.79, False, Verdict.BREACH),
        (BELOW, 0.8, False, Verdict.CLEAR),
        (BELOW, 0.85, True, Verdict.BREACH),
        (BELOW, 0.9, True, Verdict.CLEAR),
        (OUTSIDE, 1.01, False, Verdict.BREACH),
        (OUTSIDE, -1.01, True, Verdict.BREACH),
        (OUTSIDE, 1.0, False, Verdict.CLEAR),
        (OUTSIDE, -1.0, False, Verdict.CLEAR),
    ],
)
def test_bounds_with_hysteresis(
    bounds: Bounds, value: float, firing: bool, verdict: Verdict
) -> None:
    judged = judge(rule(condition=bounds), reading(1, value), currently_firing=firing)
    assert judged is verdict


@pytest.mark.parametrize(
    ("source", "verdict"),
    [
        (ValueSource.VALUE, Verdict.BREACH),
        (ValueSource.LOW, Verdict.CLEAR),
        (ValueSource.HIGH, Verdict.BREACH),
    ],
)
def test_the_named_end_of_the_interval_is_compared(source: ValueSource, verdict: Verdict) -> None:
    wide = reading(1, 0.3, low=0.1, high=0.5)
    assert judge(rule(value=source), wide, currently_firing=False) is verdict


@pytest.mark.parametrize("firing", [False, True])
@pytest.mark.parametrize(
    ("unjudged", "data_state"),
    [
        (reading(1, None), DataState.NO_DATA),
        (reading(1, None, state=ReadingState.TOO_FEW, n=8), DataState.TOO_FEW),
        (reading(1, None, state=ReadingState.FAILED), DataState.FAILED),
        (reading(1, 0.9, n=29), DataState.TOO_FEW),
    ],
)
def test_what_was_not_measured_well_is_unknown(
    unjudged: object, data_state: DataState, firing: bool
) -> None:
    judging = rule(minimum_n=30)
    assert judge(judging, unjudged, currently_firing=firing) is Verdict.UNKNOWN
    assert data_state_of(judging, unjudged) is data_state


def test_exactly_the_minimum_of_rows_is_enough() -> None:
    judging = rule(minimum_n=30)
    assert judge(judging, reading(1, 0.9, n=30), currently_firing=False) is Verdict.BREACH
    assert data_state_of(judging, reading(1, 0.9, n=30)) is DataState.OK


def test_a_missing_end_of_the_interval_is_unknown() -> None:
    without_interval = reading(1, 0.9)
    judging = rule(value=ValueSource.LOW)
    assert judge(judging, without_interval, currently_firing=False) is Verdict.UNKNOWN
    assert data_state_of(judging, without_interval) is DataState.FAILED


@pytest.mark.parametrize(
    ("wanted", "state", "verdict"),
    [
        ("no_data", "no_data", Verdict.BREACH),
        ("no_data", "measured", Verdict.CLEAR),
        ("no_data", "too_few", Verdict.CLEAR),  # rows came
        ("no_data", "failed", Verdict.UNKNOWN),
        ("failed", "failed", Verdict.BREACH),
        ("failed", "no_data", Verdict.UNKNOWN),
        ("failed", "measured", Verdict.CLEAR),
        ("too_few", "too_few", Verdict.BREACH),
        ("too_few", "no_data", Verdict.UNKNOWN),
    ],
)
def test_conditions_on_the_state(wanted: str, state: str, verdict: Verdict) -> None:
    judging = rule(condition=StateCondition(frozenset({ReadingState(wanted)})))
    value = 0.1 if state == "measured" else None
    judged = judge(judging, reading(1, value, state=ReadingState(state)), currently_firing=True)
    assert judged is verdict


@pytest.mark.parametrize(
    ("label", "patterns", "fits"),
    [
        ("model", ("delay",), True),
        ("model", ("dela",), False),
        ("model", ("x", "delay"), True),
        ("model", ("del*",), True),
        ("model", ("delay*",), True),
        ("model", ("*",), True),
        ("segment", ("*",), False),  # the label is absent
        ("segment", ("",), True),
        ("model", ("",), False),
        ("segment", ("eu",), False),
    ],
)
def test_matchers(label: str, patterns: tuple[str, ...], fits: bool) -> None:
    assert Matcher(label, patterns).matches(Labels.of(model="delay", check="drift")) is fits


def test_every_matcher_of_a_rule_must_fit() -> None:
    two = rule(when=(Matcher("check", ("drift",)), Matcher("method", ("psi",))))
    assert two.matches(Labels.of(check="drift", method="psi", model="m"))
    assert not two.matches(Labels.of(check="drift", method="ks", model="m"))
