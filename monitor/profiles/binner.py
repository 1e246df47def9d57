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


class _Steps:
    """Equal steps between two of the edges: step 0 lies below, the last one above."""

    def __init__(self, low: float, high: float) -> None:
        self._low = low
        with np.errstate(over="ignore", divide="ignore"):
            self._per_unit = np.float64(_STEPS) / (np.float64(high) - np.float64(low))
        self.usable = bool(np.isfinite(self._per_unit) and self._per_unit > 0)

    def of(self, values: Floats) -> CellNumbers:
        """The step of each value, int32[n] in 0.._STEPS + 1."""
        with np.errstate(over="ignore"):
            steps = (values - self._low) * self._per_unit
        # fmax gives -1 for NaN, which then passes no edge
        np.fmin(np.fmax(steps, -1.0, out=steps), float(_STEPS), out=steps)
        steps += 1.0
        return steps.astype(np.int32)


class _StepTable:
    """Edges by step: how many lie in earlier steps, the first and second inside, more than two."""

    def __init__(self, edges: Floats, steps: _Steps) -> None:
        self._edges, self._steps = edges, steps
        place = steps.of(edges)
        count = np.bincount(place, minlength=_STEPS + 2)
        self._before = (np.cumsum(count) - count).astype(np.int32)
        rank = np.arange(len(edges)) - self._before[place]
        self._first = _by_step(place[rank == 0], edges[rank == 0])
        self._second = _by_step(place[rank == 1], edges[rank == 1])
        self._many = count > 2
        self._has_second = bool((rank == 1).any())
        self._has_many = bool(self._many.any())

    def assign(self, values: Floats) -> CellNumbers:
        step = self._steps.of(values)
        cells = self._before[step]
        cells += values >= self._first[step]
        if self._has_second:
            cells += values >= self._second[step]
        if self._has_many:
            many = np.flatnonzero(self._many[step])
            cells[many] = np.searchsorted(self._edges, values[many], "right")
        return cells


def _by_step(places: CellNumbers, edges: Floats) -> Floats:
    table = np.full(_STEPS + 2, np.nan)
    table[places] = edges
    return table


def _best_table(edges: Floats) -> _StepTable | None:
    """The table whose steps are least crowded, leaving out up to five far edges on each side."""
    best, least = None, len(edges) + 1
    for trimmed in range(min(_MOST_TRIMMED, (len(edges) - 2) // 2) + 1):
        steps = _Steps(float(edges[trimmed]), float(edges[-1 - trimmed]))
        if not steps.usable:
            continue
        count = np.bincount(steps.of(edges))
        crowded = int(count[count > 2].sum())
        if crowded < least:
            best, least = steps, crowded
    return None if best is None else _StepTable(edges, best)
