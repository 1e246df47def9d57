"""A JSON body into rows of typed values: all at once where every record keeps the contract,
record by record where one does not, so that a bad record never costs its neighbours. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec
from msgspec.structs import astuple

from monitor.errors import RequestRefused
from monitor.intake.envelope import ENVELOPE_FIELDS, Refusal
from monitor.intake.examples import excerpt
from monitor.intake.json_lenient import Notes, parse_one
from monitor.intake.json_struct import RecordReader, count_quotes
from monitor.records import Rejection
from monitor.strictjson import BYTE_ORDER_MARK, StrictJsonError, split_array, visible

UNREADABLE_BY_DECODER = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
TAGS = ENVELOPE_FIELDS.index("tags")
_ESCAPED_NUL = b"\\u0000"


class Form(Protocol):
    """How records stand in a body."""

    def decode(self, body: bytes, typed: Any) -> list[Any] | None:
        """All records by the typed decoder; None when it refuses one, or places are not certain."""
        ...

    def split(self, body: bytes) -> list[bytes]:
        """Each record as written; raises RequestRefused when that can't be told."""
        ...


class Lines:
    """Newline-delimited JSON; blank lines are no records."""

    def decode(self, body: bytes, typed: Any) -> list[Any] | None:
        records: list[Any] = typed.lines.decode_lines(body)
        lines = body.count(b"\n") + (not body.endswith(b"\n"))
        return records if len(records) == lines else None

    def split(self, body: bytes) -> list[bytes]:
        lines = [line for line in body.split(b"\n") if line.strip()]
        if not lines:
            raise RequestRefused(400, "empty_body", "the body is empty; send a record on each line")
        return lines


class Array:
    """One JSON array of records."""

    def decode(self, body: bytes, typed: Any) -> list[Any] | None:
        records: list[Any] = typed.array.decode(body)
        return records

    def split(self, body: bytes) -> list[bytes]:
        if not body.strip():
            raise RequestRefused(
                400, "empty_body", "the body is empty; send a JSON array of records"
            )
        try:
            return [bytes(element) for element in _RAW.decode(body)]
        except UNREADABLE_BY_DECODER:
            pass
        try:
            return split_array(body)
        except StrictJsonError as error:
            raise RequestRefused(400, "unreadable", f"{error}; nothing was stored") from None


_RAW = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass
class Rows:
    """Rows read from a body. `all_typed` says that no record needed the lenient reader."""

    rows: list[tuple[Any, ...]]
    places: Sequence[int]
    notes: Notes = field(default_factory=Notes)
    rejections: list[Rejection] = field(default_factory=list)
    all_typed: bool = False


def without_mark(body: bytes) -> bytes:
    """The body without a leading byte order mark."""
    return body.removeprefix(BYTE_ORDER_MARK)


def read_all_typed(body: bytes, form: Form, reader: RecordReader, limit: int) -> Rows | None:
    """Every record by the typed decoder, None when one needs a closer look.

    Repeated keys are not noticed here; compare `count_quotes` with what the columns explain.
    """
    records = decode_all(body, form, reader, limit)
    if records is None:
        return None
    return Rows([astuple(record) for record in records], range(len(records)), all_typed=True)


def decode_all(body: bytes, form: Form, reader: RecordReader, limit: int) -> list[Any] | None:
    """Every record as the typed decoder gives it, None when one needs a closer look."""
    if b"\\" in body and _ESCAPED_NUL in body:
        return None
    try:
        records = form.decode(body, reader)
    except UNREADABLE_BY_DECODER:
        return None
    if not records:
        return None
    refuse_over(len(records), limit)
    return records


def read_one_by_one(body: bytes, form: Form, reader: RecordReader, limit: int) -> Rows:
    """Every record by itself: typed where that works, lenient where not."""
    texts = form.split(body)
    refuse_over(len(texts), limit)
    places: list[int] = []
    found = Rows([], places)
    for place, text in enumerate(texts):
        row = _typed_row(text, reader)
        if row is None:
            row = _lenient_row(text, place, reader, found)
        if row is not None:
            found.rows.append(row)
            places.append(place)
    return found


def refuse_over(n: int, limit: int) -> None:
    """Refuse a body of more than `limit` records."""
    if n > limit:
        raise RequestRefused(
            413, "too_many_records", f"the body has {n} records; send at most {limit} in one body"
        )


def describe_row(row: tuple[Any, ...], names: Sequence[str]) -> tuple[str | None, str]:
    """A row's id and masked excerpt, for a rejection."""
    values = zip((*ENVELOPE_FIELDS, *names), row, strict=True)
    given = {
        name: {} if isinstance(value, msgspec.Raw) else value
        for name, value in values
        if value is not None and value is not msgspec.UNSET
    }
    return row[0], excerpt(given)


def _typed_row(text: bytes, reader: RecordReader) -> tuple[Any, ...] | None:
    if _ESCAPED_NUL in text:
        return None
    try:
        records = reader.lines.decode_lines(text)
    except UNREADABLE_BY_DECODER:
        return None
    if len(records) != 1:
        return None
    row: tuple[Any, ...] = astuple(records[0])
    if isinstance(row[TAGS], msgspec.Raw) and isinstance(parse_one(bytes(row[TAGS])), Refusal):
        return None
    return row if count_quotes(text) == reader.expected_quotes(row) else None


def _lenient_row(
    text: bytes, place: int, reader: RecordReader, found: Rows
) -> tuple[Any, ...] | None:
    value = parse_one(text)
    row: tuple[Any, ...] | Refusal
    row = (
        value if isinstance(value, Refusal) else reader.lenient(value, len(found.rows), found.notes)
    )
    if not isinstance(row, Refusal):
        return row
    shown = f"<{len(text)} bytes>" if isinstance(value, Refusal) else excerpt(value)
    request_id = value.get("request_id") if isinstance(value, dict) else None
    readable = visible(request_id, 200) if isinstance(request_id, str) and request_id else None
    found.rejections.append(Rejection(place, row.reason, row.message, readable, shown))
    return None
