"""Quality of class scores against scikit-learn on the rows, and how often its limits hold."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from monitor.checks.quality.class_scores import class_quality, class_score_quality
from monitor.measurement import Failed, Measured, TooFew
from monitor.profiles.labels import binary_counts
from monitor.profiles.labels_multiclass import CONFIDENCE, confusion_counts
from tests.unit.checks.class_rows import (
    against_the_rest,
    class_outcomes,
    class_part,
    class_world,
)
from tests.unit.checks.coverage import Held

NAMES = "abc"


def _truths(scores: np.ndarray, label: np.ndarray) -> dict[str, float]:
    """The same measures of rows, by scikit-learn."""
    predicted, each = scores.argmax(axis=1), np.eye(3)[label]
    found = {
        "log_loss": metrics.log_loss(label, scores),
        "brier": float(((scores - each) ** 2).sum(axis=1).mean()),
        "macro_auc": metrics.roc_auc_score(label, scores, multi_class="ovr"),
        "confidence_auc": metrics.roc_auc_score(predicted == label, scores.max(axis=1)),
    }
    recall = metrics.recall_score(label, predicted, average=None)
    precision = metrics.precision_score(label, predicted, average=None, zero_division=0)
    for place, name in enumerate(NAMES):
        found[f"class_recall/{name}"] = float(recall[place])
        found[f"class_precision/{name}"] = float(precision[place])
        found[f"class_auc/{name}"] = metrics.roc_auc_score(label == place, scores[:, place])
    return found


def test_every_measure_is_scikit_learns_on_the_rows():
    scores, label, group = class_world(np.random.default_rng(51), 4_000)
    outcomes = class_outcomes(class_part(scores, label, group), NAMES)
    for name, expected in _truths(scores, label).items():
        outcome = outcomes[name]
        assert isinstance(outcome, Measured), name
        bound = outcome.detail.get("binning_error_bound", 1e-4 if name == "macro_auc" else 0.0)
        assert outcome.value == pytest.approx(expected, rel=1e-6, abs=bound), name
        assert outcome.low < outcome.value < outcome.high, name
    assert outcomes["log_loss"].detail["binning_error_bound"] < 0.01
    assert outcomes["log_loss"].value <= _truths(scores, label)["log_loss"]


def test_the_best_constant_stands_beside_the_number():
    scores, label, group = class_world(np.random.default_rng(52), 2_000)
    outcomes = class_outcomes(class_part(scores, label, group), NAMES)
    shares = np.bincount(label) / len(label)
    constant = np.tile(shares, (len(label), 1))
    truth = _truths(constant, label)
    for name in ("log_loss", "brier", "macro_auc"):
        assert outcomes[name].detail["best_constant"] == pytest.approx(truth[name])
    assert outcomes["class_precision/b"].detail["best_constant"] == pytest.approx(shares[1])


@pytest.mark.parametrize(
    ("n", "an_entity", "agreement", "sharpness", "draws"),
    [(50, 1, 0.0, 1.5, 400), (50, 1, 0.0, 3.0, 400), (400, 10, 0.5, 1.5, 250)],
    ids=["floor", "floor, sure scores", "ten rows an entity"],
)
def test_limits_hold(n, an_entity, agreement, sharpness, draws):
    rng = np.random.default_rng(53)
    truth = _truths(*class_world(rng, 200_000, an_entity, agreement, sharpness)[:2])
    held = Held()
    for _ in range(draws):
        world = class_world(rng, n, an_entity, agreement, sharpness)
        held.add_outcomes(class_outcomes(class_part(*world), NAMES), truth)
    held.require()


def test_a_class_that_never_came_true_has_no_recall():
    rng = np.random.default_rng(54)
    scores, label, group = class_world(rng, 300)
    label = np.where(label == 2, 0, label)
    outcomes = class_outcomes(class_part(scores, label, group), NAMES)
    for name in ("class_recall/c", "class_auc/c"):
        assert isinstance(outcomes[name], TooFew), name
    assert outcomes["class_recall/c"].reason == "labels of this class (the ratio is 0/0)"
    assert "one class" in outcomes["class_auc/c"].reason
    assert outcomes["macro_auc"].detail["classes"] == 2
    only = class_outcomes(class_part(scores, np.zeros_like(label), group), NAMES)
    assert isinstance(only["macro_auc"], TooFew)
    assert only["macro_auc"].reason == "classes with five rows on either side"
    assert isinstance(only["log_loss"], Measured)


def test_nothing_and_too_little_is_too_few():
    nothing = class_outcomes(class_part(*(part[:0] for part in class_world(
        np.random.default_rng(55), 60))), NAMES)  # fmt: skip
    assert all(isinstance(outcome, TooFew) for outcome in nothing.values())
    little = class_outcomes(class_part(*class_world(np.random.default_rng(56), 49)), NAMES)
    assert all(isinstance(outcome, TooFew) for outcome in little.values())
    assert little["log_loss"].detail["provisional"] > 0


def test_more_classes_than_are_counted_have_no_loss():
    part = class_part(*class_world(np.random.default_rng(57), 200))
    found = class_score_quality(against_the_rest(part, 3), binary_counts(part, table=CONFIDENCE), 4)
    assert isinstance(found["log_loss"], Failed)
    assert isinstance(found["brier"], Failed)
    assert isinstance(found["macro_auc"], Measured)
    plain = class_quality(confusion_counts(part, 3), NAMES)
    assert {method for method, _ in plain} == {"class_recall", "class_precision"}


def test_few_entity_groups_leave_wider_limits_of_independent_rows():
    scores, label, _ = class_world(np.random.default_rng(58), 500)
    one = class_outcomes(class_part(scores, label, np.zeros_like(label)), NAMES)
    assert one["brier"].detail["interval_method"].endswith("rows taken as independent")
    assert one["macro_auc"].low is None
    many = class_outcomes(class_part(scores, label, np.arange(500) % 20), NAMES)
    assert many["macro_auc"].low is not None
    # The bound adds up the deviations of the classes.
    assert one["brier"].high - one["brier"].low > many["brier"].high - many["brier"].low
