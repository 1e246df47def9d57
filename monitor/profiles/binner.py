"""Finds the cell of many values at once. Equal to numpy.searchsorted(edges, values, "right").

A table over equal steps of the value range says how many edges lie in earlier steps; the edges
inside the value's own step are compared directly. Subtraction and multiplication by a positive
number are monotone in floating point, so no rounding can move a value past an edge.
"""

from __future__ import annotations

import numpy as np

from monitor.profiles.arrays import CellNumbers, Floats

_STEPS = 8192
_FEW_EDGES = 6
_MOST_TRIMMED = 5


class Binner:
    """Cells cut at strictly increasing finite edges; NaN goes to cell len(edges) + 1."""

    def __init__(self, edges: Floats) -> None:
        self._edges = edges
        self._missing = len(edges) + 1
        self._table = _best_table(edges) if len(edges) > _FEW_EDGES else None

    def assign(self, values: Floats) -> CellNumbers:
        """The cell of each value, float64[n] -> int32[n]."""
        if self._table is not None:
            cells = self._table.assign(values)
        elif len(self._edges) <= _FEW_EDGES:
            cells = np.zeros(len(values), np.int32)
            for edge in self._edges:
                cells += values >= edge
        else:
            cells = np.searchsorted(self._edges, values, "right").astype(np.int32)
        absent = np.isnan(values)
        if absent.any():
            cells[absent] = self._missing
        return cells


class _StepTable:
    """A table of steps between two of the edges; `crowded` counts edges in steps of over two."""

    def __init__(self, edges: Floats, low: float, high: float) -> None:
        self._edges, self._low = edges, low
        self._per_unit = _STEPS / (high - low)
        step = self._step(edges)
        count = np.bincount(step, minlength=_STEPS + 2)
        self._before = (np.cumsum(count) - count).astype(np.int32)
        self._first = np.full(_STEPS + 2, np.nan)
        self._second = np.full(_STEPS + 2, np.nan)
        for place in np.flatnonzero(count):
            inside = edges[step == place]
            self._first[place] = inside[0]
            self._second[place] = inside[1] if len(inside) > 1 else np.nan
        self._many = count > 2
        self.crowded = int(count[self._many].sum())
        self._has_second = bool((count == 2).any()) or self.crowded > 0

    def _step(self, values: Floats) -> CellNumbers:
        with np.errstate(over="ignore"):
            steps = (values - self._low) * self._per_unit
        # fmax gives -1 for NaN, which then passes no edge
        np.fmin(np.fmax(steps, -1.0, out=steps), float(_STEPS), out=steps)
        steps += 1.0
        return steps.astype(np.int32)

    def assign(self, values: Floats) -> CellNumbers:
        step = self._step(values)
        cells = self._before[step]
        cells += values >= self._first[step]
        if self._has_second:
            cells += values >= self._second[step]
        if self.crowded:
            many = np.flatnonzero(self._many[step])
            cells[many] = np.searchsorted(self._edges, values[many], "right")
        return cells


def _best_table(edges: Floats) -> _StepTable | None:
    """The table whose steps are least crowded, leaving out up to five far edges on each side."""
    best: _StepTable | None = None
    for trimmed in range(min(_MOST_TRIMMED, (len(edges) - 2) // 2) + 1):
        low, high = float(edges[trimmed]), float(edges[-1 - trimmed])
        with np.errstate(over="ignore", divide="ignore"):
            per_unit = np.float64(_STEPS) / (np.float64(high) - np.float64(low))
        if not (np.isfinite(per_unit) and per_unit > 0):
            continue
        table = _StepTable(edges, low, high)
        if best is None or table.crowded < best.crowded:
            best = table
    return best
