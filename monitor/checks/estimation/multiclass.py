"""Confidence-based estimates for models with several classes: accuracy and macro F1. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from monitor.checks.estimation.binary import MIN_ROWS, with_limits
from monitor.checks.estimation.calibrator import Calibrator, FittedCalibrator
from monitor.measurement import Outcome, TooFew
from monitor.profiles.arrays import Floats, Integers

DRAWS = 50
DRAWN_ROWS = 2_000


class MulticlassEstimate(StrEnum):
    """What is estimated; the names are those of the realised measures."""

    ACCURACY = "accuracy"
    MACRO_F1 = "macro_f1"


@dataclass(frozen=True, eq=False)
class ClassScores:
    """`scores` float64[n, c] in [0, 1] without NaN, `predicted` int64[n] places of classes."""

    scores: Floats
    predicted: Integers


def chances(scores: Floats, calibrators: Sequence[Calibrator]) -> Floats:
    """P(class) of each row, float64[n, c]: one against the rest, calibrated, scaled to sum to 1.

    A row to which every calibrator gives 0 has all classes alike.
    """
    each = np.stack(
        [one.probability(scores[:, place]) for place, one in enumerate(calibrators)], axis=1
    )
    total = each.sum(axis=1, keepdims=True)
    alike = 1 / len(calibrators)
    return np.where(total > 0, each / np.where(total > 0, total, 1.0), alike)


def expected_accuracy(chance: Floats, predicted: Integers) -> float:
    """Mean chance of the predicted class."""
    return float(chance[np.arange(len(predicted)), predicted].mean())


def expected_macro_f1(chance: Floats, predicted: Integers) -> float:
    """Mean over the classes of 2 E tp / (rows predicted so + E rows of the class).

    A class that is neither predicted nor expected is left out.
    """
    n_classes = chance.shape[1]
    right = np.bincount(predicted, chance[np.arange(len(predicted)), predicted], n_classes)
    both = np.bincount(predicted, minlength=n_classes) + chance.sum(axis=0)
    there = both > 0
    return float((2 * right[there] / both[there]).mean())


def multiclass_estimates(
    served: ClassScores,
    fitted: Sequence[FittedCalibrator],
    rng: np.random.Generator,
    *,
    n_reference: int,
    allowance: Mapping[str, float] | None = None,
) -> dict[MulticlassEstimate, Outcome]:
    """Both with intervals for the realised value of these rows; TooFew under 50 rows.

    `fitted`: one a class, against the rest. Sigma of accuracy from Σ q(1 - q)/m² plus the variance
    over refits; of macro F1 from labels drawn from the refits' chances, at most 2,000 rows a draw,
    scaled to n; the bias that refitting shows joins both.
    """
    n = len(served.predicted)
    if n < MIN_ROWS:
        return {name: TooFew(n, MIN_ROWS, "scored requests") for name in MulticlassEstimate}
    chance = chances(served.scores, [one.calibrator for one in fitted])
    values = {
        MulticlassEstimate.ACCURACY: expected_accuracy(chance, served.predicted),
        MulticlassEstimate.MACRO_F1: expected_macro_f1(chance, served.predicted),
    }
    sigmas = _sigmas(served, fitted, rng)
    found: dict[MulticlassEstimate, Outcome] = {}
    for name, value in values.items():
        more = (allowance or {}).get(name, 0.0)
        found[name] = with_limits(value, sigmas[name], n, n_reference, allowance=more, highest=1.0)
    return found


def _sigmas(
    served: ClassScores,
    fitted: Sequence[FittedCalibrator],
    rng: np.random.Generator,
) -> dict[MulticlassEstimate, float]:
    n = len(served.predicted)
    rows = np.sort(rng.choice(n, min(n, DRAWN_ROWS), replace=False))
    scores, predicted = served.scores[rows], served.predicted[rows]
    means, drawn, expected = [], [], []
    for each in zip(*(one.resampled[:DRAWS] for one in fitted), strict=True):
        chance_now = chances(scores, each)
        means.append(expected_accuracy(chance_now, predicted))
        expected.append(expected_macro_f1(chance_now, predicted))
        drawn.append(expected_macro_f1(_labels(chance_now, rng), predicted))
    plain = chances(scores, [one.cautious for one in fitted])
    right = plain[np.arange(len(rows)), predicted]
    accuracy = float((right * (1 - right)).mean()) / n + float(np.var(means, ddof=1))
    # Labels' own chance shrinks with n, the calibrators' does not.
    own = float(np.var(np.array(drawn) - np.array(expected), ddof=1)) * len(rows) / n
    macro_f1 = own + float(np.var(expected, ddof=1))
    accuracy_bias = float(np.mean(means)) - expected_accuracy(plain, predicted)
    macro_f1_bias = float(np.mean(expected)) - expected_macro_f1(plain, predicted)
    return {
        MulticlassEstimate.ACCURACY: math.hypot(math.sqrt(accuracy), accuracy_bias),
        MulticlassEstimate.MACRO_F1: math.hypot(math.sqrt(macro_f1), macro_f1_bias),
    }


def _labels(chance: Floats, rng: np.random.Generator) -> Floats:
    """A class drawn for every row, as chances of 0 and 1."""
    edges = np.cumsum(chance, axis=1)
    drawn = (rng.random((len(chance), 1)) * edges[:, -1:] > edges).sum(axis=1)
    labels = np.zeros_like(chance)
    labels[np.arange(len(chance)), np.minimum(drawn, chance.shape[1] - 1)] = 1.0
    return labels
