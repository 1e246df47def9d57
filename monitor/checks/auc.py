"""Area under the ROC curve with DeLong's variance, from counts per score cell.

Knows counts of positives and negatives per ordered cell, nothing of models or profiles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from monitor.checks.intervals import LEVEL, normal_quantile, wilson_limits


@dataclass(frozen=True)
class AucEstimate:
    """`auc` in [0, 1], its standard error, limits, and what binning the scores can hide.

    `binning_error`: the area from unbinned scores lies within auc ± binning_error.
    """

    auc: float
    standard_error: float
    low: float
    high: float
    binning_error: float


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
    return AucEstimate(auc, standard_error, low, high, ties)


def _logit_limits(
    auc: float, standard_error: float, smaller_class: int, level: float
) -> tuple[float, float]:
    if not (1e-12 < auc < 1 - 1e-12 and standard_error > 0):
        return wilson_limits(auc * smaller_class, smaller_class, level)
    reach = normal_quantile(level) * standard_error / (auc * (1 - auc))
    middle = float(np.log(auc / (1 - auc)))
    low, high = 1 / (1 + np.exp(-(middle - reach))), 1 / (1 + np.exp(-(middle + reach)))
    return float(low), float(high)
