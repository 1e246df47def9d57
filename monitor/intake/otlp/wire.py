"""OTLP traces and logs, protobuf or JSON, into spans and log records of our own. Pure.

OTLP/JSON is not protobuf's own JSON: ids are hex there and base64 here, 64-bit integers are text
(Python, C++) or numbers (JavaScript), enums are integers. So ids are turned before protobuf reads
the rest. Reference: OTLP 1.5, "JSON Protobuf Encoding".
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from google.protobuf.json_format import ParseDict
from google.protobuf.json_format import ParseError as JsonParseError
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from monitor.intake.otlp.metrics import UnreadableOtlp

MOST_NESTING = 40
MOST_ATTRIBUTES, MOST_VALUES, MOST_EVENTS, MOST_NAME = 2_048, 65_536, 256, 300
TRACE_BYTES, SPAN_BYTES = 16, 8
ERROR = 2
SERVER, CLIENT = 2, 3
_IDS = frozenset({"traceId", "spanId", "parentSpanId", "trace_id", "span_id", "parent_span_id"})
Attributes = Mapping[str, Any]


class SpanEvent(msgspec.Struct, frozen=True, array_like=True):
    """An event of a span; `at` in nanoseconds since 1970."""

    name: str
    at: int
    attributes: dict[str, Any]


class Span(msgspec.Struct, frozen=True, array_like=True):
    """A span with the resource it came from. Ids in hex; times in nanoseconds since 1970."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    kind: int
    start: int
    end: int
    status: int
    message: str
    attributes: dict[str, Any]
    events: list[SpanEvent]
    resource: dict[str, Any]
    scope: str

    @property
    def milliseconds(self) -> float:
        """How long it took."""
        return (self.end - self.start) / 1e6


class LogRecord(msgspec.Struct, frozen=True, array_like=True):
    """A log record; `at` in nanoseconds since 1970, the observed time where no other is told."""

    trace_id: str
    span_id: str
    at: int
    event_name: str
    body: Any
    attributes: dict[str, Any]
    resource: dict[str, Any]
    scope: str


class TooLarge(ValueError):
    """Attributes beyond what is read; what carries them is refused, never cut."""


@dataclass
class Parsed:
    """What a body held; `refused` counts what can't be placed, by its reason."""

    spans: list[Span] = field(default_factory=list)
    logs: list[LogRecord] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)

    def refuse(self, why: str) -> None:
        """Count one thing that can't be placed."""
        self.refused[why] = self.refused.get(why, 0) + 1


def parse_traces(body: bytes, *, is_json: bool) -> Parsed:
    """All spans of a body; raises UnreadableOtlp."""
    message = _message(body, ExportTraceServiceRequest, "traces", is_json=is_json)
    found = Parsed()
    for group in message.resource_spans:
        resource = _Resource(group.resource.attributes)
        for scoped in group.scope_spans:
            for span in scoped.spans:
                try:
                    made = _span(span, resource.read(), scoped.scope.name, found)
                except TooLarge as error:
                    found.refuse(f"a span {error}")
                    continue
                if made is not None:
                    found.spans.append(made)
    return found


def parse_logs(body: bytes, *, is_json: bool) -> Parsed:
    """All log records of a body; raises UnreadableOtlp."""
    message = _message(body, ExportLogsServiceRequest, "logs", is_json=is_json)
    found = Parsed()
    for group in message.resource_logs:
        resource = _Resource(group.resource.attributes)
        for scoped in group.scope_logs:
            for each in scoped.log_records:
                try:
                    found.logs.append(_log(each, resource.read(), scoped.scope.name))
                except TooLarge as error:
                    found.refuse(f"a log record {error}")
    return found


class _Resource:
    """Attributes of a resource, read once for all that it sent."""

    def __init__(self, entries: Iterable[Any]) -> None:
        self._entries = entries
        self._said: dict[str, Any] | None = None

    def read(self) -> dict[str, Any]:
        if self._said is None:
            self._said = attributes_of(self._entries)
        return self._said


def _log(record: Any, resource: dict[str, Any], scope: str) -> LogRecord:
    said = attributes_of(record.attributes)
    return LogRecord(
        record.trace_id.hex(), record.span_id.hex(),
        # Instrumentations of language models leave the time of an event at 0.
        record.time_unix_nano or record.observed_time_unix_nano,
        record.event_name or str(said.get("event.name", "")),
        plain(record.body), said, resource, scope,
    )  # fmt: skip


def _message(body: bytes, kind: type[Any], what: str, *, is_json: bool) -> Any:
    if not is_json:
        try:
            return kind.FromString(body)
        except DecodeError as error:
            raise UnreadableOtlp(f"no OTLP {what} in protobuf: {str(error)[:200]}") from None
    try:
        value = json.loads(body)
        if not isinstance(value, dict):
            raise UnreadableOtlp(f"no OTLP {what} in JSON: it is no object")
        message: Message = ParseDict(
            _with_ids(value, MOST_NESTING), kind(), ignore_unknown_fields=True,
            max_recursion_depth=MOST_NESTING,
        )  # fmt: skip
    except (JsonParseError, ValueError, RecursionError, TypeError, AttributeError) as error:
        raise UnreadableOtlp(f"no OTLP {what} in JSON: {str(error)[:200]}") from None
    return message


def _with_ids(value: Any, depth: int) -> Any:
    """The JSON with hex ids as base64, which is what protobuf's JSON reads."""
    if depth == 0:
        raise UnreadableOtlp(f"the JSON is nested deeper than {MOST_NESTING}")
    if isinstance(value, dict):
        return {
            name: _base64(each) if name in _IDS else _with_ids(each, depth - 1)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_with_ids(each, depth - 1) for each in value]
    return value


def _base64(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64encode(bytes.fromhex(value)).decode("ascii")
    except (ValueError, binascii.Error):
        raise UnreadableOtlp("an id is no hex text, as OTLP/JSON writes ids") from None


def _span(span: Any, resource: dict[str, Any], scope: str, found: Parsed) -> Span | None:
    if len(span.trace_id) != TRACE_BYTES or len(span.span_id) != SPAN_BYTES:
        found.refuse("a span has no trace id of 16 bytes and span id of 8 bytes")
        return None
    if not span.start_time_unix_nano or span.end_time_unix_nano < span.start_time_unix_nano:
        found.refuse("a span has no start, or ends before it starts")
        return None
    events = [
        SpanEvent(each.name[:200], each.time_unix_nano, attributes_of(each.attributes))
        for each in span.events[:MOST_EVENTS]
    ]
    return Span(
        span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex(), span.name[:500],
        int(span.kind), span.start_time_unix_nano, span.end_time_unix_nano, int(span.status.code),
        span.status.message[:500], attributes_of(span.attributes), events, resource, scope[:200],
    )  # fmt: skip


def attributes_of(entries: Iterable[Any]) -> dict[str, Any]:
    """Attributes by name; raises TooLarge where there are more than MOST_ATTRIBUTES."""
    found: dict[str, Any] = {}
    for entry in entries:
        if len(found) >= MOST_ATTRIBUTES:
            raise TooLarge(f"has more than {MOST_ATTRIBUTES} attributes")
        found[_name(entry.key)] = plain(entry.value)
    return found


def _name(name: str) -> str:
    if len(name) > MOST_NAME:
        raise TooLarge(f"has an attribute whose name is longer than {MOST_NAME} characters")
    return name


def plain(value: Any, depth: int = MOST_NESTING) -> Any:
    """An AnyValue as None, bool, int, float, text, list or dict; bytes as base64 text.

    Raises TooLarge where a value is nested deeper than `depth` or holds more than MOST_VALUES.
    """
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if depth == 0:
        raise TooLarge(f"has a value nested deeper than {MOST_NESTING}")
    held = getattr(value, kind)
    if kind == "array_value":
        return [plain(each, depth - 1) for each in _few(held.values)]
    if kind == "kvlist_value":
        return {_name(each.key): plain(each.value, depth - 1) for each in _few(held.values)}
    if kind == "bytes_value":
        return base64.b64encode(held).decode("ascii")
    return held


def _few(values: Any) -> Any:
    if len(values) > MOST_VALUES:
        raise TooLarge(f"has a value of more than {MOST_VALUES} values")
    return values


def unpacked(bodies: Iterable[bytes]) -> Iterator[Span | LogRecord]:
    """Spans and log records that `pack` wrote."""
    for body in bodies:
        kind, rest = body[:1], body[1:]
        yield (_SPANS if kind == b"s" else _LOGS).decode(rest)


def pack(one: Span | LogRecord) -> bytes:
    """A span or log record as bytes, to be kept."""
    return (b"s" if isinstance(one, Span) else b"l") + _PACK.encode(one)


_PACK = msgspec.msgpack.Encoder()
_SPANS, _LOGS = msgspec.msgpack.Decoder(Span), msgspec.msgpack.Decoder(LogRecord)
