"""Quality of class scores: log loss, Brier score, areas; and each class by itself.

Knows the counts of one class against the rest (`OneVsRestCounts`), in declared order of classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from monitor.checks.clustering import areas, mean_limits, ratio_limits, share_limits
from monitor.checks.gates import Floor, measured_above
from monitor.checks.quality.binary import MIN_EVENTS, MIN_LABELS, area_outcome
from monitor.checks.quality.losses import CLIP, cell_losses, cell_moments, log_loss_bounds
from monitor.checks.resampling import MIN_GROUPS
from monitor.measurement import Failed, Outcome
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.labels import BinaryCounts
from monitor.profiles.labels_multiclass import ConfusionCounts, OneVsRestCounts

SCORE_METHODS = ("log_loss", "brier", "macro_auc", "confidence_auc")
_NO_ROWS = "labelled rows with class scores"
_UNCOUNTED = "scores of the first 100 classes are counted only; the model declares more"
CLASS_METHODS = ("class_recall", "class_precision", "class_auc")


@dataclass(frozen=True, eq=False)
class _GroupedLoss:
    """A mean loss by entity group, float64[20], with its rows, int64[20]; `variance` of the mean of
    independent rows, an upper bound where terms of a row are added up.
    """

    sums: Floats
    rows: Integers
    variance: float


def class_score_quality(
    classes: Sequence[OneVsRestCounts], confidence: BinaryCounts, declared: int
) -> dict[str, Outcome]:
    """log_loss, brier, macro_auc and confidence_auc of labelled rows with class scores.

    log_loss: mean -ln of the score of the class that happened. brier: mean Σ (score - happened)²
    over classes, 0 to 2 (Brier 1950). macro_auc: mean area of each class against the rest, classes
    with five rows on either side. confidence_auc: area of the largest score for "was right".
    Limits by entity groups where wider; printed from 50 rows on. `declared`: classes there are.
    Only the first 100 are counted, so with more log_loss and brier can't be told.
    """
    labels = np.array([int(one.positives.sum()) for one in classes], np.int64)
    n = int(labels.sum())
    uncounted = declared > len(classes)
    return {
        "log_loss": Failed(_UNCOUNTED) if uncounted else _log_loss(classes, labels, n),
        "brier": Failed(_UNCOUNTED) if uncounted else _brier(classes, labels, n),
        "macro_auc": _macro_auc(classes, labels, n),
        "confidence_auc": area_outcome(
            confidence, confidence.positives_by_group, confidence.negatives_by_group
        ),
    }


def _floors(n: int) -> tuple[Floor, ...]:
    return (Floor(n, MIN_LABELS, "labelled rows with class scores"),)


def _mean_outcome(value: float, n: int, loss: _GroupedLoss, detail: Mapping[str, Any]) -> Outcome:
    limits = mean_limits(value, loss.sums, loss.rows, loss.variance)
    return measured_above(_floors(n), value, n, limits.both, {**detail, **limits.as_detail()})


def _rows_by_group(classes: Sequence[OneVsRestCounts]) -> Integers:
    by_class = np.array([one.positives_by_group.sum(axis=1) for one in classes], np.int64)
    return np.asarray(by_class.sum(axis=0), np.int64)


def _log_loss(classes: Sequence[OneVsRestCounts], labels: Integers, n: int) -> Outcome:
    detail: dict[str, Any] = {"clip": CLIP}
    if n == 0:
        return measured_above(_floors(0), None, 0, None, detail, _NO_ROWS)
    detail["best_constant"] = float(special.entr(labels / n).sum())
    sums, total, squares, upper = np.zeros(len(classes[0].positives_by_group)), 0.0, 0.0, 0.0
    for one in classes:
        loss, _ = cell_losses(cell_moments(one), logarithmic=True)
        sums = sums + one.positives_by_group @ loss
        total += float(one.positives @ loss)
        squares += float(one.positives @ loss**2)
        upper += _chord_excess(one)
    variance = max(0.0, squares / n - (total / n) ** 2) / max(1, n - 1)
    detail["binning_error_bound"] = upper / n
    return _mean_outcome(
        total / n, n, _GroupedLoss(sums, _rows_by_group(classes), variance), detail
    )


def _chord_excess(one: OneVsRestCounts) -> float:
    """By how much the losses of this class's rows can lie above those at cell means, in sum."""
    moments = cell_moments(one)
    lower, upper = log_loss_bounds(replace(moments, negatives=np.zeros_like(moments.negatives)))
    return 0.0 if lower is None or upper is None else (upper - lower) * int(one.positives.sum())


def _brier(classes: Sequence[OneVsRestCounts], labels: Integers, n: int) -> Outcome:
    if n == 0:
        return measured_above(_floors(0), None, 0, None, None, _NO_ROWS)
    sums, total, deviation = np.zeros(len(classes[0].positives_by_group)), 0.0, 0.0
    for one in classes:
        of_positive, of_negative = cell_losses(cell_moments(one), logarithmic=False)
        sums = sums + one.positives_by_group @ of_positive + one.negatives_by_group @ of_negative
        squares = one.score_square_sums.sum() - 2 * one.score_label_sums.sum()
        own = float(squares + one.positives.sum())
        spread = float(one.positives @ of_positive**2 + one.negatives @ of_negative**2)
        # Terms of one row depend on each other: standard deviations add up at most.
        deviation += float(np.sqrt(max(0.0, spread / n - (own / n) ** 2)))
        total += own
    detail = {"best_constant": 1 - float(np.sum((labels / n) ** 2))}
    rows = _rows_by_group(classes)
    grouped = int((rows > 0).sum()) >= MIN_GROUPS
    # Entity groups give the variance; the bound is for where there are too few of them.
    variance = 0.0 if grouped else deviation**2 / max(1, n - 1)
    return _mean_outcome(total / n, n, _GroupedLoss(sums, rows, variance), detail)


def _macro_auc(classes: Sequence[OneVsRestCounts], labels: Integers, n: int) -> Outcome:
    others = np.array([int(one.negatives.sum()) for one in classes], np.int64)
    usable = np.flatnonzero(np.minimum(labels, others) >= MIN_EVENTS).tolist()
    detail: dict[str, Any] = {"classes": len(usable), "declared": len(classes)}
    floors = (*_floors(n), Floor(len(usable), 2, "classes with five rows on either side"))
    if len(usable) < 2:
        return measured_above(floors, None, n, None, detail, floors[1].what)
    judged = [classes[place] for place in usable]
    value = float(np.mean([areas(one.positives[None], one.negatives[None])[0] for one in judged]))
    filled = _rows_by_group(classes) > 0
    left = np.mean([
        areas(one.positives - one.positives_by_group[filled],
              one.negatives - one.negatives_by_group[filled]) for one in judged
    ], axis=0)  # fmt: skip
    told = {**detail, "best_constant": 0.5}
    limits = ratio_limits(1 - value, 1 - left)
    if limits is None:
        return measured_above(floors, value, n, None, told)
    both = (1 - min(limits.high, 1.0), 1 - limits.low)
    return measured_above(floors, value, n, both, told | limits.as_detail())


def class_quality(
    counts: ConfusionCounts, names: Sequence[str], classes: Sequence[OneVsRestCounts] = ()
) -> dict[tuple[str, str], Outcome]:
    """class_recall, class_precision and, with class scores, class_auc by (method, class).

    Of labelled rows with a known prediction; each needs 50 of them and five in its denominator (the
    area five of either class).
    """
    found: dict[tuple[str, str], Outcome] = {}
    n = int(counts.matrix.sum())
    for place, name in enumerate(names):
        right = counts.by_group[:, place, place]
        of_label = counts.by_group[:, :, place].sum(axis=1)
        predicted = counts.by_group[:, place].sum(axis=1)
        base = int(of_label.sum()) / n if n else None
        found["class_recall", name] = _share(right, of_label, n, "labels of this class", 1.0)
        found["class_precision", name] = _share(
            right, predicted, n, "predictions of this class", base
        )
    for name, one in zip(names, classes, strict=False):
        found["class_auc", name] = area_outcome(one, one.positives_by_group, one.negatives_by_group)
    return found


def _share(right: Integers, of: Integers, n: int, what: str, constant: float | None) -> Outcome:
    rows = int(of.sum())
    floors = (Floor(n, MIN_LABELS, "labelled rows"), Floor(rows, MIN_EVENTS, what))
    detail: dict[str, Any] = {"right": int(right.sum()), "denominator": rows}
    if constant is not None:
        detail["best_constant"] = constant
    if rows == 0:
        return measured_above(floors, None, n, None, detail, f"{what} (the ratio is 0/0)")
    limits = share_limits(right, of)
    value = int(right.sum()) / rows
    return measured_above(floors, value, n, limits.both, detail | limits.as_detail())
