"""What a drift method is, and everything the methods share. Knows counts, no rows and no names.

Rules that hold for every method:
- cells come from the baseline and the current data never moves them;
- missing values are left out of both samples: their share has a check of its own (`missing`);
- fewer than 30 values on either side is TooFew, with the statistic as `provisional` in its detail;
- a category that the baseline lacks counts in the cell "new". Where the baseline has more
  categories than cells (an open-ended column) and saw those of "other" fewer than 10 times each on
  average, unmet categories are to be expected without any change: "new" counts with "other", and
  its share is told apart;
- the last top categories of an open-ended column are in the top partly by chance, and would fall
  back in any window: those within 4 standard deviations of the least frequent one count as other;
- an open-ended column with fewer than 5 baseline rows a category is TooFew.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from monitor.checks.intervals import LEVEL
from monitor.checks.moved import moved_cells
from monitor.measurement import Direction, Failed, Measured, Outcome, TooFew
from monitor.profiles.cells import CategoryCells, NumberCells
from monitor.profiles.columns import ColumnCounts

MIN_ROWS = 30
MIN_ROWS_PER_CATEGORY = 5
CHANCE_DEVIATIONS = 4.0
ROWS_PER_MET_CATEGORY = 10

Counts = NDArray[np.float64]


class ViewKind(StrEnum):
    """Which cells a method can compare."""

    NUMBER = "number"
    CATEGORY = "category"


def kind_of(cells: NumberCells | CategoryCells) -> ViewKind:
    """The kind of a view, from its declared cells, never from its values."""
    return ViewKind.NUMBER if isinstance(cells, NumberCells) else ViewKind.CATEGORY


@dataclass(frozen=True, eq=False)
class ReferenceSummary:
    """What a method keeps of a baseline column. `counts` float64[k] are its data cells.

    `folded` bool[k] marks category cells that are counted as other.
    """

    cells: NumberCells | CategoryCells
    counts: Counts
    folded: NDArray[np.bool_]
    labels: tuple[str, ...]
    mean: float | None
    sd: float | None

    @property
    def n(self) -> int:
        """Baseline rows that have a value."""
        return int(self.counts.sum())


@dataclass(frozen=True, eq=False)
class Samples:
    """Two samples on the same data cells; both hold at least one row."""

    reference: ReferenceSummary
    current: Counts
    mean: float | None

    @property
    def n(self) -> int:
        """Current rows that have a value."""
        return int(self.current.sum())

    @property
    def effective_rows(self) -> float:
        """n_eff = nm/(n+m)."""
        return self.reference.n * self.n / (self.reference.n + self.n)

    @property
    def cells_in_use(self) -> int:
        """Cells that hold a row in either sample."""
        return int(((self.reference.counts + self.current) > 0).sum())


@dataclass(frozen=True)
class Finding:
    """What a method's formula gives: the value, limits where it has them, and its detail."""

    value: float
    low: float | None = None
    high: float | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


class DriftMethod(Protocol):
    """A named way to compare a column with its baseline."""

    name: ClassVar[str]
    version: ClassVar[int]
    kinds: ClassVar[frozenset[ViewKind]]
    unit: ClassVar[str]
    direction: ClassVar[Direction]
    symmetric: ClassVar[bool]

    def fit(self, reference: ColumnCounts) -> ReferenceSummary:
        """Freeze what is needed of the baseline."""

    def compare(self, summary: ReferenceSummary, current: ColumnCounts) -> Outcome:
        """Compare current counts on the same cells with the baseline."""


class CellMethod(ABC):
    """Fit and compare shared by all methods on cells; a method adds `measure`."""

    name: ClassVar[str]
    version: ClassVar[int] = 1
    kinds: ClassVar[frozenset[ViewKind]] = frozenset(ViewKind)
    unit: ClassVar[str]
    direction: ClassVar[Direction] = Direction.HIGHER_IS_WORSE
    symmetric: ClassVar[bool] = True
    empty_cells: ClassVar[str]

    @abstractmethod
    def measure(self, samples: Samples) -> Finding | Failed:
        """The formula. Both samples hold rows."""

    def fit(self, reference: ColumnCounts) -> ReferenceSummary:
        """Freeze the baseline's counts, labels, mean and standard deviation."""
        if kind_of(reference.cells) not in self.kinds:
            raise AssertionError(
                f"{self.name} can't compare the {kind_of(reference.cells)} view {reference.view!r}"
            )
        folded = folded_cells(reference)
        counts = data_counts(reference, folded)
        counts.setflags(write=False)
        labels = reference.cells.labels()[:-1]
        return ReferenceSummary(
            reference.cells, counts, folded, labels, reference.mean, reference.sd
        )

    def compare(self, summary: ReferenceSummary, current: ColumnCounts) -> Outcome:
        """Measured with value, limits and detail, TooFew below the floors, Failed with a reason."""
        if current.counts.shape != (summary.cells.n_cells,):
            raise AssertionError(f"{current.view!r} is counted on other cells than its baseline")
        samples = Samples(summary, data_counts(current, summary.folded), current.mean)
        if summary.n == 0 or samples.n == 0:
            side = "current" if samples.n == 0 else "baseline"
            return TooFew(0, MIN_ROWS, f"no values in {side}", missing_detail(current))
        finding = self.measure(samples)
        if isinstance(finding, Failed):
            return finding
        if not math.isfinite(finding.value):
            return Failed(f"the numbers of {current.view!r} are too large for {self.name}")
        detail = {**self._shared_detail(samples, current), **finding.detail}
        return too_few(samples, finding, detail) or Measured(
            finding.value,
            samples.n,
            finding.low,
            finding.high,
            None if finding.low is None else LEVEL,
            summary.n,
            detail,
        )

    def _shared_detail(self, samples: Samples, current: ColumnCounts) -> dict[str, Any]:
        reference = samples.reference
        detail = {
            "empty_cells": self.empty_cells,
            "n_eff": samples.effective_rows,
            "moved": moved_cells(reference.labels, reference.counts, samples.current),
            **missing_detail(current),
        }
        if isinstance(current.cells, CategoryCells):
            detail["new_share"] = float(current.counts[current.cells.new]) / samples.n
        return detail


def too_few(samples: Samples, finding: Finding, detail: Mapping[str, Any]) -> TooFew | None:
    """TooFew with the finding as provisional, or None when there are enough rows to judge."""
    provisional = {**detail, "provisional": finding.value}
    if samples.n < MIN_ROWS:
        return TooFew(samples.n, MIN_ROWS, "rows", provisional)
    if samples.reference.n < MIN_ROWS:
        return TooFew(samples.reference.n, MIN_ROWS, "baseline rows", provisional)
    needed = MIN_ROWS_PER_CATEGORY * categories_beyond_cells(samples.reference.cells)
    if samples.reference.n < needed:
        return TooFew(samples.reference.n, needed, "baseline rows for its categories", provisional)
    return None


def categories_beyond_cells(cells: NumberCells | CategoryCells) -> int:
    """Categories of an open-ended column, all that the baseline had; 0 for any other column."""
    if not isinstance(cells, CategoryCells) or not is_open_ended(cells):
        return 0
    return len(cells.top) + len(cells.known)


def is_open_ended(cells: CategoryCells) -> bool:
    """True when the baseline had more categories than have a cell of their own."""
    return bool(cells.known) or not cells.complete


def folded_cells(reference: ColumnCounts) -> NDArray[np.bool_]:
    """Cells of an open-ended column that count as other, bool[n_cells - 1]; none of any other.

    Top cells that a draw of the baseline could have left out of the top: those with fewer than
    c + 4 sqrt(c) rows, c being the smallest count in the top. And "new", unless each category of
    other was met 10 times on average: the share of unmet ones is then next to nothing.
    """
    cells = reference.cells
    folded = np.zeros(cells.n_cells - 1, bool)
    if not isinstance(cells, CategoryCells) or not is_open_ended(cells):
        return folded
    met = int(reference.counts[cells.other])
    folded[cells.new] = not cells.complete or met < ROWS_PER_MET_CATEGORY * len(cells.known)
    top = reference.counts[: cells.other]
    if len(top):
        folded[: cells.other] = top < top.min() + CHANCE_DEVIATIONS * np.sqrt(top.min())
    return folded


def data_counts(column: ColumnCounts, folded: NDArray[np.bool_]) -> Counts:
    """Counts of the cells that hold values with `folded` ones in other, float64[n_cells - 1]."""
    counts = column.counts[:-1].astype(np.float64)
    if isinstance(column.cells, CategoryCells):
        counts[column.cells.other] += counts[folded].sum()
        counts[folded] = 0.0
    return counts


def missing_detail(column: ColumnCounts) -> dict[str, Any]:
    """The share without a value, which value drift leaves out."""
    return {"missing_share": column.n_missing / column.n} if column.n else {}
