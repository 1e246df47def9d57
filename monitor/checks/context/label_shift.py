"""Would a changed share of the true classes alone give the changed predictions? Needs no new label.

Knows counts of predicted and true classes only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.checks.context.resampling import DRAWS, drawn_counts, percentile_limits
from monitor.checks.intervals import LEVEL
from monitor.measurement import Failed, Measured, TooFew
from monitor.profiles.arrays import Floats, Integers

MIN_OF_CLASS = 50
MIN_ROWS = 100
MAX_CONDITION = 100.0


@dataclass(frozen=True)
class LabelShift:
    """By class: share of the class then, the same now if only the classes' shares changed, and the
    ratio `weights` of both. `condition`: of the confusion matrix; large means hardly solvable.
    `clipped`: classes whose estimate was below 0 and is shown as 0 — a hint that more than the
    shares changed.
    """

    share_then: tuple[float, ...]
    share_now: tuple[Measured, ...]
    weights: tuple[Measured, ...]
    condition: float
    clipped: tuple[int, ...]


def label_shift_weights(confusion: Floats, predicted: Floats) -> Floats:
    """w = C⁻¹ μ, black-box shift estimation (Lipton, Wang and Smola 2018).

    `confusion` C float64[k, k]: joint shares of (predicted, true) in the reference, adding up to 1;
    `predicted` μ float64[k]: shares of predicted classes now. w_y = P_now(y) / P_then(y). Raises
    LinAlgError when C has no inverse.
    """
    weights: Floats = np.linalg.solve(confusion, predicted).astype(np.float64, copy=False)
    return weights


def label_shift(
    confusion: Integers, predicted: Integers, *, seed: int, draws: int = DRAWS
) -> LabelShift | TooFew | Failed:
    """Label shift with bootstrap limits from counts: `confusion` int64[k, k], `predicted` int64[k].

    Multinomial bootstrap of both tables. Estimates below 0 are set to 0 and the shares scaled to
    add up to 1. TooFew below 50 reference labels of a class or 100 current predictions; Failed
    when the classes can't be told apart from predictions (condition number above 100).
    Valid only if the rows of a class look the same then and now; under any other shift the numbers
    mean nothing.
    """
    of_class = confusion.sum(axis=0)
    if int(of_class.min()) < MIN_OF_CLASS:
        return TooFew(int(of_class.min()), MIN_OF_CLASS, "reference labels of the rarest class")
    if int(predicted.sum()) < MIN_ROWS:
        return TooFew(int(predicted.sum()), MIN_ROWS, "current predictions")
    condition = float(np.linalg.cond(confusion / confusion.sum()))
    if not condition <= MAX_CONDITION:
        return Failed(
            f"the classes can't be told apart from predictions (condition number {condition:.3g}, "
            f"at most {MAX_CONDITION:g} is usable)"
        )
    raw = label_shift_weights(confusion / confusion.sum(), predicted / predicted.sum())
    weights, shares = _shares(confusion, predicted)
    drawn = _drawn(confusion, predicted, seed, draws)
    n, n_reference = int(predicted.sum()), int(confusion.sum())
    measured_weights = _measured(weights, drawn[:, 0], n, n_reference)
    measured_shares = _measured(shares, drawn[:, 1], n, n_reference)
    if measured_weights is None or measured_shares is None:
        return Failed("too many bootstrap samples could not be solved")
    return LabelShift(
        tuple((of_class / of_class.sum()).tolist()),
        measured_shares,
        measured_weights,
        condition,
        tuple(np.flatnonzero(raw < 0).tolist()),
    )


def _shares(confusion: Integers, predicted: Integers) -> tuple[Floats, Floats]:
    """Weights and current class shares, both float64[k], never below 0."""
    joint = confusion / confusion.sum()
    weights = np.maximum(label_shift_weights(joint, predicted / predicted.sum()), 0.0)
    then = joint.sum(axis=0)
    weights = weights / (weights @ then)
    return weights, weights * then


def _drawn(confusion: Integers, predicted: Integers, seed: int, draws: int) -> Floats:
    """Weights and shares of each bootstrap sample, float64[draws, 2, k]; NaN when unsolvable."""
    rng = np.random.default_rng(seed)
    tables = drawn_counts(rng, confusion, draws)
    vectors = drawn_counts(rng, predicted, draws)
    results = np.full((draws, 2, len(predicted)), np.nan)
    for place in range(draws):
        if np.linalg.matrix_rank(tables[place]) == len(predicted):
            results[place] = _shares(tables[place], vectors[place])
    return results


def _measured(
    values: Floats, drawn: Floats, n: int, n_reference: int
) -> tuple[Measured, ...] | None:
    found = []
    for place, value in enumerate(values.tolist()):
        limits = percentile_limits(drawn[:, place], value)
        if limits is None:
            return None
        found.append(Measured(value, n, *limits, LEVEL, n_reference))
    return tuple(found)
