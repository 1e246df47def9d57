"""Rates, ratios and gaps are those of fairlearn's MetricFrame on the same rows."""

from __future__ import annotations

import numpy as np
import pytest
from fairlearn.metrics import MetricFrame, false_positive_rate, selection_rate, true_positive_rate
from sklearn.metrics import accuracy_score

from monitor.checks.groups.counts import group_of
from monitor.checks.groups.gaps import gap_outcomes
from monitor.checks.groups.selection import selection_ratios
from monitor.profiles.labels import BINARY, SCORE_CELLS, UNIT, pack_binary
from monitor.profiles.part import Part

NAMES = ("north", "south", "west")
RATES = {
    "true_positive_gap": true_positive_rate,
    "false_positive_gap": false_positive_rate,
    "accuracy_gap": accuracy_score,
}


def _rows(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Group, label and score of rows; groups differ in size and in how right the scores are."""
    rng = np.random.default_rng(seed)
    group = rng.choice(3, 3000, p=[0.5, 0.3, 0.2])
    label = (rng.random(3000) < np.array([0.3, 0.4, 0.5])[group]).astype(int)
    score = np.clip(label * 0.3 + rng.beta(2, 3, 3000) * 0.7 - 0.05 * group, 0, 1)
    return group, label, score


def _part(label: np.ndarray, score: np.ndarray) -> Part:
    cell = np.minimum(np.floor(score * SCORE_CELLS), SCORE_CELLS - 1).astype(np.int64)
    zeros = np.zeros(len(label), np.int64)
    keys = pack_binary((score >= 0.5).astype(np.int64), cell, label.astype(np.int64), zeros, zeros)
    distinct, place = np.unique(keys, return_inverse=True)
    values = np.zeros((len(distinct), 4), np.int64)
    sums = [np.ones(len(score)), score * UNIT, score**2 * UNIT, score * label * UNIT]
    np.add.at(values, place, np.rint(np.column_stack(sums)).astype(np.int64))
    return Part({}, {BINARY: (distinct, values)})


@pytest.mark.parametrize("seed", [1, 2])
def test_everything_agrees_with_fairlearn(seed: int) -> None:
    group, label, score = _rows(seed)
    frame = MetricFrame(
        metrics={"selection_ratio": selection_rate, **RATES},
        y_true=label,
        y_pred=(score >= 0.5).astype(int),
        sensitive_features=np.array(NAMES)[group],
    )
    groups = [
        group_of(name, _part(label[group == k], score[group == k]), favourable_class=1)
        for k, name in enumerate(NAMES)
    ]
    ratios = selection_ratios(groups, 0.8)
    assert min(one.value for one in ratios.values()) == pytest.approx(
        frame.ratio(method="between_groups")["selection_ratio"]
    )
    for name in NAMES:
        assert ratios[name].detail["rate"] == pytest.approx(frame.by_group["selection_ratio"][name])
    gaps = gap_outcomes(groups)
    for method in RATES:
        theirs = frame.by_group[method]
        for name in NAMES:
            assert gaps[method][name].detail["rate"] == pytest.approx(theirs[name])
            assert gaps[method][name].value == pytest.approx(theirs[name] - theirs["north"])
        values = [one.value for one in gaps[method].values()]
        assert max(values) - min(values) == pytest.approx(
            frame.difference(method="between_groups")[method]
        )


def test_calibration_in_the_large_is_read_from_the_part() -> None:
    group, label, score = _rows(3)
    chosen = group == 0
    made = group_of("north", _part(label[chosen], score[chosen]), favourable_class=0)
    error = label[chosen] - score[chosen]
    assert made.error_sum == pytest.approx(error.sum(), abs=1e-5)
    assert made.error_square_sum == pytest.approx((error**2).sum(), abs=1e-5)
    assert made.favourable.events == int((score[chosen] < 0.5).sum())
