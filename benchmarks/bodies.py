"""Bodies of requests, encoded before anything is timed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

import msgspec
import pyarrow as pa

NDJSON = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"


@dataclass(frozen=True)
class Bodies:
    """Encoded bodies of one content type: `rows` records, `new` of them never sent before."""

    content_type: str
    bodies: tuple[bytes, ...]
    rows: int
    new: int


def ndjson_bodies(tables: Sequence[pa.Table], new: int | None = None) -> Bodies:
    """A body a table, a line a record."""
    return _bodies(NDJSON, tables, tuple(_lines(table) for table in tables), new)


def arrow_bodies(tables: Sequence[pa.Table], new: int | None = None) -> Bodies:
    """A body a table, as an uncompressed IPC stream of one record batch."""
    return _bodies(ARROW, tables, tuple(_stream(table) for table in tables), new)


def sliced(sent: pa.Table, size: int) -> list[pa.Table]:
    """Tables of `size` rows in the order of `sent`."""
    starts = range(0, sent.num_rows, size)
    return [sent.slice(start, size).combine_chunks() for start in starts]


def with_repeats(tables: Sequence[pa.Table], share: float) -> list[pa.Table]:
    """Every table after the first has so large a share of its rows from the one before it."""
    mixed = [tables[0]]
    for before, table in pairwise(tables):
        n = table.num_rows
        repeated = max(1, round(n * share))
        kept = table.slice(0, n - repeated)
        mixed.append(pa.concat_tables([kept, before.slice(0, repeated)]).combine_chunks())
    return mixed


def _bodies(
    kind: str, tables: Sequence[pa.Table], encoded: tuple[bytes, ...], new: int | None
) -> Bodies:
    rows = sum(table.num_rows for table in tables)
    return Bodies(kind, encoded, rows, rows if new is None else new)


def _lines(table: pa.Table) -> bytes:
    encode = msgspec.json.Encoder().encode
    records = table.to_pylist()
    for record in records:
        record["event_time"] = _written(record["event_time"])
    return b"\n".join(encode(record) for record in records) + b"\n"


def _written(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
