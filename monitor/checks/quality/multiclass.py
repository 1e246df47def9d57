"""Quality of a model with several classes from its confusion table."""

from __future__ import annotations

from typing import Any

import numpy as np

from monitor.checks.coverage import label_coverage
from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import wilson_limits
from monitor.checks.resampling import MIN_GROUPS, jackknife_limits
from monitor.measurement import Outcome
from monitor.profiles.arrays import Integers
from monitor.profiles.labels_multiclass import ConfusionCounts

MIN_LABELS = 50


def macro_f1(confusion: Integers) -> float | None:
    """Mean F1 over the classes that occur as label; `confusion` int64[k, k] is [predicted, label].

    A class without labels has no F1 and is left out; predictions of it still cost the others
    their recall. None without labels.
    """
    labels = confusion.sum(axis=0)
    used = labels > 0
    if not used.any():
        return None
    right = np.diagonal(confusion)[used]
    return float(np.mean(2 * right / (labels + confusion.sum(axis=1))[used]))


def multiclass_quality(counts: ConfusionCounts) -> dict[str, Outcome]:
    """accuracy (Wilson limits), macro_f1 (jackknife over entity groups) and label_coverage.

    The first two are printed from 50 rows with label and predicted class on.
    """
    confusion = counts.matrix
    n, right = int(confusion.sum()), int(np.trace(confusion))
    coverage = label_coverage(int(counts.delay_counts.sum()), counts.n)
    floors = (Floor(n, MIN_LABELS, "labelled rows"),)
    if n == 0:
        empty = measured_above(floors, None, 0, None, None, "no labelled rows")
        return {"accuracy": empty, "macro_f1": empty, "label_coverage": coverage}
    labels = confusion.sum(axis=0)
    constant = {"best_constant": float(labels.max() / n)}
    told: dict[str, Any] = {"classes": int((labels > 0).sum()), "declared": len(labels)}
    limits = _group_limits(confusion, counts.by_group)
    if limits is not None:
        told["interval_method"] = "jackknife over entity groups"
    return {
        "accuracy": measured_above(floors, right / n, n, wilson_limits(right, n), constant),
        "macro_f1": measured_above(floors, macro_f1(confusion), n, limits, told),
        "label_coverage": coverage,
    }


def _group_limits(confusion: Integers, by_group: Integers) -> tuple[float, float] | None:
    value = macro_f1(confusion)
    filled = by_group[by_group.sum(axis=(1, 2)) > 0]
    left_out = [macro_f1(confusion - group) for group in filled]
    defined = [number for number in left_out if number is not None]
    if value is None or len(defined) < MIN_GROUPS:
        return None
    low, high = jackknife_limits(value, defined)
    return max(0.0, low), min(1.0, high)
