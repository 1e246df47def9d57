"""Jensen-Shannon, Kolmogorov-Smirnov and Wasserstein against SciPy on rows and public cases."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import spatial, stats

from monitor.checks.drift.jensen_shannon import JensenShannon, jensen_shannon_divergence
from monitor.checks.drift.kolmogorov_smirnov import (
    KolmogorovSmirnov,
    kolmogorov_p_log10,
    largest_gap,
)
from monitor.checks.drift.wasserstein import Wasserstein, expected_transport, transport_distance
from monitor.measurement import Failed, Measured, TooFew
from monitor.profiles.cells import CategoryCells
from monitor.records import ViolationReason
from tests.unit.checks.factories import (
    categories,
    from_counts,
    numbers,
    quantile_cells,
    value_cells,
)


def _compare(method, reference, current):
    return method.compare(method.fit(reference), current)


# By hand, and scipy.spatial.distance.jensenshannon (SciPy 1.17).
def test_jensen_shannon_worked_example():
    reference, current = np.array([500.0, 300, 150, 50]), np.array([90.0, 70, 30, 10])
    divergence = jensen_shannon_divergence(reference, current)
    assert divergence == pytest.approx(0.0016207, abs=5e-8)
    assert np.sqrt(divergence / np.log(2)) == pytest.approx(0.0483545, abs=5e-8)
    expected = spatial.distance.jensenshannon(reference, current, base=2)
    assert np.sqrt(divergence / np.log(2)) == pytest.approx(expected, rel=1e-9)


# Public case: proportional float32 weights gave NaN through rounding below zero.
def test_jensen_shannon_of_almost_equal_float32_weights_is_a_number():
    reference = np.array([0.797, 0.843], np.float32)
    divergence = jensen_shannon_divergence(reference, reference * np.float32(2.04))
    assert 0 <= np.sqrt(divergence / np.log(2)) < 1e-3


# Public cases: a category more (0.371383065002), and disjoint categories with a null (1.0).
def test_jensen_shannon_with_categories_the_reference_lacks():
    cells = CategoryCells(("0", "1", "2"))
    outcome = _compare(
        JensenShannon(),
        categories(["0", "1", "2"] * 20, cells),
        categories(["0", "1", "2", "3"] * 10, cells),
    )
    assert isinstance(outcome, Measured)
    assert outcome.value == pytest.approx(0.371383065002, rel=1e-9)
    cells = CategoryCells(("k1", "k2"))
    outcome = _compare(
        JensenShannon(),
        categories(["k1", "k1", "k1", "k2"] * 5, cells),
        categories(["k9", None, "k9", "k9"], cells),
    )
    assert isinstance(outcome, TooFew)
    assert outcome.detail["provisional"] == pytest.approx(1.0, abs=1e-9)
    assert outcome.detail["missing_share"] == 0.25
    assert outcome.detail["new_share"] == 1.0


# Public case: 100,000 rows a side, 5 % of the traffic replaced: sqrt(0.05).
def test_jensen_shannon_of_replaced_mass():
    cells = CategoryCells(("a", "b"))
    outcome = _compare(
        JensenShannon(),
        from_counts([95_000, 5_000, 0, 0, 0], cells),
        from_counts([95_000, 0, 0, 5_000, 0], cells),
    )
    assert isinstance(outcome, Measured)
    assert outcome.value == pytest.approx(0.22360679775, rel=1e-9)


def test_jensen_shannon_null_expectation_is_near_the_mean_of_equal_samples():
    rng = np.random.default_rng(8)
    cells = CategoryCells(("a", "b", "c", "d"))
    values, nulls = [], []
    for _ in range(300):
        outcome = _compare(
            JensenShannon(),
            from_counts([*rng.multinomial(5_000, [0.4, 0.3, 0.2, 0.1]), 0, 0, 0], cells),
            from_counts([*rng.multinomial(400, [0.4, 0.3, 0.2, 0.1]), 0, 0, 0], cells),
        )
        assert isinstance(outcome, Measured)
        values.append(outcome.value**2)
        nulls.append(outcome.detail["null_expectation"] ** 2)
    assert np.mean(values) == pytest.approx(np.mean(nulls), rel=0.15)


# Public case (numpy seed 7): an overflow turned an astronomically small p-value into 1.
def test_kolmogorov_smirnov_of_clearly_different_samples():
    rng = np.random.default_rng(7)
    reference, current = rng.standard_normal(3300), 1.9 * rng.standard_normal(3900)
    cells = np.unique(np.concatenate((reference, current)))
    counts = [
        np.histogram(rows, [*cells, np.inf])[0].astype(float) for rows in (reference, current)
    ]
    distance = largest_gap(*counts)
    assert distance == pytest.approx(0.162657342657, rel=1e-9)
    effective = 3300 * 3900 / 7200
    assert kolmogorov_p_log10(distance, effective) == pytest.approx(-41.0756648703, abs=0.5)
    binned = _compare(
        KolmogorovSmirnov(),
        numbers(reference, quantile_cells(reference)),
        numbers(current, quantile_cells(reference)),
    )
    assert isinstance(binned, Measured)
    assert binned.value <= distance <= binned.value + binned.detail["binning_error_bound"]
    assert binned.detail["p_value"] < 1e-25


def test_the_logarithm_of_the_kolmogorov_tail_is_continuous_far_out():
    assert kolmogorov_p_log10(18.25, 1.0) == pytest.approx(
        (np.log(2) - 2 * 18.25**2) / np.log(10), rel=1e-9
    )
    assert kolmogorov_p_log10(0.0, 100.0) == 0.0
    assert kolmogorov_p_log10(40.0, 1.0) < -1_000


# Public case: a handful of rows against a full set.
def test_a_tiny_window_gets_no_verdict():
    reference = [2.0] * 8 + [2.5] * 6 + [3.0] * 6 + [3.5] * 4 + [4.0] * 4 + [5.0] * 2
    current = [3.1, 3.6] * 4
    cells = value_cells(reference + current)
    outcome = _compare(KolmogorovSmirnov(), numbers(reference, cells), numbers(current, cells))
    assert isinstance(outcome, TooFew)
    assert (outcome.n, outcome.needed) == (8, 30)
    assert outcome.detail["provisional"] == pytest.approx(0.666666666667, rel=1e-9)


# Public case: half of the rows missing must not show as value drift, nor be hidden.
def test_missing_rows_are_left_out_of_value_drift():
    reference = list(range(1, 11)) * 3
    cells = value_cells(reference)
    current = numbers([*reference, *[None] * 30], cells)
    outcome = _compare(KolmogorovSmirnov(), numbers(reference, cells), current)
    assert isinstance(outcome, Measured)
    assert (outcome.value, outcome.detail["p_value"]) == (0.0, 1.0)
    assert outcome.detail["missing_share"] == 0.5


# Public case: only missing values in the current window.
def test_a_column_of_missing_values_says_so():
    cells = value_cells([10, 20, 30, 40])
    for method in (KolmogorovSmirnov(), Wasserstein(), JensenShannon()):
        reference = numbers([10, 20, 30, 40] * 5, cells)
        outcome = _compare(method, reference, numbers([None] * 4, cells))
        assert isinstance(outcome, TooFew)
        assert (outcome.n, outcome.reason) == (0, "no values in current")
        assert outcome.detail["missing_share"] == 1.0


# Public case: infinities among the values; they are violations and leave the finite rows alone.
def test_infinities_are_counted_apart():
    cells = value_cells(range(1, 9))
    current = numbers([1, 2, 3, np.inf, -np.inf, 6, 7, 8], cells, {ViolationReason.INFINITE: 2})
    assert current.mean == 4.5
    outcome = _compare(KolmogorovSmirnov(), numbers(range(1, 9), cells), current)
    assert isinstance(outcome, TooFew)
    assert np.isfinite(outcome.detail["provisional"])
    assert outcome.detail["missing_share"] == 0.25


# Public case: a change of 0.0001 in a column declared as a number is no drift by size.
def test_the_declared_type_wins_over_few_distinct_values():
    reference = np.array([0.1, 0.2, 0.3] * 40)
    cells = value_cells(reference)
    outcome = _compare(Wasserstein(), numbers(reference, cells), numbers(reference + 0.0001, cells))
    assert isinstance(outcome, Measured)
    assert 0 <= outcome.value < 0.01
    # 0.00122474487139 with the population's standard deviation; ours is the sample's.
    shift = 0.00122474487139 * np.sqrt(119 / 120)
    assert outcome.detail["mean_shift"] == pytest.approx(shift, rel=1e-6)


@pytest.mark.parametrize(("shift", "stretch"), [(0.3, 1.0), (-0.5, 1.0), (0.0, 1.4), (0.2, 0.7)])
def test_wasserstein_is_near_scipys_on_the_rows(shift, stretch):
    rng = np.random.default_rng(19)
    reference = rng.normal(size=20_000)
    current = shift + stretch * rng.normal(size=4_000)
    cells = quantile_cells(reference)
    outcome = _compare(Wasserstein(), numbers(reference, cells), numbers(current, cells))
    assert isinstance(outcome, Measured)
    low, high = reference.min(), reference.max()
    exact = stats.wasserstein_distance(reference, np.clip(current, low, high)) / reference.std()
    assert outcome.value == pytest.approx(exact, rel=0.04)
    assert abs(outcome.value - exact) <= outcome.detail["binning_error_bound"]


# Published constant: E[W1/sd] = 1.2884 sqrt(1/n + 1/m) for a normal distribution.
def test_wasserstein_null_expectation_for_a_normal_column():
    edges = np.linspace(-6, 6, 2_401)
    mass = np.diff(stats.norm.cdf(np.concatenate(([-np.inf], edges, [np.inf]))))
    assert expected_transport(edges, mass, 1.0) == pytest.approx(1.2884, abs=2e-4)


def test_wasserstein_in_unit_cells_is_the_sum_of_gaps():
    # By hand: gaps 0.05, 0, 0 between cells one apart, mass standing on the cells' borders.
    edges = np.array([0.0, 1e-9, 1.0, 1.0 + 1e-9, 2.0, 2.0 + 1e-9, 3.0, 3.0 + 1e-9])
    reference = np.array([0, 500, 0, 300, 0, 150, 0, 50, 0.0])
    current = np.array([0, 90, 0, 70, 0, 30, 0, 10, 0.0])
    assert transport_distance(edges, reference, current) == pytest.approx(0.05, abs=1e-6)


def test_one_absurd_value_can_not_decide_the_wasserstein_distance():
    rng = np.random.default_rng(4)
    reference = rng.normal(size=5_000)
    current = rng.normal(size=500)
    cells = quantile_cells(reference)
    quiet = _compare(Wasserstein(), numbers(reference, cells), numbers(current, cells))
    current[0] = 1e12
    loud = _compare(Wasserstein(), numbers(reference, cells), numbers(current, cells))
    assert isinstance(quiet, Measured)
    assert isinstance(loud, Measured)
    assert loud.value == pytest.approx(quiet.value, abs=0.02)
    assert loud.detail["mean_shift"] > 1e6


def test_wasserstein_against_a_constant_baseline_fails_with_a_reason():
    cells = value_cells([7.0, 9.0])
    constant = numbers([7.0] * 100, cells)
    same = _compare(Wasserstein(), constant, numbers([7.0] * 50, cells))
    assert isinstance(same, Measured)
    assert same.value == 0.0
    moved = _compare(Wasserstein(), constant, numbers([9.0] * 50, cells))
    assert isinstance(moved, Failed)
    assert "constant" in moved.reason
