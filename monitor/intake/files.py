"""Files of requests or labels, read in chunks: Parquet, CSV and newline-delimited JSON.

Each chunk is parsed by the same code as a body over HTTP. Knows no database; it reads the one file
it is given.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from monitor.contract import Contract
from monitor.errors import RequestRefused
from monitor.intake.arrow_labels import labels_of_table
from monitor.intake.arrow_requests import requests_of_table
from monitor.intake.base import IntakeContext
from monitor.intake.csv_records import label_writers, request_writers, write_record
from monitor.intake.ipc import refuse_columns, refuse_duplicates
from monitor.intake.json_labels import NDJSON_LABELS
from monitor.intake.json_requests import NDJSON_REQUESTS
from monitor.records import LabelBatch, RequestBatch

CHUNK_ROWS = 5_000
CHUNK_BYTES = 16 << 20
MAX_CELL_LENGTH = 1 << 20
Batch = RequestBatch | LabelBatch


@dataclass(frozen=True)
class Chunk:
    """Some records of a file: how to parse them, the first one's place, how far reading is."""

    parse: Callable[[IntakeContext], Batch]
    first_place: int
    done_share: float


def read_chunks(path: Path, contract: Contract, *, labels: bool) -> Iterator[Chunk]:
    """The file's records in order; raises RequestRefused when it can't be read."""
    suffix = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    reader = _READERS.get(suffix)
    if reader is None:
        raise RequestRefused(
            415, "unsupported_type", f"{path.name}: name the file .parquet, .csv or .ndjson"
        )
    try:
        yield from reader(path, contract, labels)
    except _UNREADABLE as error:
        raise RequestRefused(
            400, "unreadable", f"{path.name} can't be read ({type(error).__name__}); is it whole?"
        ) from None


def _parquet(path: Path, _: Contract, labels: bool) -> Iterator[Chunk]:
    parse = labels_of_table if labels else requests_of_table
    first = 0
    with pq.ParquetFile(path) as file:
        refuse_columns(file.schema_arrow)
        total = max(1, file.metadata.num_rows)
        for batch in file.iter_batches(CHUNK_ROWS):
            table = pa.Table.from_batches([batch])
            done = first + table.num_rows
            yield Chunk(partial(parse, table), first, done / total)
            first = done


def _ndjson(path: Path, _: Contract, labels: bool) -> Iterator[Chunk]:
    with _Source(path) as source:
        first, lines, size = 0, [], 0
        for line in source.lines:
            if not line.strip():
                continue
            lines.append(line.rstrip(b"\n"))
            size += len(line)
            if len(lines) >= CHUNK_ROWS or size >= CHUNK_BYTES:
                yield Chunk(_parser(b"\n".join(lines), labels), first, source.share())
                first, lines, size = first + len(lines), [], 0
        if lines:
            yield Chunk(_parser(b"\n".join(lines), labels), first, 1.0)


def _csv(path: Path, contract: Contract, labels: bool) -> Iterator[Chunk]:
    csv.field_size_limit(MAX_CELL_LENGTH)
    with _Source(path) as source:
        text = io.TextIOWrapper(
            cast("BinaryIO", source.lines), "utf-8-sig", "surrogateescape", newline=""
        )
        rows = csv.reader(text)
        header = next(rows, None)
        if not header:
            raise RequestRefused(400, "empty_body", f"{path.name}: the first row names the columns")
        refuse_duplicates(header)
        writers = (label_writers if labels else request_writers)(header, contract)
        names = [json.dumps(name) for name in header]
        first = 0
        for some in _chunks(rows):
            body, odd = _csv_body(names, writers, some)
            yield Chunk(_parser(body, labels, odd), first, source.share())
            first += len(some)


def _parser(
    body: bytes, labels: bool, odd: Mapping[int, str] | None = None
) -> Callable[[IntakeContext], Batch]:
    form = NDJSON_LABELS if labels else NDJSON_REQUESTS

    def parse(context: IntakeContext) -> Batch:
        batch: Batch = form.parse(body, context)
        return _with_odd_rows(batch, odd) if odd else batch

    return parse


def _chunks(rows: Iterator[list[str]]) -> Iterator[list[list[str]]]:
    some: list[list[str]] = []
    for row in rows:
        if row:
            some.append(row)
        if len(some) >= CHUNK_ROWS:
            yield some
            some = []
    if some:
        yield some


def _csv_body(
    names: Sequence[str],
    writers: Callable[[Sequence[str]], Sequence[Callable[[str], str]]],
    rows: Sequence[Sequence[str]],
) -> tuple[bytes, dict[int, str]]:
    """The rows as NDJSON; a row with another number of cells than the header is told apart."""
    lines, odd = [], {}
    for place, cells in enumerate(rows):
        if len(cells) != len(names):
            odd[place] = f"the row has {len(cells)} cells, the header {len(names)}"
            lines.append("?")
        else:
            lines.append(write_record(names, writers(cells), cells))
    return "\n".join(lines).encode("ascii", "surrogatepass") + b"\n", odd


def _with_odd_rows(batch: Batch, odd: Mapping[int, str]) -> Batch:
    rejections = tuple(
        replace(one, message=odd.get(one.place, one.message)) for one in batch.rejections
    )
    return replace(batch, rejections=rejections)


class _Source:
    """A file, unpacked when its name ends in .gz, that knows how far it has been read."""

    def __init__(self, path: Path) -> None:
        self._raw = path.open("rb")
        self._size = max(1, path.stat().st_size)
        packed = path.name.lower().endswith(".gz")
        self.lines: BinaryIO | gzip.GzipFile = (
            gzip.GzipFile(fileobj=self._raw) if packed else self._raw
        )

    def share(self) -> float:
        """The part of the file that has been read."""
        return min(1.0, self._raw.tell() / self._size)

    def __enter__(self) -> _Source:
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()


_UNREADABLE = (pa.ArrowException, OSError, EOFError, zlib.error, csv.Error)
_READERS: dict[str, Callable[[Path, Contract, bool], Iterator[Chunk]]] = {
    "parquet": _parquet,
    "pq": _parquet,
    "csv": _csv,
    "ndjson": _ndjson,
    "jsonl": _ndjson,
}
