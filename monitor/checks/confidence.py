"""How sure the model says it is: level, doubt and closeness to the decision threshold.

Needs no label. A change is a reason to look, never by itself a loss of quality.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import normal_quantile, wilson_limits
from monitor.measurement import Outcome
from monitor.profiles.arrays import Floats
from monitor.profiles.columns import ColumnCounts
from monitor.profiles.labels import SCORE_CELLS, BinaryCounts

MIN_ROWS = 30
NEAR = 0.05


def score_confidence(counts: BinaryCounts, threshold: float) -> dict[str, Outcome]:
    """mean_score, near_threshold and entropy of all scored rows, labelled or not.

    near_threshold: share of scores within 0.05 of `threshold` (in [0, 1]), by the middle of their
    cell. entropy: mean of -Σ p log2 p of the two classes, in bits, 0 (sure) to 1. From 512 cells:
    a mean score is off by at most 1/1024.
    """
    rows = (counts.positives + counts.negatives + counts.unlabelled).astype(np.float64)
    middle = (np.arange(SCORE_CELLS) + 0.5) / SCORE_CELLS
    near = int(rows[np.abs(middle - threshold) <= NEAR].sum())
    entropy = (special.entr(middle) + special.entr(1 - middle)) / np.log(2)
    n = int(rows.sum())
    share, limits = (near / n, wilson_limits(near, n)) if n else (None, None)
    detail = {"threshold": threshold, "within": NEAR}
    floors = (Floor(n, MIN_ROWS, "rows with a score"),)
    return {
        "mean_score": _mean(rows, middle, n, {"binning_error_bound": 0.5 / SCORE_CELLS}),
        "near_threshold": measured_above(floors, share, n, limits, detail, "no scores"),
        "entropy": _mean(rows, entropy, n, {}),
    }


def _mean(rows: Floats, values: Floats, n: int, detail: dict[str, float]) -> Outcome:
    floors = (Floor(n, MIN_ROWS, "rows with a score"),)
    if n == 0:
        return measured_above(floors, None, 0, None, detail, "no scores")
    mean = float(rows @ values) / n
    variance = max(0.0, float(rows @ (values - mean) ** 2) / max(1, n - 1))
    reach = normal_quantile() * float(np.sqrt(variance / n))
    return measured_above(floors, mean, n, (mean - reach, mean + reach), detail)


def mean_confidence(column: ColumnCounts) -> Outcome:
    """Mean of a score or confidence view from its exact sums, with normal limits."""
    n = column.n_finite
    floors = (Floor(n, MIN_ROWS, "rows with a score"),)
    if column.mean is None:
        return measured_above(floors, None, n, None, None, "no scores")
    reach = normal_quantile() * (column.sd or 0.0) / float(np.sqrt(n))
    limits = (column.mean - reach, column.mean + reach)
    return measured_above(floors, column.mean, n, limits, {"sd": column.sd})
