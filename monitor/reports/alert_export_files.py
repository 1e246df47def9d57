"""An export of alerts as bytes: one JSON document, a JSON object a line, or CSV."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from alerts.text import moment_text
from monitor.reports.alert_export import KINDS, Exported, Record

CSV_COLUMNS = (
    *("kind", "number", "alert", "episode", "at", "until", "rule", "model", "severity", "owner"),
    *("response", "state", "what", "reason", "by", "comment", "receiver", "value", "low", "high"),
    *("n", "unit"),
)
_FORMULA_STARTS = frozenset("=+-@|%")
_PLURALS = {"delivery": "deliveries"}


class ExportFormat(StrEnum):
    """How an export is written."""

    JSON = "json"
    NDJSON = "ndjson"
    CSV = "csv"


MEDIA_TYPES = {
    ExportFormat.JSON: "application/json",
    ExportFormat.NDJSON: "application/x-ndjson",
    ExportFormat.CSV: "text/csv; charset=utf-8; header=present",
}


def written(exported: Exported, form: ExportFormat) -> Iterator[bytes]:
    """The export piece by piece; nothing is held but the piece."""
    if form is ExportFormat.JSON:
        return _json(exported)
    return _ndjson(exported) if form is ExportFormat.NDJSON else _csv(exported)


def _json(exported: Exported) -> Iterator[bytes]:
    head = {
        "project": exported.project,
        "from": exported.span.start,
        "to": exported.span.end,
        "made_at": exported.made_at,
    }
    yield msgspec.json.encode(head)[:-1]
    groups = groupby(exported.records, key=itemgetter(0))
    found = next(groups, None)
    for kind in KINDS:
        yield f',"{_PLURALS.get(kind, kind + "s")}":['.encode()
        if found is not None and found[0] == kind:
            mark = b"\n"
            for _, record in found[1]:
                yield mark + msgspec.json.encode(record)
                mark = b",\n"
            found = next(groups, None)
        yield b"]"
    yield b"}\n"


def _ndjson(exported: Exported) -> Iterator[bytes]:
    for kind, record in exported.records:
        yield msgspec.json.encode({"kind": kind, **record}) + b"\n"


def _csv(exported: Exported) -> Iterator[bytes]:
    yield _line(CSV_COLUMNS)
    for kind, record in exported.records:
        flat = {"kind": kind, "number": record["number"], **_FLAT[kind](record)}
        yield _line([cell(flat.get(name)) for name in CSV_COLUMNS])


def _line(cells: Any) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue().encode()


def cell(value: Any) -> str | int | float:
    """A value for one cell. Text that a spreadsheet would take for a formula gets a quote mark."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return moment_text(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    text = str(value).replace("\0", "")
    start = unicodedata.normalize("NFKC", text.lstrip(" "))[:1]
    return "'" + text if start in _FORMULA_STARTS or text[:1] in ("\t", "\r", "\n") else text


def _of_alert(record: Record) -> Mapping[str, Any]:
    judged = record["measurement"] or {}
    return {
        **{name: record[name] for name in _SAME},
        **{name: judged.get(name) for name in _NUMBERS},
        "alert": record["number"],
        "at": record["since"],
        "until": record["resolved_at"],
        "response": record["response"]["action"],
        "reason": record["resolved_reason"],
        "by": record["acknowledged_by"],
    }


def _of_transition(record: Record) -> Mapping[str, Any]:
    judged = record["reading"] or {}
    return {
        **{name: judged.get(name) for name in _NUMBERS},
        **{name: record[name] for name in ("alert", "episode", "reason", "by", "comment")},
        "at": record["recorded_at"],
        "state": record["to_state"],
        "what": f"{record['from_state']} to {record['to_state']}",
    }


def _of_delivery(record: Record) -> Mapping[str, Any]:
    return {
        **{name: record[name] for name in ("severity", "state", "receiver")},
        "alert": " ".join(str(each) for each in record["alerts"]),
        "at": record["created_at"],
        "until": record["finished_at"],
        "what": record["title"],
        "reason": record["event"],
    }


def _of_attempt(record: Record) -> Mapping[str, Any]:
    return {
        "at": record["at"],
        "state": record["outcome"],
        "what": f"attempt {record['attempt']} of delivery {record['delivery']}",
        "reason": record["detail"],
    }


def _of_action(record: Record) -> Mapping[str, Any]:
    return {
        **{name: record[name] for name in ("episode", "rule", "model", "state")},
        "alert": record["alert_number"],
        "at": record["requested_at"],
        "until": record["outcome_at"],
        "response": record["action"],
        "what": record["text"],
        "reason": record["outcome"] or record["reason"],
        "by": record["requested_by"],
        "comment": record["detail"],
    }


def _of_silence(record: Record) -> Mapping[str, Any]:
    return {
        "at": record["starts_at"],
        "until": record["ends_at"],
        "what": msgspec.json.encode(record["matchers"]).decode(),
        "by": record["author"],
        "comment": record["reason"],
        "reason": f"ended by {record['ended_by']}" if record["ended_by"] else None,
    }


_NUMBERS = ("value", "low", "high", "n", "unit")
_SAME = ("episode", "rule", "model", "severity", "owner", "state", "what", "comment")
_FLAT = {
    "alert": _of_alert,
    "transition": _of_transition,
    "delivery": _of_delivery,
    "attempt": _of_attempt,
    "action": _of_action,
    "silence": _of_silence,
}
