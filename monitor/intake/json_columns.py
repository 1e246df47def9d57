"""Rows of typed values, turned into columns: numbers in one matrix, texts as Arrow arrays. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from msgspec import UNSET, Raw

from monitor.contract import ColumnType
from monitor.intake.envelope import ENVELOPE_FIELDS, OUTCOMES, Refusal
from monitor.intake.grid import Grid
from monitor.intake.json_lenient import parse_one
from monitor.intake.json_struct import count_quotes
from monitor.intake.plan import SCALARS, ColumnPlan, Floats, Places, RowPlan
from monitor.intake.typed_cells import TEXTS, put_lists, put_text
from monitor.records import RequestOutcome

_START = len(ENVELOPE_FIELDS)
_ANSWERED = int(RequestOutcome.ANSWERED)
_OUTCOME_NUMBERS: dict[Any, int] = {None: _ANSWERED, UNSET: _ANSWERED, **OUTCOMES}


class TypedColumns:
    """Columns of n rows as the readers of JSON give them: None or UNSET where absent.

    `explained_quotes` is how many quote characters these rows have as JSON when no key is repeated.
    `readable` is False when tags were no JSON that can be read (the lenient reader says why).
    """

    def __init__(self, rows: Sequence[tuple[Any, ...]], plan: RowPlan) -> None:
        self.plan = plan
        self.n = len(rows)
        self._absent = 0
        self._strings = 0
        self.readable = True
        columns = list(zip(*rows, strict=True))
        self.request_ids = self._required_texts(columns[0])
        self.event_times = self._required_texts(columns[1])
        self.deployments = self._optional(columns[2])
        self.tags = self._read_tags(columns[3])
        self.outcomes = self._outcome_numbers(columns[4])
        self.outcome_reasons = self._texts(columns[5])
        self.scalars = self._scalars(columns)
        self.texts: dict[int, pa.StringArray] = {}
        self.lists: dict[int, Sequence[Any]] = {}
        for column in plan.columns:
            self._read(column, columns[_START + column.position])

    @property
    def explained_quotes(self) -> int | None:
        """None when something can't be read, so that nothing is explained."""
        if not self.readable:
            return None
        keys = self.n * (_START + len(self.plan.columns)) - self._absent
        return 2 * (keys + self._strings)

    def _read(self, column: ColumnPlan, values: Sequence[Any]) -> None:
        if column.column.type in TEXTS:
            self.texts[column.position] = self._texts(values)
        elif column.column.type not in SCALARS:
            given = self._optional(values)
            self.lists[column.position] = given
            if column.column.type is ColumnType.RANKED_LIST:
                self._strings += sum(len(value) for value in given if value is not None)

    def _required_texts(self, values: Sequence[str]) -> pa.StringArray:
        self._strings += len(values)
        return pa.array(values, pa.string())

    def _texts(self, values: Sequence[Any]) -> pa.StringArray:
        try:
            found = pa.array(values, pa.string())
        except (pa.ArrowInvalid, pa.ArrowTypeError):  # some are UNSET
            found = pa.array(self._optional(values), pa.string())
        self._strings += len(found) - found.null_count
        return found

    def _optional(self, values: Sequence[Any]) -> Sequence[Any]:
        absent = values.count(UNSET)
        if not absent:
            return values
        self._absent += absent
        return [None if value is UNSET else value for value in values]

    def _read_tags(self, values: Sequence[Any]) -> Sequence[Any]:
        """Tags as written are read once for each spelling; the lenient reader has read its own."""
        given = self._optional(values)
        if given.count(None) == self.n:
            return given
        read: dict[bytes, tuple[Any, int]] = {}
        found = []
        for value in given:
            if not isinstance(value, Raw):
                found.append(value)
                continue
            text = bytes(value)
            if text not in read:
                read[text] = (parse_one(text), count_quotes(text) // 2)
            tags, strings = read[text]
            self.readable = self.readable and not isinstance(tags, Refusal)
            self._strings += strings
            found.append(tags)
        return found

    def _outcome_numbers(self, values: Sequence[Any]) -> np.ndarray[Any, np.dtype[np.int16]]:
        absent = values.count(UNSET)
        self._absent += absent
        self._strings += len(values) - absent - values.count(None)
        return np.array([_OUTCOME_NUMBERS[value] for value in values], np.int16)

    def _scalars(self, columns: Sequence[Sequence[Any]]) -> Floats:
        """[k, n] numbers of the one-number columns, NaN where absent."""
        chosen = [columns[_START + plan.position] for plan in self.plan.scalars]
        if not chosen:
            return np.zeros((0, self.n))
        try:
            return np.array(chosen, np.float64)
        except TypeError:  # some are UNSET
            return np.array([self._optional(values) for values in chosen], np.float64)


def fill_grid(columns: TypedColumns, kept: Places, hash_key: bytes) -> Grid:
    """A grid of the kept rows."""
    grid = Grid(columns.plan, len(kept))
    every = len(kept) == columns.n
    numbers = columns.scalars if every else columns.scalars[:, kept]
    if columns.plan.scalars:
        empty = np.isnan(numbers.T)
        grid.numbers[:, columns.plan.scalar_slots] = numbers.T
        grid.empty[:, columns.plan.scalar_positions] = empty
    for position, whole in columns.texts.items():
        texts = whole if every else whole.take(pa.array(kept))
        put_text(grid, columns.plan.columns[position], texts, hash_key)
    for position, values in columns.lists.items():
        chosen = values if every else [values[row] for row in kept.tolist()]
        put_lists(grid, columns.plan.columns[position], chosen)
    return grid
