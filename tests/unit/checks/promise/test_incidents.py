"""Firings become incidents: each rule, and properties over random books of firings."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.checks.promise.firing import Firing
from monitor.checks.promise.incidents import incidents_of, open_hours
from tests.unit.checks.promise.factories import MONDAY

HOUR = timedelta(hours=1)


def _at(hour: float) -> datetime:
    return MONDAY + hour * HOUR


def _firing(hour: float, column: str = "a", scale: int = 1, p: float = 1e-6, **more) -> Firing:
    words = {"segment": "", "view": "location", "deployment": None} | more
    return Firing(
        column, words["segment"], scale, words["view"], _at(hour), p, 1e-5, 0.1, 500,
        words["deployment"],
    )  # fmt: skip


def test_nothing_is_nothing():
    assert incidents_of([]) == ()


def test_everything_within_a_day_is_one_incident():
    (one,) = incidents_of([
        _firing(0), _firing(3, "b", 6), _firing(20, "c", 24, segment="plan is free"),
        _firing(24, "d", 168, view="contrast", deployment=7),
    ])  # fmt: skip
    assert one.opened == _at(0)
    assert set(one.columns) == {"a", "b", "c", "d"}
    assert one.deployments == (7,)
    assert one.columns["c"].segments == ("plan is free",)
    assert one.last == _at(24)
    assert one.number is None


def test_another_column_after_a_day_is_an_incident_of_its_own():
    first, second = incidents_of([_firing(0), _firing(25, "b")])
    assert (set(first.columns), set(second.columns)) == ({"a"}, {"b"})


def test_a_long_incident_does_not_swallow_what_is_new():
    """Column a fires every hour for five days; b begins on the fourth."""
    firings = [_firing(hour) for hour in range(120)] + [_firing(80, "b"), _firing(90, "c")]
    first, second = incidents_of(firings)
    assert (first.opened, set(first.columns)) == (_at(0), {"a"})
    assert (second.opened, set(second.columns)) == (_at(80), {"b", "c"})
    assert first.columns["a"].firings == 120


@pytest.mark.parametrize(("scale", "hours"), [(1, 24), (6, 24), (24, 72), (168, 504)])
def test_it_stays_open_for_a_day_or_three_times_the_scale(scale, hours):
    (one,) = incidents_of([_firing(5, scale=scale)])
    assert one.until == _at(5 + hours)
    (one,) = incidents_of([_firing(5, scale=168), _firing(6, scale=1)])
    assert one.until == _at(5 + 504)  # a later, shorter window does not close it sooner


def test_a_day_that_remembers_the_morning_keeps_nothing_open():
    """Hours 0 to 5 fire; days that hold those hours go on firing until their memory ends."""
    hours = [_firing(hour) for hour in range(6)]
    remembering = [_firing(end, scale=24) for end in (6, 12, 18, 24, 28)]
    (one,) = incidents_of([*hours, *remembering])
    assert one.columns["a"].until == _at(5 + 24)
    assert (one.columns["a"].last, one.columns["a"].firings) == (_at(28), 11)
    # A day that began when the last hour had fired says something new, and so do those after it.
    (one,) = incidents_of([*hours, *remembering, _firing(29, scale=24)])
    assert one.columns["a"].until == _at(29 + 72)
    (one,) = incidents_of([*hours, _firing(30, scale=24), _firing(36, scale=24)])
    assert one.columns["a"].until == _at(36 + 72)
    (one,) = incidents_of([*hours, _firing(30, scale=24), _firing(31, scale=1)])
    assert one.columns["a"].until == _at(30 + 72)


def test_shorter_windows_of_the_same_end_come_first():
    for firings in ([_firing(24), _firing(24, scale=24)], [_firing(24, scale=24), _firing(24)]):
        (one,) = incidents_of(firings)
        assert one.until == _at(48)


def test_the_same_column_returns_within_fourteen_days_to_where_it_left_off():
    closes, within, beyond = 24, 24 + 14 * 24, 24 + 14 * 24 + 1
    (one,) = incidents_of([_firing(0), _firing(within)])
    assert (one.opened, one.columns["a"].last) == (_at(0), _at(within))
    assert one.until == _at(within + closes)
    assert len(incidents_of([_firing(0), _firing(beyond)])) == 2


def test_a_column_goes_on_with_its_newest_incident():
    """b was in the first incident and opened a second long after; then it fires again."""
    firings = [_firing(0), _firing(1, "b"), _firing(500, "b"), _firing(501, "b")]
    first, second = incidents_of(firings)
    assert (first.columns["b"].firings, second.columns["b"].firings) == (1, 2)
    # Beside a newer incident of another column it still goes on with its own.
    first, second = incidents_of([_firing(0), _firing(30, "b"), _firing(31, "a")])
    assert (first.columns["a"].firings, set(second.columns)) == (2, {"b"})


def test_the_leading_column_has_the_strongest_firing():
    (one,) = incidents_of([_firing(0, p=1e-6), _firing(1, "b", p=1e-12), _firing(2, p=1e-8)])
    assert one.leading == "b"
    assert one.columns["a"].strongest.p_value == 1e-8
    assert one.columns["a"].first == _at(0)


def test_segments_of_a_column_are_one_column():
    (one,) = incidents_of([_firing(0, segment="s"), _firing(0, segment="t"), _firing(1)])
    assert one.columns["a"].segments == ("s", "t")
    assert one.columns["a"].firings == 3


def test_contrasts_name_their_deployments():
    (one,) = incidents_of([
        _firing(0, deployment=9), _firing(1, deployment=4), _firing(2, "b", deployment=9),
    ])  # fmt: skip
    assert one.deployments == (4, 9)
    assert one.columns["a"].deployments == (4, 9)


def test_an_hour_judged_again_changes_nothing():
    before = incidents_of([_firing(0), _firing(10), _firing(11, "b")])
    assert incidents_of([_firing(3), _firing(4, "b")], before) == before
    assert incidents_of([], before) == before


def test_incidents_go_on_from_what_was_stored():
    before = incidents_of([_firing(0)])
    (one,) = incidents_of([_firing(20, "b"), _firing(30)], before)
    assert (one.opened, one.columns["a"].firings) == (_at(0), 2)
    first, second = incidents_of([_firing(40, "b")], before)
    assert first == before[0]
    assert second.opened == _at(40)


MANY = st.lists(
    st.builds(
        _firing,
        st.integers(0, 1_500),
        st.sampled_from("abcde"),
        st.sampled_from([1, 6, 24, 168]),
        st.floats(1e-12, 1e-6),
        segment=st.sampled_from(["", "s"]),
    ),
    max_size=40,
)


@settings(max_examples=150, deadline=None)
@given(MANY)
def test_every_firing_belongs_to_exactly_one_incident(firings):
    found = incidents_of(firings)
    assert sum(part.firings for one in found for part in one.columns.values()) == len(firings)
    for firing in firings:
        homes = [
            one for one in found
            if firing.column in one.columns
            and one.columns[firing.column].first <= firing.end <= one.columns[firing.column].last
        ]  # fmt: skip
        assert len(homes) == 1
    for one in found:
        assert one.opened == min(part.first for part in one.columns.values())
        assert all(part.first - one.opened <= 24 * HOUR for part in one.columns.values())
        assert all(part.until >= part.first + 24 * HOUR for part in one.columns.values())
    assert [one.opened for one in found] == sorted(one.opened for one in found)
    assert len(found) <= len(firings)


def _outline(incidents) -> list:
    """Everything but which of several equally strong firings is shown."""
    return [
        (one.opened, sorted((name, part.first, part.last, part.until, part.firings, part.segments)
                            for name, part in one.columns.items()))
        for one in incidents
    ]  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(MANY, st.randoms(use_true_random=False), st.integers(0, 1_500))
def test_the_order_of_arrival_and_the_cut_into_runs_change_nothing(firings, chance, cut):
    at_once = incidents_of(firings)
    shuffled = list(firings)
    chance.shuffle(shuffled)
    assert _outline(incidents_of(shuffled)) == _outline(at_once)
    early = [one for one in firings if one.end <= _at(cut)]
    late = [one for one in firings if one.end > _at(cut)]
    assert incidents_of(late, incidents_of(early)) == at_once


@settings(max_examples=80, deadline=None)
@given(MANY, st.integers(0, 1_600))
def test_open_hours_are_counted_once(firings, until):
    """Against what was open as the firings came in, one hour of them after the other: until it was
    closed, and again from the firing with which it came back; closed times between do not count."""
    found, spans = incidents_of(firings), []
    for end in sorted({one.end for one in firings}):
        so_far = incidents_of([one for one in firings if one.end <= end])
        for part in (part for one in so_far for part in one.columns.values()):
            spans.append(sorted((part.last, part.until)))
    expected = sum(
        any(first <= _at(hour) < min(last, _at(until)) for first, last in spans)
        for hour in range(until)
    )
    assert open_hours(found, _at(until)) == expected


def test_what_sets_the_same_deployment_apart_joins_its_open_incident():
    about = {"view": "contrast", "deployment": 3}
    first, still = _firing(0, "temp", 6, **about), _firing(20, "temp", 6, **about)
    (one,) = incidents_of([first, still, _firing(30, "score", 6, **about)])
    assert set(one.columns) == {"temp", "score"}
    other = _firing(30, "score", 6, view="contrast", deployment=2)
    assert len(incidents_of([first, still, other])) == 2
    late = _firing(24 * 30, "score", 6, **about)
    assert len(incidents_of([first, still, late])) == 2
