"""One watched column: its counts by hour on its cells, and how the views look at them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from monitor.profiles.arrays import Flags, Floats, Integers
from monitor.profiles.cells import NumberCells, ViewCells


@dataclass(frozen=True, eq=False)
class ColumnHours:
    """Counts of one column by hour, `counts` int64[n_hours, n_cells], the missing cell last.

    `weight` is its importance: its share of the budget of false alarms. `segment` names the
    requests that are counted, in words; empty for all.
    """

    name: str
    cells: ViewCells
    counts: Integers
    weight: float = 1.0
    segment: str = ""

    def __post_init__(self) -> None:
        if self.counts.ndim != 2 or self.counts.shape[1] != self.cells.n_cells:
            raise AssertionError(
                f"{self.name}: counts {self.counts.shape} do not fit {self.cells.n_cells} cells"
            )
        if not self.weight > 0:
            raise AssertionError(f"{self.name}: weight {self.weight} must be above 0")

    @property
    def key(self) -> tuple[str, str]:
        """Segment and column: what tells one watched thing from another."""
        return self.segment, self.name

    @property
    def is_number(self) -> bool:
        """Whether its cells have an order, so that location and scale mean something."""
        return isinstance(self.cells, NumberCells)


@dataclass(frozen=True, eq=False)
class CellOrder:
    """How a column's cells are laid out for the views.

    `order` int[k]: cell numbers in the order in which thin neighbours are pooled, which is the
    order of values for numbers and falling baseline counts for categories. `scores` float64[k]:
    van der Waerden scores of number cells in that order; `data` bool[k]: cells that have one.
    """

    order: Integers
    scores: Floats
    data: Flags

    @property
    def missing(self) -> int:
        """Place of the missing cell, the last one before ordering."""
        return int(np.argmax(self.order))

    @classmethod
    def of(cls, column_is_number: bool, totals: Integers) -> CellOrder:
        """The layout that baseline counts `totals` int64[k] (missing last) decide."""
        k = len(totals)
        if not column_is_number:
            order = np.argsort(-totals, kind="stable")
            return cls(order, np.zeros(k), np.zeros(k, bool))
        shares = totals[:-1] + 0.5
        shares = shares / shares.sum()
        scores = special.ndtri(np.cumsum(shares) - shares / 2)
        data = np.ones(k, bool)
        data[-1] = False
        return cls(np.arange(k), np.append(scores, 0.0), data)


@dataclass(frozen=True, eq=False)
class Layouts:
    """Layouts of several columns, padded to the widest: float64/bool[columns, width]."""

    orders: tuple[Integers, ...]
    scores: Floats
    data: Flags
    n_cells: Integers
    missing: Integers

    @classmethod
    def of(cls, layouts: Sequence[CellOrder]) -> Layouts:
        """Pad with cells that never hold a row."""
        width = max(len(one.order) for one in layouts)
        scores, data = np.zeros((len(layouts), width)), np.zeros((len(layouts), width), bool)
        for place, one in enumerate(layouts):
            scores[place, : len(one.scores)] = one.scores
            data[place, : len(one.data)] = one.data
        n_cells = np.array([len(one.order) for one in layouts], np.int64)
        missing = np.array([one.missing for one in layouts], np.int64)
        return cls(tuple(one.order for one in layouts), scores, data, n_cells, missing)

    @cached_property
    def width(self) -> int:
        """Cells of the widest column."""
        return int(self.scores.shape[1])

    @cached_property
    def has_scores(self) -> Flags:
        """Columns with location and scale views, bool[columns]."""
        return np.asarray(self.data.any(axis=1))
