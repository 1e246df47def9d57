"""Counts and fixed-point sums of one view, filled tile by tile. Everything in it is an integer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from monitor.profiles.arrays import CellNumbers, Floats, Integers
from monitor.profiles.cells import CategoryCells, NumberCells
from monitor.profiles.columns import FIXED_LIMIT, FIXED_UNIT, HALF_BITS
from monitor.profiles.groups import TileGroups


class FixedPoint(NamedTuple):
    """Values in units of scale / 65,536: q, q² >> 26, the low 26 bits of q², which were clipped.

    All are float64[n] holding whole numbers; `clipped` is None when no value was.
    """

    q: Floats
    high: Floats
    low: Floats
    clipped: Floats | None


def fixed_point(values: Floats, centre: float, scale: float) -> FixedPoint:
    """q = clip(rint((x - centre) / scale · 65536), ±2²⁶) and the halves of q²; NaN gives 0."""
    with np.errstate(over="ignore"):
        q = values - centre
        q /= scale
        q *= FIXED_UNIT
    np.rint(q, out=q)
    q[np.isnan(q)] = 0.0
    size = np.abs(q)
    clipped = None
    if len(size) and size.max() > FIXED_LIMIT:
        clipped = (size > FIXED_LIMIT).astype(np.float64)
        np.clip(q, -FIXED_LIMIT, FIXED_LIMIT, out=q)
    squares = q * q  # at most 2^52: exact
    high = np.floor(squares * 2.0**-HALF_BITS)
    squares -= high * 2.0**HALF_BITS
    return FixedPoint(q, high, squares, clipped)


class NumberTally:
    """Counts and sums of a number-like view for n_groups groups."""

    def __init__(self, cells: NumberCells, n_groups: int) -> None:
        self._cells = cells
        self.counts = np.zeros((n_groups, cells.n_cells), np.int64)
        self.sums = np.zeros((n_groups, 5), np.int64)

    def add(self, values: Floats, memberships: Sequence[TileGroups]) -> CellNumbers:
        """Count a tile's values, float64[n] with NaN missing; returns their cells."""
        cells = self._cells.assign(values)
        fixed = fixed_point(values, self._cells.centre, self._cells.scale)
        for groups in memberships:
            counts = groups.histogram(cells, self._cells.n_cells)
            self.counts[groups.ids] += counts
            self.sums[groups.ids, 0] += counts[:, :-1].sum(axis=1)
            for place, column in enumerate(fixed, start=1):
                if column is not None:
                    self.sums[groups.ids, place] += groups.totals(column)
        return cells


class CategoryTally:
    """Counts of a category view for n_groups groups."""

    def __init__(self, cells: CategoryCells, n_groups: int) -> None:
        self._cells = cells
        self.counts = np.zeros((n_groups, cells.n_cells), np.int64)

    def add(self, values: pa.Array, memberships: Sequence[TileGroups]) -> None:
        """Count a tile's values, text[n] with null missing."""
        cells = self._cells.assign(values)
        for groups in memberships:
            self.counts[groups.ids] += groups.histogram(cells, self._cells.n_cells)


class PairsTally:
    """Sums of products of cell scores over rows that have both, upper triangle row by row."""

    def __init__(self, n_views: int, n_groups: int) -> None:
        self._upper = np.triu_indices(n_views)
        self.sums = np.zeros((n_groups, len(self._upper[0])), np.int64)
        self.n = np.zeros_like(self.sums)

    def add(self, scores: Floats, present: Floats, memberships: Sequence[TileGroups]) -> None:
        """Add a tile: scores float64[views, n] (0 where missing), present 0 or 1.

        Scores stay below 2^13, so a tile's sums stay far below 2^53 and matrix products are exact.
        """
        complete = bool(present.all())
        for groups in memberships:
            for group, rows in groups.members():
                part = scores if rows is None else scores[:, rows]
                self.sums[group] += self._products(part)
                if complete:
                    self.n[group] += part.shape[1]
                else:
                    self.n[group] += self._products(present if rows is None else present[:, rows])

    def _products(self, part: Floats) -> Integers:
        return (part @ part.T)[self._upper].astype(np.int64)
