"""Columns of an Arrow table into a grid: whole where the types fit, value by value where not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.contract import ColumnType
from monitor.intake.arrow_values import (
    Rows,
    is_list,
    is_number,
    is_readable,
    is_text,
    read_times,
    rows_longer_than,
    rows_with_nul,
    to_doubles,
    without,
)
from monitor.intake.columns import coerce, text_limit
from monitor.intake.examples import Opaque
from monitor.intake.grid import Bools, Grid, is_null
from monitor.intake.plan import ColumnPlan
from monitor.intake.times import TimeFault
from monitor.intake.typed_cells import TEXTS, put_text, put_typed
from monitor.records import MAX_SAFE_INTEGER, ViolationReason

_LISTS = frozenset({ColumnType.VECTOR, ColumnType.CLASS_SCORES})


def put_column(
    grid: Grid, plan: ColumnPlan, array: pa.Array, broken: Rows, hash_key: bytes
) -> None:
    """One column as `plain` gives it; `broken` rows held text that is not UTF-8."""
    kind, wanted = array.type, plan.column.type
    floating = wanted is ColumnType.INTEGER and pa.types.is_floating(kind)
    if floating or (wanted is ColumnType.NUMBER and is_number(kind)):
        grid.put_numbers(plan, to_doubles(array), is_null(array))  # `checks` wants whole ones
    elif wanted is ColumnType.INTEGER and pa.types.is_integer(kind):
        _put_integers(grid, plan, array)
    elif wanted is ColumnType.BOOLEAN and pa.types.is_boolean(kind):
        grid.put_numbers(plan, to_doubles(array), is_null(array))
    elif wanted in TEXTS and is_text(kind):
        _put_texts(grid, plan, array, hash_key)
    elif wanted is ColumnType.TIMESTAMP and pa.types.is_temporal(kind):
        _put_moments(grid, plan, array)
    elif not (wanted in _LISTS and _put_blocks(grid, plan, array)):
        _put_one_by_one(grid, plan, array, hash_key)
    if len(broken):
        grid.violate(plan, broken, ViolationReason.UNSTORABLE_TEXT)


def _put_integers(grid: Grid, plan: ColumnPlan, array: pa.Array) -> None:
    """Judged before they become doubles: 2^53 + 1 as a double would look like 2^53."""
    exact = array.fill_null(0).to_numpy(zero_copy_only=False)
    large = exact > MAX_SAFE_INTEGER
    if exact.dtype.kind == "i" and exact.dtype.itemsize == 8:
        large |= exact < -MAX_SAFE_INTEGER
    grid.put_numbers(plan, exact.astype(np.float64), is_null(array) | large)
    if large.any():
        rows = np.flatnonzero(large)
        grid.violate(plan, rows, ViolationReason.INTEGER_TOO_LARGE, array)


def _put_texts(grid: Grid, plan: ColumnPlan, texts: pa.StringArray, hash_key: bytes) -> None:
    limit = text_limit(plan.column)
    if limit is not None and plan.column.type is not ColumnType.TIMESTAMP:
        rows = rows_longer_than(texts, limit)
        if len(rows):
            grid.violate(plan, rows, ViolationReason.TOO_LONG, texts)
            texts = without(texts, rows)
    rows = rows_with_nul(texts)
    if not len(rows):
        put_text(grid, plan, texts, hash_key)
        return
    wrong = plan.column.type is ColumnType.TIMESTAMP
    reason = ViolationReason.WRONG_TYPE if wrong else ViolationReason.UNSTORABLE_TEXT
    grid.violate(plan, rows, reason, texts)
    put_text(grid, plan, without(texts, rows), hash_key)


def _put_moments(grid: Grid, plan: ColumnPlan, array: pa.Array) -> None:
    times = read_times(array)
    if times is None:  # durations and times of day are no moments
        _put_unreadable(grid, plan, array)
        return
    grid.put_numbers(plan, times.micros / 1e6, is_null(array) | (times.faults != 0))
    for fault, reason in (
        (TimeFault.BAD, ViolationReason.WRONG_TYPE),
        (TimeFault.WITHOUT_ZONE, ViolationReason.TIME_WITHOUT_ZONE),
    ):
        rows = np.flatnonzero(times.faults == fault)
        grid.violate(plan, rows, reason, [Opaque(str(array.type))] * len(array))


def _put_blocks(grid: Grid, plan: ColumnPlan, array: pa.Array) -> bool:
    """Lists of numbers of the right length in one go; False when one needs a closer look."""
    if not is_list(array.type) or not is_number(array.type.value_type):
        return False
    width, empty = plan.slot.number_width, is_null(array)
    lengths = pc.list_value_length(array.drop_null())
    if not pc.all(pc.equal(lengths, width), min_count=0).as_py():
        return False
    items = pc.list_flatten(array)
    if items.null_count or len(items) != (len(array) - int(empty.sum())) * width:
        return False
    block = np.zeros((len(array), width))
    block[~empty] = to_doubles(items).reshape(-1, width)
    grid.put_numbers(plan, block, empty)
    return True


def _put_one_by_one(grid: Grid, plan: ColumnPlan, array: pa.Array, hash_key: bytes) -> None:
    if not is_readable(array.type):
        _put_unreadable(grid, plan, array)
        return
    typed: list[Any] = []
    for row, value in enumerate(array.to_pylist()):
        read = None if value is None else coerce(plan.column, value)
        typed.append(None if read is None else read.value)
        if read is not None and read.reason is not None:
            grid.note(plan, row, read.reason, value)
    put_typed(grid, plan, typed, hash_key)


def _put_unreadable(grid: Grid, plan: ColumnPlan, array: pa.Array) -> None:
    """A type that no declared type can be read from: every value is one of the wrong type."""
    present: Bools = ~is_null(array)
    shown = [Opaque(str(array.type))] * len(array)
    grid.violate(plan, np.flatnonzero(present), ViolationReason.WRONG_TYPE, shown)
    put_typed(grid, plan, [None] * len(array), b"")
