"""Stored request rows as arrays. Numbers stay in the Arrow buffer they came in; nothing is copied
until a tile of them is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.contract import Contract
from monitor.layout import Layout
from monitor.profiles.arrays import Flags, Floats, Integers
from monitor.records import REQUEST_SCHEMA


@dataclass(frozen=True, eq=False)
class NumberTile:
    """Numbers of some rows: `raw` float64[n, width], anything under a null, `absent` the nulls."""

    raw: Floats
    absent: Flags | None

    def slots(self, first: int, last: int) -> Floats:
        """Slots [first, last) transposed: float64[last - first, n], NaN for null."""
        values = np.array(self.raw[:, first:last].T, order="C")
        if self.absent is not None:
            np.putmask(values, self.absent[:, first:last].T, np.nan)
        return values


@dataclass(frozen=True, eq=False)
class RequestRows:
    """n requests on one layout.

    `slots` float64[n * number_width] flat, an Arrow array with nulls; `texts` text[n * text_width]
    flat, with nulls. `event_time`, `received_at` int64[n] in microseconds since 1970 UTC.
    `violation_rows` int64[m], `violation_codes` int64[m]: one entry a violation.
    """

    layout: Layout
    contract: Contract
    request_ids: pa.Array
    event_time: Integers
    received_at: Integers
    deployment_id: Integers
    contract_version: Integers
    outcome: Integers
    outcome_reason: pa.Array
    violation_rows: Integers
    violation_codes: Integers
    slots: pa.Array
    texts: pa.Array

    def __len__(self) -> int:
        return len(self.request_ids)

    @classmethod
    def from_table(cls, table: pa.Table, layout: Layout, contract: Contract) -> Self:
        """Rows of a table with REQUEST_SCHEMA's columns (other columns are ignored).

        Arrays shorter than the layout (rows of an older contract version) are filled up with
        nulls; slots beyond the layout are left out.
        """
        columns = {
            name: _one_array(table, name)
            for name in REQUEST_SCHEMA.names
            if name in table.column_names
        }
        rows, codes = _violations(columns["violations"])
        return cls(
            layout=layout,
            contract=contract,
            request_ids=columns["request_id"],
            event_time=_microseconds(columns["event_time"]),
            received_at=_microseconds(columns["received_at"]),
            deployment_id=_integers(columns["deployment_id"]),
            contract_version=_integers(columns["contract_version"]),
            outcome=_integers(columns["outcome"]),
            outcome_reason=columns["outcome_reason"],
            violation_rows=rows,
            violation_codes=codes,
            slots=_even(columns["numbers"], layout.number_width),
            texts=_even(columns["texts"], layout.text_width),
        )

    @property
    def numbers(self) -> Floats:
        """All numbers, float64[n, number_width], NaN for null; the buffer itself without nulls."""
        raw = self._raw()
        if self.slots.null_count == 0:
            return raw
        absent = self.slots.is_null().to_numpy(zero_copy_only=False).reshape(raw.shape)
        return np.asarray(np.where(absent, np.nan, raw))

    def number_tile(self, start: int, stop: int) -> NumberTile:
        """The numbers of rows [start, stop), to be read slot by slot."""
        width = self.layout.number_width
        part = self.slots.slice(start * width, (stop - start) * width)
        absent = None
        if part.null_count:
            absent = part.is_null().to_numpy(zero_copy_only=False).reshape(-1, width)
        return NumberTile(self._raw()[start:stop], absent)

    def text_column(self, place: int, start: int = 0, stop: int | None = None) -> pa.Array:
        """One text slot of rows [start, stop), text[n] with nulls."""
        width = self.layout.text_width
        end = len(self) if stop is None else stop
        part = self.texts.slice(start * width, (end - start) * width)
        return part if width == 1 else part.take(pa.array(np.arange(place, len(part), width)))

    def number_column(self, place: int) -> Floats:
        """One number slot of all rows, float64[n], NaN for null."""
        width = self.layout.number_width
        places = pa.array(np.arange(place, len(self) * width, width))
        return np.asarray(self.slots.take(places).to_numpy(zero_copy_only=False), np.float64)

    def _raw(self) -> Floats:
        width, n = self.layout.number_width, len(self)
        if n * width == 0:
            return np.zeros((n, width))
        flat = np.frombuffer(self.slots.buffers()[1], np.float64, n * width, self.slots.offset * 8)
        return flat.reshape(n, width)


def _one_array(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    if column.num_chunks == 1:
        return column.chunk(0)
    return column.combine_chunks() if column.num_chunks else pa.array([], column.type)


def _microseconds(times: pa.Array) -> Integers:
    return _integers(times.cast(pa.timestamp("us", tz="UTC")).view(pa.int64()))


def _integers(array: pa.Array) -> Integers:
    return np.asarray(array.to_numpy(zero_copy_only=False), np.int64)


def _violations(lists: pa.Array) -> tuple[Integers, Integers]:
    codes = lists.flatten()
    rows = pc.list_parent_indices(lists)
    return _integers(rows), _integers(codes)


def _even(lists: pa.Array, width: int) -> pa.Array:
    """The flattened lists, each made exactly `width` long; the child itself if they all are."""
    lengths = np.asarray(pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False))
    if (lengths == width).all():
        return lists.flatten()
    children = lists.flatten()
    starts = np.cumsum(lengths) - lengths
    places = starts[:, None] + np.arange(width)
    outside = np.arange(width) >= lengths[:, None]
    return children.take(pa.array(places.ravel(), mask=outside.ravel()))
