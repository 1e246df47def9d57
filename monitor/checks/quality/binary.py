"""Quality of a binary model from its label counts. Knows BinaryCounts, no rows and no clock.

Rows with a label only; how many that are is a measurement of its own (`label_coverage`).
Printed from 50 labelled rows and 5 events (rows in the ratio's denominator) on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from monitor.checks.auc import delong
from monitor.checks.calibration_cells import ScoredCounts
from monitor.checks.clustering import Limits, areas, auc_limits, mean_limits, share_limits
from monitor.checks.coverage import label_coverage
from monitor.checks.gates import Floor, measured_above
from monitor.checks.quality.losses import (
    CLIP,
    CellMoments,
    cell_losses,
    cell_moments,
    log_loss_bounds,
)
from monitor.measurement import Outcome
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.labels import BinaryCounts

MIN_LABELS = 50
MIN_EVENTS = 5
_ONE_CLASS = "labelled rows of a second class (one class only)"
_CELLS = ("tp", "fp", "fn", "tn")


def binary_quality(counts: BinaryCounts) -> dict[str, Outcome]:
    """Every quality measure by method name; each is Measured or TooFew on its own.

    accuracy, precision, recall: Wilson limits. f1: Wilson limits of tp/(tp + fp + fn), transformed.
    auc: DeLong on the logit. log_loss, brier: normal on the logarithm. All of them by entity groups
    where that is wider (`monitor.checks.clustering`). label_coverage: Wilson limits. Each tells the
    `best_constant`: what a prediction that is the same for all rows reaches at best.
    """
    return {
        **_class_measures(counts),
        "auc": _auc(counts),
        "log_loss": _log_loss(counts),
        "brier": _brier(counts),
        "label_coverage": label_coverage(counts.n_labelled, counts.n),
    }


def _class_measures(counts: BinaryCounts) -> dict[str, Outcome]:
    """Shares of the confusion table, each with the table in its detail."""
    table = counts.confusion_by_group
    tp, fp, fn, tn = (table[:, p, y] for p, y in ((1, 1), (1, 0), (0, 1), (0, 0)))
    told = {name: int(part.sum()) for name, part in zip(_CELLS, (tp, fp, fn, tn), strict=True)}
    n = sum(told.values())
    base = (told["tp"] + told["fn"]) / n if n else None
    return {
        "accuracy": _ratio(tp + tn, tp + fp + fn + tn, n, told, "labelled rows", _most(base)),
        "precision": _ratio(tp, tp + fp, n, told, "predicted positives", base),
        "recall": _ratio(tp, tp + fn, n, told, "positive labels", None if base is None else 1.0),
        "f1": _f1(tp, fp + fn, n, told, base),
    }


def _most(base_rate: float | None) -> float | None:
    return None if base_rate is None else max(base_rate, 1 - base_rate)


def _constant(value: float | None) -> dict[str, float]:
    return {} if value is None else {"best_constant": value}


def _ratio(
    events: Integers,
    rows: Integers,
    n: int,
    table: Mapping[str, int],
    of: str,
    constant: float | None,
) -> Outcome:
    """Σ events/Σ rows of entity groups, int64[20] each."""
    denominator = int(rows.sum())
    floors = (Floor(n, MIN_LABELS, "labelled rows"), Floor(denominator, MIN_EVENTS, of))
    told: dict[str, Any] = {**table, "denominator": denominator, **_constant(constant)}
    if denominator == 0:
        return measured_above(floors, None, n, None, told, f"{of} (the ratio is 0/0)")
    limits = share_limits(events, rows)
    value = int(events.sum()) / denominator
    return measured_above(floors, value, n, limits.both, told | limits.as_detail())


def _f1(
    tp: Integers, wrong: Integers, n: int, table: Mapping[str, int], base: float | None
) -> Outcome:
    """2tp/(2tp + fp + fn) = 2J/(1 + J) with J = tp/(tp + fp + fn), a plain share of rows."""
    rows = int(tp.sum() + wrong.sum())
    floors = (
        Floor(n, MIN_LABELS, "labelled rows"),
        Floor(rows, MIN_EVENTS, "positive labels or predictions"),
    )
    told: dict[str, Any] = {**table, **_constant(None if base is None else 2 * base / (1 + base))}
    if rows == 0:
        return measured_above(
            floors, None, n, None, told, "positive labels or predictions (the ratio is 0/0)"
        )
    limits = share_limits(tp, tp + wrong)
    low, high = (2 * share / (1 + share) for share in limits.both)
    value = 2 * int(tp.sum()) / (rows + int(tp.sum()))
    return measured_above(floors, value, n, (low, high), told | limits.as_detail())


def _auc(counts: BinaryCounts) -> Outcome:
    return area_outcome(counts, counts.positives_by_group, counts.negatives_by_group)


def area_outcome(
    counts: ScoredCounts, positives_by_group: Integers, negatives_by_group: Integers
) -> Outcome:
    """The AUC of scores counted in cells, by group int64[20, 512]; best constant 0.5."""
    n1, n0 = int(counts.positives.sum()), int(counts.negatives.sum())
    floors = (
        Floor(n1 + n0, MIN_LABELS, "labelled rows with a score"),
        Floor(min(n1, n0), MIN_EVENTS, "labelled rows of the rarer class"),
    )
    detail: dict[str, Any] = {"positives": n1, "negatives": n0}
    if min(n1, n0) == 0:
        return measured_above(floors, None, n1 + n0, None, detail, _ONE_CLASS)
    if min(n1, n0) == 1:
        value = float(areas(counts.positives[None], counts.negatives[None])[0])
        return measured_above(floors, value, n1 + n0, None, detail)
    estimate = delong(counts.positives, counts.negatives)
    limits = auc_limits(estimate, positives_by_group, negatives_by_group)
    told = {
        **detail,
        "standard_error": estimate.standard_error,
        "binning_error_bound": estimate.binning_error,
        "best_constant": 0.5,
        **limits.as_detail(),
    }
    return measured_above(floors, estimate.auc, n1 + n0, limits.both, told)


def _log_loss(counts: BinaryCounts) -> Outcome:
    moments = cell_moments(counts)
    lower, upper = log_loss_bounds(moments)
    base_rate = moments.base_rate
    detail: dict[str, Any] = {"clip": CLIP}
    if base_rate is not None:
        detail["best_constant"] = _entropy(base_rate)
    if lower is not None and upper is not None:
        detail["binning_error_bound"] = upper - lower
    return _loss_outcome(counts, moments, lower, cell_losses(moments, logarithmic=True), detail)


def _brier(counts: BinaryCounts) -> Outcome:
    moments = cell_moments(counts)
    detail: dict[str, Any] = {}
    if moments.base_rate is not None:
        detail["best_constant"] = moments.base_rate * (1 - moments.base_rate)
    losses = cell_losses(moments, logarithmic=False)
    return _loss_outcome(counts, moments, counts.brier, losses, detail)


def _loss_outcome(
    counts: BinaryCounts,
    moments: CellMoments,
    value: float | None,
    losses: tuple[Floats, Floats],
    detail: dict[str, Any],
) -> Outcome:
    n = int(moments.positives.sum() + moments.negatives.sum())
    floors = (Floor(n, MIN_LABELS, "labelled rows with a score"),)
    if value is None:
        return measured_above(floors, None, n, None, detail, "labelled rows with a score")
    limits = _loss_limits(counts, moments, value, losses)
    return measured_above(floors, value, n, limits.both, detail | limits.as_detail())


def _loss_limits(
    counts: BinaryCounts, moments: CellMoments, value: float, losses: tuple[Floats, Floats]
) -> Limits:
    """Limits from losses at cell means."""
    of_positive, of_negative = losses
    sums = counts.positives_by_group @ of_positive + counts.negatives_by_group @ of_negative
    rows = counts.positives_by_group.sum(axis=1) + counts.negatives_by_group.sum(axis=1)
    n = float(moments.positives.sum() + moments.negatives.sum())
    total = moments.positives @ of_positive + moments.negatives @ of_negative
    squares = moments.positives @ of_positive**2 + moments.negatives @ of_negative**2
    variance = max(0.0, float(squares / n - (total / n) ** 2)) / max(1.0, n - 1)
    return mean_limits(value, sums, rows, variance)


def _entropy(share: float) -> float:
    if share in (0.0, 1.0):
        return 0.0
    return float(-share * np.log(share) - (1 - share) * np.log(1 - share))
