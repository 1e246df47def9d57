"""Feast's feature logs: what a feature service handed out, with each feature's status. Pure.

Columns: `VIEW__FEATURE`, its `…__timestamp` and `…__status`, entity keys, `__request_id`,
`__log_timestamp`. A feature that was not found or too old is NULL, whatever stands beside its
status. Reference: feast 0.67, `feast/feature_logging.py`, `serving/ServingService.proto`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from monitor.intake.producer_files.base import (
    BadRecord,
    FileFormat,
    Gathered,
    ReadOptions,
    each_entry,
)
from monitor.intake.producer_files.moments import moment_of
from monitor.intake.producer_files.sources import Head, SourceFile
from monitor.intake.producer_record import ProducerRecord
from monitor.records import RejectionReason

_OWN = frozenset({"__request_id", "__log_timestamp", "__log_date"})
_STATUS, _TIME = "__status", "__timestamp"
_WORDS = {0: "invalid", 1: "present", 2: "null_value", 3: "not_found", 4: "outside_max_age"}
_HELD = frozenset({"present", "null_value"})


def _read(row: Mapping[str, Any], _: SourceFile, options: ReadOptions, gathered: Gathered) -> None:
    name = row.get("__request_id")
    if not isinstance(name, str) or not name:
        raise BadRecord(RejectionReason.MISSING_ID, "the row has no __request_id")
    at = moment_of(row.get("__log_timestamp"), options, name)
    inputs: dict[str, Any] = {}
    attributes: dict[str, Any] = {}
    for column, value in row.items():
        if column in _OWN or column.endswith((_STATUS, _TIME)):
            continue
        status = status_word(row.get(f"{column}{_STATUS}"))
        inputs[column] = value if status in _HELD or status is None else None
        if status is not None:
            attributes[f"{column}{_STATUS}"] = status
            if status not in _HELD:
                gathered.note(f"{column}: {status}")
        age = _age(row.get(f"{column}{_TIME}"), at, options)
        if age is not None:
            attributes[f"{column}__age_s"] = age
    gathered.add(
        ProducerRecord(request_id=name, event_time=at, inputs=inputs, attributes=attributes)
    )


def status_word(value: Any) -> str | None:
    """A status by its number or name, in small letters."""
    if isinstance(value, str) and value and not value.isdigit():
        return value.lower()
    try:
        return _WORDS.get(int(value), str(int(value)))
    except (TypeError, ValueError):
        return None


def _age(value: Any, at: datetime, options: ReadOptions) -> float | None:
    """Seconds from the feature's own time to the log's; None where it has none."""
    if value is None:
        return None
    try:
        made = moment_of(value, options)
    except BadRecord:
        return None
    return (at - made).total_seconds() if made.year > 1970 else None


def _recognises(head: Head) -> bool:
    return head.has("__request_id", "__log_timestamp") and any(
        name.endswith(_STATUS) for name in head.entry
    )


FEAST = FileFormat(
    name="feast-log",
    producer="Feast feature log",
    gives=("features as handed out", "status and age of each feature (stale or missing)"),
    lacks=("predictions, latency, outcome", "the model: name it with --model"),
    recognises=_recognises,
    read=each_entry(_read),
    share_unknown=True,
)
