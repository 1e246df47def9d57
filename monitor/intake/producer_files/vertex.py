"""Vertex AI request-response logging, exported from BigQuery. Pure.

Instances and predictions stand in two lists of JSON texts, aligned by position. Publisher models
have `full_request` and `full_response` instead.
Reference: Google Cloud, "Online inference logging" and "Log requests and responses".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from monitor.intake.bodies.openai import looks_like_openai
from monitor.intake.producer_files.base import (
    PAYLOAD_MISSING,
    BadRecord,
    FileFormat,
    Gathered,
    ReadOptions,
    each_entry,
)
from monitor.intake.producer_files.exchanges import Exchange, add_exchange
from monitor.intake.producer_files.gemini import read_gemini
from monitor.intake.producer_files.moments import moment_of
from monitor.intake.producer_files.payloads import Payload, PayloadFault, json_value, row_of
from monitor.intake.producer_files.sources import Head, SourceFile
from monitor.intake.text_cells import TextCell
from monitor.records import RejectionReason


def _read(row: Mapping[str, Any], _: SourceFile, options: ReadOptions, gathered: Gathered) -> None:
    name = _text(row.get("request_id"))
    if name is None:
        raise BadRecord(RejectionReason.MISSING_ID, "the row has no request_id")
    deployed = _text(row.get("deployed_model_id"))
    endpoint = _text(row.get("endpoint"))
    joins = {"deployed_model_id": deployed, "endpoint": endpoint}
    exchange = Exchange(
        request_id=name,
        event_time=moment_of(row.get("logging_time"), options, name),
        models=tuple(filter(None, (_text(row.get("model")), *_names(endpoint), deployed))),
        fields={} if deployed is None else {"variant": deployed},
        request_tags=_version(row.get("model_version")),
        joins={key: value for key, value in joins.items() if value},
    )
    try:
        if "full_request" in row or "full_response" in row:
            _full(row, exchange, gathered)
            return
        asked, answer = (
            _payloads(row.get("request_payload")),
            _payloads(row.get("response_payload")),
        )
    except PayloadFault as fault:
        raise BadRecord(RejectionReason.UNREADABLE, str(fault), name) from None
    if asked is None or answer is None:
        gathered.note("a request or response payload is not logged")
        exchange = _without(exchange, "a payload is not logged")
    add_exchange(gathered, exchange, asked, answer)


def _full(row: Mapping[str, Any], exchange: Exchange, gathered: Gathered) -> None:
    asked, answer = _value(row.get("full_request")), _value(row.get("full_response"))
    if looks_like_openai(asked, answer):
        add_exchange(gathered, exchange, asked, answer)
    else:
        gathered.add(read_gemini(exchange, asked, answer))


def _without(exchange: Exchange, why: str) -> Exchange:
    return replace(exchange, attributes={**exchange.attributes, PAYLOAD_MISSING: why})


def _payloads(value: Any) -> Payload | None:
    if isinstance(value, TextCell):
        value = json_value(value)
    texts = value if isinstance(value, list) else None if value is None else [value]
    if not texts:
        return None
    return Payload(tuple(row_of(_value(text)) for text in texts))


def _value(text: Any) -> Any:
    return json_value(text) if isinstance(text, str) and text else text


def _names(endpoint: str | None) -> tuple[str, ...]:
    """An endpoint's number, and the whole resource name where there is one."""
    return () if endpoint is None else tuple(dict.fromkeys((endpoint.rpartition("/")[2], endpoint)))


def _version(value: Any) -> dict[str, str]:
    text = _text(value)
    return {} if text is None else {"model_version": text}


def _text(value: Any) -> str | None:
    """An id as text; a NUMERIC column comes as a number or as digits."""
    if value is None or isinstance(value, (bool, float, list, Mapping)):
        return None
    return str(value).strip() or None


def _recognises(head: Head) -> bool:
    return head.has("logging_time", "request_id") and (
        head.has("deployed_model_id") or head.has("full_request")
        or head.has("request_payload")
    )  # fmt: skip


VERTEX = FileFormat(
    name="vertex",
    producer="Vertex AI request-response log (BigQuery export)",
    gives=("inputs and outputs by row", "logging time", "deployed model",
           "tokens of publisher models"),
    lacks=("latency", "HTTP status", "failed requests", "model version unless the log has it"),
    recognises=_recognises,
    read=each_entry(_read),
    share_unknown=True,
)  # fmt: skip
