"""Labels as a JSON array or as newline-delimited JSON. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import UNSET, UnsetType
from msgspec.structs import astuple

from monitor.intake.base import IntakeContext
from monitor.intake.envelope import Refusal
from monitor.intake.examples import excerpt
from monitor.intake.json_lenient import Notes
from monitor.intake.json_records import (
    Array,
    Form,
    Lines,
    Rows,
    decode_all,
    read_all_typed,
    read_one_by_one,
    without_mark,
)
from monitor.intake.json_struct import count_quotes, make_reader
from monitor.intake.labels import LABEL_FIELDS, LabelParts, LabelTimes, judge_labels
from monitor.intake.plain_labels import PlainColumns, plain_labels
from monitor.intake.times import FEW, parse_times
from monitor.records import LABEL_SCHEMA, LabelBatch, RejectionReason
from monitor.strictjson import storable, visible


class LabelRecord(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A label as the typed reader takes it, fields in the order of LABEL_FIELDS."""

    request_id: str
    value: bool | int | float | str
    observed_at: str
    label: str | UnsetType | None = UNSET
    source: str | UnsetType | None = UNSET
    event_time: str | UnsetType | None = UNSET
    leg: str | UnsetType | None = UNSET


_ORDER = LabelRecord.__struct_fields__


def _lenient(value: Any, _row: int, _notes: Notes) -> tuple[Any, ...] | Refusal:
    if not isinstance(value, Mapping):
        return Refusal(RejectionReason.NOT_AN_OBJECT, "a record is a JSON object {...}")
    unknown = sorted(set(value) - set(LABEL_FIELDS))
    if unknown:
        return Refusal(
            RejectionReason.BAD_LABEL,
            f"unknown field {visible(unknown[0], 80)!r}; a label has {', '.join(LABEL_FIELDS)}",
        )
    return tuple(value.get(name) for name in _ORDER)


_READER = make_reader(LabelRecord, _lenient)


class JsonLabels:
    """Labels in a JSON body of one form."""

    def __init__(self, form: Form) -> None:
        self._form = form

    def parse(self, body: bytes, context: IntakeContext) -> LabelBatch:
        """Every record ends as a row or as a rejection; places count records from 0."""
        body = without_mark(body)
        batch = self._plain_batch(body, context)
        if batch is not None:
            return batch
        found = self._read(body, context.max_records)
        if not found.rows:
            return LabelBatch(LABEL_SCHEMA.empty_table(), (), tuple(found.rejections))
        batch = judge_labels(_parts(found), context)
        rejections = sorted((*found.rejections, *batch.rejections), key=lambda one: one.place)
        return LabelBatch(batch.table, batch.places, tuple(rejections))

    def _plain_batch(self, body: bytes, context: IntakeContext) -> LabelBatch | None:
        """The batch of a body that is read and judged a column at a time, None for any other."""
        records = decode_all(body, self._form, _READER, context.max_records)
        if records is None or len(records) <= FEW:
            return None
        columns = dict(zip(_ORDER, zip(*map(astuple, records), strict=True), strict=True))
        if _quotes(columns) != count_quotes(body):
            return None
        plain = _plain_columns({name: _given(column) for name, column in columns.items()})
        return None if plain is None else plain_labels(plain, context)

    def _read(self, body: bytes, limit: int) -> Rows:
        found = read_all_typed(body, self._form, _READER, limit)
        if found is not None:
            explained = sum(_READER.expected_quotes(row) for row in found.rows)
            if explained == count_quotes(body):
                return found
        return read_one_by_one(body, self._form, _READER, limit)


def _quotes(columns: Mapping[str, Sequence[Any]]) -> int:
    """Quote characters of records without a repeated key, escapes left out."""
    return sum(
        2 * (len(column) - column.count(UNSET)) + 2 * sum(type(value) is str for value in column)
        for column in columns.values()
    )


def _plain_columns(given: Mapping[str, Sequence[Any]]) -> PlainColumns | None:
    """The columns as Arrow arrays; None when a column mixes types or holds what text can't."""
    kinds = set(map(type, given["value"]))
    if len(kinds) != 1:
        return None
    texts = ("request_id", "label", "source", "leg")
    try:
        ids, names, sources, legs = (pa.array(given[name], pa.string()) for name in texts)
        values = pa.array(given["value"])
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return None
    observed, event = _times(given["observed_at"]), _times(given["event_time"])
    return PlainColumns(ids, names, values, sources, legs, observed, event)


def _parts(found: Rows) -> LabelParts:
    columns = {
        name: _given(column)
        for name, column in zip(_ORDER, zip(*found.rows, strict=True), strict=True)
    }
    return LabelParts(
        request_ids=columns["request_id"],
        names=columns["label"],
        values=columns["value"],
        sources=columns["source"],
        legs=columns["leg"],
        observed=_times(columns["observed_at"]),
        event=_times(columns["event_time"]),
        places=found.places,
        describe=lambda row: _describe(found.rows[row]),
        refusals={},
    )


def _given(values: Sequence[Any]) -> Sequence[Any]:
    return [None if value is UNSET else value for value in values]


def _times(values: Sequence[Any]) -> LabelTimes:
    readable = [isinstance(value, str) and storable(value) for value in values]
    texts = [value if good else None for value, good in zip(values, readable, strict=True)]
    missing = [value is None for value in values]
    unreadable = ~np.array(readable, np.bool_) & ~np.array(missing, np.bool_)
    return LabelTimes(parse_times(pa.array(texts, pa.string())), missing, unreadable.tolist())


def _describe(row: tuple[Any, ...]) -> tuple[str | None, str]:
    given = {
        name: value
        for name, value in zip(_ORDER, row, strict=True)
        if value is not None and value is not UNSET
    }
    request_id = given.get("request_id")
    readable = visible(request_id, 200) if isinstance(request_id, str) and request_id else None
    return readable, excerpt(given)


NDJSON_LABELS = JsonLabels(Lines())
JSON_LABELS = JsonLabels(Array())
