"""When a p-value fires: level, effect, rows, and twice in three hours."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.checks.promise.baseline import ColumnClass
from monitor.checks.promise.firing import firings_of, hits_of
from monitor.checks.promise.hours import Hours
from monitor.checks.promise.scales import DAILY, HOURLY
from monitor.checks.promise.score import ScaleScores
from monitor.checks.promise.views import View
from tests.unit.checks.promise.factories import MONDAY, bare_baseline

LEVEL = np.array([1e-5])
ONE = bare_baseline([("", "amount")])


def _scores(n: int, scale: int = HOURLY) -> ScaleScores:
    """Nothing found: p 0.5, effect 0.1 and 100 rows too many in every view and window."""
    found = ScaleScores.empty(scale, np.arange(1, n + 1), 1)
    found.p_value[:], found.effect[:] = 0.5, 0.1
    found.excess[:], found.rows[:] = 100, 500
    return found


def _fired(scores: ScaleScores, baseline=ONE) -> list[bool]:
    return hits_of(baseline, scores, LEVEL).fired[0].tolist()


@pytest.mark.parametrize(
    ("hits", "fires"),
    [
        ([0, 1, 0, 0, 1, 0], [0, 0, 0, 0, 0, 0]),  # three hours apart
        ([0, 1, 0, 1, 0, 0], [0, 0, 0, 1, 0, 0]),
        ([1, 1, 0, 0, 0, 1], [0, 1, 0, 0, 0, 0]),
        ([1, 1, 1, 0, 1, 0], [0, 1, 1, 0, 1, 0]),
    ],
)
def test_an_hour_fires_when_it_hits_twice_in_three(hits, fires):
    scores = _scores(6)
    scores.p_value[0, View.LOCATION] = np.where(hits, 1e-6, 0.5)
    assert _fired(scores) == [bool(one) for one in fires]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_twice_in_three_against_a_plain_loop(hits):
    scores = _scores(len(hits))
    scores.p_value[0, View.SPREAD] = np.where(hits, 0.0, 0.5)
    expected = [hit and any(hits[max(0, at - 2) : at]) for at, hit in enumerate(hits)]
    assert _fired(scores) == expected


def test_two_views_may_hit_in_turn():
    scores = _scores(2)
    scores.p_value[0, View.LOCATION, 0] = scores.p_value[0, View.OMNIBUS, 1] = 1e-6
    assert _fired(scores) == [False, True]


def test_longer_windows_fire_at_once():
    scores = _scores(3, DAILY)
    scores.p_value[0, View.OMNIBUS, 1] = 9e-6
    assert _fired(scores) == [False, True, False]
    scores.p_value[0, View.OMNIBUS, 1] = 1e-5  # equal to the level is not below it
    assert _fired(scores) == [False] * 3


def test_a_big_effect_fires_an_hour_at_once():
    for view, effect, fires in [
        (View.OMNIBUS, 0.26, True), (View.OMNIBUS, 0.25, False), (View.LOCATION, 0.3, True),
        (View.SPREAD, 0.3, True), (View.CELL, 0.3, True), (View.MISSING, 0.26, True),
        (View.MISSING, 0.25, False),
    ]:  # fmt: skip
        scores = _scores(3)
        scores.p_value[0, view, 1], scores.effect[0, view, 1] = 0.0, effect
        assert _fired(scores) == [False, fires, False]
    scores = _scores(1)
    scores.effect[:] = 9.0
    assert _fired(scores) == [False]  # however big, a change must be sure


@pytest.mark.parametrize(
    ("view", "gate"),
    [
        (View.OMNIBUS, 0.02),
        (View.LOCATION, 0.01),
        (View.SPREAD, 0.01),
        (View.CELL, 0.01),
        (View.MISSING, 0.01),
    ],
)
def test_small_effects_never_fire_however_sure(view, gate):
    scores = _scores(2, DAILY)
    scores.p_value[0, view] = 0.0
    scores.effect[0, view] = gate, gate + 1e-9
    assert _fired(scores) == [False, True]


def test_a_cell_needs_five_rows_too_many_and_twenty_to_fire_at_once():
    for excess, often, at_once in [(4.9, False, False), (5, True, False), (19.9, True, False),
                                   (20, True, True)]:  # fmt: skip
        scores = _scores(3)
        scores.p_value[0, View.CELL, :2], scores.effect[0, View.CELL, :2] = 0.0, 0.4
        scores.excess[:] = excess
        assert _fired(scores) == [at_once, often, False]
    scores = _scores(2)
    scores.p_value[0, View.LOCATION], scores.excess[:] = 0.0, 0.0
    assert _fired(scores) == [False, True]  # other views do not ask for rows in one cell
    scores = _scores(2)
    scores.p_value[0, View.MISSING], scores.excess[:] = 0.0, 0.0
    assert _fired(scores) == [False, True]  # nor does the missing one: its effect knows its rows


def test_a_calendar_column_needs_one_row_too_many_only():
    calendar = bare_baseline([("", "weekday")], classes=[ColumnClass.CALENDAR])
    scores = _scores(2)
    scores.p_value[0, View.CELL], scores.effect[0, View.CELL] = 0.0, 0.3
    scores.excess[:] = 0.9, 1.9
    assert _fired(scores, calendar) == [False, True]


def test_what_was_not_tested_does_not_fire():
    scores = _scores(3)
    scores.p_value[:], scores.effect[:] = np.nan, np.nan
    assert _fired(scores) == [False] * 3
    scores = _scores(3)
    scores.p_value[:] = 1e-9
    assert not hits_of(ONE, scores, np.zeros(1)).hit.any()  # level 0: no budget


def test_firings_say_what_fired_and_how_strongly():
    scores, hours = _scores(6), Hours(MONDAY, 6)
    scores.p_value[0, View.LOCATION, 2:4] = 1e-7
    scores.p_value[0, View.CELL, 3] = 1e-9
    scores.effect[0, View.CELL, 3] = 0.07
    (firing,) = firings_of(ONE, scores, LEVEL, hours, since=0)
    assert (firing.column, firing.segment, firing.scale, firing.view) == ("amount", "", 1, "cell")
    assert (firing.p_value, firing.level, firing.effect, firing.n) == (1e-9, 1e-5, 0.07, 500)
    assert firing.end == hours.end_of(3)
    assert firings_of(ONE, scores, LEVEL, hours, since=4) == []
    assert len(firings_of(ONE, scores, LEVEL, hours, since=3)) == 1


# With honest p-values an hour fires by chance when it hits and one of the two before did: about
# 2·h² of hours, h the chance of a hit; counted exactly over all patterns of three hours.
def test_twice_in_three_makes_single_chance_hits_harmless():
    h = 0.01
    rate = sum(
        np.prod([h if hit else 1 - h for hit in hits])
        for hits in itertools.product([False, True], repeat=3)
        if hits[2] and (hits[0] or hits[1])
    )
    assert rate == pytest.approx(h * (1 - (1 - h) ** 2))
    rng = np.random.default_rng(0)
    scores = _scores(200_000)
    scores.p_value[0, View.LOCATION] = np.where(rng.random(200_000) < h, 0.0, 0.5)
    fired = np.sum(_fired(scores))
    assert fired == pytest.approx(200_000 * rate, abs=5 * np.sqrt(2 * 200_000 * rate))
