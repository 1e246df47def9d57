"""Area under the ROC curve with DeLong's variance, from counts per score cell.

Knows counts of positives and negatives per ordered cell, nothing of models or profiles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from monitor.checks.intervals import LEVEL, normal_quantile, wilson_limits


@dataclass(frozen=True)
class AucEstimate:
    """`auc` in [0, 1], its standard error, limits, and what binning the scores can hide.

    `binning_error`: the area from unbinned scores lies within auc ± binning_error. `degrees`: of
    freedom of the standard error (Welch and Satterthwaite), infinite where it is 0; few rows of one
    class make it small, and the normal limits too narrow.
    """

    auc: float
    standard_error: float
    low: float
    high: float
    binning_error: float
    degrees: float = float("inf")


def delong(
    positives: NDArray[np.int64], negatives: NDArray[np.int64], level: float = LEVEL
) -> AucEstimate:
    """AUC of scores grouped in ascending cells; `positives[i]`, `negatives[i]` count cell i.

    AUC = P(score of a positive > score of a negative) + ½ P(equal): rows of one cell are ties and
    count half. Variance = S10/n1 + S01/n0 from the placement values (DeLong, DeLong and
    Clarke-Pearson 1988), the interval on the logit scale. At AUC 0 or 1 the variance is 0 and says
    nothing: the limits are then Wilson's for the smaller class. Not for clustered rows (many rows
    of one entity). Needs two rows of each class.
    """
    n1, n0 = int(positives.sum()), int(negatives.sum())
    if n1 < 2 or n0 < 2:
        raise AssertionError(f"DeLong needs two rows of each class, not {n1} and {n0}")
    positives_share, negatives_share = positives / n1, negatives / n0
    placement_1 = np.cumsum(negatives_share) - negatives_share / 2
    placement_0 = 1 - np.cumsum(positives_share) + positives_share / 2
    auc = float(np.clip(positives_share @ placement_1, 0.0, 1.0))
    s10 = float(positives @ (placement_1 - auc) ** 2) / (n1 - 1)
    s01 = float(negatives @ (placement_0 - auc) ** 2) / (n0 - 1)
    standard_error = float(np.sqrt(s10 / n1 + s01 / n0))
    low, high = _logit_limits(auc, standard_error, min(n1, n0), level)
    ties = float(positives_share @ negatives_share) / 2
    degrees = _degrees((s10 / n1, n1 - 1), (s01 / n0, n0 - 1))
    return AucEstimate(auc, standard_error, low, high, ties, degrees)


def _degrees(*parts: tuple[float, int]) -> float:
    total = sum(variance for variance, _ in parts)
    if total <= 0:
        return float("inf")
    return total**2 / sum(variance**2 / degrees for variance, degrees in parts)


def _logit_limits(
    auc: float, standard_error: float, smaller_class: int, level: float
) -> tuple[float, float]:
    if not (1e-12 < auc < 1 - 1e-12 and standard_error > 0):
        return wilson_limits(auc * smaller_class, smaller_class, level)
    reach = normal_quantile(level) * standard_error / (auc * (1 - auc))
    middle = float(np.log(auc / (1 - auc)))
    low, high = 1 / (1 + np.exp(-(middle - reach))), 1 / (1 + np.exp(-(middle + reach)))
    return float(low), float(high)


@dataclass(frozen=True)
class AucDifference:
    """Area of the second score minus area of the first on the same rows; z, p two-sided."""

    first: float
    second: float
    difference: float
    standard_error: float
    low: float
    high: float
    z: float
    p_value: float


def paired_delong(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    positive: NDArray[np.bool_],
    level: float = LEVEL,
) -> AucDifference:
    """Two scores of the same rows compared: float64[n] each, `positive` bool[n].

    The covariance of the two areas comes from their placement values (DeLong, DeLong and
    Clarke-Pearson 1988); limits are normal. For two scores on other rows add the two squared
    standard errors instead. Needs two rows of each class; scores are compared as they are, ties
    count half.
    """
    if min(int(positive.sum()), int((~positive).sum())) < 2:
        raise AssertionError("DeLong needs two rows of each class")
    of_first, of_second = _placements(first, positive), _placements(second, positive)
    areas = [float(of_one[0].mean()) for of_one in (of_first, of_second)]
    # Rows of one class are independent of those of the other: their parts add up.
    variance = sum(
        float(np.var(after - before, ddof=1)) / len(before)
        for before, after in zip(of_first, of_second, strict=True)
    )
    difference, error = areas[1] - areas[0], float(np.sqrt(variance))
    reach = normal_quantile(level) * error
    z = difference / error if error > 0 else 0.0
    p_value = float(2 * special.ndtr(-abs(z))) if error > 0 else float(difference == 0)
    return AucDifference(
        areas[0], areas[1], difference, error,
        difference - reach, difference + reach, z, p_value,
    )  # fmt: skip


def _placements(
    score: NDArray[np.float64], positive: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each positive the share of negatives below it, of each negative the share of positives
    above it; equal scores count half.
    """
    ones, zeros = score[positive], score[~positive]
    every = stats.rankdata(np.concatenate((ones, zeros)))
    below = every[: len(ones)] - stats.rankdata(ones)
    lower = every[len(ones) :] - stats.rankdata(zeros)
    return below / len(zeros), 1 - lower / len(ones)
