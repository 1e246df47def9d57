"""A msgspec Struct made from a contract: the fast reader of records that keep it. Pure.

A record that decodes into the Struct has a storable envelope and every column in its type; all
others (unknown or absent columns, wrong types, NaN, over-long texts) are refused by the decoder
and read leniently. Optional fields default to UNSET, so that the number of keys a record had is
known exactly and a key written twice can be noticed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import UNSET, Meta, UnsetType

from monitor.contract import Column, ColumnType
from monitor.intake.columns import MAX_CATEGORY_LENGTH, text_limit
from monitor.intake.envelope import (
    ENVELOPE_FIELDS,
    MAX_OUTCOME_REASON_LENGTH,
    OUTCOMES,
    Refusal,
)
from monitor.intake.json_lenient import Notes, read_record
from monitor.intake.plan import MAX_PLANS, RowPlan
from monitor.records import MAX_ID_LENGTH, MAX_SAFE_INTEGER

SHORT_TEXT = 4096
_SAFE = Meta(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER)
_CATEGORY = Annotated[str, Meta(max_length=MAX_CATEGORY_LENGTH)]
_TYPES: dict[ColumnType, Any] = {
    ColumnType.NUMBER: float,
    ColumnType.INTEGER: Annotated[int, _SAFE] | Annotated[float, _SAFE],
    ColumnType.BOOLEAN: bool | Literal[0, 1],
    ColumnType.CATEGORY: _CATEGORY,
    ColumnType.TIMESTAMP: str,
}


@dataclass(frozen=True, eq=False)
class RecordReader:
    """Decoders of one kind of record, and the lenient reader for what they refuse.

    `lenient(value, row, notes)` gives the record as a row of the same fields, or a Refusal.
    """

    lines: Any
    array: Any
    lenient: Callable[[Any, int, Notes], tuple[Any, ...] | Refusal]

    def expected_quotes(self, record: tuple[Any, ...]) -> int:
        """Quote characters of a record without a repeated key, escapes left out."""
        quotes = 0
        for value in record:
            if value is UNSET:
                continue
            quotes += 2 + _quotes_of(value)
        return quotes


def _quotes_of(value: Any) -> int:
    if isinstance(value, str):
        return 2
    if isinstance(value, list):
        return sum(2 for item in value if isinstance(item, str))
    return count_quotes(bytes(value)) if isinstance(value, msgspec.Raw) else 0


def count_quotes(text: bytes) -> int:
    """Quote characters that begin or end a string of a JSON text, escaped ones left out."""
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    if len(text) < SHORT_TEXT:
        return text.count(b'"')
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord('"')))


@lru_cache(maxsize=MAX_PLANS)
def reader_for(plan: RowPlan) -> RecordReader:
    """The reader of a plan's records, made once."""
    optional = None | UnsetType
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = [
        ("request_id", Annotated[str, Meta(min_length=1, max_length=MAX_ID_LENGTH)]),
        ("event_time", str),
        ("deployment", int | optional, UNSET),
        # Written mostly the same on every record of a body: kept as bytes, read once (`read_tags`).
        ("tags", msgspec.Raw, UNSET),
        ("outcome", Literal[tuple(OUTCOMES)] | optional, UNSET),
        (
            "outcome_reason",
            Annotated[str, Meta(max_length=MAX_OUTCOME_REASON_LENGTH)] | optional,
            UNSET,
        ),
    ]
    names = list(ENVELOPE_FIELDS)
    for column in plan.columns:
        kind = _type_of(column.column)
        name = f"column_{column.position}"
        nullable = column.column.nullable
        fields.append((name, kind | optional, UNSET) if nullable else (name, kind))
        names.append(column.name)
    struct = msgspec.defstruct(
        "Record",
        fields,
        kw_only=True,
        gc=False,
        forbid_unknown_fields=True,
        rename=dict(zip([field[0] for field in fields], names, strict=True)),
    )
    return make_reader(struct, lambda value, row, notes: read_record(value, plan, row, notes))


def make_reader(
    struct: Any, lenient: Callable[[Any, int, Notes], tuple[Any, ...] | Refusal]
) -> RecordReader:
    """The reader of records of a Struct."""
    return RecordReader(msgspec.json.Decoder(struct), msgspec.json.Decoder(list[struct]), lenient)


def _type_of(column: Column) -> Any:
    match column.type:
        case ColumnType.TEXT:
            limit = text_limit(column)
            return str if limit is None else Annotated[str, Meta(max_length=limit)]
        case ColumnType.VECTOR | ColumnType.CLASS_SCORES:
            size = column.size or len(column.categories or ())
            return Annotated[list[float], Meta(min_length=size, max_length=size)]
        case ColumnType.RANKED_LIST:
            return Annotated[list[_CATEGORY], Meta(max_length=column.size)]
        case _:
            return _TYPES[column.type]
