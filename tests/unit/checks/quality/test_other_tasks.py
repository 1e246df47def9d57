"""Regression and multi-class quality against scikit-learn and public cases."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from monitor.checks.quality.multiclass import multiclass_quality
from monitor.checks.quality.regression import RegressionSums, regression_quality
from monitor.measurement import Measured, TooFew


def _sums(label, predicted) -> RegressionSums:
    e = predicted - label
    return RegressionSums(
        len(e),
        float(e.sum()),
        float(np.abs(e).sum()),
        float((e**2).sum()),
        float(label.sum()),
        float((label**2).sum()),
    )


# Public case: one missing label must not spoil the error of the four complete pairs.
def test_errors_over_complete_pairs():
    outcome = regression_quality(_sums(np.array([1.0, 2, 4, 5]), np.array([1.5, 2, 3, 5])))
    rmse = outcome["rmse"]
    assert isinstance(rmse, TooFew)
    assert rmse.n == 4
    assert rmse.detail["provisional"] == pytest.approx(0.559016994375, rel=1e-9)


def test_regression_measures_are_scikit_learns():
    rng = np.random.default_rng(41)
    label = rng.normal(50, 10, 1_000)
    predicted = label + rng.normal(1, 3, 1_000)
    groups = np.array_split(np.arange(1_000), 20)
    outcomes = regression_quality(
        _sums(label, predicted), [_sums(label[g], predicted[g]) for g in groups]
    )
    for name, expected in {
        "mae": metrics.mean_absolute_error(label, predicted),
        "rmse": metrics.root_mean_squared_error(label, predicted),
        "r2": metrics.r2_score(label, predicted),
        "mean_error": float(np.mean(predicted - label)),
    }.items():
        outcome = outcomes[name]
        assert isinstance(outcome, Measured)
        assert outcome.value == pytest.approx(expected, rel=1e-9), name
        assert outcome.low < outcome.value < outcome.high
    # The mean's jackknife over equal groups is the standard error of group means, t on 19 df.
    means = [np.mean((predicted - label)[g]) for g in groups]
    reach = 2.0930 * np.std(means, ddof=1) / np.sqrt(20)
    assert outcomes["mean_error"].high == pytest.approx(np.mean(means) + reach, rel=1e-4)


def test_r2_of_labels_that_do_not_vary_is_undefined():
    outcomes = regression_quality(_sums(np.full(100, 3.0), np.full(100, 2.0)))
    assert isinstance(outcomes["r2"], TooFew)
    assert outcomes["r2"].reason == "the labels do not vary"
    assert isinstance(outcomes["mae"], Measured)
    for outcome in regression_quality(RegressionSums(0, 0, 0, 0, 0, 0)).values():
        assert isinstance(outcome, TooFew)


def test_multiclass_measures_are_scikit_learns():
    rng = np.random.default_rng(42)
    label = rng.integers(0, 4, 500)
    predicted = np.where(rng.random(500) < 0.7, label, rng.integers(0, 4, 500))
    group = rng.integers(0, 20, 500)
    by_group = np.zeros((20, 4, 4), np.int64)
    np.add.at(by_group, (group, predicted, label), 1)
    outcomes = multiclass_quality(by_group.sum(axis=0), by_group)
    accuracy, macro = outcomes["accuracy"], outcomes["macro_f1"]
    assert isinstance(accuracy, Measured)
    assert isinstance(macro, Measured)
    assert accuracy.value == pytest.approx(metrics.accuracy_score(label, predicted))
    assert macro.value == pytest.approx(metrics.f1_score(label, predicted, average="macro"))
    assert macro.low < macro.value < macro.high


def test_a_class_without_labels_is_left_out_of_macro_f1():
    confusion = np.array([[40, 10, 0], [5, 40, 0], [5, 0, 0]], np.int64)
    outcome = multiclass_quality(confusion)["macro_f1"]
    assert isinstance(outcome, Measured)
    assert outcome.value == pytest.approx((80 / 100 + 80 / 95) / 2)
    assert outcome.detail["classes"] == 2
    for outcome in multiclass_quality(np.zeros((3, 3), np.int64)).values():
        assert isinstance(outcome, TooFew)
