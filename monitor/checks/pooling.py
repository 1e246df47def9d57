"""Union of fine cells into test cells that are full enough for a chi-square statistic.

Knows expected counts only. The pooling looks at margins, never at the difference under test.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MIN_EXPECTED = 5.0


def pool_neighbours(
    expected: NDArray[np.float64], least: float = MIN_EXPECTED
) -> NDArray[np.int64]:
    """Group number of each cell, int64[k]: neighbours join until each group expects `least` rows.

    For ordered cells. A rest at the end joins the last full group; all in one group when nothing
    is full enough.
    """
    groups = np.empty(len(expected), np.int64)
    group, held = 0, 0.0
    for place, rows in enumerate(expected.tolist()):
        groups[place] = group
        held += rows
        if held >= least:
            group, held = group + 1, 0.0
    groups[groups == group] = max(0, group - 1)
    return groups


def pool_rare(expected: NDArray[np.float64], least: float = MIN_EXPECTED) -> NDArray[np.int64]:
    """Group number of each cell, int64[k]: cells that expect fewer than `least` rows become one.

    For unordered cells. If the rare cells together expect fewer than `least`, the smallest full
    cell joins them (Cochran 1954 asks for 5; keeping thin cells inflates the statistic's tail).
    """
    rare = expected < least
    if rare.all():
        return np.zeros(len(expected), np.int64)
    if rare.any() and expected[rare].sum() < least:
        full = np.flatnonzero(~rare)
        rare[full[np.argmin(expected[full])]] = True
    groups = np.empty(len(expected), np.int64)
    kept = int((~rare).sum())
    groups[~rare] = np.arange(kept)
    groups[rare] = kept
    return groups


def group_sums(counts: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Counts by group along the last axis: float64[..., k] -> float64[..., groups]."""
    membership = np.zeros((counts.shape[-1], int(groups.max()) + 1))
    membership[np.arange(counts.shape[-1]), groups] = 1.0
    summed: NDArray[np.float64] = counts @ membership
    return summed
