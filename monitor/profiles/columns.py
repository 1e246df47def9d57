"""The columns part of a profile: counts per cell, violations by reason, fixed-point sums.

Names in the part: `cells/{view}` int64[n_cells]; `sums/{view}` int64[5] = (n finite, sum of q, sum
of q² >> 26, sum of the low 26 bits of q², values clipped) with
q = clip(rint((x - centre) / scale · 65536), ±2²⁶), number views only; `violations/{column}`
int64[64] by reason, left out when there are none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from monitor.profiles.arrays import Integers
from monitor.profiles.binning import Binning
from monitor.profiles.cells import NumberCells, ViewCells
from monitor.profiles.part import Part
from monitor.records import ViolationReason

CELLS, SUMS, VIOLATIONS = "cells/", "sums/", "violations/"
FIXED_UNIT = 65_536
FIXED_LIMIT = 2**26
HALF_BITS = 26


@dataclass(frozen=True, eq=False)
class ColumnCounts:
    """What a columns part says about one view.

    `counts` int64[n_cells], the missing cell last. `mean` is None without a finite value, `sd` (of
    the sample, n - 1) with fewer than two; both are None for categories. They come from fixed-point
    sums: each value is rounded to 1/65,536 of the cells' scale and clipped at 1,024 scales
    (`clipped` says how often).
    """

    view: str
    cells: ViewCells
    counts: Integers
    violations: Mapping[ViolationReason, int]
    n_finite: int = 0
    mean: float | None = None
    sd: float | None = None
    clipped: int = 0

    @property
    def n(self) -> int:
        """All rows, missing included."""
        return int(self.counts.sum())

    @property
    def n_missing(self) -> int:
        """Rows without a value."""
        return int(self.counts[-1])


def column_counts(part: Part, binning: Binning, view: str) -> ColumnCounts:
    """Counts of one view; all zero when the part does not hold it. KeyError for an unknown view."""
    cells = binning.views[view]
    counts = part.dense.get(CELLS + view, np.zeros(cells.n_cells, np.int64))
    violations = violation_counts(part, binning.column_of(view))
    if not isinstance(cells, NumberCells) or SUMS + view not in part.dense:
        return ColumnCounts(view, cells, counts, violations)
    sums = tuple(int(value) for value in part.dense[SUMS + view])
    mean, sd = fixed_moments(sums[0], sums[1], sums[2], sums[3])
    return ColumnCounts(
        view,
        cells,
        counts,
        violations,
        n_finite=sums[0],
        mean=None if mean is None else cells.centre + mean * cells.scale,
        sd=None if sd is None else sd * cells.scale,
        clipped=sums[4],
    )


def violation_counts(part: Part, column: str) -> dict[ViolationReason, int]:
    """Violations of one column by reason; the empty column name holds those of unknown columns."""
    counts = part.dense.get(VIOLATIONS + column)
    if counts is None:
        return {}
    return {ViolationReason(int(code)): int(counts[code]) for code in np.flatnonzero(counts)}


def fixed_moments(n: int, total: int, high: int, low: int) -> tuple[float | None, float | None]:
    """Mean and sample standard deviation in scales from exact sums; None where undefined."""
    if n == 0:
        return None, None
    mean = total / n / FIXED_UNIT
    if n == 1:
        return mean, None
    squares = (high << HALF_BITS) + low
    spread = n * squares - total * total
    return mean, math.sqrt(spread / (n * (n - 1))) / FIXED_UNIT
