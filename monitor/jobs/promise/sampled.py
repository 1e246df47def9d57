"""Sampled rows around an incident, in the cells of the binning: what explains output and slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
from sqlalchemy.engine import Connection

from monitor.contract import Column, ColumnRole, ColumnType
from monitor.jobs.base import JobContext
from monitor.profiles.arrays import Flags, Floats, Integers
from monitor.profiles.binning import Binning
from monitor.profiles.cells import CategoryCells, ViewCells
from monitor.profiles.sample import HASH
from monitor.records import LIVE_LEG
from monitor.window_sample import window_sample
from monitor.windows import Window

CURRENT, REFERENCE, GUARD = timedelta(hours=24), timedelta(days=14), timedelta(days=1)
_NUMBERS = (ColumnType.NUMBER, ColumnType.INTEGER, ColumnType.BOOLEAN)


@dataclass(frozen=True, eq=False)
class Side:
    """Rows of one side: cell numbers int64[columns, n], keyed hashes int64[n], output float64[n]
    (NaN where a request has none)."""

    cells: Integers
    hashes: Integers
    output: Floats

    @property
    def answered(self) -> Flags:
        """Rows with an output, bool[n]."""
        return np.asarray(~np.isnan(self.output))


@dataclass(frozen=True, eq=False)
class SampledRows:
    """The last 24 hours against the two weeks before the day before: columns in contract order."""

    names: tuple[str, ...]
    cells: tuple[ViewCells, ...]
    reference: Side
    current: Side
    output_name: str | None


def sampled_rows(
    connection: Connection, context: JobContext, binning: Binning, opened: datetime, end: datetime
) -> SampledRows | None:
    """Samples of both sides; None when one of them holds no row."""
    before = opened - GUARD
    sides = [
        window_sample(connection, context.project_id, context.model_id, window, LIVE_LEG)
        for window in (Window(before - REFERENCE, before), Window(end - CURRENT, end))
    ]
    reference, current = sides
    if reference is None or current is None:
        return None
    output = _output_column(context)
    inputs = [c for c in context.contract.columns if is_input(c, binning, sides)]
    used = tuple(binning.views[column.name] for column in inputs)
    return SampledRows(
        names=tuple(column.name for column in inputs),
        cells=used,
        reference=_side(reference, inputs, used, output),
        current=_side(current, inputs, used, output),
        output_name=output.name if output else None,
    )


def _output_column(context: JobContext) -> Column | None:
    for role in (ColumnRole.SCORE, ColumnRole.PREDICTION):
        found = context.contract.single(role)
        if found is not None and found.type in _NUMBERS:
            return found
    return None


def is_input(column: Column, binning: Binning, sides: Sequence[pa.Table | None]) -> bool:
    """Whether a column is a plain input with cells that every sample holds."""
    plain = column.type in (*_NUMBERS, ColumnType.CATEGORY)
    watched = column.role in (ColumnRole.FEATURE, ColumnRole.SEGMENT)
    there = all(side is not None and column.name in side.column_names for side in sides)
    return plain and watched and there and column.name in binning.views


def _side(
    table: pa.Table, inputs: list[Column], used: tuple[ViewCells, ...], output: Column | None
) -> Side:
    rows = [cells_of(table[column.name], cells) for column, cells in zip(inputs, used, strict=True)]
    answers = np.full(table.num_rows, np.nan)
    if output is not None and output.name in table.column_names:
        answers = _floats(table[output.name])
    wide = np.stack(rows) if rows else np.zeros((0, table.num_rows), np.int64)
    return Side(wide, table[HASH].to_numpy(), answers)


def cells_of(values: pa.ChunkedArray, cells: ViewCells) -> Integers:
    """Cell numbers of a sampled column, int64[n]."""
    if isinstance(cells, CategoryCells):
        return cells.assign(values.combine_chunks()).astype(np.int64)
    return cells.assign(_floats(values)).astype(np.int64)


def _floats(values: pa.ChunkedArray) -> Floats:
    found = values.combine_chunks().cast(pa.float64()).to_numpy(zero_copy_only=False)
    return np.asarray(found, np.float64)
