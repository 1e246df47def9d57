"""Rows of one body side by side: numbers, texts, which cells are NULL and why. Pure.

Readers (JSON, Arrow) fill a Grid column by column; `checks` marks what breaks the contract;
`pack` turns it into the frozen request schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from monitor.intake.examples import ExampleBook
from monitor.intake.plan import ColumnPlan, RowPlan
from monitor.intake.text_numbers import text_numbers
from monitor.intake.times import TimeFault, parse_times
from monitor.keys import keyed_hash
from monitor.records import ViolationReason, violation_code

Bools = np.ndarray[Any, np.dtype[np.bool_]]
Reasons = np.ndarray[Any, np.dtype[np.uint8]]


class Grid:
    """`n` rows. A reason is 0 where a cell keeps the contract; it does not by itself empty it."""

    def __init__(self, plan: RowPlan, n: int) -> None:
        self.plan = plan
        self.n = n
        self.numbers = np.zeros((n, plan.layout.number_width))
        self.empty: Bools = np.ones((n, len(plan.columns)), np.bool_)
        self.reasons: Reasons = np.zeros((n, len(plan.columns)), np.uint8)
        self.texts: list[pa.StringArray | None] = [None] * plan.layout.text_width
        self.outside: list[np.ndarray[Any, np.dtype[np.int64]]] = []
        self.examples = ExampleBook()

    def put_numbers(self, plan: ColumnPlan, values: Any, empty: Bools) -> None:
        """Numbers of one column, [n] or [n, width]; what stands under an empty cell is ignored."""
        start, width = plan.slot.number_start, plan.slot.number_width
        self.numbers[:, start : start + width] = values if width > 1 else values.reshape(-1, 1)
        self.empty[:, plan.position] = empty

    def put_texts(self, plan: ColumnPlan, slot: int, values: pa.StringArray) -> None:
        """Texts of one slot of a column."""
        self.texts[plan.slot.text_start + slot] = values

    def put_category(self, plan: ColumnPlan, values: pa.StringArray) -> None:
        """A category column's texts, null where empty."""
        self.put_texts(plan, 0, values)
        self.empty[:, plan.position] = is_null(values)

    def put_timestamps(self, plan: ColumnPlan, texts: pa.StringArray) -> None:
        """Times as sent: stored as seconds since 1970 UTC; a bad one becomes a violation."""
        times = parse_times(texts)
        bad = times.faults != TimeFault.NONE
        self.put_numbers(plan, times.micros / 1e6, is_null(texts) | bad)
        for fault, reason in _TIME_REASONS.items():
            rows = np.flatnonzero(times.faults == fault)
            self.violate(plan, rows, reason, texts)

    def put_free_text(self, plan: ColumnPlan, texts: pa.StringArray, hash_key: bytes) -> None:
        """What describes it as numbers; as text the keyed hash in hexadecimal, or with keep_text
        itself. A slot of an older layout has room for the length alone.
        """
        numbers = text_numbers(texts)[:, : plan.slot.number_width]
        self.put_numbers(plan, numbers, is_null(texts))
        self.put_texts(plan, 0, texts if plan.column.keep_text else hash_texts(texts, hash_key))

    def violate(
        self, plan: ColumnPlan, rows: Any, reason: ViolationReason, values: Any = None
    ) -> None:
        """Mark rows of a column; a cell's first reason stays. `values[row]` is what was sent."""
        if not len(rows):
            return
        fresh = rows[self.reasons[rows, plan.position] == 0]
        self.reasons[fresh, plan.position] = reason
        for row in fresh[: 3 if values is not None else 0]:
            value = values[int(row)]
            value = value.as_py() if isinstance(value, pa.Scalar) else value
            value = value.item() if isinstance(value, np.generic) else value
            self.examples.add(plan.name, reason, value, plan.column)

    def note(self, plan: ColumnPlan, row: int, reason: ViolationReason, value: Any) -> None:
        """Mark one cell with what was sent there."""
        self.reasons[row, plan.position] = reason
        self.examples.add(plan.name, reason, value, plan.column)

    def note_outside(self, name: str, row: int, reason: ViolationReason, value: Any) -> None:
        """A violation of something that is no column of the contract (stored as ordinal 0)."""
        self.outside.append(np.array([[row, violation_code(0, reason)]], np.int64))
        self.examples.add(name, reason, value)

    def note_outside_all(self, name: str, reason: ViolationReason, shown: Sequence[Any]) -> None:
        """The same for every row, with a few values as examples."""
        codes = np.full(self.n, violation_code(0, reason), np.int64)
        self.outside.append(np.column_stack([np.arange(self.n), codes]))
        for value in shown:
            self.examples.add(name, reason, value)


def is_null(values: pa.Array) -> Bools:
    """Null mask of an array."""
    if values.null_count == 0:
        return np.zeros(len(values), np.bool_)
    bitmap = values.buffers()[0]
    if bitmap is None:  # the null type has none
        return np.ones(len(values), np.bool_)
    start, end = values.offset, values.offset + len(values)
    bits = np.unpackbits(np.frombuffer(bitmap, np.uint8), count=end, bitorder="little")
    found: Bools = bits[start:] == 0
    return found


def hash_texts(texts: pa.StringArray, hash_key: bytes) -> pa.StringArray:
    """Keyed hash of each text as 16 hexadecimal digits; null stays null."""
    present = ~is_null(texts)
    hashed = keyed_hash(texts.drop_null(), hash_key).view(np.uint64)
    words = np.full(len(texts), None, dtype=object)
    words[present] = [f"{number:016x}" for number in hashed.tolist()]
    return pa.array(words, pa.string(), from_pandas=True)


def text_or_nulls(grid: Grid, slot: int) -> pa.StringArray:
    """The texts of a slot; all null where no active column fills it."""
    found = grid.texts[slot]
    return pa.nulls(grid.n, pa.string()) if found is None else found


_TIME_REASONS = {
    TimeFault.BAD: ViolationReason.WRONG_TYPE,
    TimeFault.WITHOUT_ZONE: ViolationReason.TIME_WITHOUT_ZONE,
}
