"""Healthy histories of a model's own days raise no more alarms than their level allows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from monitor.checks.multivariate.daily import DailyVerdict, judge
from monitor.measurement import TooFew

THEORY = 4 * np.sqrt(4_001 / (12 * 2_000 * 2_000))


def judged(history: np.ndarray, today: float) -> DailyVerdict:
    verdict = judge(history, today, n=2_000, m=2_000)
    assert isinstance(verdict, DailyVerdict)
    return verdict


def wandering(rng: np.random.Generator, n: int, r: float) -> np.ndarray:
    steps = rng.normal(size=n + 40)
    for day in range(1, n + 40):
        steps[day] = r * steps[day - 1] + np.sqrt(1 - r * r) * steps[day]
    return steps[-n:]


@pytest.mark.parametrize("days", [28, 56])
@pytest.mark.parametrize("kind", ["independent", "wandering", "weekly", "jumping", "still"])
def test_false_alarms_of_simulated_histories(kind: str, days: int) -> None:
    rng = np.random.default_rng(days)
    found = []
    for _ in range(3_000):
        match kind:
            case "wandering":
                values = wandering(rng, days + 1, 0.6)
            case "weekly":
                values = rng.normal(size=days + 1) + 1.5 * (np.arange(days + 1) % 7 > 4)
            case "jumping":
                values = rng.standard_t(4, days + 1) / np.sqrt(2)
            case _:
                values = rng.normal(size=days + 1)
        values = 0.05 + values * THEORY * (0.3 if kind == "still" else 1.5)
        found.append(judged(values[:-1], values[-1]).p_value)
    for level in (0.05, 0.01, 0.001):
        allowed = level * (2 if kind == "jumping" and level < 0.01 else 1)
        limit = stats.binom.ppf(0.999, len(found), allowed)
        assert np.sum(np.array(found) <= level) <= limit, level


def test_a_history_that_is_still_by_chance_makes_no_alarm_of_the_next_day() -> None:
    still = np.full(28, 0.02)
    verdict = judged(still, 0.02 + 2 * THEORY)
    assert verdict.spread == pytest.approx(THEORY, rel=1e-3)
    assert verdict.p_value > 0.01
    assert judged(still, 0.02).p_value == pytest.approx(0.5)


def test_a_real_change_is_an_alarm_and_a_fall_is_none() -> None:
    rng = np.random.default_rng(3)
    history = 0.02 + THEORY * rng.normal(size=56)
    assert judged(history, np.log(0.7 / 0.3)).p_value < 1e-5
    assert judged(history, -0.5).p_value > 0.99


def test_the_formula_on_independent_days() -> None:
    history = np.tile([1.0, -1.0, 0.5, -0.5], 8)  # falls and rises: no autocorrelation above 0
    verdict = judged(history, 2.0)
    spread = np.std(history, ddof=1)
    t = 2.0 / (spread * np.sqrt(1 + 1 / 32))
    assert verdict == DailyVerdict(
        pytest.approx(stats.t.sf(t, 6)), 0.0, pytest.approx(spread), 6.0, 32
    )


def test_four_weeks_are_needed() -> None:
    assert judge(np.zeros(27), 0.1, n=2_000, m=2_000) == TooFew(
        27, 28, "accepted days with a classifier"
    )


def test_a_history_that_wanders_says_less_than_the_same_days_shuffled() -> None:
    rng = np.random.default_rng(4)
    history = 2 * THEORY * wandering(rng, 56, 0.9)
    today = history.mean() + 6 * THEORY
    wandered, shuffled = judged(history, today), judged(rng.permutation(history), today)
    assert wandered.spread > 1.05 * shuffled.spread
    assert wandered.degrees < 4 < shuffled.degrees
    assert wandered.p_value > 3 * shuffled.p_value


def test_false_alarms_of_histories_that_wander_far() -> None:
    rng = np.random.default_rng(5)
    found = []
    for _ in range(3_000):
        values = 3 * THEORY * wandering(rng, 29, 0.9)
        found.append(judged(values[:-1], values[-1]).p_value)
    for level in (0.05, 0.01, 0.001):
        assert np.sum(np.array(found) <= level) <= stats.binom.ppf(0.999, len(found), level), level
