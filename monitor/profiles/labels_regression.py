"""What a labels part says about a regression model. Pure.

Sparse table `regression`: key (prediction cell, residual cell, delay bucket, entity group). The
prediction cell is that of the predicted column in the binning; the residual e = prediction - label
is cut at 0 and ±2^(j/2) scales of that column, j = -14..14; residual cell 60 counts rows without a
label or prediction. Values: rows, then fixed-point sums in 1/65,536 of the scale: e, |e|, e² in two
halves, y - centre, its square in two halves, rows with a clipped value.

Sparse table `relative`: key (0 when the label is 0, 1 otherwise, 2 without label or prediction;
delay bucket; entity group). Values: rows, then sums of |e/y| in units of 2⁻²⁶ (0 for labels of 0,
at most 1,000 a row) and of |y| in 1/65,536 of the scale, rows with a clipped value. Parts stored
before it existed do not have it: its own rows say how many it is about.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.cells import NumberCells
from monitor.profiles.columns import FIXED_UNIT, HALF_BITS
from monitor.profiles.delays import DELAY_BUCKETS
from monitor.profiles.labels import ENTITY_GROUPS
from monitor.profiles.part import Part

REGRESSION = "regression"
_HALVES = 2.0 ** (np.arange(-14, 15) / 2)
RESIDUAL_EDGES = np.concatenate((-_HALVES[::-1], [0.0], _HALVES))
RESIDUAL_UNLABELLED = len(RESIDUAL_EDGES) + 1
_SHAPE = (128, RESIDUAL_UNLABELLED + 1, DELAY_BUCKETS, ENTITY_GROUPS)
_WIDTH = 9
RELATIVE = "relative"
RELATIVE_UNIT = 2**26
_LARGEST_RATIO = 1_000.0
_LARGEST_AMOUNT = 2.0**40
_RELATIVE_SHAPE = (3, DELAY_BUCKETS, ENTITY_GROUPS)
_RELATIVE_WIDTH = 4
_NOT_JUDGED = 2


@dataclass(frozen=True)
class ErrorSums:
    """Exact sums over labelled rows, in the column's units."""

    n: int
    error: float
    absolute_error: float
    squared_error: float
    label: float
    label_spread: float
    clipped: int

    @property
    def mae(self) -> float | None:
        """Mean absolute error; None without labelled rows."""
        return self.absolute_error / self.n if self.n else None

    @property
    def rmse(self) -> float | None:
        """Root of the mean squared error; None without labelled rows."""
        return math.sqrt(self.squared_error / self.n) if self.n else None

    @property
    def r_squared(self) -> float | None:
        """1 - squared error / squared deviation of the labels; None where all labels are equal."""
        return 1 - self.squared_error / self.label_spread if self.label_spread > 0 else None


@dataclass(frozen=True)
class RelativeSums:
    """Sums of the table `relative` over `n` rows with label and prediction, `zeros` of them with
    label 0: `ratio` = Σ |e/y| over the others; `label_size` = Σ |y| over all n, in the column's
    units.
    """

    n: int = 0
    zeros: int = 0
    ratio: float = 0.0
    label_size: float = 0.0
    clipped: int = 0

    @property
    def mape(self) -> float | None:
        """Mean |e/y| over labels that are not 0; None without any."""
        return self.ratio / (self.n - self.zeros) if self.n > self.zeros else None

    def __sub__(self, other: RelativeSums) -> RelativeSums:
        return RelativeSums(
            self.n - other.n,
            self.zeros - other.zeros,
            self.ratio - other.ratio,
            self.label_size - other.label_size,
            self.clipped - other.clipped,
        )


@dataclass(frozen=True, eq=False)
class RelativeCounts:
    """`total` over all rows of the table, `by_group` per entity group (20)."""

    total: RelativeSums = RelativeSums()
    by_group: tuple[RelativeSums, ...] = ()


@dataclass(frozen=True, eq=False)
class RegressionCounts:
    """`total` over all labelled rows, `by_group` per entity group (20), `by_prediction` per
    prediction cell; `residuals` int64[n prediction cells, 60]; `delay_counts` int64[32]; rows not
    judged (no label or no prediction) and all rows.
    """

    total: ErrorSums
    by_group: tuple[ErrorSums, ...]
    by_prediction: tuple[ErrorSums, ...]
    residuals: Integers
    delay_counts: Integers
    not_judged: int
    n: int


def residual_cells(errors: Floats, scale: float) -> Integers:
    """Residual cell of each error, float64[n] -> int64[n]; NaN is not judged."""
    cells = np.searchsorted(RESIDUAL_EDGES, errors / scale, "right")
    return np.where(np.isnan(errors), RESIDUAL_UNLABELLED, cells).astype(np.int64)


def pack_regression(
    predicted: Integers, residual: Integers, delay: Integers, group: Integers
) -> Integers:
    """Keys of the table `regression`."""
    return np.ravel_multi_index((predicted, residual, delay, group), _SHAPE).astype(np.int64)


def regression_counts(part: Part, cells: NumberCells) -> RegressionCounts:
    """The regression table of a labels part, on the predicted column's cells."""
    nothing = (np.zeros(0, np.int64), np.zeros((0, _WIDTH), np.int64))
    keys, values = part.sparse.get(REGRESSION, nothing)
    predicted, residual, delay, group = np.unravel_index(keys, _SHAPE)
    judged = residual != RESIDUAL_UNLABELLED
    residuals = np.zeros((cells.n_cells, RESIDUAL_UNLABELLED), np.int64)
    np.add.at(residuals, (predicted[judged], residual[judged]), values[judged, 0])
    delays = np.zeros(DELAY_BUCKETS, np.int64)
    np.add.at(delays, delay[judged], values[judged, 0])
    groups = _summed(group[judged], values[judged], ENTITY_GROUPS)
    predictions = _summed(predicted[judged], values[judged], cells.n_cells)
    return RegressionCounts(
        total=_error_sums(values[judged].sum(axis=0), cells),
        by_group=tuple(_error_sums(row, cells) for row in groups),
        by_prediction=tuple(_error_sums(row, cells) for row in predictions),
        residuals=residuals,
        delay_counts=delays,
        not_judged=int(values[~judged, 0].sum()),
        n=int(values[:, 0].sum()),
    )


def relative_columns(
    errors: Floats, labels: Floats, cells: NumberCells
) -> tuple[Integers, tuple[Integers, ...]]:
    """State of each row, int64[n], and the columns of `relative`; an error of NaN is not judged."""
    judged = ~np.isnan(errors)
    size = np.where(judged, np.abs(labels), 0.0)
    state = np.where(judged, size > 0, _NOT_JUDGED).astype(np.int64)
    ratio = np.abs(np.where(judged, errors, 0.0)) / np.where(size > 0, size, np.inf)
    amount = size / cells.scale * FIXED_UNIT
    clipped = (ratio > _LARGEST_RATIO) | (amount > _LARGEST_AMOUNT)
    columns = (
        np.rint(np.minimum(ratio, _LARGEST_RATIO) * RELATIVE_UNIT),
        np.rint(np.minimum(amount, _LARGEST_AMOUNT)),
        clipped,
    )
    return state, tuple(column.astype(np.int64) for column in columns)


def pack_relative(state: Integers, delay: Integers, group: Integers) -> Integers:
    """Keys of the table `relative`."""
    return np.ravel_multi_index((state, delay, group), _RELATIVE_SHAPE).astype(np.int64)


def relative_counts(part: Part, cells: NumberCells) -> RelativeCounts:
    """The table `relative` of a labels part; all zero when the part holds none."""
    nothing = (np.zeros(0, np.int64), np.zeros((0, _RELATIVE_WIDTH), np.int64))
    keys, values = part.sparse.get(RELATIVE, nothing)
    state, _, group = np.unravel_index(keys, _RELATIVE_SHAPE)
    sums = np.zeros((ENTITY_GROUPS, _NOT_JUDGED + 1, _RELATIVE_WIDTH), np.int64)
    np.add.at(sums, (group, state), values)
    return RelativeCounts(
        _relative_sums(sums.sum(axis=0), cells), tuple(_relative_sums(one, cells) for one in sums)
    )


def _relative_sums(rows: Integers, cells: NumberCells) -> RelativeSums:
    n, ratio, size, clipped = (int(value) for value in rows[:_NOT_JUDGED].sum(axis=0))
    unit = cells.scale / FIXED_UNIT
    return RelativeSums(n, int(rows[0, 0]), ratio / RELATIVE_UNIT, size * unit, clipped)


def _summed(places: Integers, values: Integers, length: int) -> Integers:
    sums = np.zeros((length, _WIDTH), np.int64)
    np.add.at(sums, places, values)
    return sums


def _error_sums(row: Integers, cells: NumberCells) -> ErrorSums:
    n, e, size, e_high, e_low, y, y_high, y_low, clipped = (int(value) for value in row)
    unit = cells.scale / FIXED_UNIT
    y_squares = (y_high << HALF_BITS) + y_low
    spread = (n * y_squares - y * y) / n if n else 0.0
    return ErrorSums(
        n=n,
        error=e * unit,
        absolute_error=size * unit,
        squared_error=((e_high << HALF_BITS) + e_low) * unit * unit,
        label=n * cells.centre + y * unit,
        label_spread=spread * unit * unit,
        clipped=clipped,
    )
