"""PSI: the formula, the documented rule for empty cells, its null expectation and coverage."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.checks.drift.psi import (
    PopulationStability,
    expected_stability,
    population_stability,
)
from monitor.measurement import Measured, TooFew
from monitor.profiles.cells import CategoryCells, NumberCells
from tests.unit.checks.factories import categories, category_cells, from_counts, numbers

FOUR = CategoryCells(("a", "b", "c", "d"))


def _compare(reference, current):
    method = PopulationStability()
    return method.compare(method.fit(reference), current)


# By hand: Σ (q - p) ln(q/p) over four cells; the null rule is (k - 1)(1/n + 1/m) = 0.018.
def test_worked_example():
    reference, current = np.array([500.0, 300, 150, 50]), np.array([90.0, 70, 30, 10])
    assert population_stability(reference, current, 0) == pytest.approx(0.0129756, abs=5e-8)
    shares = (reference + current) / 1200
    assert expected_stability(shares, 1000, 200) == pytest.approx(0.018, rel=0.02)
    outcome = _compare(
        from_counts([500, 300, 150, 50, 0, 0, 0], FOUR),
        from_counts([90, 70, 30, 10, 0, 0, 0], FOUR),
    )
    assert isinstance(outcome, Measured)
    assert outcome.detail["raw_psi"] == pytest.approx(0.0129756, rel=0.05)
    assert outcome.value == pytest.approx(-0.0050, abs=6e-4)
    assert outcome.low is not None
    assert outcome.high is not None
    assert outcome.low <= outcome.value <= outcome.high


# Public case: one emptied cell made the index infinite, or zero after a careless patch.
def test_an_emptied_cell_is_finite_by_the_documented_rule():
    cells = NumberCells((0.0, 10.0, 20.0, 30.0, 40.0))
    reference = [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, 35, 37, 39]
    current = [2, 4, 6, 8, 12, 14, 16, 18, 22, 24, 26, 28]
    outcome = _compare(numbers(reference, cells), numbers(current, cells))
    assert isinstance(outcome, TooFew)
    assert (outcome.n, outcome.needed) == (12, 30)
    assert outcome.detail["raw_psi"] == pytest.approx(0.470833838001, rel=1e-9)
    assert "0.5 rows" in outcome.detail["empty_cells"]
    large = _compare(numbers(reference * 10, cells), numbers(current * 10, cells))
    assert isinstance(large, Measured)
    assert large.value > 0.25


# Public case: a filler share of 1e-4 hid that all 500 rare categories were replaced.
def test_replaced_rare_categories_are_seen():
    reference = ["a"] * 95_000 + [f"r{i}" for i in range(500) for _ in range(10)]
    current = ["a"] * 95_000 + [f"s{i}" for i in range(500) for _ in range(10)]
    cells = category_cells(reference)
    outcome = _compare(categories(reference, cells), categories(current, cells))
    assert isinstance(outcome, Measured)
    assert outcome.detail["new_share"] == 0.05
    assert outcome.value > 0.2
    labels = {moved["label"]: moved for moved in outcome.detail["moved"]}
    assert labels["new"]["share_then"] == 0.0
    assert labels["other"]["share_now"] == 0.0


def test_equal_shares_have_raw_index_zero_whatever_the_sizes():
    assert population_stability(np.array([90.0, 360]), np.array([30.0, 120]), 0) == 0


# Simulation, 6,000 draws a case: the computed expectation must lie within 4 standard errors of
# the mean, where the textbook rule (k - 1)(1/n + 1/m) is off by up to 26 %.
@pytest.mark.parametrize(
    ("shares", "n", "m"),
    [
        ((0.5, 0.3, 0.15, 0.05), 1_000, 200),
        ((0.9, 0.09, 0.0099, 0.0001), 100_000, 100),
        ((1 / 24,) * 24, 5_000, 60),
    ],
)
def test_null_expectation_is_the_mean_of_simulated_samples(shares, n, m):
    rng = np.random.default_rng(77)
    p = np.array(shares) / np.sum(shares)
    drawn = [
        population_stability(
            rng.multinomial(n, p).astype(float), rng.multinomial(m, p).astype(float), 0.5
        )
        for _ in range(6_000)
    ]
    error = 4 * np.std(drawn) / np.sqrt(len(drawn))
    assert expected_stability(p, n, m) == pytest.approx(np.mean(drawn), abs=error)


# Coverage of the 95 % limits under a moderate shift (true index 0.0505), 600 draws: at least the
# 0.001 quantile of Binomial(600, 0.93).
def test_limits_cover_a_moderate_true_index():
    rng = np.random.default_rng(5)
    p, q = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.32, 0.28, 0.25, 0.15])
    true = float(np.sum((q - p) * np.log(q / p)))
    held = 0
    for _ in range(600):
        outcome = _compare(
            from_counts([*rng.multinomial(20_000, p), 0, 0, 0], FOUR),
            from_counts([*rng.multinomial(600, q), 0, 0, 0], FOUR),
        )
        assert isinstance(outcome, Measured)
        assert outcome.low is not None
        assert outcome.high is not None
        held += outcome.low <= true <= outcome.high
    assert held >= 540
