"""The fitted wobble against a slow fit, one series and one window at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from monitor.checks.multivariate.wobble import fit_wobble


def slow_tau2(values: list[float], noise: list[float], weeks: list[int]) -> float:
    """One series alone: its own tau² is the common one too, so each round weighs by the last."""

    def solve(weigh_by: float) -> float:
        weights = [1 / (each + weigh_by) for each in noise]

        def excess(tau2: float) -> float:
            total = 0.0
            for k, value in enumerate(values):
                others = [j for j in range(len(values)) if weeks[j] != weeks[k]]
                whole = sum(weights[j] for j in others)
                mean = sum(weights[j] * values[j] for j in others) / whole
                of_mean = sum(weights[j] ** 2 * (noise[j] + tau2) for j in others) / whole**2
                total += (value - mean) ** 2 / (noise[k] + tau2 + of_mean)
            return total / len(values) - 1

        return float(brentq(excess, 0, 1e4)) if excess(0) > 0 else 0.0

    common = solve(solve(0.0))
    own, n = solve(common), len(values)
    return max(own, (n * own + 8 * common) / (n + 8))


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.sampled_from([0.0, 0.1, 1.0]))
@settings(max_examples=30, deadline=None)
def test_one_series_equals_the_slow_fit(seed: int, n_weeks: int, wobble: float) -> None:
    rng = np.random.default_rng(seed)
    weeks = np.arange(7 * n_weeks) // 7
    noise = rng.uniform(0.01, 0.1, len(weeks))
    values = 0.3 + rng.normal(size=len(weeks)) * np.sqrt(noise + wobble**2)
    found = fit_wobble(values[:, None], noise[:, None], weeks)
    wanted = slow_tau2(values.tolist(), noise.tolist(), weeks.tolist())
    assert found.tau2[0] == pytest.approx(wanted, rel=1e-6, abs=1e-9)


def test_a_known_wobble_is_found_and_neighbours_are_not_sharpened_by_it() -> None:
    rng = np.random.default_rng(4)
    weeks, noise = np.arange(112) // 7, np.full((112, 40), 0.01)
    wobble = np.where(np.arange(40) < 10, 0.3, 0.0)
    values = rng.normal(size=(112, 40)) * np.sqrt(noise + wobble**2)
    found = fit_wobble(values, noise, weeks)
    assert np.mean(found.tau2[:10]) == pytest.approx(0.09, rel=0.25)
    assert (found.tau2[10:] < 0.005).all()
    assert (found.tau2[10:] > 0.001).all()  # drawn towards the common one, about 0.09 / 4
    assert (found.degrees[:10] <= 12).all()
    assert (found.degrees[10:] > 20).all()


def test_wandering_costs_degrees() -> None:
    rng = np.random.default_rng(5)
    weeks, noise = np.arange(56) // 7, np.full((56, 30), 1e-6)
    steps = rng.normal(size=(56, 30))
    wandering = steps.copy()
    for day in range(1, 56):
        wandering[day] = 0.8 * wandering[day - 1] + 0.6 * steps[day]
    still, moved = (fit_wobble(values, noise, weeks).degrees for values in (steps, wandering))
    assert np.median(moved) < 0.7 * np.median(still)


def test_values_that_are_not_there_change_nothing() -> None:
    rng = np.random.default_rng(6)
    weeks = np.arange(28) // 7
    values, noise = rng.normal(size=(28, 3)), np.full((28, 3), 0.5)
    gone = np.isin(np.arange(28), [3, 11, 12])
    with_holes = np.where(gone[:, None], np.inf, noise)
    found = fit_wobble(np.where(gone[:, None], 1e9, values), with_holes, weeks)
    wanted = fit_wobble(values[~gone], noise[~gone], weeks[~gone])
    np.testing.assert_allclose(found.centre, wanted.centre)
    np.testing.assert_allclose(found.tau2, wanted.tau2)
    np.testing.assert_allclose(found.variance(noise[0]), wanted.variance(noise[0]))
