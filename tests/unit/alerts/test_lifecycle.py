"""The life of an alert over windows, by hand and by property."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerts.config import AlertConfig
from alerts.deeds import acknowledge, close
from alerts.errors import AlertNotOpen
from alerts.lifecycle import close_without_rule, step
from alerts.model import (
    Alert,
    AlertState,
    DataState,
    Labels,
    Reading,
    ReadingState,
    ResolvedReason,
    Transition,
    TransitionReason,
)
from alerts.rules import Bounds, StateCondition

from .factories import NOW, SUBJECT, config, hour, reading, rule


def run(
    setup: AlertConfig, chunks: Sequence[Sequence[Reading]]
) -> tuple[dict[str, Alert], list[Transition]]:
    """Steps through the chunks, keeping what changed."""
    alerts: dict[str, Alert] = {}
    transitions: list[Transition] = []
    for chunk in chunks:
        result = step(setup, alerts, chunk, NOW)
        alerts |= result.alerts
        transitions += result.transitions
    return alerts, transitions


def only(alerts: dict[str, Alert]) -> Alert:
    (alert,) = alerts.values()
    return alert


def changes(transitions: Sequence[Transition]) -> list[tuple[int, str, str]]:
    """Changes of state; what changed beside it is in `beside`."""
    return [
        (int((each.at - hour(0)).total_seconds() // 3600), each.from_state, each.to_state)
        for each in transitions
        if each.from_state is not each.to_state
    ]


def beside(transitions: Sequence[Transition]) -> list[str]:
    return [each.reason.value for each in transitions if each.from_state is each.to_state]


FLAPPING = [
    reading(at, value) for at, value in [(9, 0.3), (10, 0.1), (11, 0.3), (12, 0.1), (13, 0.3)]
]


def test_a_flapping_value_opens_an_episode_each_time() -> None:
    alerts, transitions = run(config(), [[each] for each in FLAPPING])
    assert changes(transitions) == [
        (9, "ok", "firing"),
        (10, "firing", "resolved"),
        (11, "resolved", "firing"),
        (12, "firing", "resolved"),
        (13, "resolved", "firing"),
    ]
    assert [each.episode for each in transitions] == [1, 1, 2, 2, 2, 3, 3]
    assert beside(transitions) == ["regressed", "regressed"]
    assert only(alerts).episode == 3


def test_keep_firing_for_two_windows_keeps_one_episode_open() -> None:
    alerts, transitions = run(config(rule(keep_firing_for=2)), [[each] for each in FLAPPING])
    assert changes(transitions) == [
        (9, "ok", "firing"),
        (10, "firing", "recovering"),
        (11, "recovering", "firing"),
        (12, "firing", "recovering"),
        (13, "recovering", "firing"),
    ]
    assert [each.reason.value for each in transitions[1:3]] == ["clear_began", "breach_returned"]
    assert only(alerts).state is AlertState.FIRING
    assert (only(alerts).fired_at, only(alerts).episode) == (hour(9), 1)


def test_for_two_windows_waits_in_pending_and_forgets_a_single_breach() -> None:
    values = [0.3, 0.1, 0.3, 0.4, 0.1]
    readings = [reading(at, value) for at, value in enumerate(values, start=1)]
    alerts, transitions = run(config(rule(hold=2)), [readings])
    assert changes(transitions) == [
        (1, "ok", "pending"),
        (2, "pending", "ok"),
        (3, "ok", "pending"),
        (4, "pending", "firing"),
        (5, "firing", "resolved"),
    ]
    assert [each.reason for each in transitions] == [
        TransitionReason.BREACH_BEGAN,
        TransitionReason.BREACH_PASSED,
        TransitionReason.BREACH_BEGAN,
        TransitionReason.BREACH_HELD,
        ResolvedReason.RECOVERED,
    ]
    assert [each.since for each in transitions] == [hour(1), hour(1), hour(3), hour(3), hour(3)]
    assert only(alerts).resolved_reason is ResolvedReason.RECOVERED


def test_a_value_between_the_thresholds_keeps_firing() -> None:
    setup = config(rule(condition=Bounds(upper=0.2, recover_upper=0.1)))
    readings = [reading(1, 0.3), reading(2, 0.15), reading(3, 0.1), reading(4, 0.15)]
    _, transitions = run(setup, [readings])
    assert changes(transitions) == [(1, "ok", "firing"), (3, "firing", "resolved")]


@pytest.mark.parametrize("state", [ReadingState.NO_DATA, ReadingState.TOO_FEW, ReadingState.FAILED])
def test_an_unjudged_window_keeps_a_firing_alert_open_until_a_measured_one(
    state: ReadingState,
) -> None:
    # 2 errors of 10, 0 of 0, 1 of 20 against a limit of 0.1.
    setup = config(rule(condition=Bounds(upper=0.1)))
    alerts, transitions = run(
        setup, [[reading(1, 0.2, n=10)], [reading(2, None, state=state, n=0)]]
    )
    assert changes(transitions) == [(1, "ok", "firing")]
    assert beside(transitions) == [state.value]
    assert only(alerts).state is AlertState.FIRING
    assert only(alerts).data_state is DataState(state.value)
    assert only(alerts).last_judged == reading(1, 0.2, n=10)
    result = step(setup, alerts, [reading(3, 0.05, n=20)], NOW)
    assert changes(result.transitions) == [(3, "firing", "resolved")]
    assert only(dict(result.alerts)).data_state is DataState.OK


def test_unjudged_windows_neither_count_nor_break_a_row_of_breaches() -> None:
    _, transitions = run(
        config(rule(hold=2)), [[reading(1, 0.3), reading(2, None), reading(3, 0.3)]]
    )
    assert changes(transitions) == [(1, "ok", "pending"), (3, "pending", "firing")]


def test_missing_data_never_opens_an_alert_on_a_number() -> None:
    alerts, transitions = run(config(), [[reading(1, None)], [reading(2, 9.9, n=3)]])
    assert only(alerts).state is AlertState.FIRING  # no minimum_n asked for
    assert changes(transitions) == [(2, "ok", "firing")]
    alerts, transitions = run(config(rule(minimum_n=30)), [[reading(2, 9.9, n=3)]])
    assert (alerts, transitions) == ({}, [])


def test_missing_data_is_a_condition_of_its_own() -> None:
    blind = rule(condition=StateCondition(frozenset({ReadingState.NO_DATA})), hold=2)
    readings = [reading(1, None), reading(2, None), reading(3, 0.1)]
    _, transitions = run(config(blind), [readings])
    assert changes(transitions) == [
        (1, "ok", "pending"),
        (2, "pending", "firing"),
        (3, "firing", "resolved"),
    ]


def test_a_window_measured_late_still_counts_unless_a_newer_one_was_judged() -> None:
    few = [reading(at, None, state=ReadingState.TOO_FEW, n=4) for at in (1, 2, 3)]
    alerts, transitions = run(config(), [few, [reading(2, 0.4)]])
    assert changes(transitions) == [(2, "ok", "firing")]
    late = step(config(), alerts, [reading(1, 0.1)], NOW)
    assert late.alerts == {}


def test_the_data_state_follows_the_newest_window() -> None:
    alerts, _ = run(config(), [[reading(1, 0.3)], [reading(3, None)], [reading(2, 0.4)]])
    assert only(alerts).data_state is DataState.NO_DATA
    assert only(alerts).last_judged == reading(2, 0.4)


def test_a_subject_that_never_breached_has_no_alert() -> None:
    assert run(config(), [[reading(1, 0.1), reading(2, None)]]) == ({}, [])


def test_only_matching_rules_and_subjects_are_touched() -> None:
    other = Labels.of(method="ks", model="delay")
    setup = config(rule(), rule(name="psi-extreme", condition=Bounds(upper=1.0)))
    alerts, _ = run(setup, [[reading(1, 2.0), reading(1, 2.0, labels=other)]])
    assert {each.rule for each in alerts.values()} == {"psi-high", "psi-extreme"}
    assert {each.labels for each in alerts.values()} == {SUBJECT}


def test_an_acknowledgement_keeps_the_alert_open_and_ends_with_the_episode() -> None:
    alerts, _ = run(config(), [[reading(1, 0.3)]])
    alert = only(alerts)
    taken, _ = acknowledge(alert, "ada", hour(2), "looking")
    assert (taken.state, taken.acknowledged_by, taken.comment) == (
        AlertState.FIRING,
        "ada",
        "looking",
    )
    assert taken.version == alert.version + 1
    kept = {taken.fingerprint: taken}
    again = step(config(), kept, [reading(3, 0.3)], NOW)
    assert only(dict(again.alerts)).acknowledged_by == "ada"
    reopened = step(config(), kept, [reading(3, 0.1), reading(4, 0.3)], NOW)
    assert only(dict(reopened.alerts)).acknowledged_by is None


def test_closing_by_hand_says_who_and_a_further_breach_opens_again() -> None:
    alerts, _ = run(config(), [[reading(1, 0.3)]])
    closed, transition = close(
        only(alerts), ResolvedReason.CLOSED_BY_HAND, hour(2), by="ada", comment="known"
    )
    assert closed.resolved_reason is ResolvedReason.CLOSED_BY_HAND
    assert (closed.resolved_by, closed.resolved_at) == ("ada", hour(2))
    assert (transition.from_state, transition.to_state) == (AlertState.FIRING, AlertState.RESOLVED)
    kept = {closed.fingerprint: closed}
    assert step(config(), kept, [reading(1, 0.3)], NOW).alerts == {}  # a replay opens nothing
    further = step(config(), kept, [reading(3, 0.3)], NOW)
    assert further.transitions[0].episode == 2


def test_only_an_open_alert_can_be_acknowledged_or_closed() -> None:
    alerts, _ = run(config(), [[reading(1, 0.3), reading(2, 0.1)]])
    with pytest.raises(AlertNotOpen, match="is resolved"):
        acknowledge(only(alerts), "ada", NOW)
    with pytest.raises(AlertNotOpen, match="psi-high"):
        close(only(alerts), ResolvedReason.SUPERSEDED, NOW)


def test_alerts_whose_rule_is_gone_end_as_no_longer_evaluated() -> None:
    alerts, _ = run(config(), [[reading(1, 0.3)]])
    assert close_without_rule(config(), alerts, NOW).alerts == {}
    result = close_without_rule(config(rule(name="another")), alerts, NOW)
    assert result.transitions[0].reason is ResolvedReason.NO_LONGER_EVALUATED
    assert only(dict(result.alerts)).state is AlertState.RESOLVED


# Chunking: any cut of a time-ordered run of readings, with any part of it sent again, ends alike.

windows = st.lists(
    st.tuples(st.sampled_from([0.05, 0.15, 0.3, None]), st.sampled_from(["distance", "carrier"])),
    min_size=1,
    max_size=30,
)
rules = st.builds(
    lambda hold, keep, hysteresis: rule(
        hold=hold,
        keep_firing_for=keep,
        condition=Bounds(upper=0.2, recover_upper=0.1 if hysteresis else None),
    ),
    st.integers(1, 3),
    st.integers(1, 3),
    st.booleans(),
)


@given(windows, rules, st.data())
def test_replaying_readings_in_any_chunking_gives_the_same_states(
    made: list[tuple[float | None, str]], judging: object, data: st.DataObject
) -> None:
    readings = [
        reading(at, value, labels=Labels.of(method="psi", column=column))
        for at, (value, column) in enumerate(made, start=1)
    ]
    setup = config(judging)  # type: ignore[arg-type]
    whole_alerts, whole_transitions = run(setup, [readings])
    chunks: list[list[Reading]] = []
    start = 0
    while start < len(readings):
        size = data.draw(st.integers(1, len(readings) - start))
        repeated_from = data.draw(st.integers(0, start))
        chunk = readings[repeated_from : start + size]
        chunks.append(data.draw(st.permutations(chunk)))
        start += size
    assert run(setup, chunks) == (whole_alerts, whole_transitions)
    assert step(setup, whole_alerts, readings, NOW).alerts == {}


@given(windows, rules)
def test_the_states_agree_with_a_slow_retelling(
    made: list[tuple[float | None, str]], judging: object
) -> None:
    """Another way to the same answer: recompute rows of breaches and clears from the whole past."""
    setup = config(judging)  # type: ignore[arg-type]
    the_rule = setup.rules[0]
    values = [value for value, _ in made]
    readings = [reading(at, value) for at, value in enumerate(values, start=1)]
    alerts, _ = run(setup, [[each] for each in readings])
    expected = _retold(the_rule.condition, the_rule.hold, the_rule.keep_firing_for, values)
    assert (only(alerts).state if alerts else AlertState.OK) == expected


def _retold(condition: object, hold: int, keep: int, values: Sequence[float | None]) -> AlertState:
    assert isinstance(condition, Bounds)
    known = [value for value in values if value is not None]
    recover = condition.recover_upper if condition.recover_upper is not None else 0.2
    fired, state, run_start = False, AlertState.OK, 0
    for end in range(1, len(known) + 1):
        tail = known[run_start:end]
        if not fired:
            if len(tail) >= hold and all(value > 0.2 for value in tail[-hold:]):
                fired, run_start, state = True, end, AlertState.FIRING
            elif tail[-1] > 0.2:
                state = AlertState.PENDING
            elif state is AlertState.PENDING:
                state = AlertState.OK
        elif len(tail) >= keep and all(value <= recover for value in tail[-keep:]):
            fired, run_start, state = False, end, AlertState.RESOLVED
        else:
            state = AlertState.RECOVERING if tail[-1] <= recover else AlertState.FIRING
    return state


def test_step_does_not_change_what_it_is_given() -> None:
    alerts, _ = run(config(), [[reading(1, 0.3)]])
    before = {name: replace(alert) for name, alert in alerts.items()}
    step(config(), alerts, [reading(2, 0.1)], NOW)
    assert alerts == before
