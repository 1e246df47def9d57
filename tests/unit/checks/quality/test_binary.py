"""Binary quality: public cases, scikit-learn on rows, undefined ratios, floors, limits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from monitor.checks.quality.binary import binary_quality
from monitor.checks.quality.losses import cell_moments, log_loss_bounds
from monitor.measurement import Measured, TooFew
from tests.unit.checks.factories import binary


def _provisional(outcome) -> float:
    assert isinstance(outcome, TooFew)
    return outcome.detail["provisional"]


# Public case: four chunks of ten rows, the last with one row and one class.
def test_a_chunk_of_one_class_has_no_auc_but_everything_else():
    label = [0, 1, 1, 0, 0, 1, 1, 1, 0, 1]
    score = [0.1, 0.8, 0.6, 0.3, 0.4, 0.9, 0.7, 0.2, 0.35, 0.5]
    whole = binary_quality(binary(score, label))
    assert _provisional(whole["auc"]) == pytest.approx(0.875, abs=1e-12)
    for start, expected in ((0, 1.0), (3, 1.0), (6, 0.5)):
        chunk = binary_quality(binary(score[start : start + 3], label[start : start + 3]))
        assert _provisional(chunk["auc"]) == pytest.approx(expected, abs=1e-12)
    last = binary_quality(binary(score[9:], label[9:]))
    assert isinstance(last["auc"], TooFew)
    assert last["auc"].reason == "one class"
    assert "provisional" not in last["auc"].detail
    assert _provisional(last["accuracy"]) == 1.0
    assert (last["accuracy"].n, last["accuracy"].needed) == (1, 50)


# Public case: the Brier score was turned round when all labels were positive: 1/12.
def test_brier_is_defined_with_one_class():
    outcome = binary_quality(binary([1.0, 1.0, 0.5], [1, 1, 1]))["brier"]
    assert _provisional(outcome) == pytest.approx(0.0833333333333, rel=1e-8)


# Public case: the positive class is the declared one ("churn"), not the later in the alphabet.
def test_scores_are_of_the_declared_positive_class():
    outcome = binary_quality(binary([0.9, 0.4, 0.35, 0.3, 0.1, 0.6], [1, 0, 1, 0, 0, 1]))
    assert _provisional(outcome["auc"]) == pytest.approx(0.888888888889, rel=1e-9)
    assert _provisional(outcome["brier"]) == pytest.approx(0.142083333333, rel=1e-7)
    assert _provisional(outcome["log_loss"]) == pytest.approx(0.439811557881, rel=1e-7)


# Public case: log loss at scores of exactly 0 and 1.
def test_log_loss_at_the_borders_is_finite_under_the_stated_clip():
    perfect = binary_quality(binary([1.0, 0.0, 1.0], [1, 0, 1]))["log_loss"]
    assert _provisional(perfect) == pytest.approx(0, abs=1e-12)
    worst = binary_quality(binary([1.0, 0.0, 0.0], [1, 0, 1]))["log_loss"]
    assert _provisional(worst) == pytest.approx(11.512925465, rel=1e-9)
    assert worst.detail["clip"] == 1e-15


# Public case: no predicted positive: precision is undefined, not 0.
def test_precision_without_predicted_positives_is_undefined():
    outcome = binary_quality(binary([0.1, 0.2, 0.3, 0.4], [0, 0, 0, 1]))
    precision = outcome["precision"]
    assert isinstance(precision, TooFew)
    assert "0/0" in precision.reason
    assert "provisional" not in precision.detail
    assert _provisional(outcome["recall"]) == 0.0
    assert _provisional(outcome["f1"]) == 0.0
    assert _provisional(outcome["accuracy"]) == 0.75


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(21)
    score = rng.beta(2, 3, 4_000)
    label = (rng.random(4_000) < score**1.3).astype(int)
    return score, label, rng.integers(0, 20, 4_000)


def test_every_measure_is_scikit_learns_on_the_rows(rows):
    score, label, group = rows
    outcomes = binary_quality(binary(score, label, group=group))
    predicted = (score >= 0.5).astype(int)
    for name, expected in {
        "accuracy": metrics.accuracy_score(label, predicted),
        "precision": metrics.precision_score(label, predicted),
        "recall": metrics.recall_score(label, predicted),
        "f1": metrics.f1_score(label, predicted),
        "brier": metrics.brier_score_loss(label, score),
    }.items():
        outcome = outcomes[name]
        assert isinstance(outcome, Measured)
        assert outcome.value == pytest.approx(expected, rel=1e-7), name
        assert outcome.low is not None
        assert outcome.high is not None
        assert outcome.low < outcome.value < outcome.high, name
    auc, loss = outcomes["auc"], outcomes["log_loss"]
    assert isinstance(auc, Measured)
    assert isinstance(loss, Measured)
    exact = metrics.roc_auc_score(label, score)
    assert abs(auc.value - exact) <= auc.detail["binning_error_bound"] < 0.002
    exact = metrics.log_loss(label, score)
    bound = loss.detail["binning_error_bound"]
    assert loss.value - 1e-9 <= exact <= loss.value + bound + 1e-9
    assert bound < 0.001


def test_log_loss_bounds_hold_for_few_rows_too():
    rng = np.random.default_rng(22)
    for _ in range(50):
        score = rng.random(30)
        label = (rng.random(30) < 0.5).astype(int)
        lower, upper = log_loss_bounds(cell_moments(binary(score, label)))
        exact = metrics.log_loss(label, score, labels=[0, 1])
        assert lower is not None
        assert upper is not None
        assert lower - 1e-6 <= exact <= upper + 1e-6


def test_the_best_constant_stands_beside_the_number(rows):
    score, label, _ = rows
    outcomes = binary_quality(binary(score, label))
    rate = label.mean()
    assert outcomes["brier"].detail["best_constant"] == pytest.approx(rate * (1 - rate))
    assert outcomes["accuracy"].detail["best_constant"] == pytest.approx(max(rate, 1 - rate))
    constant = np.full(4_000, rate)
    assert outcomes["log_loss"].detail["best_constant"] == pytest.approx(
        metrics.log_loss(label, constant)
    )


def test_entity_groups_widen_the_limits_when_rows_of_an_entity_agree():
    rng = np.random.default_rng(23)
    group = np.repeat(np.arange(20), 100)
    label = (rng.random(2_000) < np.repeat(rng.beta(1, 1, 20), 100)).astype(int)
    score = np.full(2_000, 0.3) + rng.random(2_000) * 0.05
    grouped = binary_quality(binary(score, label, group=group))["brier"]
    alone = binary_quality(binary(score, label))["brier"]
    assert isinstance(grouped, Measured)
    assert isinstance(alone, Measured)
    assert grouped.detail["interval_method"].startswith("jackknife")
    assert alone.detail["interval_method"].startswith("normal")
    assert grouped.high - grouped.low > 3 * (alone.high - alone.low)


# Independent rows: the jackknife's limits are those of the mean; coverage at least the 0.001
# quantile of Binomial(300, 0.95), which is 272.
def test_the_limits_of_the_brier_score_cover_its_mean():
    rng = np.random.default_rng(24)
    held = 0
    for _ in range(300):
        score = rng.random(600)
        label = (rng.random(600) < score).astype(int)
        outcome = binary_quality(binary(score, label, group=rng.integers(0, 20, 600)))["brier"]
        assert isinstance(outcome, Measured)
        held += outcome.low <= 1 / 6 <= outcome.high
    assert held >= 272


def test_label_coverage_counts_unlabelled_rows():
    outcome = binary_quality(binary([0.5] * 100, [1] * 30 + [None] * 70))["label_coverage"]
    assert isinstance(outcome, Measured)
    assert (outcome.value, outcome.n) == (0.3, 100)
    assert isinstance(binary_quality(binary([], []))["label_coverage"], TooFew)


def test_the_floors_are_fifty_rows_and_five_events():
    label = [1] * 4 + [0] * 96
    outcomes = binary_quality(binary([0.9] * 4 + [0.1] * 96, label))
    for name in ("recall", "precision", "auc"):
        assert isinstance(outcomes[name], TooFew)
        assert (outcomes[name].n, outcomes[name].needed) == (4, 5)
    assert isinstance(outcomes["accuracy"], Measured)
    short = binary_quality(binary([0.9] * 20 + [0.1] * 29, [1] * 20 + [0] * 29))
    assert all(isinstance(o, TooFew) for name, o in short.items() if name != "label_coverage")
