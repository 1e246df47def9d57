"""Amazon SageMaker: data capture and ground truth, newline-delimited JSON. Pure.

The variant, and the hour in which a ground truth was collected, stand only in the path:
`ENDPOINT/VARIANT/yyyy/mm/dd/hh/…` and `…/yyyy/mm/dd/hh/…`.
Reference: Amazon SageMaker Developer Guide, "Capture data from real-time endpoint" and "Ingest
Ground Truth labels and merge them with predictions".
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from monitor.intake.producer_files.base import (
    PAYLOAD_MISSING,
    BadRecord,
    FileFormat,
    Gathered,
    ReadOptions,
    each_entry,
)
from monitor.intake.producer_files.exchanges import Exchange, add_exchange
from monitor.intake.producer_files.moments import moment_of
from monitor.intake.producer_files.payloads import (
    Payload,
    PayloadFault,
    json_value,
    rows_of_csv,
    rows_of_json,
)
from monitor.intake.producer_files.sources import Head, SourceFile
from monitor.intake.producer_record import ProducerLabel
from monitor.records import RejectionReason

_PATH = re.compile(r"(?:([^/]+)/([^/]+)/)?(\d{4})/(\d\d)/(\d\d)/(\d\d)/[^/]+$")


def _capture(
    entry: Mapping[str, Any], file: SourceFile, options: ReadOptions, gathered: Gathered
) -> None:
    captured, about = _object(entry.get("captureData")), _object(entry.get("eventMetadata"))
    name = _text(about.get("inferenceId")) or _text(about.get("eventId"))
    if name is None:
        raise BadRecord(RejectionReason.MISSING_ID, "eventMetadata has no inferenceId or eventId")
    halves: list[Payload | None] = []
    missing: list[str] = []
    for side in ("endpointInput", "endpointOutput"):
        half = captured.get(side)
        missing += [] if isinstance(half, Mapping) else [side]
        halves.append(_payload(_object(half), name) if isinstance(half, Mapping) else None)
    endpoint, variant = _path_names(file)
    attributes: dict[str, Any] = {"sagemaker.event_id": about.get("eventId")}
    if missing:
        attributes[PAYLOAD_MISSING] = f"{' and '.join(missing)} not captured"
        gathered.note(f"{' and '.join(missing)} is not in the capture (capture mode)")
    if isinstance(about.get("customAttributes"), list):
        attributes["sagemaker.custom_attributes"] = about["customAttributes"]
    exchange = Exchange(
        request_id=name,
        event_time=moment_of(about.get("inferenceTime"), options, name),
        models=() if endpoint is None else (endpoint,),
        fields={} if variant is None else {"variant": variant},
        attributes=attributes,
        joins={k: v for k, v in (("endpoint", endpoint), ("variant", variant)) if v is not None},
    )
    add_exchange(gathered, exchange, halves[0], halves[1])


def _truth(
    entry: Mapping[str, Any], file: SourceFile, options: ReadOptions, gathered: Gathered
) -> None:
    about = _object(entry.get("eventMetadata"))
    name = _text(about.get("inferenceId")) or _text(about.get("eventId"))
    if name is None:
        raise BadRecord(RejectionReason.MISSING_ID, "eventMetadata has no eventId or inferenceId")
    observed = _collected(file, options)
    if observed is None:
        raise BadRecord(
            RejectionReason.MISSING_TIME,
            "the hour of collection stands in the path …/yyyy/mm/dd/hh/; import the folder that"
            " holds the years",
            name,
        )
    rows = _payload(_object(entry.get("groundTruthData")), name).rows
    for number, row in enumerate(rows):
        if len(row) != 1:
            raise BadRecord(
                RejectionReason.BAD_LABEL, f"a ground truth has {len(row)} values, not one", name
            )
        part = name if len(rows) == 1 else f"{name}/{number}"
        value = next(iter(row.values()))
        gathered.label(ProducerLabel(part, value, observed, source="sagemaker-ground-truth"))


def _payload(half: Mapping[str, Any], name: str) -> Payload:
    data, encoding = half.get("data"), str(half.get("encoding", "")).upper()
    kind = str(half.get("observedContentType", "")).partition(";")[0].strip().lower()
    if not isinstance(data, str):
        raise BadRecord(RejectionReason.UNREADABLE, "a half has no data", name)
    try:
        if encoding == "BASE64":
            data, encoding = _plain(data, kind), ""
        if encoding == "CSV" or kind == "text/csv":
            return rows_of_csv(data)
        if encoding == "JSON" or "json" in kind or not kind:
            return _lines(data) if "lines" in kind else rows_of_json(json_value(data))
    except PayloadFault as fault:
        raise BadRecord(RejectionReason.UNREADABLE, str(fault), name) from None
    raise BadRecord(
        RejectionReason.UNREADABLE, f"no rows can be read from content of type {kind[:80]!r}", name
    )


def _lines(data: str) -> Payload:
    rows = [row for line in data.splitlines() if line.strip()
            for row in rows_of_json(json_value(line)).rows]  # fmt: skip
    return Payload(tuple(rows))


def _plain(data: str, kind: str) -> str:
    try:
        return base64.b64decode(data, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise PayloadFault(f"data of type {kind[:80]!r} is no text in base64") from None


def _collected(file: SourceFile, options: ReadOptions) -> datetime | None:
    """The end of the hour of collection: by then the label was known, and not before it was."""
    found = _PATH.search(file.path.resolve().as_posix())
    if found is None:
        return None
    try:
        began = datetime(*(int(found[i]) for i in range(3, 7)), tzinfo=UTC)  # type: ignore[misc, arg-type]
    except ValueError:
        return None
    return min(began + timedelta(hours=1), max(began, options.now))


def _path_names(file: SourceFile) -> tuple[str | None, str | None]:
    found = _PATH.search(file.path.resolve().as_posix())
    return (None, None) if found is None else (found[1], found[2])


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _is_capture(head: Head) -> bool:
    return head.has("captureData", "eventMetadata")


def _is_truth(head: Head) -> bool:
    return head.has("groundTruthData", "eventMetadata")


SAGEMAKER_CAPTURE = FileFormat(
    name="sagemaker-capture",
    producer="Amazon SageMaker data capture",
    gives=("inputs and outputs by row", "event time (s)", "endpoint and variant from the path"),
    lacks=("latency", "failed requests", "versions of model, runtime and hardware"),
    recognises=_is_capture,
    read=each_entry(_capture),
    share_unknown=True,
)
SAGEMAKER_GROUND_TRUTH = FileFormat(
    name="sagemaker-ground-truth",
    producer="Amazon SageMaker ground truth",
    gives=("labels", "hour of collection from the path, its end taken"),
    lacks=("time of the request", "source of the label", "the model: name it with --model"),
    recognises=_is_truth,
    read=each_entry(_truth),
)
