"""Small makers of profile counts from plain rows, through the real cells and accessors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from monitor.profiles.cells import CategoryCells, NumberCells, ViewCells, rank_normal_scores
from monitor.profiles.columns import ColumnCounts
from monitor.profiles.labels import (
    BINARY,
    SCORE_CELLS,
    UNIT,
    BinaryCounts,
    binary_counts,
    pack_binary,
)
from monitor.profiles.part import Part
from monitor.records import ViolationReason


def value_cells(values: Sequence[float]) -> NumberCells:
    """A cell of its own for each distinct value."""
    distinct = np.unique(np.asarray(values, np.float64))
    edges = np.unique(np.concatenate((distinct, np.nextafter(distinct, np.inf))))
    return NumberCells(tuple(edges.tolist()))


def quantile_cells(values: np.ndarray, cells: int = 20) -> NumberCells:
    """Cells of equal reference mass with edges in the tails, with rank-normal scores."""
    shares = np.sort([*np.linspace(0, 1, cells + 1), 0.001, 0.01, 0.99, 0.999])
    inner = np.quantile(values, shares)
    inner[-1] = np.nextafter(inner[-1], np.inf)
    edges = tuple(np.unique(inner).tolist())
    counts = np.bincount(NumberCells(edges).assign(values), minlength=len(edges) + 2)[:-1]
    return NumberCells(edges, cell_scores=rank_normal_scores(counts))


def numbers(
    values: Sequence[float | None] | np.ndarray,
    cells: NumberCells,
    violations: Mapping[ViolationReason, int] | None = None,
) -> ColumnCounts:
    """Counts of rows; None and NaN are missing. Infinities become missing as profiles do it."""
    rows = np.array([np.nan if value is None else value for value in values], np.float64)
    rows[~np.isfinite(rows)] = np.nan
    counts = np.bincount(cells.assign(rows), minlength=cells.n_cells).astype(np.int64)
    finite = rows[np.isfinite(rows)]
    return ColumnCounts(
        "amount",
        cells,
        counts,
        violations or {},
        len(finite),
        float(finite.mean()) if len(finite) else None,
        float(finite.std(ddof=1)) if len(finite) > 1 else None,
    )


def from_counts(counts: Sequence[int], cells: ViewCells) -> ColumnCounts:
    """Counts as they are, the missing cell last."""
    return ColumnCounts("kind", cells, np.asarray(counts, np.int64), {})


def categories(values: Sequence[str | None], cells: CategoryCells) -> ColumnCounts:
    """Counts of category rows; None is missing."""
    counts = np.bincount(cells.assign(values), minlength=cells.n_cells)
    return ColumnCounts("kind", cells, counts.astype(np.int64), {})


def category_cells(reference: Sequence[str], top: int = 50) -> CategoryCells:
    """The most frequent reference values get a cell; the rest is known."""
    names, counts = np.unique(np.asarray(reference, object).astype(str), return_counts=True)
    ordered = [str(names[i]) for i in np.argsort(-counts, kind="stable")]
    return CategoryCells(tuple(ordered[:top]), tuple(ordered[top:]))


def binary(
    score: Sequence[float] | np.ndarray,
    label: Sequence[int | None] | np.ndarray,
    predicted: Sequence[int] | None = None,
    group: np.ndarray | None = None,
) -> BinaryCounts:
    """Label counts of rows through a real labels part; predicted defaults to score >= ½."""
    s = np.asarray(score, np.float64)
    y = np.array([2 if value is None else int(value) for value in label], np.int64)
    cell = np.minimum(np.floor(s * SCORE_CELLS), SCORE_CELLS - 1).astype(np.int64)
    decided = (s >= 0.5).astype(np.int64) if predicted is None else np.asarray(predicted)
    groups = np.zeros(len(s), np.int64) if group is None else group
    keys = pack_binary(decided, cell, y, np.zeros(len(s), np.int64), groups)
    fixed = [np.ones(len(s)), s * UNIT, s * s * UNIT, s * (y == 1) * UNIT]
    distinct, place = np.unique(keys, return_inverse=True)
    values = np.zeros((len(distinct), 4), np.int64)
    np.add.at(values, place, np.rint(np.column_stack(fixed)).astype(np.int64))
    return binary_counts(Part({}, {BINARY: (distinct, values)}))
