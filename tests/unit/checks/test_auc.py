"""DeLong from cell counts against published numbers and a slow pairwise computation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

from monitor.checks.auc import delong, paired_delong
from tests.reference.slow_auc import pairwise_delong
from tests.unit.checks.coverage import Held


def _cells_of(score: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, cell = np.unique(score, return_inverse=True)
    positives = np.bincount(cell[label == 1], minlength=len(values)).astype(np.int64)
    negatives = np.bincount(cell[label == 0], minlength=len(values)).astype(np.int64)
    return positives, negatives


# Computed from the unbinned rows by a separate DeLong implementation (sklearn 1.9's breast cancer
# rows, malignant as the positive class).
@pytest.mark.parametrize(
    ("column", "auc", "standard_error"),
    [(0, 0.9375165, 0.0104573), (1, 0.7758245, 0.0197343)],
)
def test_breast_cancer_rows(column, auc, standard_error):
    rows, target = load_breast_cancer(return_X_y=True)
    estimate = delong(*_cells_of(rows[:, column], (target == 0).astype(int)))
    assert estimate.auc == pytest.approx(auc, abs=5e-8)
    assert estimate.standard_error == pytest.approx(standard_error, abs=5e-8)
    if column == 0:
        assert (estimate.low, estimate.high) == pytest.approx((0.91360, 0.95514), abs=5e-6)


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=4, max_size=60))
def test_cells_give_what_all_pairs_give(rows):
    score = np.array([row[0] for row in rows], dtype=float)
    label = np.array([row[1] for row in rows], dtype=int)
    if min(label.sum(), len(label) - label.sum()) < 2:
        return
    estimate = delong(*_cells_of(score, label))
    auc, standard_error = pairwise_delong(score, label)
    assert estimate.auc == pytest.approx(auc, abs=1e-12)
    assert estimate.standard_error == pytest.approx(standard_error, abs=1e-9)
    assert 0 <= estimate.low <= estimate.auc <= estimate.high <= 1


def test_swapping_the_classes_mirrors_the_area():
    positives = np.array([1, 4, 9, 12], dtype=np.int64)
    negatives = np.array([15, 7, 3, 2], dtype=np.int64)
    straight, mirrored = delong(positives, negatives), delong(negatives, positives)
    assert straight.auc + mirrored.auc == pytest.approx(1)
    assert straight.standard_error == pytest.approx(mirrored.standard_error)


def test_perfect_separation_keeps_a_lower_limit_below_one():
    estimate = delong(np.array([0, 20]), np.array([30, 0]))
    assert (estimate.auc, estimate.high, estimate.standard_error) == (1.0, 1.0, 0.0)
    # Wilson's lower limit at 20 of 20: 1 - 0.1611 (Newcombe 1998).
    assert estimate.low == pytest.approx(0.8389, abs=5e-5)


def test_the_binning_error_holds_the_area_of_the_unbinned_scores():
    rng = np.random.default_rng(11)
    label = (rng.random(3_000) < 0.3).astype(int)
    score = 1 / (1 + np.exp(-(rng.normal(size=3_000) + label)))
    exact = delong(*_cells_of(score, label))
    for cells in (8, 64, 512):
        binned = delong(*_cells_of(np.floor(score * cells), label))
        assert abs(binned.auc - exact.auc) <= binned.binning_error + exact.binning_error
    assert binned.binning_error < 0.002


def test_one_class_is_refused():
    with pytest.raises(AssertionError, match="two rows of each class"):
        delong(np.array([3, 4]), np.array([1, 0]))


# Hanley and McNeil (1982) take the scores of each class as exponential: another number than
# DeLong's, here for comparison.
def test_other_limits_of_the_breast_cancer_rows():
    rows, target = load_breast_cancer(return_X_y=True)
    estimate = delong(*_cells_of(rows[:, 0], (target == 0).astype(int)))
    reach = 1.959964 * estimate.standard_error
    wald = (estimate.auc - reach, estimate.auc + reach)
    assert wald == pytest.approx((0.91702, 0.95801), abs=5e-6)
    a, n1, n0 = estimate.auc, 212, 357
    variance = (
        a * (1 - a) + (n1 - 1) * (a / (2 - a) - a**2) + (n0 - 1) * (2 * a**2 / (1 + a) - a**2)
    )
    assert np.sqrt(variance / (n1 * n0)) == pytest.approx(0.0119878, abs=5e-8)


def test_two_scores_of_the_same_rows():
    rows, target = load_breast_cancer(return_X_y=True)
    found = paired_delong(rows[:, 1], rows[:, 0], target == 0)
    assert (found.first, found.second) == pytest.approx((0.7758245, 0.9375165), abs=5e-8)
    assert found.difference == pytest.approx(0.1616920, abs=5e-8)
    assert found.standard_error == pytest.approx(0.0221230, abs=5e-8)
    assert found.z == pytest.approx(7.30879, abs=5e-6)
    assert (found.low, found.high) == pytest.approx((0.118331, 0.205053), abs=1e-6)
    turned = paired_delong(rows[:, 0], rows[:, 1], target == 0)
    assert turned.difference == -found.difference
    same = paired_delong(rows[:, 0], rows[:, 0], target == 0)
    assert (same.difference, same.standard_error, same.p_value) == (0.0, 0.0, 1.0)
    with pytest.raises(AssertionError, match="two rows of each class"):
        paired_delong(rows[:3, 0], rows[:3, 1], np.array([True, True, False]))


# Two scores with shared noise, true areas equal; the unpaired error would be far too large.
def test_limits_of_a_paired_difference_hold():
    rng = np.random.default_rng(12)
    held = Held()
    for _ in range(600):
        positive = np.arange(120) < 40
        shared = rng.normal(size=120) + positive
        first, second = (shared + 0.5 * rng.normal(size=120) for _ in range(2))
        found = paired_delong(first, second, positive)
        held.add("difference", found.low, found.high, 0.0)
    held.require()
