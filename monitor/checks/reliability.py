"""The reliability table: scores in groups, what they promised and what came true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from monitor.checks.calibration_cells import ScoredCounts
from monitor.checks.intervals import wilson_limits
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.labels import SCORE_CELLS


@dataclass(frozen=True, eq=False)
class Reliability:
    """Per group: rows, positives, mean score, observed share, mean of f(1 - f).

    Empty groups have 0 in every field; `as_rows` writes their means as None.
    """

    rows: Integers
    positives: Integers
    mean_score: Floats
    observed: Floats
    score_variance: Floats

    def as_rows(self) -> list[dict[str, Any]]:
        """JSON rows: n, mean_score, observed, low, high (Wilson); None where a group is empty."""
        return [self._row(group) for group in range(len(self.rows))]

    def _row(self, group: int) -> dict[str, Any]:
        n = int(self.rows[group])
        if n == 0:
            return {"n": 0, "mean_score": None, "observed": None, "low": None, "high": None}
        low, high = wilson_limits(int(self.positives[group]), n)
        return {
            "n": n,
            "mean_score": float(self.mean_score[group]),
            "observed": float(self.observed[group]),
            "low": low,
            "high": high,
        }


def equal_mass_groups(counts: ScoredCounts, groups: int) -> Integers:
    """Group of each score cell, int64[512], so that groups hold about equally many labelled rows.

    A cell belongs where its middle row does and is never cut; groups that get no cell are left
    out, so many equal scores give fewer groups.
    """
    rows = counts.positives + counts.negatives
    middle = (np.cumsum(rows) - rows / 2) / max(1, int(rows.sum()))
    wanted = np.minimum((middle * groups).astype(np.int64), groups - 1)
    used = np.unique(wanted[rows > 0])
    return np.minimum(np.searchsorted(used, wanted), max(0, len(used) - 1)).astype(np.int64)


def equal_width_groups(groups: int) -> Integers:
    """Group of each score cell, int64[512], for groups of equal width: the same in every window."""
    middle = (np.arange(SCORE_CELLS) + 0.5) / SCORE_CELLS
    return (middle * groups).astype(np.int64)


def reliability(counts: ScoredCounts, group_of_cell: Integers) -> Reliability:
    """Sum the labelled rows of the score cells by group; mean scores are exact."""
    size = int(group_of_cell.max()) + 1
    cell_rows = counts.positives + counts.negatives
    rows = np.bincount(group_of_cell, cell_rows, size)
    positives = np.bincount(group_of_cell, counts.positives, size)
    scores = np.bincount(group_of_cell, counts.score_sums, size)
    spread = counts.score_sums - counts.score_square_sums
    variances = np.bincount(group_of_cell, spread, size)
    full = np.maximum(rows, 1)
    return Reliability(
        rows.astype(np.int64),
        positives.astype(np.int64),
        scores / full,
        positives / full,
        np.maximum(variances, 0.0) / full,
    )
