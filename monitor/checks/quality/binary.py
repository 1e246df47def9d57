"""Quality of a binary model from its label counts. Knows BinaryCounts, no rows and no clock.

Rows with a label only; how many that are is a measurement of its own (`label_coverage`).
Printed from 50 labelled rows and 5 events (rows in the ratio's denominator) on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from monitor.checks.auc import delong
from monitor.checks.coverage import label_coverage
from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import normal_quantile, wilson_limits
from monitor.checks.quality.losses import (
    CLIP,
    CellMoments,
    cell_losses,
    cell_moments,
    log_loss_bounds,
)
from monitor.checks.resampling import MIN_GROUPS, jackknife_limits
from monitor.measurement import Outcome
from monitor.profiles.arrays import Floats
from monitor.profiles.labels import BinaryCounts

MIN_LABELS = 50
MIN_EVENTS = 5
JACKKNIFE = "jackknife over entity groups"
INDEPENDENT = "normal, rows taken as independent"


def binary_quality(counts: BinaryCounts) -> dict[str, Outcome]:
    """Every quality measure by method name; each is Measured or TooFew on its own.

    accuracy, precision, recall: Wilson limits. f1: Wilson limits of tp/(tp + fp + fn), transformed.
    auc: DeLong. log_loss, brier: jackknife over entity groups. label_coverage: Wilson limits.
    """
    return {
        **_class_measures(counts),
        "auc": _auc(counts),
        "log_loss": _log_loss(counts),
        "brier": _brier(counts),
        "label_coverage": label_coverage(counts.n_labelled, counts.n),
    }


def _class_measures(counts: BinaryCounts) -> dict[str, Outcome]:
    tp, fp, fn, tn = counts.tp, counts.fp, counts.fn, counts.tn
    n = tp + fp + fn + tn
    base_rate = (tp + fn) / n if n else None
    constant = {} if base_rate is None else {"best_constant": max(base_rate, 1 - base_rate)}
    table = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
    return {
        "accuracy": _ratio(tp + tn, n, n, table | constant, "labelled rows"),
        "precision": _ratio(tp, tp + fp, n, table, "predicted positives"),
        "recall": _ratio(tp, tp + fn, n, table, "positive labels"),
        "f1": _f1(tp, fp + fn, n, table),
    }


def _ratio(events: int, denominator: int, n: int, detail: dict[str, Any], of: str) -> Outcome:
    floors = (Floor(n, MIN_LABELS, "labelled rows"), Floor(denominator, MIN_EVENTS, of))
    value = events / denominator if denominator else None
    limits = wilson_limits(events, denominator) if denominator else None
    told = {**detail, "denominator": denominator}
    return measured_above(floors, value, n, limits, told, f"no {of}: the ratio is 0/0")


def _f1(tp: int, wrong: int, n: int, detail: dict[str, Any]) -> Outcome:
    """2tp/(2tp + fp + fn) = 2J/(1 + J) with J = tp/(tp + fp + fn), a plain share of rows."""
    rows = tp + wrong
    floors = (
        Floor(n, MIN_LABELS, "labelled rows"),
        Floor(rows, MIN_EVENTS, "positive labels or predictions"),
    )
    if rows == 0:
        return measured_above(floors, None, n, None, detail, "no positives: the ratio is 0/0")
    low, high = (2 * share / (1 + share) for share in wilson_limits(tp, rows))
    return measured_above(floors, 2 * tp / (rows + tp), n, (low, high), detail)


def _auc(counts: BinaryCounts) -> Outcome:
    n1, n0 = int(counts.positives.sum()), int(counts.negatives.sum())
    floors = (
        Floor(n1 + n0, MIN_LABELS, "labelled rows with a score"),
        Floor(min(n1, n0), MIN_EVENTS, "labelled rows of the rarer class"),
    )
    detail = {"positives": n1, "negatives": n0}
    if min(n1, n0) == 0:
        return measured_above(floors, None, n1 + n0, None, detail, "one class")
    if min(n1, n0) == 1:
        value = _area(counts, n1, n0)
        return measured_above(floors, value, n1 + n0, None, detail)
    estimate = delong(counts.positives, counts.negatives)
    told = {
        **detail,
        "standard_error": estimate.standard_error,
        "binning_error_bound": estimate.binning_error,
        "interval_method": "DeLong on the logit",
        "best_constant": 0.5,
    }
    return measured_above(floors, estimate.auc, n1 + n0, (estimate.low, estimate.high), told)


def _area(counts: BinaryCounts, n1: int, n0: int) -> float:
    below = np.cumsum(counts.negatives) - counts.negatives / 2
    return float(counts.positives @ below) / (n1 * n0)


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
        return measured_above(floors, None, n, None, detail, "no labelled rows with a score")
    limits, method = _loss_limits(counts, moments, value, losses)
    return measured_above(floors, value, n, limits, {**detail, "interval_method": method})


def _loss_limits(
    counts: BinaryCounts, moments: CellMoments, value: float, losses: tuple[Floats, Floats]
) -> tuple[tuple[float, float], str]:
    """Limits from losses at cell means, by entity groups where there are enough of them."""
    of_positive, of_negative = losses
    sums = counts.positives_by_group @ of_positive + counts.negatives_by_group @ of_negative
    rows = counts.positives_by_group.sum(axis=1) + counts.negatives_by_group.sum(axis=1)
    used = rows > 0
    if int(used.sum()) >= MIN_GROUPS:
        without = (sums.sum() - sums[used]) / (rows.sum() - rows[used])
        low, high = jackknife_limits(value, without.tolist())
        return (max(0.0, low), high), JACKKNIFE
    n = float(moments.positives.sum() + moments.negatives.sum())
    total = moments.positives @ of_positive + moments.negatives @ of_negative
    squares = moments.positives @ of_positive**2 + moments.negatives @ of_negative**2
    variance = max(0.0, float(squares / n - (total / n) ** 2)) / max(1.0, n - 1)
    reach = normal_quantile() * float(np.sqrt(variance))
    return (max(0.0, value - reach), value + reach), INDEPENDENT


def _entropy(share: float) -> float:
    if share in (0.0, 1.0):
        return 0.0
    return float(-share * np.log(share) - (1 - share) * np.log(1 - share))
