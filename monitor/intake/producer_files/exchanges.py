"""A logged request with its answer, into records: one, or one for each row of its bodies. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from monitor.intake.bodies.openai import looks_like_openai, read_openai_values
from monitor.intake.producer_files.base import BadRecord, Gathered
from monitor.intake.producer_files.payloads import Payload, PayloadFault, paired, rows_of_json
from monitor.intake.producer_record import ProducerRecord
from monitor.records import RejectionReason, RequestOutcome

_TIMED_OUT = frozenset({408, 504, 524})
_CALLER_LEFT = 499
_TURNED_AWAY = 429


@dataclass(frozen=True)
class Exchange:
    """What the log says around the bodies. `outcome` None: only the bodies tell."""

    request_id: str
    event_time: datetime | None
    models: tuple[str, ...] = ()
    outcome: RequestOutcome | None = None
    outcome_reason: str | None = None
    status: int | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    request_tags: Mapping[str, str] = field(default_factory=dict)
    resource_tags: Mapping[str, str] = field(default_factory=dict)
    joins: Mapping[str, str] = field(default_factory=dict)


def outcome_of_status(status: int) -> tuple[RequestOutcome, str | None]:
    """What an HTTP status says of a request."""
    if status < 400:
        return RequestOutcome.ANSWERED, None
    told = f"HTTP {status}"
    if status in _TIMED_OUT:
        return RequestOutcome.TIMED_OUT, told
    if status == _CALLER_LEFT:
        return RequestOutcome.CANCELLED, told
    return (RequestOutcome.REFUSED if status == _TURNED_AWAY else RequestOutcome.FAILED), told


def add_exchange(
    gathered: Gathered, exchange: Exchange, asked: Any, answer: Any, place: int | None = None
) -> None:
    """Records of decoded bodies (None: not there); raises BadRecord when rows can't be paired."""
    if looks_like_openai(asked, answer):
        gathered.add(_of_openai(exchange, asked, answer), place)
        return
    try:
        request = asked if isinstance(asked, Payload) else _rows(asked)
        response = answer if isinstance(answer, Payload) else _rows(answer)
        if response is not None and _is_error(response):
            exchange = _failed(exchange)
            response = None
        pairs = paired(request, response)
    except PayloadFault as fault:
        raise BadRecord(RejectionReason.UNREADABLE, str(fault), exchange.request_id) from None
    said = {**(request.said if request else {}), **(response.said if response else {})}
    for number, (inputs, outputs) in enumerate(pairs):
        name = exchange.request_id if len(pairs) == 1 else f"{exchange.request_id}/{number}"
        gathered.add(_record(exchange, name, inputs, outputs, said, len(pairs)), place)


def _record(
    exchange: Exchange,
    request_id: str,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    said: Mapping[str, Any],
    rows: int,
) -> ProducerRecord:
    models, tags = list(exchange.models), dict(exchange.request_tags)
    if isinstance(said.get("model_name"), str):
        models.append(said["model_name"])
    if isinstance(said.get("model_version"), str):
        tags.setdefault("model_version", said["model_version"])
    return ProducerRecord(
        request_id=request_id,
        event_time=exchange.event_time,
        models=tuple(dict.fromkeys(models)),
        outcome=exchange.outcome or RequestOutcome.ANSWERED,
        outcome_reason=exchange.outcome_reason,
        fields={**exchange.fields, **({"batch_size": rows} if rows > 1 else {})},
        inputs=inputs,
        outputs=outputs,
        attributes=exchange.attributes,
        request_tags=tags,
        resource_tags=exchange.resource_tags,
        joins=exchange.joins,
    )


def _of_openai(exchange: Exchange, asked: Any, answer: Any) -> ProducerRecord:
    told = read_openai_values(asked, answer, status=exchange.status)
    record = told.record(exchange.request_id, exchange.event_time)
    ended = exchange.outcome not in (None, RequestOutcome.ANSWERED)
    return replace(
        record,
        models=tuple(dict.fromkeys((*exchange.models, *record.models))),
        outcome=exchange.outcome if ended and exchange.outcome else record.outcome,
        outcome_reason=exchange.outcome_reason if ended else record.outcome_reason,
        fields={**record.fields, **exchange.fields},
        attributes={**record.attributes, **exchange.attributes},
        request_tags={**record.request_tags, **exchange.request_tags},
        resource_tags=exchange.resource_tags,
        joins={**record.joins, **exchange.joins},
    )


def _rows(value: Any) -> Payload | None:
    return None if value is None else rows_of_json(value)


def _is_error(payload: Payload) -> bool:
    row = payload.rows[0] if len(payload.rows) == 1 else {}
    return "error" in row and len(row) <= 2


def _failed(exchange: Exchange) -> Exchange:
    if exchange.outcome not in (None, RequestOutcome.ANSWERED):
        return exchange
    reason = "the server answered with an error"
    return replace(exchange, outcome=RequestOutcome.FAILED, outcome_reason=reason)
