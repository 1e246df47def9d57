"""Faults that users of quality monitors reported in public, from requests and labels to outcomes.

A number below its floor is too few, and carries what it would be as `provisional`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from alerts.lifecycle import step
from alerts.model import ReadingState
from alerts.rules import Bounds
from monitor.checks.auc import delong
from monitor.checks.calibration import calibration
from monitor.checks.calibration_errors import plain_error
from monitor.checks.quality.binary import binary_quality
from monitor.checks.quality.regression import regression_quality, relative_quality
from monitor.checks.reliability import equal_mass_groups, equal_width_groups, reliability
from monitor.measurement import Measured, Outcome, TooFew
from monitor.profiles.binning import fit_binning
from monitor.profiles.cells import NumberCells
from monitor.profiles.fitting import fit_number_cells
from monitor.profiles.label_tables import labels_parts
from monitor.profiles.labels import binary_counts
from monitor.profiles.labels_regression import regression_counts, relative_counts
from tests.unit.alerts.factories import NOW, config, reading, rule
from tests.unit.checks.factories import binary
from tests.unit.profiles.factories import contract_of
from tests.unit.profiles.test_labels import REGRESSION, labelled


def _told(outcome: Outcome) -> float | None:
    """The number of an outcome, shown or provisional; None where it is not defined."""
    value = outcome.value if isinstance(outcome, Measured) else outcome.detail.get("provisional")
    assert value is None or math.isfinite(value)
    return value


# Four chunks of ten rows; the last has one row and one class, and made the whole estimate fail.
def test_pub_037_a_chunk_of_one_class_has_no_auc_but_everything_else():
    label = [0, 1, 1, 0, 0, 1, 1, 1, 0, 1]
    score = [0.1, 0.8, 0.6, 0.3, 0.4, 0.9, 0.7, 0.2, 0.35, 0.5]
    areas, sizes = [], []
    for start in range(0, 10, 3):
        chunk = binary_quality(binary(score[start : start + 3], label[start : start + 3]))
        areas.append(_told(chunk["auc"]))
        sizes.append(chunk["accuracy"].n)
    assert areas == [pytest.approx(1.0), pytest.approx(1.0), pytest.approx(0.5), None]
    assert sizes == [3, 3, 3, 1]
    assert _told(binary_quality(binary(score, label))["auc"]) == pytest.approx(0.875, abs=1e-12)
    assert isinstance(chunk["auc"], TooFew)
    assert "one class" in chunk["auc"].reason
    assert (chunk["accuracy"].n, chunk["accuracy"].needed) == (1, 50)
    for name in ("accuracy", "brier", "log_loss", "f1", "recall"):
        assert _told(chunk[name]) is not None, name


# With all labels positive the Brier score was turned round: perfect scores got 1.
def test_pub_038_the_brier_score_is_defined_with_one_class():
    found = binary_quality(binary([1.0, 1.0, 0.5], [1, 1, 1]))
    assert _told(found["brier"]) == pytest.approx(0.0833333333333, rel=1e-6)
    many = binary_quality(binary([1.0, 1.0, 0.5] * 20, [1] * 60))["brier"]
    assert isinstance(many, Measured)
    assert many.value == pytest.approx(0.0833333333333, rel=1e-6)
    for outcome in calibration(binary([1.0, 1.0, 0.5] * 400, [1] * 1_200)).values():
        assert isinstance(outcome, TooFew)


# The positive class was taken to be the later one in the alphabet.
def test_pub_039_scores_are_of_the_declared_positive_class():
    contract = contract_of(
        {"name": "p_of_churn", "type": "number", "role": "score"},
        label={"name": "late", "positive": "churn"},
    )
    scores = [0.9, 0.4, 0.35, 0.3, 0.1, 0.6]
    truth = ["churn", "stay", "churn", "stay", "stay", "churn"]
    _, block = labelled(contract, {"p_of_churn": scores}, truth)
    found = binary_quality(binary_counts(labels_parts(block)[0]))
    assert _told(found["auc"]) == pytest.approx(0.888888888889, rel=1e-6)
    assert _told(found["brier"]) == pytest.approx(0.142083333333, rel=1e-6)
    assert _told(found["log_loss"]) == pytest.approx(0.439811557881, rel=1e-6)


# Groups of equal size fell together when all scores were the same, and the routine raised.
def test_pub_040_one_score_gives_one_group():
    counts = binary([0.3] * 8, [0, 0, 1, 0, 0, 1, 0, 0])
    table = reliability(counts, equal_mass_groups(counts, 10))
    assert len(table.rows) == 1
    assert (table.mean_score[0], table.observed[0]) == pytest.approx((0.3, 0.25), abs=1e-8)
    assert plain_error(table) == pytest.approx(0.05, abs=1e-8)
    assert counts.brier == pytest.approx(0.19, abs=1e-8)
    assert _told(calibration(counts)["expected_error"]) == pytest.approx(0.05, abs=1e-8)


# Empty groups were left out, so that two windows could not be compared group by group.
def test_pub_041_groups_of_equal_width_keep_their_place():
    table = reliability(binary([0.95, 0.85, 0.1], [1, 1, 0]), equal_width_groups(5))
    assert table.rows.tolist() == [1, 0, 0, 0, 2]
    assert plain_error(table) == pytest.approx(0.1, abs=1e-8)
    assert [row["mean_score"] is None for row in table.as_rows()] == [0, 1, 1, 1, 0]


# Values on the lowest edge were counted below it and in the first cell too.
def test_pub_042_a_value_on_an_edge_lies_in_one_cell():
    values = np.array([-5.0, 0, 0, 10, 15, 20, 25])
    last_closed = NumberCells((0.0, 10.0, float(np.nextafter(20.0, np.inf))))
    assert np.bincount(last_closed.assign(values), minlength=4)[:4].tolist() == [1, 2, 3, 1]
    # Edges fitted by the product: the largest reference value lies in the last inner cell.
    cells = fit_number_cells(np.arange(0.0, 20.5, 0.5))
    counts = np.bincount(cells.assign(values), minlength=cells.n_cells)
    assert counts.sum() == 7
    assert (counts[0], counts[-2], counts[-1]) == (1, 1, 0)


# The realised AUC beside an estimate was computed from calibrated instead of raw scores.
def test_pub_043_the_realised_auc_is_of_raw_scores():
    score = np.array([0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85])
    label = np.array([0, 1, 0, 0, 1, 0, 1, 1])
    assert _told(binary_quality(binary(score, label))["auc"]) == pytest.approx(0.75)
    fitted = IsotonicRegression().fit_transform(score, label)
    levels, cell = np.unique(fitted, return_inverse=True)
    wrong = delong(*(np.bincount(cell[label == k], minlength=len(levels)) for k in (1, 0)))
    assert wrong.auc == pytest.approx(0.84375)


# Class scores that don't sum to one: refused at intake, and what is kept is never rescaled.
def test_pub_044_stored_class_scores_are_used_as_they_are():
    names = ["a", "b", "c"]
    contract = contract_of(
        {"name": "s", "type": "class_scores", "role": "score", "categories": names},
        task="multiclass",
        label={"name": "late"},
    )
    rows = [[0.2, 0.3, 0.5], [0.33333334] * 3]
    _, block = labelled(contract, {"s": rows}, ["c", "a"])
    kept = block.class_scores / 2**30
    assert sorted(kept.sum(axis=1)) == pytest.approx([1.0, 1.00000002], abs=1e-8)


# Log loss at scores of exactly 0 and 1 was NaN for perfect and for worst scores.
def test_pub_045_log_loss_at_the_borders_is_finite_under_the_stated_clip():
    perfect = binary_quality(binary([1.0, 0.0, 1.0], [1, 0, 1]))["log_loss"]
    assert _told(perfect) == pytest.approx(0, abs=1e-12)
    worst = binary_quality(binary([1.0, 0.0, 0.0], [1, 0, 1]))["log_loss"]
    assert _told(worst) == pytest.approx(11.512925465, rel=1e-6)
    assert worst.detail["clip"] == 1e-15


def _regression(label: list[Any], predicted: list[float], copies: int = 1) -> dict[str, Outcome]:
    """Every outcome of a regression model, from requests and labels on."""
    rows, block = labelled(REGRESSION, {"y": predicted * copies}, label * copies)
    binning = fit_binning(rows, REGRESSION)
    cells = binning.views["y"]
    assert isinstance(cells, NumberCells)
    part = labels_parts(block, binning)[0]
    counts = regression_counts(part, cells)
    return {**regression_quality(counts), **relative_quality(counts, relative_counts(part, cells))}


# Labels of 0 were skipped in the sum but not in the number of rows.
def test_pub_046_labels_of_zero_are_left_out_and_counted():
    found = _regression([0.0, 10.0, 20.0], [5.0, 9.0, 22.0])
    assert _told(found["mape"]) == pytest.approx(0.1, rel=1e-6)
    assert found["mape"].n == 2
    assert found["mape"].detail["excluded"] == 1
    many = _regression([0.0, 10.0, 20.0], [5.0, 9.0, 22.0], copies=50)
    assert isinstance(many["mape"], Measured)
    assert (many["mape"].n, many["mape"].detail["excluded"]) == (100, 50)
    assert many["mape"].value == pytest.approx(0.1, rel=1e-6)
    assert many["relative_error"].value == pytest.approx(8 / 30, rel=1e-4)
    zeros = _regression([0.0, 0.0], [1.0, 2.0])["mape"]
    assert isinstance(zeros, TooFew)
    assert zeros.reason == "labels that are not 0"


# Without predicted positives precision was reported as 0.
def test_pub_047_precision_without_predicted_positives_is_undefined():
    found = binary_quality(binary([0.1, 0.2, 0.3, 0.4], [0, 0, 0, 1]))
    assert _told(found["precision"]) is None
    told = [_told(found[name]) for name in ("recall", "f1", "accuracy")]
    assert told == [0.0, 0.0, 0.75]
    many = binary_quality(binary([0.1, 0.2, 0.3, 0.4] * 50, [0, 0, 0, 1] * 50))["precision"]
    assert isinstance(many, TooFew)
    assert "0/0" in many.reason
    below_half = config(rule(condition=Bounds(lower=0.5)))
    short = reading(9, None, state=ReadingState.TOO_FEW)
    assert step(below_half, {}, [short], NOW).transitions == ()
    assert step(below_half, {}, [reading(9, 0.4)], NOW).transitions != ()


# One missing label made the error of the other four NaN.
def test_pub_048_errors_over_complete_pairs():
    label, predicted = [1.0, 2.0, None, 4.0, 5.0], [1.5, 2.0, 3.0, 3.0, 5.0]
    found = _regression(label, predicted)
    assert _told(found["rmse"]) == pytest.approx(0.559016994375, rel=1e-4)
    assert _told(found["rmse"]) ** 2 == pytest.approx(0.3125, rel=2e-4)
    assert found["rmse"].n == 4
    assert _told(found["label_coverage"]) == 0.8
