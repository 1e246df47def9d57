"""Quality of a model with several classes from its confusion table."""

from __future__ import annotations

from typing import Any

import numpy as np

from monitor.checks.clustering import ratio_limits, share_limits
from monitor.checks.coverage import label_coverage
from monitor.checks.gates import Floor, measured_above
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

    The first two are printed from 50 rows with label and predicted class on, with what always
    predicting one class reaches at best.
    """
    confusion = counts.matrix
    n = int(confusion.sum())
    coverage = label_coverage(int(counts.delay_counts.sum()), counts.n)
    floors = (Floor(n, MIN_LABELS, "labelled rows"),)
    if n == 0:
        empty = measured_above(floors, None, 0, None, None, "labelled rows")
        return {"accuracy": empty, "macro_f1": empty, "label_coverage": coverage}
    return {
        "accuracy": _accuracy(counts, n, floors),
        "macro_f1": _macro_f1(counts, n, floors),
        "label_coverage": coverage,
    }


def _accuracy(counts: ConfusionCounts, n: int, floors: tuple[Floor, ...]) -> Outcome:
    right = np.trace(counts.by_group, axis1=1, axis2=2).astype(np.int64)
    limits = share_limits(right, counts.by_group.sum(axis=(1, 2)))
    constant = {"best_constant": float(counts.matrix.sum(axis=0).max() / n)}
    value = int(right.sum()) / n
    return measured_above(floors, value, n, limits.both, constant | limits.as_detail())


def _macro_f1(counts: ConfusionCounts, n: int, floors: tuple[Floor, ...]) -> Outcome:
    labels = counts.matrix.sum(axis=0)
    classes = int((labels > 0).sum())
    most = int(labels.max())
    detail: dict[str, Any] = {
        "classes": classes,
        "declared": len(labels),
        # Always the commonest class: its F1 is 2n/(N + n), that of every other class 0.
        "best_constant": 2 * most / (n + most) / classes,
    }
    value = macro_f1(counts.matrix)
    if value is None:
        return measured_above(floors, None, n, None, detail, "labelled rows")
    filled = counts.by_group[counts.by_group.sum(axis=(1, 2)) > 0]
    left = [macro_f1(counts.matrix - group) for group in filled]
    limits = ratio_limits(
        1 - value, 1 - np.array([np.nan if one is None else one for one in left], np.float64)
    )
    if limits is None:
        return measured_above(floors, value, n, None, detail)
    both = (max(0.0, 1 - limits.high), 1 - limits.low)
    return measured_above(floors, value, n, both, detail | limits.as_detail())
