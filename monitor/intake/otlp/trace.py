"""The spans of one trace that matter, and what dialects ask of them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from monitor.intake.otlp.resource import (
    SENDER_MODEL,
    joins_of,
    model_names,
    resource_fields,
    resource_tags,
)
from monitor.intake.otlp.wire import ERROR, LogRecord, Span
from monitor.intake.producer_record import ProducerRecord
from monitor.records import RequestOutcome

STAGE_ATTRIBUTE = "ml.stage"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WORDS = {
    RequestOutcome.TIMED_OUT: ("timeout", "timed out", "deadline"),
    RequestOutcome.CANCELLED: ("cancel", "abort"),
    RequestOutcome.REFUSED: ("ratelimit", "rate_limit", "429", "toomanyrequests"),
}


class Dialect(Protocol):
    """One way to tell requests in spans."""

    @property
    def name(self) -> str:
        """Whose way it is."""
        ...

    def is_request(self, span: Span) -> bool:
        """Whether the span is a request."""
        ...

    def is_part(self, span: Span) -> bool:
        """Whether the span says something of another span's request."""
        ...

    def read(self, span: Span, trace: Trace) -> ProducerRecord:
        """The request of a span."""
        ...


@dataclass
class Trace:
    """Spans and log records of one trace, by span."""

    spans: dict[str, Span] = field(default_factory=dict)
    logs: dict[str, list[LogRecord]] = field(default_factory=dict)

    @classmethod
    def of(cls, pieces: Sequence[Span | LogRecord]) -> Trace:
        """A trace of what was kept of it."""
        made = cls()
        for piece in pieces:
            if isinstance(piece, Span):
                made.spans[piece.span_id] = piece
            else:
                made.logs.setdefault(piece.span_id, []).append(piece)
        return made

    def children(self, span: Span) -> Iterator[Span]:
        """Spans whose parent this is."""
        return (each for each in self.spans.values() if each.parent_id == span.span_id)

    def ancestors(self, span: Span) -> Iterator[Span]:
        """Parents that are known, the nearest first."""
        seen = {span.span_id}
        while span.parent_id in self.spans and span.parent_id not in seen:
            span = self.spans[span.parent_id]
            seen.add(span.span_id)
            yield span


def moment(nanoseconds: int) -> datetime:
    """A time since 1970 as a moment, to the microsecond."""
    return _EPOCH + timedelta(microseconds=nanoseconds // 1_000)


def base_record(span: Span, models: Sequence[Any], **more: Any) -> ProducerRecord:
    """What every dialect says of a span: id, time, latency, how it ended, who served it."""
    outcome, reason = outcome_of(span)
    fields = {
        "latency": span.milliseconds,
        **resource_fields(span.resource),
        **more.pop("fields", {}),
    }
    error = span.attributes.get("error.type")
    if isinstance(error, str) and outcome is not RequestOutcome.ANSWERED:
        fields["error_type"] = error[:200]
    names = model_names(
        span.resource.get(SENDER_MODEL), span.attributes.get("ml.model.name"), *models,
        span.resource.get("ml.model.name"), span.resource.get("service.name"),
    )  # fmt: skip
    return ProducerRecord(
        request_id=more.pop("request_id", None) or f"{span.trace_id}-{span.span_id}",
        event_time=moment(span.start),
        models=names,
        outcome=more.pop("outcome", None) or outcome,
        outcome_reason=reason,
        fields=fields,
        resource_tags=resource_tags(span.resource),
        joins={**joins_of(span.resource), **more.pop("joins", {})},
        **more,
    )


def outcome_of(span: Span) -> tuple[RequestOutcome, str | None]:
    """How a span's request ended. Messages are left out: they may hold what the request held."""
    error = span.attributes.get("error.type")
    if span.status != ERROR and error is None:
        return RequestOutcome.ANSWERED, None
    kind = error if isinstance(error, str) else ""
    small = (kind or span.message).lower().replace(" ", "")
    for outcome, words in _WORDS.items():
        if any(word.replace(" ", "") in small for word in words):
            return outcome, kind[:200] or outcome.name.lower()
    return RequestOutcome.FAILED, kind[:200] or "the span ended with an error"


def union_milliseconds(spans: Sequence[Span]) -> float:
    """How long at least one of these spans ran."""
    total, end = 0, 0
    for span in sorted(spans, key=lambda each: each.start):
        total += max(0, span.end - max(span.start, end))
        end = max(end, span.end)
    return total / 1e6
