"""Estimates from labelled rows that are weighted to look like the cohort (PAPE). Pure.

Correct while P(y | x) is unchanged, also where P(y | score) is not: columns that the score misses
may have moved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.checks.estimation.calibrator import (
    FittedCalibrator,
    LabelledScores,
    cautious_calibrator,
    fit_calibrator,
    too_few_labels,
)
from monitor.measurement import TooFew
from monitor.profiles.arrays import Floats

REWEIGHTED_DRAWS = 50


@dataclass(frozen=True, eq=False)
class Reweighted:
    """A calibrator for one cohort; `effective` labelled rows stand behind it."""

    fitted: FittedCalibrator
    effective: float


def reweighted_calibrator(
    score: Floats,
    positive: Floats,
    weight: Floats,
    rng: np.random.Generator,
    draws: int = REWEIGHTED_DRAWS,
) -> Reweighted | TooFew:
    """Refit the calibrator with density-ratio weights (Białek, Kuberski and Perrakis 2024).

    `score`, `positive` (0 or 1), `weight` float64[n]. TooFew when the weighted rows are worth fewer
    than 500 labels or 50 of a class, (Σw)²/Σw² each. Refits as in `fit_with_draws`, by rows with
    their weights; the weights' own error is not in them.
    """
    ones = _effective(weight[positive == 1])
    zeros = _effective(weight[positive == 0])
    effective = _effective(weight)
    short = too_few_labels(min(effective, ones + zeros) - min(ones, zeros), min(ones, zeros))
    if short is not None:
        return short
    labelled = LabelledScores.of_rows(score, positive, weight)
    cautious = cautious_calibrator(labelled)
    chance = cautious.probability(score)
    counts = rng.multinomial(len(score), np.full(len(score), 1 / len(score)), size=draws)
    drawn = (rng.random(counts.shape) < chance).astype(np.float64)
    resampled = tuple(
        fit_calibrator(LabelledScores.of_rows(score, ones, weight * times))
        for ones, times in zip(drawn, counts, strict=True)
    )
    return Reweighted(FittedCalibrator(fit_calibrator(labelled), cautious, resampled), effective)


def _effective(weight: Floats) -> float:
    squares = float((weight**2).sum())
    return float(weight.sum()) ** 2 / squares if squares > 0 else 0.0
