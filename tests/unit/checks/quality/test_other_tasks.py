"""Regression and multi-class quality against scikit-learn and public cases."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from monitor.checks.quality.multiclass import multiclass_quality
from monitor.checks.quality.regression import regression_quality, without
from monitor.measurement import Failed, Measured, TooFew
from monitor.profiles.labels_multiclass import ConfusionCounts
from monitor.profiles.labels_regression import ErrorSums, RegressionCounts


def _sums(label, predicted) -> ErrorSums:
    e = predicted - label
    return ErrorSums(
        len(e),
        float(e.sum()),
        float(np.abs(e).sum()),
        float((e**2).sum()),
        float(label.sum()),
        float(((label - label.mean()) ** 2).sum()) if len(e) else 0.0,
        0,
    )


def _regression(label, predicted, groups=(), not_judged=0) -> RegressionCounts:
    nothing = np.zeros(0, np.int64)
    return RegressionCounts(
        _sums(label, predicted),
        tuple(_sums(label[g], predicted[g]) for g in groups),
        (),
        nothing,
        nothing,
        not_judged,
        len(label) + not_judged,
    )


def _confusion(by_group: np.ndarray, unlabelled: int = 0) -> ConfusionCounts:
    matrix = by_group.sum(axis=0)
    delays = np.array([matrix.sum()], np.int64)
    return ConfusionCounts(
        matrix, by_group, np.zeros(len(matrix), np.int64), 0, delays, int(matrix.sum()) + unlabelled
    )


def test_regression_measures_are_scikit_learns():
    rng = np.random.default_rng(41)
    label = rng.normal(1e6, 10, 1_000)
    predicted = label + rng.normal(1, 3, 1_000)
    groups = np.array_split(np.arange(1_000), 20)
    outcomes = regression_quality(_regression(label, predicted, groups))
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


def test_taking_a_group_out_leaves_the_sums_of_the_others():
    rng = np.random.default_rng(43)
    label = rng.normal(1e6, 1, 300)
    predicted = label + rng.normal(0, 1, 300)
    rest = without(_sums(label, predicted), _sums(label[:100], predicted[:100]))
    direct = _sums(label[100:], predicted[100:])
    assert rest.label_spread == pytest.approx(direct.label_spread, rel=1e-6)
    assert rest.squared_error == pytest.approx(direct.squared_error, rel=1e-9)
    whole = _sums(label, predicted)
    assert without(whole, whole).n == 0


def test_r2_of_labels_that_do_not_vary_is_undefined():
    outcomes = regression_quality(_regression(np.full(100, 3.0), np.full(100, 2.0)))
    assert isinstance(outcomes["r2"], Failed)
    assert outcomes["r2"].reason == "the labels do not vary"
    assert isinstance(outcomes["mae"], Measured)
    for outcome in regression_quality(_regression(np.zeros(0), np.zeros(0))).values():
        assert isinstance(outcome, TooFew)


def test_multiclass_measures_are_scikit_learns():
    rng = np.random.default_rng(42)
    label = rng.integers(0, 4, 500)
    predicted = np.where(rng.random(500) < 0.7, label, rng.integers(0, 4, 500))
    group = rng.integers(0, 20, 500)
    by_group = np.zeros((20, 4, 4), np.int64)
    np.add.at(by_group, (group, predicted, label), 1)
    outcomes = multiclass_quality(_confusion(by_group, unlabelled=500))
    accuracy, macro = outcomes["accuracy"], outcomes["macro_f1"]
    assert isinstance(accuracy, Measured)
    assert isinstance(macro, Measured)
    assert accuracy.value == pytest.approx(metrics.accuracy_score(label, predicted))
    assert macro.value == pytest.approx(metrics.f1_score(label, predicted, average="macro"))
    assert macro.low < macro.value < macro.high
    assert outcomes["label_coverage"].value == 0.5


def test_a_class_without_labels_is_left_out_of_macro_f1():
    confusion = np.array([[40, 10, 0], [5, 40, 0], [5, 0, 0]], np.int64)
    outcome = multiclass_quality(_confusion(confusion[None]))["macro_f1"]
    assert isinstance(outcome, Measured)
    assert outcome.value == pytest.approx((80 / 100 + 80 / 95) / 2)
    assert outcome.detail["classes"] == 2
    for outcome in multiclass_quality(_confusion(np.zeros((20, 3, 3), np.int64))).values():
        assert isinstance(outcome, TooFew)
