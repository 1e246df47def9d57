"""Two halves of an exchange into records; a half that never came is told, never left out. Pure.

What a time means: KServe up to 0.17 stamps an event when it is sent; from 0.18 on when the request
came in or the answer was done, and adds `recordedtime`. A latency is taken from two times only
where both halves have it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from monitor.intake.bodies.openai_stream import looks_streamed, stream_chunks
from monitor.intake.bodies.v2_binary import decode_binary, has_binary
from monitor.intake.claimed_tags import claimed_tags, claimed_words
from monitor.intake.events.event import Event
from monitor.intake.events.halves import KIND, REQUEST, RESPONSE, SENDER_MODEL, half_of
from monitor.intake.parts import RequestPart
from monitor.intake.producer_files.base import PAYLOAD_MISSING, BadRecord, Gathered, ReadOptions
from monitor.intake.producer_files.exchanges import Exchange, add_exchange
from monitor.intake.producer_files.moments import epoch_moment, moment_of
from monitor.intake.producer_files.payloads import PayloadFault, json_value
from monitor.intake.producer_files.versions import tags_said, version_tags
from monitor.intake.producer_record import Read
from monitor.records import RequestOutcome
from monitor.strictjson import StrictJsonError

NO_RESPONSE = "no response event came: the logger sends none unless the answer was 200"
NO_REQUEST = "no request event came"
MOST_MILLISECONDS = timedelta(days=1) / timedelta(milliseconds=1)


class Exchanges:
    """How halves become records: two are complete, one is told as it is when waiting ends."""

    kind = KIND
    complete_at = 2

    def assemble(self, parts: Sequence[RequestPart], now: datetime) -> Read:
        """The records of one exchange."""
        events = [Event.unpack(part.body) for part in parts]
        sides = {half.side: event for event in events if (half := half_of(event)) is not None}
        gathered = Gathered("")
        try:
            _add(gathered, sides.get(REQUEST), sides.get(RESPONSE), ReadOptions(now))
        except BadRecord as bad:
            gathered.refuse(bad)
        piece = gathered.take(1.0)
        return Read(tuple(piece.records), (), tuple(piece.rejections))


EXCHANGES = Exchanges()


def _add(gathered: Gathered, asked: Event | None, told: Event | None, options: ReadOptions) -> None:
    first = asked or told
    if first is None:
        raise AssertionError("an exchange has a half")
    exchange, began = _around(first, options)
    fields, missing = dict(exchange.fields), []
    latency = _latency(asked, told, options)
    if latency is not None:
        fields["latency"] = latency
    outcome, reason = None, None
    if asked is None:
        missing.append(f"inputs: {NO_REQUEST}")
    if told is None:
        outcome, reason = RequestOutcome.FAILED, NO_RESPONSE
    bodies = [_body(event, side, missing) for event, side in ((asked, "inputs"), (told, "outputs"))]
    attributes = dict(exchange.attributes)
    if missing:
        attributes[PAYLOAD_MISSING] = "; ".join(missing)
    made = Exchange(
        **{**vars(exchange), "event_time": began, "fields": fields, "outcome": outcome,
           "outcome_reason": reason, "attributes": attributes}
    )  # fmt: skip
    try:
        add_exchange(gathered, made, *bodies)
    except BadRecord as bad:
        # The exchange took place whatever its bodies are like: it stays, without them.
        attributes[PAYLOAD_MISSING] = bad.message
        add_exchange(gathered, made, None, None)


def _around(event: Event, options: ReadOptions) -> tuple[Exchange, datetime]:
    """What stands around the bodies, and when the request came in."""
    half = half_of(event)
    producer = half.producer if half is not None else ""
    said = event.extensions
    if producer == "azure":
        began = epoch_moment(_whole(event.time), 1_000, event.id)
        return _azure(event), began
    began = moment_of(event.time, options, event.id)
    service, endpoint = said.get("inferenceservicename", ""), said.get("endpoint", "")
    headers = {
        name: each[0] if isinstance(each, list) and each else each
        for name, each in _object(said.get("metadata")).items()
    }
    names = (
        said.get(SENDER_MODEL, ""),
        said.get("modelid", ""),
        service,
        endpoint if producer == "seldon" else "",
    )
    joins = {"ce_source": event.source, "inferenceservicename": service,
             "namespace": said.get("namespace", ""), "endpoint": endpoint}  # fmt: skip
    variant = {"variant": endpoint} if endpoint and producer == "kserve" else {}
    return (
        Exchange(
            request_id=event.id,
            event_time=began,
            models=tuple(dict.fromkeys(name for name in names if name)),
            fields={**claimed_words(headers), **variant},
            attributes={
                **{f"{producer}.{name}": said[name] for name in ("namespace", "component")
                   if said.get(name)},
                **{f"metadata.{name.lower()}": value for name, value in headers.items()},
            },
            request_tags=claimed_tags(headers),
            resource_tags=tags_said(_object(said.get("annotations")), producer, bare=True),
            joins={name: value for name, value in joins.items() if value},
        ),
        began,
    )  # fmt: skip


def _azure(event: Event) -> Exchange:
    said = event.extensions
    names = [said.get(name, "") for name in (SENDER_MODEL, "model-name", "endpoint", "deployment")]
    return Exchange(
        request_id=event.id,
        event_time=None,
        models=tuple(name for name in names if name),
        request_tags=version_tags("azure", said.get("model-version")),
        attributes={"azure.agent": said["agent"]} if said.get("agent") else {},
        joins={"ce_source": event.source},
    )


def _latency(asked: Event | None, told: Event | None, options: ReadOptions) -> float | None:
    """Milliseconds between the halves, where both were stamped when they happened."""
    if asked is None or told is None:
        return None
    if not (asked.extensions.get("recordedtime") and told.extensions.get("recordedtime")):
        return None
    try:
        took = moment_of(told.time, options) - moment_of(asked.time, options)
    except BadRecord:
        return None
    found = took / timedelta(milliseconds=1)
    return found if 0 <= found <= MOST_MILLISECONDS else None


def _body(event: Event | None, side: str, missing: list[str]) -> Any:
    """A half's decoded body; None, and why, where it can't be read."""
    if event is None or not event.data:
        return None
    try:
        if looks_streamed(event.data):
            return stream_chunks(event.data)[0]
        if has_binary(event.data):
            return decode_binary(event.data)
        return json_value(event.data)
    except (PayloadFault, StrictJsonError) as fault:
        missing.append(f"{side}: {fault}")
        return None


def _object(text: str | None) -> Mapping[str, Any]:
    if not text:
        return {}
    try:
        held = json_value(text)
    except PayloadFault:
        return {}
    return held if isinstance(held, Mapping) else {}


def _whole(text: str | None) -> Any:
    return int(text) if text is not None and text.isascii() and text.isdigit() else text
