"""The sample of one deployment and UTC day: the 2,000 rows with the smallest keyed hash of the id.

Mergeable and deterministic: the sample of a whole is the smallest 2,000 of its parts' samples,
whatever the order. It holds raw values and expires with the raw rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.contract import Column, ColumnType
from monitor.keys import keyed_hash
from monitor.layout import Slot, TextNumber
from monitor.profiles.arrays import Integers
from monitor.profiles.rows import RequestRows
from monitor.records import TIMESTAMP

SAMPLE_ROWS = 2_000
HASH, EVENT_TIME, REQUEST_ID, OUTCOME = "request_hash", "event_time", "request_id", "outcome"
_ENVELOPE = (HASH, EVENT_TIME, REQUEST_ID, OUTCOME)


def sample_rows(
    rows: RequestRows, key16: bytes, limit: int = SAMPLE_ROWS, among: Integers | None = None
) -> pa.Table:
    """The sample of the rows at places `among`, of all without it: hash, event time, id, outcome,
    then the contract's columns by name.

    Columns carry their own names, in the order of the names. Text is its numbers (`NAME.length`,
    `NAME.words` and so on) and its stored hash or text (`NAME`); vectors, class scores and ranked
    lists are lists. A column named like one of the first four is left out.
    """
    ids = rows.request_ids if among is None else rows.request_ids.take(pa.array(among))
    hashes = keyed_hash(ids, key16)
    smallest = _smallest(
        hashes, rows.event_time if among is None else rows.event_time[among], limit
    )
    order = smallest if among is None else among[smallest]
    places = pa.array(order)
    columns: dict[str, pa.Array] = {
        HASH: pa.array(hashes[smallest]),
        EVENT_TIME: pa.array(rows.event_time[order]).cast(TIMESTAMP),
        REQUEST_ID: rows.request_ids.take(places),
        OUTCOME: pa.array(rows.outcome[order], pa.int16()),
    }
    for column in rows.contract.columns:
        columns |= {
            name: values
            for name, values in _values(rows, column, order).items()
            if name not in _ENVELOPE
        }
    return _in_order(pa.table(columns))


def merge_samples(samples: Sequence[pa.Table], limit: int = SAMPLE_ROWS) -> pa.Table:
    """The sample of everything the samples were taken from; equal rows (id and time) count once.

    Samples of different contract versions merge too: a column one of them lacks is null there, and
    columns of one name but different types are told apart by their type (`age (double)`).
    """
    together = pa.concat_tables(_told_apart(samples), promote_options="default").combine_chunks()
    hashes = together[HASH].to_numpy()
    times = together[EVENT_TIME].cast(pa.int64()).to_numpy()
    order = np.lexsort((times, hashes))
    same = np.zeros(len(order), bool)
    same[1:] = (np.diff(hashes[order]) == 0) & (np.diff(times[order]) == 0)
    return _in_order(together.take(pa.array(order[~same][:limit])))


def sample_to_bytes(sample: pa.Table) -> bytes:
    """The stored form: an Arrow IPC stream under zstd."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, sample.schema, options=options) as writer:
        writer.write_table(sample.combine_chunks())
    return bytes(sink.getvalue())


def sample_from_bytes(stored: bytes) -> pa.Table:
    """Read what `sample_to_bytes` wrote."""
    with pa.ipc.open_stream(pa.py_buffer(stored)) as reader:
        return reader.read_all()


def _smallest(hashes: Integers, times: Integers, limit: int) -> Integers:
    """The places of the first `limit` rows in the order of hash and time."""
    near = np.arange(len(hashes))
    if len(hashes) > limit:
        near = np.flatnonzero(hashes <= np.partition(hashes, limit - 1)[limit - 1])
    return near[np.lexsort((times[near], hashes[near]))[:limit]]


def _in_order(sample: pa.Table) -> pa.Table:
    return sample.select([*_ENVELOPE, *sorted(set(sample.column_names) - set(_ENVELOPE))])


def _told_apart(samples: Sequence[pa.Table]) -> list[pa.Table]:
    types: dict[str, set[str]] = {}
    for sample in samples:
        for field in sample.schema:
            types.setdefault(field.name, set()).add(str(field.type))
    return [
        sample.rename_columns(
            [f.name if len(types[f.name]) == 1 else f"{f.name} ({f.type})" for f in sample.schema]
        )
        for sample in samples
    ]


def _values(rows: RequestRows, column: Column, order: Integers) -> dict[str, pa.Array]:
    slot = rows.layout.slot(column.name)
    match column.type:
        case ColumnType.CATEGORY:
            return {column.name: _text(rows, slot, 0, order)}
        case ColumnType.TEXT:
            numbers = {
                f"{column.name}.{name}": _number(rows, slot, place, order)
                for place, name in enumerate(TextNumber)
                if place < slot.number_width
            }
            return {column.name: _text(rows, slot, 0, order), **numbers}
        case ColumnType.BOOLEAN:
            return {column.name: pc.equal(_number(rows, slot, 0, order), 1.0)}
        case ColumnType.TIMESTAMP:
            seconds = _number(rows, slot, 0, order)
            micros = pc.round(pc.multiply(seconds, 1e6)).cast(pa.int64())
            return {column.name: micros.cast(TIMESTAMP)}
        case ColumnType.VECTOR | ColumnType.CLASS_SCORES:
            parts = [_number(rows, slot, k, order) for k in range(slot.number_width)]
            return {column.name: _lists(parts)}
        case ColumnType.RANKED_LIST:
            parts = [_text(rows, slot, k, order) for k in range(slot.text_width)]
            return {column.name: _lists(parts)}
        case _:
            return {column.name: _number(rows, slot, 0, order)}


def _number(rows: RequestRows, slot: Slot, k: int, order: Integers) -> pa.Array:
    width = rows.layout.number_width
    return rows.slots.take(pa.array(order * width + slot.number_start + k))


def _text(rows: RequestRows, slot: Slot, k: int, order: Integers) -> pa.Array:
    width = rows.layout.text_width
    return rows.texts.take(pa.array(order * width + slot.text_start + k))


def _lists(parts: Sequence[pa.Array]) -> pa.Array:
    """One list a row from one array a place."""
    n, width = len(parts[0]), len(parts)
    by_place = pa.concat_arrays(parts)
    rows, places = np.divmod(np.arange(n * width), width)
    flat = by_place.take(pa.array(places * n + rows))
    return pa.ListArray.from_arrays(pa.array(np.arange(n + 1) * width, pa.int32()), flat)
