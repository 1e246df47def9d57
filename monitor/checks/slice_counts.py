"""Counts of every slice at once, and how far each is from what it should be. Knows group numbers.

A slice is one group of one column, or one group of each of two columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import combinations

import numpy as np

from monitor.checks.intervals import LEVEL, newcombe_limits, normal_quantile
from monitor.measurement import Measured, Outcome, TooFew
from monitor.profiles.arrays import Flags, Floats, Integers
from monitor.profiles.cells import CategoryCells, NumberCells, ViewCells

MAX_GROUPS = 8


class SliceStatistic(StrEnum):
    """What makes a slice bad: its share of rows moved, its mean output moved, or its mean differs
    from the rest of the same rows (no reference)."""

    SHARE = "share"
    OUTPUT = "output"
    AGAINST_REST = "against_rest"


@dataclass(frozen=True, eq=False)
class SliceColumn:
    """A column in groups: `group_of_cell` int64[n_cells], `labels` in words, one a group."""

    name: str
    group_of_cell: Integers
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Totals:
    """Rows, sum of the output and sum of its squares, of slices (arrays) or of all rows."""

    n: Floats
    sums: Floats
    squares: Floats


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """`groups` int64[columns, n] group numbers, `output` float64[n] (zeros where none is used)."""

    groups: Integers
    output: Floats

    @property
    def n(self) -> int:
        return int(self.groups.shape[1])

    def among(self, chosen: Flags) -> GroupedRows:
        return GroupedRows(np.ascontiguousarray(self.groups[:, chosen]), self.output[chosen])

    @cached_property
    def whole(self) -> Totals:
        """Totals of all rows."""
        sums = (float(self.n), self.output.sum(), np.square(self.output).sum())
        return Totals(*(np.asarray(value, np.float64) for value in sums))

    def flags(self, columns: Sequence[int], groups: Sequence[int]) -> Flags:
        """Which rows lie in a slice, bool[n]."""
        inside: Flags = np.ones(self.n, np.bool_)
        for column, group in zip(columns, groups, strict=True):
            inside &= self.groups[column] == group
        return inside


def coarse_column(
    name: str, cells: ViewCells, reference: Integers, most: int = MAX_GROUPS
) -> SliceColumn:
    """Groups of cells for slicing: number cells in at most `most` groups, categories as they are.

    `reference` int64[n_cells] counts. Number cells are joined to neighbours, at the cells' own
    edges, so that groups hold about equal reference shares; the last group is the missing one.
    """
    if isinstance(cells, CategoryCells):
        return SliceColumn(name, np.arange(cells.n_cells), cells.labels())
    edges = _coarse_edges(cells, reference[:-1], most - 1)
    coarse = NumberCells(edges, kind=cells.kind)
    starts = np.asarray((-np.inf, *cells.edges))
    data = np.searchsorted(np.asarray(edges), starts, side="right")
    return SliceColumn(name, np.append(data, coarse.missing), coarse.labels())


def _coarse_edges(cells: NumberCells, counts: Integers, groups: int) -> tuple[float, ...]:
    """At most groups - 1 of the cells' edges, nearest to equal shares of `counts` int64[k]."""
    edges = np.asarray(cells.edges)
    if len(edges) < groups:
        return cells.edges
    below = np.cumsum(counts)[:-1] / max(1, int(counts.sum()))
    wanted = np.arange(1, groups) / groups
    nearest = np.abs(below[None, :] - wanted[:, None]).argmin(axis=1)
    return tuple(edges[np.unique(nearest)].tolist())


def column_sets(columns: int, depth: int) -> list[tuple[int, ...]]:
    """All sets of 1 to `depth` of the columns, by number."""
    return [chosen for size in range(1, depth + 1) for chosen in combinations(range(columns), size)]


def counted(
    rows: GroupedRows, chosen: Sequence[int], sizes: Sequence[int], statistic: SliceStatistic
) -> Totals:
    """Totals of each slice of one set of columns, float64[product of sizes], by bincount.

    What the statistic does not use stays zero.
    """
    keys = rows.groups[chosen[0]]
    for column in chosen[1:]:
        keys = keys * sizes[column] + rows.groups[column]
    length = int(np.prod([sizes[column] for column in chosen]))
    nothing = np.zeros(length)
    n = np.bincount(keys, minlength=length).astype(np.float64)
    if statistic is SliceStatistic.SHARE:
        return Totals(n, nothing, nothing)
    sums = np.bincount(keys, rows.output, minlength=length).astype(np.float64, copy=False)
    if statistic is SliceStatistic.AGAINST_REST:
        return Totals(n, sums, nothing)
    squares = np.bincount(keys, rows.output**2, minlength=length)
    return Totals(n, sums, squares.astype(np.float64, copy=False))


def share_z(now: Totals, then: Totals, all_now: Totals, all_then: Totals) -> Floats:
    """Two-proportion z of the slice's share now against then, pooled variance.

    z = (p1 - p0)/sqrt(p(1 - p)(1/N1 + 1/N0)): the standardised hypergeometric count of the slice,
    but for a factor sqrt(1 - 1/(N1 + N0)). 0 where no row, or every row, lies in the slice.
    """
    pooled = (now.n + then.n) / (all_now.n + all_then.n)
    variance = pooled * (1 - pooled) * (1 / all_now.n + 1 / all_then.n)
    return _ratio(now.n / all_now.n - then.n / all_then.n, variance)


def output_z(now: Totals, then: Totals) -> Floats:
    """z of the slice's mean output now against then, variance of both sides pooled about one mean.

    For 0/1 outputs the two-proportion z. 0 where a side has no row.
    """
    n = now.n + then.n
    full = np.maximum(n, 1)
    mean = (now.sums + then.sums) / full
    variance = np.maximum((now.squares + then.squares) / full - mean**2, 0.0)
    there = (now.n > 0) & (then.n > 0)
    inverse = np.where(there, 1 / np.maximum(now.n, 1) + 1 / np.maximum(then.n, 1), 0.0)
    difference = now.sums / np.maximum(now.n, 1) - then.sums / np.maximum(then.n, 1)
    return _ratio(difference, variance * inverse)


def rest_z(now: Totals, whole: Totals) -> Floats:
    """z of the slice's mean output against all other rows, with the variance of all rows."""
    others = whole.n - now.n
    there = (now.n > 0) & (others > 0)
    variance = max(0.0, float(whole.squares / whole.n - (whole.sums / whole.n) ** 2))
    inverse = np.where(there, 1 / np.maximum(now.n, 1) + 1 / np.maximum(others, 1), 0.0)
    rest = (whole.sums - now.sums) / np.maximum(others, 1)
    return _ratio(now.sums / np.maximum(now.n, 1) - rest, variance * inverse)


def _ratio(difference: Floats, variance: Floats) -> Floats:
    z: Floats = np.divide(
        difference,
        np.sqrt(variance),
        out=np.zeros_like(np.asarray(variance, np.float64)),
        where=np.asarray(variance) > 1e-300,
    )
    return z


def share_effect(now: Totals, then: Totals, rows: int, rows_then: int) -> Outcome:
    """Share of the slice among `rows` now minus among `rows_then`, Newcombe limits."""
    low, high = newcombe_limits(float(now.n), rows, float(then.n), rows_then)
    shares = {"now": float(now.n) / rows, "then": float(then.n) / rows_then}
    value = shares["now"] - shares["then"]
    return Measured(value, rows, low, high, LEVEL, rows_then, shares)


def mean_effect(now: Totals, other: Totals, name: str) -> Outcome:
    """Mean output of the slice minus that of the other rows (`name` in the detail), normal limits
    with the variances of both. TooFew with fewer than two rows on a side."""
    n, n_other = int(now.n), int(other.n)
    if min(n, n_other) < 2:
        return TooFew(min(n, n_other), 2, "rows of the slice in the confirming half")
    means = {"now": float(now.sums) / n, name: float(other.sums) / n_other}
    reach = normal_quantile() * float(np.sqrt(_variance(now) / n + _variance(other) / n_other))
    value = means["now"] - means[name]
    return Measured(value, n, value - reach, value + reach, LEVEL, n_other, means)


def _variance(totals: Totals) -> float:
    """Sample variance from totals of at least two rows."""
    n = float(totals.n)
    return max(0.0, float(totals.squares) - float(totals.sums) ** 2 / n) / (n - 1)
