"""Quality of a whole cohort from its labelled rows: inverse-probability weights, and bounds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from monitor.checks.maturity.bounds import (
    Worst,
    accuracy_bounds,
    bound_outcomes,
    precision_bounds,
    recall_bounds,
)
from monitor.checks.maturity.weighting import (
    Weighed,
    Weight,
    weighted_mean_outcome,
    weighted_share_outcome,
)
from monitor.jobs.plans.cohorts import CohortLabels
from monitor.measurement import Outcome
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.cells import NumberCells
from monitor.profiles.label_delays import class_losses
from monitor.profiles.labels_multiclass import confusion_counts
from monitor.profiles.labels_regression import regression_counts

NO_CLASS = 2
"""The place of rows without a predicted class in the losses of a binary part."""

Strata = dict[int, list[tuple[Weight, Floats, Floats]]]


def binary_weighted(cohort: CohortLabels) -> dict[str, Outcome]:
    """accuracy, precision, recall and brier of all requests."""
    shares: dict[str, list[Weighed]] = {"accuracy": [], "precision": [], "recall": []}
    losses: Strata = defaultdict(list)
    known, labelled = True, 0
    for piece in cohort.pieces:
        found = class_losses(piece.part)
        rows = found.rows.sum(axis=2)
        labelled += int(rows[:NO_CLASS].sum())
        for place in range(3):
            predicted = place if place < NO_CLASS else -1
            weight = cohort.weight(piece, predicted)
            if weight is None:
                known = False
                continue
            losses[predicted].append((weight, found.scored[place], found.squared_error[place]))
            if place < NO_CLASS:
                negative, positive = found.rows[place]
                all_rows, right = negative + positive, positive if place else negative
                shares["recall"].append(_weighed(predicted, weight, positive, positive * place))
                shares["accuracy"].append(_weighed(predicted, weight, all_rows, right))
                if place:
                    shares["precision"].append(_weighed(predicted, weight, all_rows, right))
    of = {"accuracy": "labelled rows", "precision": "predicted positives",
          "recall": "positive labels"}  # fmt: skip
    return {
        **{
            f"{name}_weighted": weighted_share_outcome(rows if known else None, labelled, of[name])
            for name, rows in shares.items()
        },
        "brier_weighted": weighted_mean_outcome(
            losses if known else None, "labelled rows with a score"
        ),
    }


def _weighed(predicted: int, weight: Weight, rows: Integers, events: Integers) -> Weighed:
    """Rows and events by entity group that share a weight."""
    return Weighed(predicted, weight, int(rows.sum()), int(events.sum()), (rows, events))


def multiclass_weighted(cohort: CohortLabels, n_classes: int) -> dict[str, Outcome]:
    """accuracy of all requests."""
    weighed: list[Weighed] | None = []
    labelled = 0
    for piece in cohort.pieces:
        counts = confusion_counts(piece.part, n_classes)
        matrix = counts.matrix
        labelled += int(matrix.sum())
        for predicted in np.flatnonzero(matrix.sum(axis=1)).tolist():
            weight = cohort.weight(piece, predicted)
            if weight is None or weighed is None:
                weighed = None
                continue
            rows = counts.by_group[:, predicted].sum(axis=1)
            right = counts.by_group[:, predicted, predicted]
            weighed.append(_weighed(predicted, weight, rows, right))
    return {"accuracy_weighted": weighted_share_outcome(weighed, labelled, "labelled rows")}


def regression_weighted(cohort: CohortLabels, cells: NumberCells) -> dict[str, Outcome]:
    """Mean absolute error of all requests: weights by age alone."""
    losses: Strata | None = defaultdict(list)
    for piece in cohort.pieces:
        weight = cohort.weight(piece, -1)
        if weight is None or losses is None:
            losses = None
            continue
        groups = regression_counts(piece.part, cells).by_group
        rows = np.array([float(one.n) for one in groups])
        errors = np.array([one.absolute_error for one in groups])
        losses[-1].append((weight, rows, errors))
    return {"mae_weighted": weighted_mean_outcome(losses, "labelled rows")}


def binary_bounds(cohort: CohortLabels, tp: int, fp: int, fn: int, tn: int) -> dict[str, Worst]:
    """Bounds of accuracy, precision and recall, whatever the labels that are missing say."""
    silent = {place: one.unlabelled for place, one in cohort.by_class.items() if place >= 0}
    positive, negative = silent.get(1, 0), silent.get(0, 0)
    return {
        "accuracy": accuracy_bounds(tp + tn, fp + fn, positive + negative),
        "precision": precision_bounds(tp, fp, positive),
        "recall": recall_bounds(tp, fn, positive, negative),
    }


def bounds_told(worst: Mapping[str, Worst]) -> dict[str, dict[str, Any]]:
    """Bounds for the detail of each measure."""
    return {name: {"bound_low": one.low, "bound_high": one.high} for name, one in worst.items()}


def bounds_measured(worst: Mapping[str, Worst], labelled: int) -> dict[str, Outcome]:
    """Bounds as measurements of their own."""
    return {
        method: outcome
        for name, one in worst.items()
        for method, outcome in bound_outcomes(name, one, labelled).items()
    }
