"""Files of KServe's payload logger in blob mode: requests and responses, paired by id. Pure.

Reference: kserve/kserve, `pkg/logger` (marshallers for json, csv and parquet). Only json holds
a time. What a time stands for changed between versions and no entry tells which wrote it, so no
latency is taken from two of them.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from monitor.intake.producer_files.base import BadRecord, FileFormat, Gathered, Piece, ReadOptions
from monitor.intake.producer_files.exchanges import Exchange, add_exchange
from monitor.intake.producer_files.halves import Half, Halves
from monitor.intake.producer_files.moments import moment_of
from monitor.intake.producer_files.payloads import PayloadFault, json_value
from monitor.intake.producer_files.sources import Head, SourceFile
from monitor.intake.producer_files.versions import tags_said
from monitor.records import RejectionReason, RequestOutcome

NO_RESPONSE = "the logger wrote no response: it writes none unless the status was 200"
_NO_TIME = "the entry has no occurrenceTime (csv and parquet have none); log as json"


@dataclass(frozen=True)
class _Entry:
    exchange: Exchange
    at: datetime
    body: Any


def _read(files: Sequence[SourceFile], options: ReadOptions) -> Iterator[Piece]:
    waiting: Halves[_Entry] = Halves()
    for file in files:
        gathered = Gathered(file.name)
        for place, entry in file.entries():
            gathered.place = place
            try:
                if isinstance(entry, BadRecord):
                    raise entry
                side, told = _entry(entry, options)
                key = f"{entry.get('sourceUri')}\n{told.exchange.request_id}"
                sides = waiting.put(key, Half(side, file.name, place, told))
                if sides is not None:
                    _put(sides, gathered)
            except BadRecord as bad:
                gathered.refuse(bad)
            if gathered.full:
                yield gathered.take(0.0)
        yield gathered.take(1.0)
    for _, sides in waiting.rest():
        half = next(iter(sides.values()))
        gathered = Gathered(half.file)
        gathered.note(f"{half.side} without its other half")
        _put(sides, gathered)
        yield gathered.take(1.0)


def _entry(entry: Mapping[str, Any], options: ReadOptions) -> tuple[str, _Entry]:
    name = entry.get("id")
    if not isinstance(name, str) or not name:
        raise BadRecord(RejectionReason.MISSING_ID, "the entry has no id")
    side = "response" if str(entry.get("reqType", "")).endswith("response") else "request"
    if not entry.get("occurrenceTime"):
        raise BadRecord(RejectionReason.MISSING_TIME, _NO_TIME, name)
    at = moment_of(entry["occurrenceTime"], options, name)
    service = str(entry.get("inferenceService") or "")
    annotations = _object(entry.get("annotations"))
    endpoint = str(entry.get("endpoint") or "")
    joins = {"ce_source": str(entry.get("sourceUri") or ""), "inferenceservicename": service,
             "namespace": str(entry.get("namespace") or ""), "endpoint": endpoint}  # fmt: skip
    exchange = Exchange(
        request_id=name,
        event_time=at,
        models=(service,) if service else (),
        fields={"variant": endpoint} if endpoint else {},
        attributes={"kserve.component": str(entry.get("component") or "")},
        resource_tags=tags_said(annotations, "kserve", bare=True),
        joins={key: value for key, value in joins.items() if value},
    )
    return side, _Entry(exchange, at, _body(entry.get("bytes"), name))


def _put(sides: Mapping[str, Half[_Entry]], gathered: Gathered) -> None:
    asked, told = sides.get("request"), sides.get("response")
    first = asked or told
    if first is None:
        raise AssertionError("an exchange waits without a side")
    exchange = first.body.exchange
    if told is None:
        exchange = replace(exchange, outcome=RequestOutcome.FAILED, outcome_reason=NO_RESPONSE)
    try:
        add_exchange(
            gathered, exchange, asked.body.body if asked else None,
            told.body.body if told else None, first.place,
        )  # fmt: skip
    except BadRecord as bad:
        gathered.refuse(bad, first.place)


def _body(value: Any, name: str) -> Any:
    try:
        raw = base64.b64decode(value, validate=True) if isinstance(value, str) else value
        if not isinstance(raw, (bytes, type(None))):
            raise BadRecord(RejectionReason.UNREADABLE, "bytes are neither base64 nor binary", name)
        return json_value(raw) if raw else None
    except binascii.Error:
        raise BadRecord(RejectionReason.UNREADABLE, "bytes are no base64", name) from None
    except PayloadFault as fault:
        raise BadRecord(RejectionReason.UNREADABLE, str(fault), name) from None


def _object(value: Any) -> Mapping[str, Any]:
    if isinstance(value, str) and value:
        try:
            value = json_value(value)
        except PayloadFault:
            return {}
    return value if isinstance(value, Mapping) else {}


def _recognises(head: Head) -> bool:
    return head.has("bytes", "reqType", "id", "inferenceService")


KSERVE_FILES = FileFormat(
    name="kserve-files",
    producer="KServe payload logger (blob mode)",
    gives=("inputs and outputs by row, paired by id", "requests without a response as failed",
           "annotations such as model-version and git-sha as tags of the service",
           "model version of V2 bodies"),
    lacks=("latency: what its time stands for depends on the version", "queue time",
           "any time in csv and parquet"),
    recognises=_recognises,
    read=_read,
)  # fmt: skip
