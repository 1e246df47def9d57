"""What changes beside the state of an alert: how it stands, its data, what people decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerts.deeds import acknowledge, archive, close, snooze, unarchive
from alerts.errors import AlertNotOpen
from alerts.lifecycle import close_all, mark_late, step
from alerts.model import (
    Alert,
    AlertState,
    DataState,
    Labels,
    ResolvedReason,
    Standing,
    Told,
    ToldEvent,
    Transition,
    TransitionReason,
)
from alerts.rules import Bounds, excess_of

from .factories import NOW, SUBJECT, config, hour, reading, rule

HOUR = timedelta(hours=1)


def after(values: Sequence[float | None], **fields: object) -> tuple[Alert, list[Transition]]:
    """The one alert after these hourly values, and its transitions."""
    made = [reading(at, value) for at, value in enumerate(values, start=1)]
    result = step(config(rule(**fields)), {}, made, NOW)
    (alert,) = result.alerts.values()
    return alert, list(result.transitions)


def reasons(transitions: Sequence[Transition]) -> list[str]:
    return [each.reason.value for each in transitions]


def test_a_value_twice_as_far_beyond_the_threshold_got_worse_and_again_from_there() -> None:
    # Threshold 0.2: 0.1 beyond, then 0.19 (not twice), 0.21, 0.3 (not twice 0.21), 0.43 beyond.
    alert, transitions = after([0.3, 0.39, 0.41, 0.5, 0.63])
    assert alert.standing is Standing.ESCALATING
    assert alert.excess == pytest.approx(0.43)
    told = [each for each in transitions if each.reason is TransitionReason.GOT_WORSE]
    assert [each.at for each in told] == [hour(3), hour(5)]


def test_a_value_that_stands_at_the_threshold_is_not_many_times_worse_a_moment_later() -> None:
    alert, transitions = after([0.2001, 0.21, 0.22])
    assert (alert.standing, reasons(transitions)) == (Standing.NEW, ["breach_held"])
    assert excess_of(rule(), reading(1, 0.2001)) == pytest.approx(0.02)


def test_the_excess_is_measured_from_the_edge_that_was_crossed() -> None:
    between = rule(condition=Bounds(lower=1.0, upper=3.0))
    assert excess_of(between, reading(1, 5.0)) == pytest.approx(2.0)
    assert excess_of(between, reading(1, 0.5)) == pytest.approx(0.5)
    assert excess_of(rule(condition=Bounds(lower=0.9)), reading(1, 0.5)) == pytest.approx(0.4)
    assert excess_of(between, reading(1, None)) is None


@given(st.lists(st.floats(0.21, 100.0), min_size=1, max_size=40))
def test_getting_worse_is_told_at_most_as_often_as_the_excess_doubles(values: list[float]) -> None:
    _, transitions = after(values)
    told = reasons(transitions).count("got_worse")
    first, most = max(values[0] - 0.2, 0.02), max(max(values) - 0.2, 0.02)
    doublings = 0
    while first * 2 ** (doublings + 1) <= most:
        doublings += 1
    assert told <= doublings


def test_an_alert_that_comes_back_within_two_weeks_has_regressed_and_later_is_new() -> None:
    alert, transitions = after([0.3, 0.1, 0.3])
    assert alert.standing is Standing.REGRESSED
    assert reasons(transitions) == ["breach_held", "recovered", "breach_held", "regressed"]
    known = {alert.fingerprint: step(config(), {alert.fingerprint: alert}, [reading(4, 0.1)], NOW)}
    ended = known[alert.fingerprint].alerts
    much_later = step(config(), ended, [reading(4 + 24 * 15, 0.3)], NOW)
    assert next(iter(much_later.alerts.values())).standing is Standing.NEW


def test_who_takes_an_alert_on_makes_it_ongoing_until_it_gets_worse() -> None:
    alert, _ = after([0.3])
    taken, transition = acknowledge(alert, "ada", NOW, "looking")
    assert (taken.standing, transition.reason) == (Standing.ONGOING, TransitionReason.ACKNOWLEDGED)
    assert (transition.from_state, transition.to_state) == (AlertState.FIRING, AlertState.FIRING)
    assert (transition.by, transition.comment) == ("ada", "looking")
    worse = step(config(), {taken.fingerprint: taken}, [reading(2, 0.9)], NOW)
    (found,) = worse.alerts.values()
    assert (found.standing, found.acknowledged_by) == (Standing.ESCALATING, "ada")


def test_an_archived_alert_stays_archived_over_episodes_until_it_is_much_worse() -> None:
    alert, _ = after([0.3])
    kept, transition = archive(alert, "ada", NOW, "known noise")
    assert transition.reason is TransitionReason.ARCHIVED
    known = {kept.fingerprint: kept}
    result = step(config(), known, [reading(2, 0.1), reading(3, 0.35)], NOW)
    (again,) = result.alerts.values()
    assert (again.episode, again.standing) == (2, Standing.ARCHIVED)
    worse = step(config(), result.alerts, [reading(4, 0.41)], NOW)
    (found,) = worse.alerts.values()
    assert (found.standing, found.archive) == (Standing.ESCALATING, None)
    assert reasons(worse.transitions) == ["got_worse"]


def test_an_episode_that_begins_much_worse_than_the_archived_one_is_told_at_once() -> None:
    alert, _ = after([0.3])
    kept, _ = archive(alert, "ada", NOW)
    known = {kept.fingerprint: kept}
    result = step(config(), known, [reading(2, 0.1), reading(3, 0.9)], NOW)
    (found,) = result.alerts.values()
    assert (found.standing, found.archive) == (Standing.ESCALATING, None)


def test_unarchiving_needs_an_archived_alert() -> None:
    alert, _ = after([0.3])
    with pytest.raises(AlertNotOpen, match="not archived"):
        unarchive(alert, "ada", NOW)
    back, transition = unarchive(archive(alert, "ada", NOW)[0], "ada", NOW)
    assert (back.standing, transition.reason) == (Standing.NEW, TransitionReason.UNARCHIVED)


def test_a_snooze_must_end_after_it_began_and_ends_with_the_episode() -> None:
    alert, _ = after([0.3])
    with pytest.raises(ValueError, match="must end after it begins"):
        snooze(alert, NOW, "ada", NOW)
    asleep, transition = snooze(alert, NOW + HOUR, "ada", NOW, "after lunch")
    assert asleep.snoozed_until == NOW + HOUR
    assert transition.comment == f"until {(NOW + HOUR).isoformat()}: after lunch"
    over, _ = close(asleep, ResolvedReason.CLOSED_BY_HAND, NOW)
    assert over.snoozed_until is None


def test_what_is_over_can_be_neither_snoozed_nor_archived() -> None:
    alert, _ = after([0.3, 0.1])
    for deed in (lambda: snooze(alert, NOW + HOUR, "a", NOW), lambda: archive(alert, "a", NOW)):
        with pytest.raises(AlertNotOpen, match="is resolved"):
            deed()


@pytest.mark.parametrize(("asked", "windows"), [(None, 3), (timedelta(minutes=90), 1.5)])
def test_data_is_late_when_the_next_window_should_long_be_there(
    asked: timedelta | None, windows: float
) -> None:
    setup = config(rule(late_after=asked))
    alerts = dict(step(setup, {}, [reading(1, 0.3)], NOW).alerts)
    just = hour(1) + windows * HOUR
    assert mark_late(setup, alerts, just).alerts == {}
    result = mark_late(setup, alerts, just + timedelta(seconds=1))
    (late,) = result.alerts.values()
    assert (late.state, late.data_state) == (AlertState.FIRING, DataState.LATE)
    assert reasons(result.transitions) == ["late"]
    assert mark_late(setup, result.alerts, just + HOUR).alerts == {}
    back = step(setup, result.alerts, [reading(9, 0.3)], NOW)
    assert reasons(back.transitions) == ["data_returned"]


def test_data_of_an_alert_that_is_over_makes_no_rows() -> None:
    alert, transitions = after([0.3, 0.1, None, 0.1, None])
    assert reasons(transitions) == ["breach_held", "recovered"]
    assert alert.data_state is DataState.NO_DATA


LADDER = (
    rule(name="warn", condition=Bounds(upper=0.2)),
    rule(name="critical", condition=Bounds(upper=0.5), supersedes=("warn",)),
)


def test_a_rule_that_fires_ends_the_alert_it_supersedes_and_keeps_it_from_opening() -> None:
    setup = config(*LADDER)
    result = step(setup, {}, [reading(1, 0.3), reading(2, 0.6), reading(3, 0.7)], NOW)
    states = {each.rule: each for each in result.alerts.values()}
    assert states["critical"].state is AlertState.FIRING
    assert states["warn"].resolved_reason is ResolvedReason.SUPERSEDED
    assert states["warn"].episode == 1
    lower = step(setup, result.alerts, [reading(4, 0.3), reading(5, 0.3)], NOW)
    states = {each.rule: each for each in lower.alerts.values()}
    assert states["critical"].resolved_reason is ResolvedReason.RECOVERED
    assert (states["warn"].state, states["warn"].episode) == (AlertState.FIRING, 2)


def test_another_subject_supersedes_nothing() -> None:
    setup = config(*LADDER)
    other = Labels.from_mapping({**SUBJECT, "column": "carrier"})
    result = step(setup, {}, [reading(1, 0.3), reading(2, 0.6, labels=other)], NOW)
    warned = [each for each in result.alerts.values() if each.rule == "warn"]
    assert {each.labels["column"]: each.state for each in warned} == {"distance": AlertState.FIRING}


def test_a_retired_model_ends_its_open_alerts_for_that_reason() -> None:
    alert, _ = after([0.3])
    result = close_all({alert.fingerprint: alert}, ResolvedReason.MODEL_RETIRED, NOW, by="ada")
    (ended,) = result.alerts.values()
    assert (ended.resolved_reason, ended.resolved_by) == (ResolvedReason.MODEL_RETIRED, "ada")
    assert close_all(result.alerts, ResolvedReason.MODEL_RETIRED, NOW).alerts == {}


def test_breaching_for_a_time_and_being_clear_for_a_time_count_from_the_first_window() -> None:
    alert, transitions = after(
        [0.3, 0.3, 0.3, 0.1, 0.1, 0.1], hold_time=2 * HOUR, keep_firing_time=2 * HOUR
    )
    assert [(each.at, each.to_state) for each in transitions] == [
        (hour(1), AlertState.PENDING),
        (hour(3), AlertState.FIRING),
        (hour(4), AlertState.RECOVERING),
        (hour(6), AlertState.RESOLVED),
    ]
    assert alert.noticed_at == NOW


def test_an_alert_is_settled_when_everybody_who_knew_of_it_knows_its_end() -> None:
    def told(event: ToldEvent, episode: int = 1) -> Told:
        return Told(episode, event, NOW)

    firing, _ = after([0.3])
    over, _ = after([0.3, 0.1])
    assert not firing.is_settled
    assert not over.is_settled
    half = {"a": told(ToldEvent.ENDED), "b": told(ToldEvent.OPENED)}
    assert not replace(over, told=half).is_settled
    assert replace(over, told={"a": told(ToldEvent.ENDED)}).is_settled
    assert not replace(over, told={"a": told(ToldEvent.ENDED, episode=0)}).is_settled


def test_the_end_of_an_earlier_episode_is_kept_while_somebody_has_to_hear_of_it() -> None:
    alert, _ = after([0.3])
    known = replace(alert, told={"on-call": Told(1, ToldEvent.OPENED, NOW)})
    more = [reading(at, value) for at, value in [(2, 0.1), (3, 0.3), (4, 0.1), (5, 0.3)]]
    (found,) = step(config(), {known.fingerprint: known}, more, NOW).alerts.values()
    assert found.episode == 3
    assert {episode: end.at for episode, end in found.ends.items()} == {1: hour(2)}
