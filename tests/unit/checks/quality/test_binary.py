"""Binary quality: scikit-learn on rows, best constants, floors."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from monitor.checks.quality.binary import binary_quality
from monitor.checks.quality.losses import cell_moments, log_loss_bounds
from monitor.measurement import Measured, TooFew
from tests.unit.checks.factories import binary


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
