"""Contrast of deployments: slow oracle, known 2 × 2 case, size without a fault, power with one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from monitor.checks.contrast import contrast, contrast_counts
from monitor.measurement import Measured, TooFew
from monitor.profiles.cells import CategoryCells, NumberCells
from tests.reference.slow_contrast import permutation_p_value, stratified_statistic
from tests.unit.checks.factories import from_counts, quantile_cells

ABC = CategoryCells(("a", "b", "c"))


def _counts(hour, cell, own, hours, n_cells):
    table = np.zeros((2, hours, n_cells), np.int64)
    np.add.at(table, (own.astype(int), hour, cell), 1)
    return table[1], table[0]


def _rows(rng, hours=4, rows=160):
    hour = rng.integers(0, hours, rows)
    own = rng.random(rows) < 0.4
    level = (hour % 2) * 0.5
    cell = (rng.random(rows) + level > 0.6).astype(int) + (rng.random(rows) > 0.7)
    return hour, cell, own


# Berkeley admissions by department, men and women (Bickel, Hammel and O'Connell 1975). The
# uncorrected Cochran-Mantel-Haenszel statistic is 1.5246 on 1 df.
def test_a_two_by_two_table_is_the_cochran_mantel_haenszel_test():
    men = [(512, 313), (353, 207), (120, 205), (138, 279), (53, 138), (22, 351)]
    women = [(89, 19), (17, 8), (202, 391), (131, 244), (94, 299), (24, 317)]
    cells = CategoryCells(("admitted", "rejected"))
    own = np.array([[*pair, 0, 0, 0] for pair in men], np.int64)
    others = np.array([[*pair, 0, 0, 0] for pair in women], np.int64)
    outcome = contrast_counts(cells, own, others)
    assert isinstance(outcome, Measured)
    assert outcome.detail["statistic"] == pytest.approx(1.5246, abs=5e-5)
    assert outcome.detail["degrees_of_freedom"] == 1
    assert outcome.detail["p_value"] == pytest.approx(stats.chi2.sf(1.5246, 1), rel=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_the_statistic_is_the_slow_ones(seed):
    hour, cell, own = _rows(np.random.default_rng(seed))
    outcome = contrast_counts(ABC, *_counts(hour, cell, own, 4, 6))
    assert isinstance(outcome, Measured)
    assert outcome.detail["statistic"] == pytest.approx(
        stratified_statistic(hour, cell, own, 3), rel=1e-9
    )


# 400 permutations: the p-value's standard error is at most 0.025.
@pytest.mark.parametrize("seed", [1, 4])
def test_the_p_value_is_near_the_permutation_one(seed):
    rng = np.random.default_rng(seed)
    hour, cell, own = _rows(rng, hours=3, rows=120)
    outcome = contrast_counts(ABC, *_counts(hour, cell, own, 3, 6))
    assert isinstance(outcome, Measured)
    slow = permutation_p_value(hour, cell, own, 3, rng, 400)
    assert outcome.detail["p_value"] == pytest.approx(slow, abs=0.1)


def _distances(rng, hour, wander):
    """Long-tailed like flight distances; the level wanders by hour."""
    return np.exp(6.5 + 0.7 * rng.normal(size=len(hour)) + wander[hour])


def _distance_contrast(rng, cells, factor, rows_an_hour, hours=24, share=1 / 3):
    hour = np.repeat(np.arange(hours), rows_an_hour)
    own = rng.random(len(hour)) < share
    values = _distances(rng, hour, rng.normal(size=hours))
    values[own] *= factor
    return contrast_counts(cells, *_counts(hour, cells.assign(values), own, hours, cells.n_cells))


@pytest.fixture(scope="module")
def distance_cells() -> NumberCells:
    rng = np.random.default_rng(2)
    return quantile_cells(_distances(rng, np.arange(20_000) % 50, rng.normal(size=50)))


# No fault, level wandering by a standard deviation from hour to hour: rejections at 0.01 among
# 1,000 must not exceed the 0.9999 quantile of Binomial(1000, 0.01), which is 23.
@pytest.mark.parametrize("rows_an_hour", [4, 40])
def test_without_a_fault_the_p_value_keeps_its_size(distance_cells, rows_an_hour):
    rng = np.random.default_rng(31)
    outcomes = [_distance_contrast(rng, distance_cells, 1.0, rows_an_hour) for _ in range(1_000)]
    measured = [outcome for outcome in outcomes if isinstance(outcome, Measured)]
    assert len(measured) > 990
    alarms = sum(outcome.detail["p_value"] < 0.01 for outcome in measured)
    assert alarms <= stats.binom.ppf(0.9999, 1_000, 0.01)
    values = [outcome.value for outcome in measured]
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(len(values))


# Kilometres for miles in one of three deployments, one day of 40 rows an hour.
def test_kilometres_for_miles_are_found_in_a_day(distance_cells):
    rng = np.random.default_rng(32)
    outcomes = [_distance_contrast(rng, distance_cells, 1.609, 40) for _ in range(50)]
    for outcome in outcomes:
        assert isinstance(outcome, Measured)
        assert outcome.detail["p_log10"] < -6
        assert outcome.detail["location_z"] > 0
        assert outcome.value > 0.02


def test_a_tiny_p_value_keeps_its_logarithm(distance_cells):
    outcome = _distance_contrast(np.random.default_rng(1), distance_cells, 20.0, 2_000)
    assert isinstance(outcome, Measured)
    assert outcome.detail["p_log10"] < -320
    assert outcome.detail["p_value"] == 0.0


def test_season_that_hits_both_sides_cancels():
    own = np.array([[90, 10, 0, 0, 0, 0], [10, 90, 0, 0, 0, 0]], np.int64)
    outcome = contrast_counts(ABC, own, own * 3)
    assert isinstance(outcome, Measured)
    assert outcome.detail["statistic"] == pytest.approx(0, abs=1e-12)
    # The same hours served in other proportions: crude shares differ, the contrast does not.
    outcome = contrast_counts(ABC, own * np.array([[5], [1]]), own)
    assert isinstance(outcome, Measured)
    assert outcome.detail["statistic"] == pytest.approx(0, abs=1e-9)


def test_missing_rows_are_a_cell():
    own = np.array([[60, 30, 0, 0, 0, 30]], np.int64)
    others = np.array([[80, 40, 0, 0, 0, 0]], np.int64)
    outcome = contrast_counts(ABC, own, others)
    assert isinstance(outcome, Measured)
    assert outcome.detail["p_value"] < 1e-6
    assert outcome.detail["moved"][0]["label"] == "missing"


def test_swapping_the_sides_and_the_hours_changes_nothing(distance_cells):
    rng = np.random.default_rng(6)
    own = rng.poisson(3, (10, distance_cells.n_cells))
    others = rng.poisson(6, (10, distance_cells.n_cells))
    straight = contrast_counts(distance_cells, own, others)
    swapped = contrast_counts(distance_cells, others[::-1], own[::-1])
    assert isinstance(straight, Measured)
    assert isinstance(swapped, Measured)
    assert straight.value == pytest.approx(swapped.value)
    assert straight.detail["location_z"] == pytest.approx(-swapped.detail["location_z"])


def test_hours_of_one_side_only_say_nothing():
    both = (from_counts([20, 20, 0, 0, 0, 0], ABC), from_counts([20, 20, 0, 0, 0, 0], ABC))
    alone = (from_counts([0, 900, 0, 0, 0, 0], ABC), from_counts([0] * 6, ABC))
    outcome = contrast([both, alone])
    assert isinstance(outcome, Measured)
    assert (outcome.n, outcome.detail["hours"]) == (40, 1)
    assert outcome.detail["p_value"] == pytest.approx(1)


@pytest.mark.parametrize(
    "hours",
    [
        [],
        [(from_counts([0] * 6, ABC), from_counts([0] * 6, ABC))],
        [(from_counts([19, 0, 0, 0, 0, 0], ABC), from_counts([900, 0, 0, 0, 0, 0], ABC))],
    ],
)
def test_fewer_than_twenty_rows_on_a_side_is_too_few(hours):
    outcome = contrast(hours)
    assert isinstance(outcome, TooFew)
    assert outcome.needed == 20


def test_a_constant_column_has_nothing_to_differ():
    pair = (from_counts([50, 0, 0, 0, 0, 0], ABC), from_counts([70, 0, 0, 0, 0, 0], ABC))
    outcome = contrast([pair, pair])
    assert isinstance(outcome, Measured)
    assert (outcome.value, outcome.detail["p_value"]) == (0.0, 1.0)
