"""Rates, ratings and preferences: worked numbers, floors, cohorts by age, coverage."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from monitor.checks.intervals import wilson_limits
from monitor.checks.signals.by_age import (
    AgePoint,
    Maturity,
    Watched,
    age_point,
    at_equal_age,
    expected_final,
    told_ages,
)
from monitor.checks.signals.outcomes import event_rate, mean_rating, pass_rate, win_rate
from monitor.checks.signals.spread import GroupedScores, grouped, mean_limits, share_limits
from monitor.measurement import Measured, TooFew

DAY = timedelta(days=1)


def rows(values: np.ndarray, groups: np.ndarray | None = None) -> GroupedScores:
    if groups is None:
        return grouped(values, np.zeros(len(values), np.int64), 20, clustered=False)
    return grouped(values, groups, 20, clustered=True)


def test_independent_events_have_wilson_limits() -> None:
    # Newcombe (1998): 81/263 has .2553 to .3662, 15/148 has .0624 to .1605
    for events, n, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605)):
        found = event_rate(rows(np.repeat([1.0, 0.0], [events, n - events])), {})
        assert isinstance(found, Measured)
        assert found.value == pytest.approx(events / n)
        assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


def test_no_event_and_nothing_but_events_have_limits_too() -> None:
    none, every = event_rate(rows(np.zeros(60)), {}), pass_rate(rows(np.ones(60)), {})
    assert (none.low, none.high) == pytest.approx(wilson_limits(0, 60))
    assert (every.low, every.high) == pytest.approx(wilson_limits(60, 60))


def test_ties_are_half_wins_and_tell_less_than_they_scatter() -> None:
    found = win_rate(rows(np.repeat([1.0, 0.5, 0.0], [30, 40, 10])), {})
    assert found.value == pytest.approx(50 / 80)
    # variance of scores .1094, of wins without ties at that share .2344: n* = 80 * .2344/.1094
    assert (found.low, found.high) == pytest.approx(wilson_limits(0.625 * 171.43, 171.43), abs=1e-4)


def test_a_mean_rating_has_t_limits() -> None:
    rng = np.random.default_rng(2)
    values = rng.integers(1, 6, 80).astype(float)
    found = mean_rating(rows(values), (1, 5), {})
    theirs = stats.ttest_1samp(values, 0).confidence_interval()
    # s² with n in place of n - 1 inside, n - 1 outside: the same as s²/n
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))


@pytest.mark.parametrize("outcome", [event_rate, pass_rate, win_rate])
def test_fewer_than_fifty_rows_are_too_few(outcome) -> None:
    few = outcome(rows(np.array([1.0] * 49)), {})
    assert isinstance(few, TooFew)
    assert (few.n, few.needed) == (49, 50)
    assert isinstance(outcome(rows(np.zeros(0)), {}), TooFew)
    assert isinstance(mean_rating(rows(np.ones(1)), (1, 5), {}), TooFew)
    assert isinstance(outcome(rows(np.array([1.0] * 50)), {}), Measured)


def test_every_rating_the_same_is_a_number() -> None:
    found = mean_rating(rows(np.full(60, 5.0)), (1, 5), {})
    assert (found.value, found.low, found.high) == (5, 5, 5)


@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=80),
    st.booleans(),
)
def test_share_limits_hold_the_share(scores: list[float], clustered: bool) -> None:
    values = np.array(scores)
    groups = np.arange(len(values)) % 20 if clustered else None
    low, high = share_limits(rows(values, groups))
    assert 0 <= low <= values.mean() + 1e-12
    assert values.mean() - 1e-12 <= high <= 1


def test_a_cohort_becomes_final_at_the_longest_age() -> None:
    states = [Watched(days * DAY, 10 * DAY).state for days in (0, 4.9, 5, 7.9, 8, 9.99, 10, 40)]
    assert states == [
        *(Maturity.TOO_EARLY, Maturity.TOO_EARLY, Maturity.PARTIAL, Maturity.PARTIAL),
        *(Maturity.PROVISIONAL, Maturity.PROVISIONAL, Maturity.FINAL, Maturity.FINAL),
    ]
    assert Watched(-DAY, 10 * DAY).state is Maturity.TOO_EARLY


def test_ages_are_told_up_to_the_cohorts_own() -> None:
    assert told_ages(Watched(timedelta(0), DAY)) == ()
    ages = told_ages(Watched(2.5 * DAY, 10 * DAY))
    assert [age / DAY for age in ages] == [1 / 24, 3 / 24, 0.25, 0.5, 1, 2, 2.5]
    assert told_ages(Watched(90 * DAY, 2 * DAY))[-1] == 2 * DAY


def point(hours: float, events: int, n: int) -> AgePoint:
    return age_point(timedelta(hours=hours), events, n)


def test_cohorts_are_compared_at_equal_age_only() -> None:
    # Newcombe (1998): 56/70 - 48/80 is .20 with .0524 to .3339
    old = [point(24, 24, 40), point(24, 24, 40), point(72, 39, 40)]
    found = at_equal_age(point(24, 56, 70), old)
    assert found is not None
    assert found.difference == pytest.approx(0.20)
    assert (found.low, found.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert at_equal_age(point(48, 56, 70), old) is None


def test_a_positive_only_rate_is_divided_by_what_is_known_by_that_age() -> None:
    # rate so far .04, half of all events known at 3 days: .08 in the end
    value, low, high = expected_final(point(72, 40, 1_000), 500, 1_000) or (0, 0, 0)
    assert value == pytest.approx(0.08)
    assert low < 0.08 < high
    assert expected_final(point(72, 0, 1_000), 500, 1_000) is None
    assert expected_final(point(72, 4, 1_000), 0, 10) is None


def _require_coverage(hits: int, runs: int) -> None:
    error = 2.5 * np.sqrt(0.95 * 0.05 / runs)
    assert 0.93 - error <= hits / runs <= 0.98 + error, hits / runs


def test_the_expected_final_share_holds_its_coverage() -> None:
    rng, hits, runs = np.random.default_rng(3), 0, 3_000
    for _ in range(runs):
        events, known = rng.binomial(800, 0.08 * 0.5), rng.binomial(300, 0.5)
        found = expected_final(point(72, int(events), 800), int(known), 300)
        hits += found is not None and found[1] <= 0.08 <= found[2]
    _require_coverage(hits, runs)


@pytest.mark.parametrize(("n", "share"), [(50, 0.1), (50, 0.5), (400, 0.02), (400, 0.3)])
def test_event_limits_hold_their_coverage(n: int, share: float) -> None:
    events = np.arange(n + 1)
    inside = [low <= share <= high for low, high in (wilson_limits(int(x), n) for x in events)]
    covered = float(np.sum(stats.binom.pmf(events, n, share)[inside]))
    assert 0.925 <= covered <= 0.99
    for events_there in (0, 3, n):
        values = np.repeat([1.0, 0.0], [events_there, n - events_there])
        assert share_limits(rows(values)) == pytest.approx(wilson_limits(events_there, n))


@pytest.mark.parametrize("repeats", [1, 4])
@pytest.mark.parametrize("n", [60, 600])
def test_limits_of_repeating_entities_hold_their_coverage(n: int, repeats: int) -> None:
    """Every entity comes `repeats` times, and all its rows say the same."""
    rng, runs, hits, means = np.random.default_rng(n + repeats), 1_500, 0, 0
    for _ in range(runs):
        entities = n // repeats
        group = np.repeat(rng.integers(0, 20, entities), repeats)
        event = np.repeat((rng.random(entities) < 0.3).astype(float), repeats)
        low, high = share_limits(rows(event, group))
        hits += low <= 0.3 <= high
        rating = np.repeat(
            rng.choice([1.0, 2, 3, 4, 5], entities, p=[0.1, 0.1, 0.2, 0.3, 0.3]), repeats
        )
        low, high = mean_limits(rows(rating, group), 1, 5)
        means += low <= 3.6 <= high
    _require_coverage(hits, runs)
    _require_coverage(means, runs)


def test_preference_limits_hold_their_coverage() -> None:
    rng, runs, hits = np.random.default_rng(8), 2_000, 0
    for _ in range(runs):
        scores = rng.choice([1.0, 0.5, 0.0], 50, p=[0.5, 0.3, 0.2])
        low, high = share_limits(rows(scores))
        hits += low <= 0.65 <= high
    _require_coverage(hits, runs)


def test_ignoring_repeats_would_not_hold() -> None:
    rng, hits = np.random.default_rng(9), 0
    for _ in range(400):
        event = np.repeat((rng.random(100) < 0.3).astype(float), 6)
        low, high = share_limits(rows(event))
        hits += low <= 0.3 <= high
    assert hits / 400 < 0.8
