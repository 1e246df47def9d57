"""Rows to hourly counts, with the product's own cells. Reference rows decide the cells."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.alarms.scene import HOUR_SECONDS, TIME, Counted
from monitor.profiles.arrays import CellNumbers, Floats, Integers
from monitor.profiles.cells import NumberKind, ViewCells
from monitor.profiles.fitting import fit_category_cells, fit_number_cells

HOUR_MICROS = HOUR_SECONDS * 1_000_000
MICROS = pa.timestamp("us", tz="UTC")


def counted_rows(table: pa.Table, reference_hours: int, n_hours: int) -> tuple[Counted, ...]:
    """Every column but `ts`, counted by hour from the full hour of the earliest row."""
    hours = hour_numbers(table)
    return tuple(
        counted_column(name, table.column(name), hours, reference_hours, n_hours)
        for name in table.column_names
        if name != TIME
    )


def counted_column(
    name: str, column: pa.ChunkedArray, hours: Integers, reference_hours: int, n_hours: int
) -> Counted:
    """One column on cells that its rows before `reference_hours` decide."""
    values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    reference = hours < reference_hours
    if is_number(values.type):
        numbers = as_floats(values)
        cells: ViewCells = fit_number_cells(numbers[reference], number_kind(values.type))
        return Counted(name, cells, _by_hour(cells.assign(numbers), hours, n_hours, cells))
    words = values.cast(pa.string())
    cells = fit_category_cells(words.filter(pa.array(reference)))
    return Counted(name, cells, _by_hour(cells.assign(words), hours, n_hours, cells))


def recounted(like: Counted, column: pa.Array, hours: Integers) -> Counted:
    """Other values of the same column, on the cells it already has."""
    values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    number = is_number(values.type)
    assigned = like.cells.assign(as_floats(values) if number else values.cast(pa.string()))
    counts = _by_hour(assigned, hours, len(like.counts), like.cells)
    return Counted(like.name, like.cells, counts)


def hour_numbers(table: pa.Table) -> Integers:
    """The hour of each row, counted from the full hour of the earliest one, int64[n]."""
    moments = table.column(TIME).cast(MICROS, safe=False).cast(pa.int64()).to_numpy()
    hours = moments // HOUR_MICROS
    return np.asarray(hours - hours.min())


def is_number(kind: pa.DataType) -> bool:
    """Whether values of this type are counted in number cells."""
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)


def is_category(kind: pa.DataType) -> bool:
    """Whether values of this type are counted in category cells."""
    if pa.types.is_dictionary(kind):
        return is_category(kind.value_type)
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def number_kind(kind: pa.DataType) -> NumberKind:
    """How cells of this type are written."""
    return NumberKind.BOOLEAN if pa.types.is_boolean(kind) else NumberKind.NUMBER


def as_floats(values: pa.Array) -> Floats:
    """Numbers as float64[n]; null is NaN."""
    floats = pc.fill_null(values.cast(pa.float64(), safe=False), np.nan)
    return np.asarray(floats.to_numpy(zero_copy_only=False), np.float64)


def _by_hour(assigned: CellNumbers, hours: Integers, n_hours: int, cells: ViewCells) -> Integers:
    flat = np.bincount(hours * cells.n_cells + assigned, minlength=n_hours * cells.n_cells)
    return flat.reshape(n_hours, cells.n_cells)
