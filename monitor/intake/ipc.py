"""Reading an Arrow IPC stream from strangers, measured before anything is unpacked. Pure.

A few bytes of an IPC stream can claim terabytes: compressed buffers, a null column of any length,
dictionaries and views that point at one value many times. All are measured first.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.errors import RequestRefused
from monitor.intake.json_records import refuse_over

_RECORD_BATCH, _DICTIONARY_BATCH = 3, 2
MAX_MESSAGES = 10_000
MAX_COLUMNS = 4_000


def read_stream(body: bytes, max_records: int, max_bytes: int) -> pa.Table:
    """The table of an IPC stream; raises RequestRefused (400 unreadable, 413 over a limit)."""
    if not body:
        raise RequestRefused(400, "empty_body", "the body is empty; send an Arrow IPC stream")
    try:
        _refuse_bombs(body, max_records, max_bytes)
        with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
            refuse_columns(reader.schema)
            batches = _read_batches(reader, max_records)
            return pa.Table.from_batches(batches, reader.schema)
    except (pa.ArrowException, OSError, ValueError, struct.error, IndexError) as error:
        raise RequestRefused(
            400,
            "unreadable",
            f"not an Arrow IPC stream ({type(error).__name__}); nothing was stored",
        ) from None


def refuse_columns(schema: pa.Schema) -> None:
    """Refuse a schema with too many columns or with a name twice."""
    if len(schema.names) > MAX_COLUMNS:
        raise RequestRefused(413, "too_many_columns", f"send at most {MAX_COLUMNS} columns")
    refuse_duplicates(schema.names)


def refuse_duplicates(names: list[str]) -> None:
    """Refuse column names that appear twice, naming them."""
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise RequestRefused(
            422,
            "duplicate_columns",
            f"column names appear twice: {', '.join(map(repr, twice[:10]))}; name each column once",
        )


def refuse_expansion(array: pa.Array, max_bytes: int) -> None:
    """Refuse an array whose plain form would be larger than `max_bytes`."""
    if plain_size(array) > max_bytes:
        raise RequestRefused(
            413, "too_large", f"a column unpacks to more than {max_bytes} bytes; send fewer rows"
        )


def plain_size(array: pa.Array) -> int:
    """Bytes of the array with dictionaries and views written out, at least roughly."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        if not _is_text(kind.value_type):
            return len(array) * 16 + plain_size(array.dictionary)
        lengths = _lengths(array.dictionary).fill_null(0)
        return int(pc.sum(lengths.take(array.indices)).as_py() or 0)
    if _is_text(kind):
        return int(pc.sum(_lengths(array)).as_py() or 0)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or _is_list_view(kind):
        items = int(pc.sum(pc.list_value_length(array)).as_py() or 0)
        size = plain_size(array.values) if len(array.values) else 0
        return items * max(16, int(size / max(1, len(array.values))))
    if pa.types.is_fixed_size_list(kind):
        return len(array) * int(kind.list_size) * 16
    return len(array) * 16


def _lengths(texts: pa.Array) -> pa.Array:
    if pa.types.is_string_view(texts.type) or pa.types.is_binary_view(texts.type):
        # Of the 16 bytes of a view the first 4 are its length.
        views = np.frombuffer(texts.buffers()[1], np.int32)[::4]
        return pa.array(views[texts.offset : texts.offset + len(texts)].astype(np.int64))
    return pc.binary_length(texts).cast(pa.int64())


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
    )


def _is_list_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind))


def _read_batches(reader: Any, max_records: int) -> list[pa.RecordBatch]:
    batches, n = [], 0
    for batch in reader:
        n += batch.num_rows
        refuse_over(n, max_records)
        batches.append(batch)
    return batches


def _refuse_bombs(body: bytes, max_records: int, max_bytes: int) -> None:
    """Sum what the messages say they unpack to, from their headers alone."""
    total = 0
    for count, message in enumerate(_messages(body), start=1):
        header = _Header(bytes(message.metadata))
        rows, size = header.unpacked(message.body)
        total += size
        if header.kind == _RECORD_BATCH:
            refuse_over(rows, max_records)
        if total > max_bytes or count > MAX_MESSAGES:
            raise RequestRefused(
                413,
                "too_large",
                f"the stream unpacks to more than {max_bytes} bytes; send fewer rows",
            )


def _messages(body: bytes) -> Iterator[Any]:
    reader = pa.ipc.MessageReader.open_stream(pa.py_buffer(body))
    while True:
        try:
            message = reader.read_next_message()
        except StopIteration:
            return
        yield message


class _Header:
    """The few fields of an IPC message's flatbuffer that tell its unpacked size.

    Layout: Message(version, header_type, header, body_length); RecordBatch(length, nodes, buffers,
    compression); DictionaryBatch(id, data: RecordBatch). Source: Arrow, Message.fbs.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._root = self._u32(0)
        kind = self._field(self._root, 1)
        self.kind = self._data[kind] if kind else 0

    def unpacked(self, body: pa.Buffer | None) -> tuple[int, int]:
        """Rows and bytes after decompression; (0, 0) for other messages."""
        if self.kind not in (_RECORD_BATCH, _DICTIONARY_BATCH):
            return 0, 0
        batch = self._table(self._field(self._root, 2))
        if self.kind == _DICTIONARY_BATCH:
            batch = self._table(self._field(batch, 1))
        place = self._field(batch, 0)
        rows = struct.unpack_from("<q", self._data, place)[0] if place else 0
        size = 0 if body is None else body.size
        if body is not None and self._field(batch, 3):
            size = sum(self._claimed(body, *where) for where in self._buffers(batch))
        return rows, size

    def _buffers(self, batch: int) -> list[tuple[int, int]]:
        place = self._field(batch, 2)
        if not place:
            return []
        vector = place + self._u32(place)
        count = self._u32(vector)
        if count > len(self._data) // 16 + 1:
            raise ValueError("a vector is longer than its message")
        return [struct.unpack_from("<qq", self._data, vector + 4 + 16 * i) for i in range(count)]

    def _claimed(self, body: pa.Buffer, offset: int, length: int) -> int:
        """A compressed buffer begins with its unpacked length; -1 says that it is plain."""
        if length < 8 or offset < 0 or offset + 8 > body.size:
            return max(0, length)
        claimed: int = struct.unpack("<q", body.slice(offset, 8).to_pybytes())[0]
        return length if claimed == -1 else max(claimed, 0)

    def _table(self, place: int) -> int:
        if not place:
            raise ValueError("the message has no header table")
        return place + self._u32(place)

    def _field(self, table: int, index: int) -> int:
        """Where a table's field stands, 0 when it is absent."""
        start = table - int(struct.unpack_from("<i", self._data, table)[0])
        size = struct.unpack_from("<H", self._data, start)[0]
        slot = 4 + 2 * index
        offset = struct.unpack_from("<H", self._data, start + slot)[0] if slot < size else 0
        return table + offset if offset else 0

    def _u32(self, place: int) -> int:
        return int(struct.unpack_from("<I", self._data, place)[0])
