"""Cohorts of equal age against each other, and the label feed: false alarms and power."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.checks.maturity.change import Cohort, binary_cohort, quality_change, together
from monitor.checks.maturity.feed import arrival_ratio, expected_labels, silence
from monitor.measurement import Measured, Outcome, TooFew
from tests.unit.checks.factories import binary
from tests.unit.checks.maturity.factories import DAY_HOURS, curve_of

RUNS = 400


def drawn(rng: np.random.Generator, n: int, lost: float = 0.0, wobble: float = 0.0) -> Cohort:
    """A day of a calibrated binary model; `lost` of its labels are turned round."""
    score = rng.beta(1.2, 1.8, n)
    turned = rng.random(n) < np.clip(lost + rng.normal(0, wobble), 0, 1)
    label = (rng.random(n) < score) ^ turned
    return binary_cohort(binary(score, label.astype(int), group=rng.integers(0, 20, n)))


def excludes_zero(outcome: Outcome) -> bool:
    assert isinstance(outcome, Measured)
    assert outcome.low is not None
    assert outcome.high is not None
    return outcome.low > 0 or outcome.high < 0


def shares(n: int, lost: float, wobble: float = 0.0, runs: int = RUNS) -> dict[str, float]:
    rng = np.random.default_rng(9)
    hits: dict[str, int] = {}
    history = [drawn(rng, 300, wobble=wobble) for _ in range(28 * 6)]
    for _ in range(runs):
        days = [history[place] for place in rng.choice(len(history), 28, replace=False)]
        for name, outcome in quality_change(drawn(rng, n, lost, wobble), days).items():
            hits[name] = hits.get(name, 0) + excludes_zero(outcome)
    return {name: count / runs for name, count in hits.items()}


@pytest.mark.parametrize("n", [80, 300])
def test_without_a_change_few_cohorts_differ(n: int) -> None:
    found = shares(n, 0.0)
    assert set(found) == {"accuracy", "precision", "recall", "auc", "brier"}
    for name, share in found.items():
        assert share <= 0.07 + 0.022, (name, share)
        assert share >= 0.02 - 0.014, (name, share)


def test_days_that_differ_by_themselves_raise_no_more_alarms() -> None:
    found = shares(300, 0.0, wobble=0.06)
    for name in ("accuracy", "auc", "brier"):
        assert found[name] <= 0.07 + 0.03, (name, found[name])


def test_a_loss_is_seen() -> None:
    found = shares(300, 0.3, runs=150)
    for name in ("accuracy", "auc", "brier"):
        assert found[name] > 0.8, (name, found[name])


def test_limits_hold_the_true_difference() -> None:
    rng = np.random.default_rng(10)
    runs, hits = 1500, dict.fromkeys(("mae", "rmse", "accuracy"), 0)
    for _ in range(runs):
        days = [_errors(rng, int(rng.integers(40, 200)), 1.0) for _ in range(28)]
        this = _errors(rng, 100, 1.2)
        for name, outcome in quality_change(this, days).items():
            assert isinstance(outcome, Measured)
            truth = {"mae": 0.2 * np.sqrt(2 / np.pi), "rmse": 0.2, "accuracy": -0.2}[name]
            hits[name] += outcome.low <= truth <= outcome.high  # type: ignore[operator]
    for name, count in hits.items():
        assert 0.93 - 0.012 <= count / runs <= 0.98 + 0.008, (name, count / runs)


def _errors(rng: np.random.Generator, n: int, scale: float) -> Cohort:
    errors = rng.normal(0, scale, n)
    right = int(rng.binomial(n, 0.8 - (scale - 1)))
    losses = {"mae": np.abs(errors), "rmse": errors**2}
    means = {name: (float(loss.sum()), n) for name, loss in losses.items()}
    own = {name: float(loss.std(ddof=1) / np.sqrt(n)) for name, loss in losses.items()}
    return Cohort(n, {"accuracy": (right, n)}, means, own)


@pytest.mark.parametrize("days", [7, 28])
@pytest.mark.parametrize(("n", "wobble"), [(60, 0.05), (300, 0.0), (1000, 0.05)])
def test_limits_let_a_day_of_any_size_differ_as_days_do(days: int, n: int, wobble: float) -> None:
    """Days of 300 rows whose accuracy and mean error wander; a day of another size joins them."""
    rng = np.random.default_rng(15)
    runs, hits = 1000, dict.fromkeys(("accuracy", "mae"), 0)
    for _ in range(runs):
        cohorts = [_wandering(rng, size, wobble) for size in (*[300] * days, n)]
        for name, outcome in quality_change(cohorts[-1], cohorts[:-1]).items():
            hits[name] += not excludes_zero(outcome)
    for name, count in hits.items():
        assert 0.93 - 0.016 <= count / runs <= 0.98 + 0.009, (name, count / runs)


def _wandering(rng: np.random.Generator, n: int, wobble: float) -> Cohort:
    share, scale = np.clip(0.8 + rng.normal(0, wobble), 0, 1), 1 + rng.normal(0, wobble)
    losses = rng.gamma(2, 0.5 * scale, n)
    own = float(losses.std(ddof=1) / np.sqrt(n))
    right = int(rng.binomial(n, share))
    return Cohort(n, {"accuracy": (right, n)}, {"mae": (float(losses.sum()), n)}, {"mae": own})


def test_too_few_days_and_too_few_labels_are_told() -> None:
    rng = np.random.default_rng(12)
    this, days = drawn(rng, 200), [drawn(rng, 200) for _ in range(6)]
    for outcome in quality_change(this, days).values():
        assert isinstance(outcome, TooFew)
        assert (outcome.n, outcome.needed) == (6, 7)
    few = quality_change(drawn(rng, 49), [drawn(rng, 200) for _ in range(7)])
    assert all(isinstance(outcome, TooFew) for outcome in few.values())
    for outcome in quality_change(drawn(rng, 0), []).values():
        assert isinstance(outcome, TooFew)


def test_deployments_of_a_day_add_up() -> None:
    rng = np.random.default_rng(13)
    one, two = drawn(rng, 100), drawn(rng, 50)
    both = together([one, two])
    assert both.labelled == 150
    assert both.shares["accuracy"][0] == one.shares["accuracy"][0] + two.shares["accuracy"][0]
    assert both.cells is not None
    assert int(both.cells[0].sum() + both.cells[1].sum()) == 150


def test_expected_labels_follow_the_curve() -> None:
    curve = curve_of({1: 0.5, 2: 0.75, 20: 1.0})
    assert expected_labels([(DAY_HOURS, 100)], curve, DAY_HOURS) == pytest.approx(50, abs=0.1)
    assert expected_labels([(2 * DAY_HOURS, 100)], curve, DAY_HOURS) == pytest.approx(25, abs=0.1)
    assert expected_labels([(-3.0, 100)], curve, DAY_HOURS) == 0


def test_a_feed_that_half_stops_is_seen_and_a_steady_one_is_not() -> None:
    rng = np.random.default_rng(14)
    for unevenness, truth in ((0.0, 1.0), (0.15, 1.0), (0.0, 0.5)):
        below, hits, runs = 0, 0, 1000
        for _ in range(runs):
            days = [(int(o), 200.0) for o in _arrivals(rng, 200.0, unevenness, 28)]
            (today,) = _arrivals(rng, 200.0 * truth, unevenness, 1)
            found = arrival_ratio(int(today), 200.0, days)
            assert isinstance(found, Measured)
            assert found.low is not None
            assert found.high is not None
            below += found.high < 0.8
            hits += found.low <= truth <= found.high
        assert 0.93 - 0.014 <= hits / runs <= 0.98 + 0.01, (unevenness, truth, hits / runs)
        assert below / runs > 0.95 if truth < 1 else below / runs < 0.03


def _arrivals(rng: np.random.Generator, mean: float, unevenness: float, days: int) -> np.ndarray:
    rates = mean * (rng.gamma(1 / unevenness**2, unevenness**2, days) if unevenness else 1.0)
    return rng.poisson(rates, days)


def test_a_feed_says_what_it_does_not_know() -> None:
    assert isinstance(arrival_ratio(5, None, []), TooFew)
    assert isinstance(arrival_ratio(5, 19.9, []), TooFew)
    young = arrival_ratio(15, 30.0, [(30, 30.0)] * 6)
    assert isinstance(young, Measured)
    assert (young.value, young.low) == (0.5, None)
    stopped = arrival_ratio(0, 30.0, [(30, 30.0)] * 7)
    assert isinstance(stopped, Measured)
    assert (stopped.value, stopped.low) == (0.0, 0.0)
    quiet = silence(36.5, newest="2024-05-01T00:00:00+00:00")
    assert isinstance(quiet, Measured)
    assert (quiet.value, quiet.n) == (36.5, 1)
