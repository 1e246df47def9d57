"""The canary's bets: false alarms however often one looks, power, and Wald's limits."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.checks.comparison.canary import (
    ALPHA,
    Bets,
    CanaryVerdict,
    LossCells,
    run_canary,
    sprt_limits,
)

HOURS, ROWS = 150, 40


def hours(rng: np.random.Generator, loss_a: np.ndarray, loss_b: np.ndarray) -> LossCells:
    """ROWS requests a side, hour and slice; `loss` float64[slices] is each slice's probability."""
    slices = len(loss_a)
    slot = np.repeat(np.arange(HOURS), slices)
    n = rng.poisson(ROWS, (HOURS * slices, 2))
    chance = np.column_stack([np.tile(loss_a, HOURS), np.tile(loss_b, HOURS)])
    return LossCells(slot, rng.binomial(n, chance), n)


def test_wald_limits() -> None:
    low, high = sprt_limits(0.05, 0.1)
    assert high == pytest.approx(2.8904, abs=5e-5)
    assert low == pytest.approx(-2.2513, abs=5e-5)


@pytest.mark.parametrize("tolerance", [0.0, 0.02])
def test_no_harm_raises_few_alarms_though_it_is_looked_at_every_hour(tolerance: float) -> None:
    rng = np.random.default_rng(3)
    base = np.array([0.1, 0.4])  # slices differ; b is worse by exactly the tolerance in each
    alarms = sum(
        run_canary(hours(rng, base, base + tolerance), tolerance, rng).verdict is CanaryVerdict.HARM
        for _ in range(200)
    )
    assert alarms / 200 <= ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / 200)


def test_no_worse_is_seldom_said_of_what_is_worse_by_the_tolerance() -> None:
    rng = np.random.default_rng(4)
    base = np.array([0.1, 0.4])
    wrong = sum(
        run_canary(hours(rng, base, base + 0.02), 0.02, rng).verdict is CanaryVerdict.NO_WORSE
        for _ in range(200)
    )
    assert wrong / 200 <= ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / 200)


def test_the_expected_capital_never_grows_under_the_null() -> None:
    # E of one pair's factor is exactly 1 on the boundary, whatever the losses' distribution
    for tolerance in (0.0, 0.02, 0.3):
        for bets in (Bets.against_harm(tolerance), Bets.against_worse(tolerance)):
            for better in (0.0, 0.1, 0.3):
                worse = better + tolerance
                mean = (
                    worse * np.exp(bets.worse)
                    + better * np.exp(bets.better)
                    + (1 - worse - better) * np.exp(bets.equal)
                )
                assert mean == pytest.approx(np.ones(len(mean)), abs=1e-12)


def test_harm_is_found_soon_and_safety_too() -> None:
    rng = np.random.default_rng(5)
    base = np.array([0.1, 0.2])
    harmed = [run_canary(hours(rng, base, base + 0.1), 0.02, rng) for _ in range(40)]
    assert sum(one.verdict is CanaryVerdict.HARM for one in harmed) >= 38
    stops = [one.stopped_at for one in harmed if one.stopped_at is not None]
    assert np.median(stops) < 20  # of 150 hours
    safe = [run_canary(hours(rng, base, base), 0.05, rng) for _ in range(40)]
    assert sum(one.verdict is CanaryVerdict.NO_WORSE for one in safe) >= 38


def test_it_stops_where_the_bet_is_won_and_says_so() -> None:
    rng = np.random.default_rng(6)
    found = run_canary(hours(rng, np.array([0.1]), np.array([0.25])), 0.0, rng)
    assert found.verdict is CanaryVerdict.HARM
    assert found.stopped_at == found.steps[-1].slot
    assert found.steps[-1].harm_log10 >= -np.log10(ALPHA) > found.steps[-2].harm_log10
    assert found.mean is not None
    assert found.mean > 0.05


def test_without_matched_rows_it_stays_undecided() -> None:
    rng = np.random.default_rng(7)
    alone = LossCells(np.array([0, 1]), np.array([[1, 0], [0, 1]]), np.array([[5, 0], [0, 5]]))
    found = run_canary(alone, 0.0, rng)
    assert (found.verdict, found.pairs, found.mean) == (CanaryVerdict.UNDECIDED, 0, None)


def test_pairs_are_counted_from_both_sides() -> None:
    rng = np.random.default_rng(8)
    cells = LossCells(np.array([0]), np.array([[0, 30]]), np.array([[50, 30]]))
    (step,) = run_canary(cells, 0.0, rng).steps
    assert (step.pairs, step.worse, step.better) == (30, 30, 0)


@pytest.mark.parametrize(("tolerance", "alpha"), [(-0.1, 0.05), (1.0, 0.05), (0.0, 0.0)])
def test_nonsense_is_refused(tolerance: float, alpha: float) -> None:
    cells = LossCells(np.array([0]), np.array([[0, 0]]), np.array([[1, 1]]))
    with pytest.raises(AssertionError, match="tolerance lies in"):
        run_canary(cells, tolerance, np.random.default_rng(1), alpha)
