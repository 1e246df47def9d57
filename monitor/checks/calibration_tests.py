"""Two tests of "the scores are probabilities": Cox's recalibration and Spiegelhalter's Z."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from monitor.profiles.arrays import Floats
from monitor.profiles.labels import BinaryCounts

LOGIT_CLIP = 1e-6
_MAX_STEPS = 60
_LARGEST_PARAMETER = 50.0


@dataclass(frozen=True)
class CoxFit:
    """logit P(y=1) = intercept + slope · logit score; 0 and 1 mean calibrated.

    `p_value` is of the likelihood ratio against (0, 1) on 2 df; `clipped` rows had a score within
    1e-6 of 0 or 1.
    """

    intercept: float
    slope: float
    slope_standard_error: float
    likelihood_ratio: float
    p_value: float
    clipped: int


@dataclass(frozen=True)
class SpiegelhalterTest:
    """Standard normal for calibrated scores; positive when confident scores fail too often."""

    z: float
    p_value: float


def cox(rows: Floats, positives: Floats, score: Floats) -> CoxFit | str:
    """Fit by Newton's method on grouped rows, all float64[k] (Cox 1958); a reason when it can't be.

    Takes each cell's rows at the cell's mean score. A slope below 1 means overconfident scores. No
    fit exists when all scores are equal or the classes separate completely.
    """
    logit = special.logit(np.clip(score, LOGIT_CLIP, 1 - LOGIT_CLIP))
    if np.ptp(logit) < 1e-9:
        return "all scores are equal; a slope needs at least two different ones"
    outside = (score < LOGIT_CLIP) | (score > 1 - LOGIT_CLIP)
    design = np.column_stack((np.ones_like(logit), logit))
    fitted = _newton(design, rows, positives)
    if fitted is None:
        return "no finite fit: the score separates the labels completely"
    parameters, information = fitted
    best = _log_likelihood(design @ parameters, rows, positives)
    ratio = max(0.0, 2 * (best - _log_likelihood(logit, rows, positives)))
    return CoxFit(
        float(parameters[0]),
        float(parameters[1]),
        float(np.sqrt(np.linalg.inv(information)[1, 1])),
        ratio,
        float(special.chdtrc(2, ratio)),
        int(rows[outside].sum()),
    )


def _newton(design: Floats, rows: Floats, positives: Floats) -> tuple[Floats, Floats] | None:
    parameters = np.array([0.0, 1.0])
    current = _log_likelihood(design @ parameters, rows, positives)
    for _ in range(_MAX_STEPS):
        chance = special.expit(design @ parameters)
        gradient = design.T @ (positives - rows * chance)
        information = design.T @ (design * (rows * chance * (1 - chance))[:, None])
        if np.linalg.cond(information) > 1e12:
            return None
        step = np.linalg.solve(information, gradient)
        trial = _log_likelihood(design @ (parameters + step), rows, positives)
        while trial < current - 1e-9 and np.abs(step).max() > 1e-12:
            step = step / 2
            trial = _log_likelihood(design @ (parameters + step), rows, positives)
        parameters, current = parameters + step, trial
        if np.abs(parameters).max() > _LARGEST_PARAMETER:
            return None
        if np.abs(step).max() < 1e-10:
            return parameters, information
    return None


def _log_likelihood(logit: Floats, rows: Floats, positives: Floats) -> float:
    return float(positives @ logit - rows @ np.logaddexp(0.0, logit))


def spiegelhalter(counts: BinaryCounts) -> SpiegelhalterTest | None:
    """Z = Σ (y - f)(1 - 2f)/sqrt(Σ (1 - 2f)² f(1 - f)) (Spiegelhalter 1986); None when 0/0.

    The numerator is exact from sums; the denominator takes cells at their mean score. Blind to a
    shift of all scores by the same amount.
    """
    rows = counts.positives + counts.negatives
    used = rows > 0
    score = np.clip(counts.score_sums[used] / rows[used], 0.0, 1.0)
    variance = float(rows[used] @ ((1 - 2 * score) ** 2 * score * (1 - score)))
    if variance <= 1e-12:
        return None
    numerator = counts.positives.sum() - counts.score_sums.sum()
    numerator += 2 * (counts.score_square_sums.sum() - counts.score_label_sums.sum())
    z = float(numerator / np.sqrt(variance))
    return SpiegelhalterTest(z, float(2 * special.ndtr(-abs(z))))
