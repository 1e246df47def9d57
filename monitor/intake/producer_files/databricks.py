"""Databricks inference tables: three schemas, told apart by their columns. Pure.

Reference: Databricks, "AI Gateway-enabled inference tables", "Inference tables for monitoring and
debugging models" (legacy) and "Unity AI Gateway inference tables".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from monitor.intake.producer_files.base import (
    PAYLOAD_MISSING,
    BadRecord,
    FileFormat,
    Gathered,
    ReadOptions,
    each_entry,
)
from monitor.intake.producer_files.exchanges import Exchange, add_exchange, outcome_of_status
from monitor.intake.producer_files.moments import epoch_moment, moment_of
from monitor.intake.producer_files.payloads import PayloadFault, json_value
from monitor.intake.producer_files.sources import Head, SourceFile
from monitor.intake.producer_files.versions import version_tags
from monitor.records import RejectionReason

_JOINS = ("served_entity_id", "endpoint_name")


def _read(row: Mapping[str, Any], _: SourceFile, options: ReadOptions, gathered: Gathered) -> None:
    name = _text(row.get("databricks_request_id")) or _text(row.get("invocation_id"))
    if name is None:
        raise BadRecord(RejectionReason.MISSING_ID, "the row has no id of the request")
    status = _whole(row.get("status_code"))
    outcome, reason = (None, None) if status is None else outcome_of_status(status)
    about = _mapping(row.get("request_metadata"))
    asked, answer, missing = _bodies(row, name)
    attributes: dict[str, Any] = {
        key: row[key] for key in ("client_request_id", "requester") if row.get(key)
    }
    if missing:
        attributes[PAYLOAD_MISSING] = missing
        gathered.note(f"without a body: {missing}")
    names = (about.get("model_name"), about.get("endpoint_name"), row.get("endpoint_name"),
             row.get("served_entity_name"), row.get("served_entity_id"))  # fmt: skip
    exchange = Exchange(
        request_id=name,
        event_time=_when(row, options, name),
        models=tuple(dict.fromkeys(filter(None, map(_text, names)))),
        outcome=outcome,
        outcome_reason=reason,
        status=status,
        fields=_fields(row, status),
        attributes=attributes,
        request_tags=version_tags("databricks", about.get("model_version")),
        joins={key: str(row[key]) for key in _JOINS if row.get(key)},
    )
    add_exchange(gathered, exchange, asked, answer)


def _fields(row: Mapping[str, Any], status: int | None) -> dict[str, Any]:
    """`execution_…` is the model's time without the network, so it is no latency of a caller."""
    found: dict[str, Any] = {}
    for column, field in (("execution_duration_ms", "compute_time"),
                          ("execution_time_ms", "compute_time"),
                          ("latency_ms", "latency"),
                          ("time_to_first_byte_ms", "first_token_time"),
                          ("sampling_fraction", "sampling_rate")):  # fmt: skip
        number = _number(row.get(column))
        if number is not None:
            found[field] = number
    if "first_token_time" in found:
        found |= {"first_token_from": "arrival"}
    if status is not None and status >= 400:
        found["error_type"] = f"http_{status}"
    return found


def _when(row: Mapping[str, Any], options: ReadOptions, name: str) -> Any:
    if row.get("timestamp_ms") is not None:
        return epoch_moment(_whole(row["timestamp_ms"]), 1.0, name)
    return moment_of(row.get("request_time", row.get("event_time")), options, name)


def _bodies(row: Mapping[str, Any], name: str) -> tuple[Any, Any, str | None]:
    """Both bodies, and why one is not there."""
    found = []
    for side in ("request", "response"):
        text = row.get(side)
        try:
            found.append(json_value(text) if isinstance(text, str) and text else None)
        except PayloadFault as fault:
            raise BadRecord(RejectionReason.UNREADABLE, f"{side}: {fault}", name) from None
    codes = _codes(row.get("logging_error_codes"))
    if codes:
        return found[0], found[1], ", ".join(codes)
    absent = [s for s, v in zip(("request", "response"), found, strict=True) if v is None]
    return found[0], found[1], f"{' and '.join(absent)} not logged" if absent else None


def _codes(value: Any) -> list[str]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            value = [value]
    return [str(code)[:80] for code in value][:10] if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    """A MAP column: an object, its JSON text, or the list of pairs that Parquet gives."""
    if isinstance(value, str):
        try:
            value = json_value(value)
        except PayloadFault:
            return {}
    if isinstance(value, list):
        try:
            value = dict(value)
        except (TypeError, ValueError):
            return {}
    return value if isinstance(value, Mapping) else {}


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _whole(value: Any) -> int | None:
    number = _number(value)
    return None if number is None or number != number or abs(number) > 2**53 else int(number)  # noqa: PLR0124 - NaN


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, (str, int)) and str(value) else None


def _recognises(head: Head) -> bool:
    gateway = head.has("databricks_request_id", "request", "response")
    return gateway or head.has("invocation_id", "event_time", "latency_ms")


DATABRICKS = FileFormat(
    name="databricks",
    producer="Databricks inference table",
    gives=("inputs and outputs by row", "HTTP status", "time in the model",
           "sampling fraction", "model version (legacy schema)"),
    lacks=("queue time", "runtime and hardware", "requests answered 401, 403, 429 or 500 may be"
           " missing", "rows come up to an hour late"),
    recognises=_recognises,
    read=each_entry(_read),
)  # fmt: skip
