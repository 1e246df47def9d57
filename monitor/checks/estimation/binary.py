"""Confidence-based estimates for binary models: accuracy, F1, Brier score, AUC. Pure.

With c the calibrated chance of a positive, a request that is predicted positive is right with
chance c, one predicted negative with chance 1 - c. That needs no label. It is wrong by nature when
P(y | score) is not what it was among the labelled requests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from monitor.checks.estimation.calibrator import Calibrator, FittedCalibrator
from monitor.checks.estimation.served import ServedScores
from monitor.checks.intervals import LEVEL, normal_quantile
from monitor.measurement import Failed, Measured, Outcome, TooFew
from monitor.profiles.arrays import Floats

MIN_ROWS, MIN_EVENTS = 50, 5


class BinaryEstimate(StrEnum):
    """What is estimated; the names are those of the realised measures."""

    ACCURACY = "accuracy"
    F1 = "f1"
    BRIER = "brier"
    AUC = "auc"


@dataclass(frozen=True, eq=False)
class BinaryOutcomes:
    """Positives among the requests predicted positive and among the others, float64[..., k].

    Expected ones or drawn ones; leading axes are draws.
    """

    chosen: Floats
    other: Floats


def expected_outcomes(served: ServedScores, chance: Floats) -> BinaryOutcomes:
    """Expected positives of each group; `chance` float64[..., k]."""
    return BinaryOutcomes(served.chosen * chance, served.other * chance)


def drawn_outcomes(
    served: ServedScores, chances: Floats, rng: np.random.Generator
) -> BinaryOutcomes:
    """Positives drawn from the chances, one draw a row of `chances` float64[draws, k]."""
    return BinaryOutcomes(
        rng.binomial(served.chosen.astype(np.int64), chances).astype(np.float64),
        rng.binomial(served.other.astype(np.int64), chances).astype(np.float64),
    )


def accuracy(served: ServedScores, seen: BinaryOutcomes) -> Floats:
    """(Σ positives among chosen + Σ negatives among the others) / rows."""
    right = seen.chosen.sum(axis=-1) + served.other.sum() - seen.other.sum(axis=-1)
    return np.asarray(right / served.rows.sum())


def f1(served: ServedScores, seen: BinaryOutcomes) -> Floats:
    """2 tp / (rows predicted positive + positives); NaN when both are 0."""
    true_positives = seen.chosen.sum(axis=-1)
    positives = true_positives + seen.other.sum(axis=-1)
    with np.errstate(invalid="ignore"):
        return np.asarray(2 * true_positives / (served.chosen.sum() + positives))


def brier(served: ServedScores, seen: BinaryOutcomes) -> Floats:
    """Mean of s² - 2 s y + y; a group's positives are taken at its mean score."""
    mean_score = served.score_sums / served.rows
    positives = seen.chosen + seen.other
    total = served.square_sums.sum() + ((1 - 2 * mean_score) * positives).sum(axis=-1)
    return np.asarray(total / served.rows.sum())


def auc(served: ServedScores, seen: BinaryOutcomes) -> Floats:
    """Area under the curve of positives against negatives, from the highest raw score down.

    Sorted by the raw score: that is what the model ranks by, whatever the chances are. Requests of
    one score are ties. NaN without a positive or a negative.
    """
    positives = seen.chosen + seen.other
    negatives = served.rows - positives
    below = np.cumsum(negatives, axis=-1) - negatives / 2
    with np.errstate(invalid="ignore"):
        area = (positives * below).sum(axis=-1)
        return np.asarray(area / (positives.sum(axis=-1) * negatives.sum(axis=-1)))


VALUES = {
    BinaryEstimate.ACCURACY: accuracy,
    BinaryEstimate.F1: f1,
    BinaryEstimate.BRIER: brier,
    BinaryEstimate.AUC: auc,
}


def estimate(served: ServedScores, calibrator: Calibrator) -> dict[BinaryEstimate, float | None]:
    """Expected value of each measure; None where it is 0/0."""
    seen = expected_outcomes(served, calibrator.probability(served.score))
    found = {name: float(value(served, seen)) for name, value in VALUES.items()}
    return {name: value if math.isfinite(value) else None for name, value in found.items()}


def sigmas(
    served: ServedScores, fitted: FittedCalibrator, rng: np.random.Generator
) -> dict[BinaryEstimate, float]:
    """How far the realised measure of these rows may lie from its estimate, as one sigma.

    Accuracy and Brier: Σ a² c(1 - c)/m² (Poisson-binomial; a = 1 and 1 - 2s) plus the variance of
    the estimate over the refitted calibrators. F1 and AUC: the variance of values from labels drawn
    with those calibrators' chances (parametric bootstrap). To each comes the square of the bias
    that refitting shows: isotonic steps from few labels are too sharp.
    """
    chances = np.stack([one.probability(served.score) for one in fitted.resampled])
    chance = fitted.cautious.probability(served.score)
    refitted, drawn = expected_outcomes(served, chances), drawn_outcomes(served, chances, rng)
    plain = expected_outcomes(served, chance)
    own = served.rows * chance * (1 - chance) / served.rows.sum() ** 2
    slopes = 1 - 2 * served.score_sums / served.rows
    label_noise = {BinaryEstimate.ACCURACY: own.sum(), BinaryEstimate.BRIER: slopes**2 @ own}
    found = {}
    for name, measure in VALUES.items():
        expected = measure(served, refitted)
        variance = (
            float(label_noise[name]) + _variance(expected)
            if name in label_noise
            else _variance(measure(served, drawn))
        )
        found[name] = math.hypot(math.sqrt(variance), _bias(expected, measure(served, plain)))
    return found


def _bias(refitted: Floats, plain: Floats) -> float:
    known = refitted[np.isfinite(refitted)]
    return float(known.mean() - plain) if len(known) and np.isfinite(plain) else 0.0


def _variance(drawn: Floats) -> float:
    """Variance of the draws in which the measure is defined."""
    known = drawn[np.isfinite(drawn)]
    return float(known.var(ddof=1)) if len(known) > 1 else 0.0


def too_few_rows(
    served: ServedScores, calibrator: Calibrator, what: BinaryEstimate
) -> TooFew | None:
    """What is short: 50 scored requests, and 5 expected positives and negatives for F1 and AUC."""
    if served.n < MIN_ROWS:
        return TooFew(served.n, MIN_ROWS, "scored requests")
    positives = float(served.rows @ calibrator.probability(served.score))
    rarer = positives if what is BinaryEstimate.F1 else min(positives, served.n - positives)
    if what in (BinaryEstimate.F1, BinaryEstimate.AUC) and rarer < MIN_EVENTS:
        return TooFew(int(rarer), MIN_EVENTS, "expected cases of the rarer class")
    return None


def with_limits(
    value: float,
    sigma: float,
    n: int,
    n_reference: int,
    *,
    allowance: float = 0.0,
    highest: float = math.inf,
) -> Measured:
    """value ± z sqrt(sigma² + allowance²) within [0, highest]; the detail keeps `sigma`."""
    reach = normal_quantile() * math.hypot(sigma, allowance)
    low, high = max(0.0, value - reach), min(highest, value + reach)
    return Measured(value, n, low, high, LEVEL, n_reference, {"sigma": sigma})


def binary_estimates(
    served: ServedScores,
    fitted: FittedCalibrator,
    rng: np.random.Generator,
    *,
    n_reference: int,
    allowance: Mapping[str, float] | None = None,
) -> dict[BinaryEstimate, Outcome]:
    """Each measure with its interval for the realised value of these very requests.

    `allowance`: by measure, one sigma of the bias that matured cohorts have shown (`allowance`).
    The interval holds its coverage only while P(y | score) is what it was.
    """
    values = estimate(served, fitted.calibrator)
    errors: dict[BinaryEstimate, float] = {}
    found: dict[BinaryEstimate, Outcome] = {}
    for name, value in values.items():
        short = too_few_rows(served, fitted.calibrator, name)
        if short is not None or value is None:
            found[name] = short or Failed("no case of one class is to be expected")
            continue
        errors = errors or sigmas(served, fitted, rng)
        more = (allowance or {}).get(name, 0.0)
        found[name] = with_limits(
            value, errors[name], served.n, n_reference, allowance=more, highest=1.0
        )
    return found
