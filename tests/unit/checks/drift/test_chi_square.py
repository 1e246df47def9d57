"""Chi-square: published cases, SciPy, pooling, and its size on rows without any change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from monitor.checks.drift.chi_square import ChiSquare, chi_square_statistic
from monitor.checks.effect import chi_square_p_log10, chi_square_p_value
from monitor.measurement import Measured, TooFew
from monitor.profiles.cells import CategoryCells
from tests.unit.checks.factories import categories, category_cells, from_counts

ABC = CategoryCells(("a", "b"))


def _compare(reference, current):
    method = ChiSquare()
    return method.compare(method.fit(reference), current)


# By hand from the formula, checked with scipy.stats.chi2_contingency (SciPy 1.17).
def test_worked_example():
    statistic, degrees = chi_square_statistic(
        np.array([500.0, 300, 150, 50]), np.array([90.0, 70, 30, 10])
    )
    assert (statistic, degrees) == (pytest.approx(2.198809, abs=5e-7), 3)
    assert chi_square_p_value(statistic, degrees) == pytest.approx(0.532183, abs=5e-7)


# Public case: a live category that the reference lacks raised a shape error.
def test_a_new_category_is_a_cell_of_its_own():
    statistic, degrees = chi_square_statistic(np.array([10.0, 10, 10, 0]), np.array([5.0, 5, 5, 5]))
    assert (statistic, degrees) == (pytest.approx(8.33333333333, rel=1e-9), 3)
    assert chi_square_p_value(statistic, degrees) == pytest.approx(0.0396023552076, rel=1e-9)
    cells = CategoryCells(("0", "1", "2"))
    outcome = _compare(
        categories(["0", "1", "2"] * 10, cells), categories(["0", "1", "2", "3"] * 5, cells)
    )
    assert isinstance(outcome, TooFew)
    assert (outcome.n, outcome.needed, outcome.reason) == (20, 30, "rows")
    assert outcome.detail["new_share"] == 0.25
    moved = outcome.detail["moved"][0]
    assert (moved["label"], moved["share_then"], moved["share_now"]) == ("new", 0.0, 0.25)


# Public case: one and the same category on both sides gave NaN.
def test_a_constant_column_has_p_value_one():
    outcome = _compare(from_counts([400, 0, 0, 0, 0], ABC), from_counts([250, 0, 0, 0, 0], ABC))
    assert isinstance(outcome, Measured)
    assert (outcome.value, outcome.detail["p_value"], outcome.detail["statistic"]) == (0, 1, 0)
    grade = chi_square_statistic(np.array([20.0, 20]), np.array([3.0, 22]))
    assert grade == (pytest.approx(9.71635610766, rel=1e-9), 1)
    assert chi_square_p_value(*grade) == pytest.approx(0.00182635265939, rel=1e-9)


# Public case: equal shares with fewer rows were reported as strong drift.
def test_unequal_sample_sizes_with_equal_shares_do_not_drift():
    many, few = from_counts([90, 360, 0, 0, 0], ABC), from_counts([30, 120, 0, 0, 0], ABC)
    for reference, current in ((many, few), (few, many)):
        outcome = _compare(reference, current)
        assert isinstance(outcome, Measured)
        assert outcome.detail["p_value"] == pytest.approx(1, abs=1e-12)
        assert outcome.detail["statistic"] == pytest.approx(0, abs=1e-9)
        assert outcome.value <= 0


# Public case: 500 categories, the same distribution twice (seed 1816).
def test_too_many_categories_for_the_rows_is_too_few_not_drift():
    rng = np.random.default_rng(1816)
    reference, current = rng.integers(0, 500, 1000), rng.integers(0, 500, 1000)
    counts = [np.bincount(rows, minlength=500).astype(float) for rows in (reference, current)]
    statistic, degrees = chi_square_statistic(*counts)
    assert (statistic, degrees) == (pytest.approx(468.438961039, rel=1e-9), 485)
    assert chi_square_p_value(statistic, degrees) == pytest.approx(0.697229838323, rel=1e-9)
    names = [str(value) for value in reference]
    cells = category_cells(names)
    outcome = _compare(categories(names, cells), categories([str(v) for v in current], cells))
    assert isinstance(outcome, TooFew)
    assert outcome.reason == "baseline rows for its categories"
    assert outcome.needed == 5 * len(set(names))


@given(
    st.lists(st.integers(0, 300), min_size=3, max_size=8).filter(sum),
    st.lists(st.integers(1, 300), min_size=8, max_size=8),
)
def test_the_statistic_is_scipys(current, reference):
    a, c = np.array(reference[: len(current)], float), np.array(current, float)
    expected = stats.chi2_contingency(np.vstack((a, c)), correction=False)
    statistic, degrees = chi_square_statistic(a, c)
    assert statistic == pytest.approx(expected.statistic, rel=1e-9, abs=1e-9)
    assert degrees == expected.dof
    assert chi_square_p_value(statistic, degrees) == pytest.approx(expected.pvalue, rel=1e-9)


def test_the_logarithm_of_p_survives_where_p_does_not():
    assert chi_square_p_log10(100.0, 4) == pytest.approx(stats.chi2.logsf(100, 4) / np.log(10))
    assert chi_square_p_value(5_000.0, 4) == 0.0
    # ln sf of chi2 on 4 df is exactly ln(1 + x/2) - x/2.
    exact = (np.log(1 + 2_500) - 2_500) / np.log(10)
    assert chi_square_p_log10(5_000.0, 4) == pytest.approx(exact, rel=1e-4)


# False alarms: 1,500 pairs from one long-tailed distribution; the share of p < 0.01 must fit
# Binomial(1500, 0.01): its 0.9999 quantile is 31.
def test_without_a_change_the_p_value_keeps_its_size():
    rng = np.random.default_rng(20260)
    shares = 1 / np.arange(1, 31) ** 1.2
    shares /= shares.sum()
    cells = CategoryCells(tuple(f"c{i:02d}" for i in range(30)))
    values, alarms = [], 0
    for _ in range(1_500):
        reference = from_counts([*rng.multinomial(4_000, shares), 0, 0, 0], cells)
        outcome = _compare(reference, from_counts([*rng.multinomial(200, shares), 0, 0, 0], cells))
        assert isinstance(outcome, Measured)
        values.append(outcome.value)
        alarms += outcome.detail["p_value"] < 0.01
    assert alarms <= stats.binom.ppf(0.9999, 1_500, 0.01)
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(1_500)


# 500 equally frequent categories: which 50 are "top" is chance, and they fall back in any window.
# 40 pairs; alarms at 0.01 at most the 0.9999 quantile of Binomial(40, 0.01), which is 4.
@pytest.mark.parametrize("shape", ["equal", "long tail"])
def test_many_categories_do_not_drift_by_the_choice_of_the_top(shape):
    rng = np.random.default_rng(1817)
    shares = np.ones(500) if shape == "equal" else 1 / np.arange(1, 501)
    shares /= shares.sum()
    alarms = 0
    for _ in range(40):
        drawn = rng.choice(500, 12_000, p=shares).astype(str).tolist()
        cells = category_cells(drawn)
        window = rng.choice(500, 4_000, p=shares).astype(str).tolist()
        outcome = _compare(categories(drawn, cells), categories(window, cells))
        assert isinstance(outcome, Measured)
        assert outcome.value < 0.01
        alarms += outcome.detail["p_value"] < 0.01
    assert alarms <= stats.binom.ppf(0.9999, 40, 0.01)


def test_a_change_among_many_categories_is_seen():
    rng = np.random.default_rng(1818)
    shares = 1 / np.arange(1, 501)
    drawn = rng.choice(500, 12_000, p=shares / shares.sum()).astype(str).tolist()
    shares[2] *= 2
    window = rng.choice(500, 4_000, p=shares / shares.sum()).astype(str).tolist()
    cells = category_cells(drawn)
    outcome = _compare(categories(drawn, cells), categories(window, cells))
    assert isinstance(outcome, Measured)
    assert outcome.detail["p_value"] < 1e-6
    assert outcome.detail["moved"][0]["label"] == "2"
