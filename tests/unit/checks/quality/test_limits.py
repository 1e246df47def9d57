"""95 % limits of binary, regression and multi-class quality: how often they hold the truth.

At the smallest n shown (50 rows, 5 events) and where rows of one entity agree with each other.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special
from sklearn import metrics

from monitor.checks.quality.binary import binary_quality
from monitor.checks.quality.multiclass import multiclass_quality
from monitor.checks.quality.regression import regression_quality, relative_quality
from monitor.profiles.labels_multiclass import ConfusionCounts
from monitor.profiles.labels_regression import (
    ErrorSums,
    RegressionCounts,
    RelativeCounts,
    RelativeSums,
)
from tests.unit.checks.coverage import Held
from tests.unit.checks.factories import binary

NOTHING = np.zeros(0, np.int64)
MANY = 200_000


def _groups(rng: np.random.Generator, n: int, an_entity: int) -> tuple[np.ndarray, np.ndarray]:
    """Entity of each row, and its group."""
    entities = n // an_entity
    entity = np.repeat(np.arange(entities), an_entity)
    return entity, rng.integers(0, 20, entities)[entity]


def _binary_world(
    rng: np.random.Generator,
    n: int,
    an_entity: int,
    base: float,
    sharpness: float,
    agreement: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, labels, groups. Entities share part of the score, and err alike beyond it."""
    entity, group = _groups(rng, n, an_entity)
    shared, err = rng.normal(size=(2, n // an_entity))
    own = rng.normal(size=len(entity))
    x = own * np.sqrt(1 - agreement) + shared[entity] * np.sqrt(agreement)
    logit = base + sharpness * x
    label = rng.random(len(entity)) < special.expit(logit + 2 * agreement * err[entity])
    return special.expit(logit), label.astype(int), group


def _binary_truths(score: np.ndarray, label: np.ndarray, threshold: float) -> dict[str, float]:
    predicted = (score >= threshold).astype(int)
    return {
        "accuracy": metrics.accuracy_score(label, predicted),
        "precision": metrics.precision_score(label, predicted),
        "recall": metrics.recall_score(label, predicted),
        "f1": metrics.f1_score(label, predicted),
        "auc": metrics.roc_auc_score(label, score),
        "brier": metrics.brier_score_loss(label, score),
        "log_loss": metrics.log_loss(label, score),
    }


@pytest.mark.parametrize(
    ("n", "an_entity", "base", "sharpness", "agreement", "draws"),
    [
        (50, 1, 0.0, 1.0, 0.0, 700),
        (50, 1, -2.0, 1.0, 0.0, 700),
        (60, 2, 0.0, 1.0, 0.5, 600),
        (500, 1, -2.0, 1.0, 0.0, 500),
        (400, 10, -1.0, 1.0, 0.5, 500),
        (2_000, 20, -1.0, 1.0, 0.5, 300),
    ],
    ids=["floor", "floor, few events", "two rows an entity", "500 rows", "ten rows", "twenty rows"],
)
def test_limits_of_binary_quality_hold(n, an_entity, base, sharpness, agreement, draws):
    rng = np.random.default_rng(71)
    threshold = 0.5 if base == 0 else 0.25
    world = (an_entity, base, sharpness, agreement)
    truth = _binary_truths(*_binary_world(rng, MANY, *world)[:2], threshold)
    held = Held()
    for _ in range(draws):
        score, label, group = _binary_world(rng, n, *world)
        predicted = (score >= threshold).astype(int)
        held.add_outcomes(binary_quality(binary(score, label, predicted, group)), truth)
    held.require()


def test_rows_of_one_entity_make_plain_limits_too_narrow():
    rng = np.random.default_rng(72)
    world = (20, -1.0, 1.0, 0.5)
    truth = _binary_truths(*_binary_world(rng, MANY, *world)[:2], 0.25)
    plain = 0
    for _ in range(200):
        score, label, _ = _binary_world(rng, 2_000, *world)
        outcome = binary_quality(binary(score, label, (score >= 0.25).astype(int)))["accuracy"]
        plain += outcome.low <= truth["accuracy"] <= outcome.high
    assert plain < 180


def _sums(label: np.ndarray, predicted: np.ndarray) -> ErrorSums:
    e = predicted - label
    spread = float(((label - label.mean()) ** 2).sum()) if len(e) else 0.0
    return ErrorSums(
        len(e), float(e.sum()), float(np.abs(e).sum()), float((e**2).sum()),
        float(label.sum()), spread, 0,
    )  # fmt: skip


def _relative(label: np.ndarray, predicted: np.ndarray) -> RelativeSums:
    size = np.abs(label)
    return RelativeSums(
        len(label), 0, float((np.abs(predicted - label) / size).sum()), float(size.sum())
    )


def _regression_world(
    rng: np.random.Generator, n: int, an_entity: int, agreement: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    entity, group = _groups(rng, n, an_entity)
    label = rng.normal(20, 4, len(entity))
    shared = rng.normal(size=n // an_entity)[entity]
    error = rng.normal(size=len(entity)) * np.sqrt(1 - agreement) + shared * np.sqrt(agreement)
    return label, label + 0.3 + error, group


@pytest.mark.parametrize(
    ("n", "an_entity", "agreement", "draws"), [(50, 1, 0.0, 600), (400, 10, 0.5, 300)],
    ids=["floor", "ten rows an entity"],
)  # fmt: skip
def test_limits_of_regression_errors_hold(n, an_entity, agreement, draws):
    rng = np.random.default_rng(73)
    label, predicted, _ = _regression_world(rng, MANY, an_entity, agreement)
    truth = {
        "mae": metrics.mean_absolute_error(label, predicted),
        "rmse": metrics.root_mean_squared_error(label, predicted),
        "r2": metrics.r2_score(label, predicted),
        "mean_error": float(np.mean(predicted - label)),
        "mape": metrics.mean_absolute_percentage_error(label, predicted),
        "relative_error": float(np.abs(predicted - label).sum() / np.abs(label).sum()),
    }
    held = Held()
    for _ in range(draws):
        label, predicted, group = _regression_world(rng, n, an_entity, agreement)
        members = [group == one for one in range(20)]
        counts = RegressionCounts(
            _sums(label, predicted), tuple(_sums(label[m], predicted[m]) for m in members),
            (), NOTHING, NOTHING, 0, n,
        )  # fmt: skip
        relative = RelativeCounts(
            _relative(label, predicted), tuple(_relative(label[m], predicted[m]) for m in members)
        )
        held.add_outcomes(
            {**regression_quality(counts), **relative_quality(counts, relative)}, truth
        )
    held.require()


@pytest.mark.parametrize(
    ("n", "an_entity", "agreement"), [(50, 1, 0.0), (400, 10, 0.4)],
    ids=["floor", "ten rows an entity"],
)  # fmt: skip
def test_limits_of_multiclass_quality_hold(n, an_entity, agreement):
    rng = np.random.default_rng(74)

    def world(rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        entity, group = _groups(rng, rows, an_entity)
        label = rng.choice(3, len(entity), p=[0.6, 0.25, 0.15])
        easy = np.clip(0.7 + agreement * rng.normal(size=rows // an_entity), 0, 1)[entity]
        guess = rng.choice(3, len(entity))
        return np.where(rng.random(len(entity)) < easy, label, guess), label, group

    predicted, label, _ = world(MANY)
    truth = {
        "accuracy": metrics.accuracy_score(label, predicted),
        "macro_f1": metrics.f1_score(label, predicted, average="macro"),
    }
    held = Held()
    for _ in range(600):
        predicted, label, group = world(n)
        by_group = np.zeros((20, 3, 3), np.int64)
        np.add.at(by_group, (group, predicted, label), 1)
        matrix = by_group.sum(axis=0)
        counts = ConfusionCounts(matrix, by_group, np.zeros(3, np.int64), 0, np.array([n]), n)
        held.add_outcomes(multiclass_quality(counts), truth)
    held.require()
