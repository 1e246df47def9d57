"""Tests of "the scores are probabilities": Cox's recalibration, Spiegelhalter's Z, Hosmer-Lemeshow.

Each sees another fault, so that they are used together with the error level split between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from monitor.checks.calibration_cells import ScoreCells, ScoredCounts, score_cells
from monitor.checks.reliability import Reliability
from monitor.profiles.arrays import Floats, Integers

LOGIT_CLIP = 1e-6
LEAST_EXPECTED = 5.0
_MAX_STEPS = 60
_LARGEST_PARAMETER = 50.0


@dataclass(frozen=True)
class CoxFit:
    """logit P(y=1) = intercept + slope · logit score; 0 and 1 mean calibrated.

    `covariance` of the two, in this order, float64[2, 2]; `p_value` is of the likelihood ratio
    against (0, 1) on 2 df; `clipped` rows had a score within 1e-6 of 0 or 1.
    """

    intercept: float
    slope: float
    covariance: Floats
    likelihood_ratio: float
    p_value: float
    clipped: int

    @property
    def slope_standard_error(self) -> float:
        return float(np.sqrt(self.covariance[1, 1]))

    @property
    def intercept_standard_error(self) -> float:
        return float(np.sqrt(self.covariance[0, 0]))


@dataclass(frozen=True)
class ShiftFit:
    """Calibration in the large: logit P(y=1) = shift + logit score; 0 means calibrated on average.

    Below 0 scores are too high. `p_value`: of (shift / standard error)², on 1 df.
    """

    shift: float
    standard_error: float
    p_value: float


@dataclass(frozen=True)
class SpiegelhalterTest:
    """Standard normal for calibrated scores; positive when confident scores fail too often."""

    z: float
    p_value: float


@dataclass(frozen=True)
class HosmerLemeshowTest:
    """Chi-square on as many degrees of freedom as groups for scores that were not fitted here."""

    statistic: float
    degrees: int
    p_value: float


def cox(rows: Floats, positives: Floats, score: Floats) -> CoxFit | str:
    """Fit by Newton's method on grouped rows, all float64[k] (Cox 1958); a reason when it can't be.

    Takes each cell's rows at the cell's mean score. A slope below 1 means overconfident scores. No
    fit exists when all scores are equal or the classes separate completely.
    """
    logit = _logit(score)
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
        np.asarray(np.linalg.inv(information), np.float64),
        ratio,
        float(special.chdtrc(2, ratio)),
        int(rows[outside].sum()),
    )


def _logit(score: Floats) -> Floats:
    return np.asarray(special.logit(np.clip(score, LOGIT_CLIP, 1 - LOGIT_CLIP)), np.float64)


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


def calibration_shift(cells: ScoreCells) -> ShiftFit | None:
    """The intercept with the slope held at 1 (Cox 1958; Steyerberg 2009); None with one class.

    Σ expit(shift + logit f) = Σ y is solved by Newton's method; it rises with the shift, so there
    is one solution. The standard error is the sandwich sqrt(Σ (y - p)²)/Σ p(1 - p) (White 1982), as
    the slope need not be 1. It sees a plain shift best and is blind to slopes that cancel.
    """
    wanted = float(cells.positives.sum())
    if wanted in (0.0, cells.n):
        return None
    logit = _logit(cells.score)
    shift, information = 0.0, 1.0
    for _ in range(_MAX_STEPS):
        chance = special.expit(shift + logit)
        information = float(cells.rows @ (chance * (1 - chance)))
        step = float(np.clip((wanted - cells.rows @ chance) / max(information, 1e-12), -2, 2))
        shift += step
        if abs(step) < 1e-11:
            break
    chance = special.expit(shift + logit)
    squares = cells.positives @ (1 - chance) ** 2 + (cells.rows - cells.positives) @ chance**2
    error = float(np.sqrt(squares) / information)
    return ShiftFit(shift, error, float(2 * special.ndtr(-abs(shift / error))))


def spiegelhalter(counts: ScoredCounts) -> SpiegelhalterTest | None:
    """Z = Σ (y - f)(1 - 2f)/sqrt(Σ (1 - 2f)² f(1 - f)) (Spiegelhalter 1986); None when 0/0.

    The numerator is exact from sums; the denominator takes cells at their mean score. Blind to a
    shift of all scores by the same amount.
    """
    cells = score_cells(counts)
    variance = float(cells.rows @ ((1 - 2 * cells.score) ** 2 * cells.score * (1 - cells.score)))
    if variance <= 1e-12:
        return None
    numerator = counts.positives.sum() - counts.score_sums.sum()
    numerator += 2 * (counts.score_square_sums.sum() - counts.score_label_sums.sum())
    z = float(numerator / np.sqrt(variance))
    return SpiegelhalterTest(z, float(2 * special.ndtr(-abs(z))))


def hosmer_lemeshow(table: Reliability) -> HosmerLemeshowTest | None:
    """Σ (O - E)²/V over groups, V = Σ f(1 - f) (Hosmer and Lemeshow 1980); None without a group.

    Scores come from a model that was fitted elsewhere, so df = number of groups, not groups - 2.
    Wants groups that expect five of each class: see `groups_that_expect`.
    """
    variance = table.rows * table.score_variance
    used = variance > 1e-12
    if not used.any():
        return None
    gap = table.positives[used] - table.rows[used] * table.mean_score[used]
    statistic = float(np.sum(gap**2 / variance[used]))
    degrees = int(used.sum())
    return HosmerLemeshowTest(statistic, degrees, float(special.chdtrc(degrees, statistic)))


def groups_that_expect(table: Reliability, least: float = LEAST_EXPECTED) -> Reliability:
    """Neighbouring groups put together until each expects `least` positives and negatives.

    The last one takes in what is left over; fewer than one such group gives one group of all.
    """
    expected = table.rows * table.mean_score
    of_group = neighbours_until((expected, table.rows - expected), least)
    rows, positives = np.bincount(of_group, table.rows), np.bincount(of_group, table.positives)
    full = np.maximum(rows, 1)
    return Reliability(
        rows.astype(np.int64),
        positives.astype(np.int64),
        np.bincount(of_group, expected) / full,
        positives / full,
        np.bincount(of_group, table.rows * table.score_variance) / full,
    )


def neighbours_until(amounts: Sequence[Floats], least: float) -> Integers:
    """A group for each place, int64[k]: neighbours join until every amount reaches `least`.

    What is left over at the end joins the last group; without a full group all are one.
    """
    groups, held, of_place = 0, np.zeros(len(amounts)), []
    for place in np.column_stack(amounts):
        of_place.append(groups)
        held = held + place
        if held.min() >= least:
            groups, held = groups + 1, np.zeros(len(amounts))
    return np.minimum(np.asarray(of_place, np.int64), max(groups - 1, 0))


def combined_p_value(p_values: Mapping[str, float]) -> float:
    """min(1, k · smallest of k p-values): the level is split evenly (Bonferroni).

    Holds the level whatever the dependence between the tests. Needs at least one.
    """
    return min(1.0, len(p_values) * min(p_values.values()))
