"""Files of any container, opened by what they hold: Parquet, JSON, CSV, text, TFRecord, gzip.

Knows no database; it reads the files it is given. Everything is bounded, as files come from
elsewhere: a line, a document that must be read whole, the depth of nesting.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from monitor.errors import RequestRefused
from monitor.intake.producer_files.base import BadRecord, Gathered
from monitor.intake.producer_files.tfrecord import looks_like_tfrecord
from monitor.intake.text_cells import TextCell
from monitor.records import RejectionReason
from monitor.strictjson import BYTE_ORDER_MARK, JsonFault, StrictJsonError, loads, split_array

HEAD_BYTES = 1 << 20
STEP_BYTES = 1 << 14
LONGEST_LINE = 64 << 20
LARGEST_DOCUMENT = 512 << 20
HEAD_LINES = 20
ROWS = 5_000
UNREADABLE = (pa.ArrowException, OSError, EOFError, zlib.error, csv.Error)
Entry = Mapping[str, Any] | BadRecord


class Container(StrEnum):
    """How entries stand in a file."""

    PARQUET = "parquet"
    JSON_LINES = "json lines"
    JSON = "json"
    TEXT = "text"
    TFRECORD = "tfrecord"
    EMPTY = "empty"


@dataclass(frozen=True)
class Head:
    """The beginning of a file: its first entry where it has entries, and its first lines."""

    container: Container
    entry: Mapping[str, Any]
    lines: tuple[str, ...]
    start: bytes

    def has(self, *names: str) -> bool:
        """Whether the first entry has all these names."""
        return all(name in self.entry for name in names)

    def lacks(self, *names: str) -> bool:
        """Whether the first entry has none of these names."""
        return not any(name in self.entry for name in names)


@dataclass(frozen=True)
class SourceFile:
    """One file: its path, and the folder or file's folder that is imported.

    Nothing outside that folder is read, whatever a file names.
    """

    path: Path
    root: Path

    @property
    def name(self) -> str:
        """The file's name as the person who imports it knows it."""
        return self.path.relative_to(self.root).as_posix()

    @cached_property
    def head(self) -> Head:
        """What the file begins with; RequestRefused when it can't be read."""
        try:
            return _head(self)
        except UNREADABLE as error:
            raise unreadable(self, error) from None

    def entries(self) -> Iterator[tuple[int, Entry]]:
        """Entries with their places; one that can't be read comes as its BadRecord.

        So does the end of a file that breaks off: what came before stays.
        """
        place = -1
        try:
            for place, entry in _ENTRIES[self.head.container](self):
                yield place, entry
        except (*UNREADABLE, RequestRefused) as error:
            yield place + 1, broken_off(error)

    def text_lines(self, gathered: Gathered) -> Iterator[tuple[int, str]]:
        """Lines of text with their places; a file that breaks off is refused from there on."""
        place = -1
        try:
            for place, line in _lines(self):
                yield place, line.decode("utf-8", "replace").rstrip("\r\n")
        except UNREADABLE as error:
            gathered.refuse(broken_off(error), place + 1)

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The file's bytes, unpacked when it is gzip by its first bytes."""
        with self.path.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            yield cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if packed else raw

    def whole(self) -> bytes:
        """All bytes of a document; RequestRefused above LARGEST_DOCUMENT."""
        with self.opened() as raw:
            body = raw.read(LARGEST_DOCUMENT + 1)
        if len(body) > LARGEST_DOCUMENT:
            raise RequestRefused(
                413,
                "too_large",
                f"{self.name}: a document of more than {LARGEST_DOCUMENT >> 20} MiB",
            )
        return body.removeprefix(BYTE_ORDER_MARK)


def unreadable(file: SourceFile, error: BaseException) -> RequestRefused:
    """What is told of a file that breaks off or is no file of its kind."""
    return RequestRefused(
        400, "unreadable", f"{file.name} can't be read ({type(error).__name__}); is it whole?"
    )


def broken_off(error: BaseException) -> BadRecord:
    """What is told of the place where a file can't be read any further."""
    told = str(error) if isinstance(error, RequestRefused) else type(error).__name__
    message = f"the file can't be read from here on ({told}); is it whole?"
    return BadRecord(RejectionReason.UNREADABLE, message)


def _head(file: SourceFile) -> Head:
    start = _start(file)
    if start.startswith(b"PAR1"):
        return Head(Container.PARQUET, _first_row(file), (), start[:64])
    if looks_like_tfrecord(start):
        return Head(Container.TFRECORD, {}, (), start)
    text = start.removeprefix(BYTE_ORDER_MARK).decode("utf-8", "replace")
    lines = tuple(line for line in text.splitlines()[: HEAD_LINES * 5] if line.strip())[:HEAD_LINES]
    if not lines:
        return Head(Container.EMPTY, {}, (), start[:64])
    if text.lstrip()[:1] in "{[":
        return _json_head(file, text, lines)
    return Head(Container.TEXT, _csv_entry(lines), lines, start[:64])


def _start(file: SourceFile) -> bytes:
    """The first bytes, as many as can be read."""
    start = b""
    with file.opened() as raw:
        try:
            while len(start) < HEAD_BYTES and (more := raw.read(STEP_BYTES)):
                start += more
        except UNREADABLE:
            if not start:
                raise
    return start


def _json_head(file: SourceFile, text: str, lines: tuple[str, ...]) -> Head:
    first = _plain(lines[0]) or (_plain_line(file) if len(text) >= HEAD_BYTES else None)
    if isinstance(first, Mapping):
        return Head(Container.JSON_LINES, first, lines, b"")
    inside = text.lstrip()
    entry = _decoded(inside.lstrip("[ \r\n\t"))
    return Head(Container.JSON, entry, lines, inside[:1].encode())


def _plain_line(file: SourceFile) -> Any:
    """The first line of a file whose first line is longer than a head."""
    with file.opened() as raw:
        line = raw.readline(LONGEST_LINE)
    return _plain(line.decode("utf-8", "replace"))


def _plain(line: str) -> Any:
    try:
        return loads(line.encode("utf-8", "surrogatepass"))
    except StrictJsonError:
        return None


def _decoded(text: str) -> Mapping[str, Any]:
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, Mapping) else {}


def _csv_entry(lines: tuple[str, ...]) -> Mapping[str, Any]:
    try:
        header = next(csv.reader(lines[:1]))
    except (csv.Error, StopIteration):
        return {}
    return dict.fromkeys(header, "") if len(header) > 1 else {}


def _first_row(file: SourceFile) -> Mapping[str, Any]:
    with pq.ParquetFile(file.path) as parquet:
        row = dict.fromkeys(parquet.schema_arrow.names)
        for batch in parquet.iter_batches(1):
            return dict(batch.to_pylist()[0])
    return row


def _lines(file: SourceFile) -> Iterator[tuple[int, bytes]]:
    with file.opened() as raw:
        place = 0
        while line := raw.readline(LONGEST_LINE):
            if place == 0:
                line = line.removeprefix(BYTE_ORDER_MARK)
            yield place, line
            place += 1


def _json_lines(file: SourceFile) -> Iterator[tuple[int, Entry]]:
    for place, line in _lines(file):
        if line.strip():
            yield place, read_object(line)


def _json(file: SourceFile) -> Iterator[tuple[int, Entry]]:
    body = file.whole()
    if not body.lstrip().startswith(b"["):
        yield 0, read_object(body)
        return
    try:
        elements = split_array(body)
    except StrictJsonError as error:
        raise RequestRefused(400, "unreadable", f"{file.name}: {error}") from None
    for place, element in enumerate(elements):
        yield place, read_object(bytes(element))


def _parquet(file: SourceFile) -> Iterator[tuple[int, Entry]]:
    place = 0
    with pq.ParquetFile(file.path) as parquet:
        for batch in parquet.iter_batches(ROWS):
            for row in batch.to_pylist():
                yield place, row
                place += 1


def _csv(file: SourceFile) -> Iterator[tuple[int, Entry]]:
    csv.field_size_limit(LONGEST_LINE)
    with file.opened() as raw:
        rows = csv.reader(io.TextIOWrapper(raw, "utf-8-sig", "replace", newline=""))
        header = next(rows, [])
        for place, cells in enumerate(rows):
            if len(cells) == len(header):
                yield place, {n: TextCell(c) for n, c in zip(header, cells, strict=True) if c}
            elif cells:
                told = f"the row has {len(cells)} cells, the header {len(header)}"
                yield place, BadRecord(RejectionReason.UNREADABLE, told)


def _none(_: SourceFile) -> Iterator[tuple[int, Entry]]:
    yield from ()


def read_object(text: bytes) -> Entry:
    """A JSON object, or why it is none; the reason holds nothing of the text."""
    try:
        value = loads(text)
    except StrictJsonError as error:
        deep = error.fault is JsonFault.TOO_DEEP
        reason = RejectionReason.TOO_DEEP if deep else RejectionReason.UNREADABLE
        return BadRecord(reason, str(error))
    if not isinstance(value, Mapping):
        return BadRecord(RejectionReason.NOT_AN_OBJECT, "an entry is a JSON object {...}")
    return value


_ENTRIES = {
    Container.PARQUET: _parquet,
    Container.JSON_LINES: _json_lines,
    Container.JSON: _json,
    Container.TEXT: _csv,
    Container.TFRECORD: _none,
    Container.EMPTY: _none,
}
