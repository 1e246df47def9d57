"""The kept spans of one trace into requests: each request span once, with its stages. Pure.

A request span under another request span of a server and its client is one request: the client's
record takes what only the server can tell. Stages (`ml.stage`, tools and retrievals of language
models) belong to the nearest request above them, or to the trace's only request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from monitor.fields import STAGE
from monitor.intake.otlp.dialects.registry import dialect_of
from monitor.intake.otlp.dialects.triton import MODEL
from monitor.intake.otlp.trace import STAGE_ATTRIBUTE, Dialect, Trace, union_milliseconds
from monitor.intake.otlp.wire import LogRecord, Span, unpacked
from monitor.intake.parts import RequestPart
from monitor.intake.producer_record import ProducerRecord, Read

KIND = "trace"
_SERVER_TELLS = (
    *("queue_time", "prefill_time", "decode_time", "compute_time", "cached_tokens"),
    *("draft_tokens", "accepted_draft_tokens", "draft_steps"),
)


class Traces:
    """How spans become requests once waiting ends: no span says how many there are."""

    kind = KIND
    complete_at = None

    def assemble(self, parts: Sequence[RequestPart], now: datetime) -> Read:  # noqa: ARG002
        """The requests of one trace."""
        return requests_of(list(unpacked(part.body for part in parts)))


TRACES = Traces()


def requests_of(pieces: Sequence[Span | LogRecord]) -> Read:
    """The requests among the pieces of one trace; pieces of none are ignored and counted."""
    trace = Trace.of(pieces)
    asked = {
        span.span_id: (span, dialect)
        for span in trace.spans.values()
        if (dialect := dialect_of(span)) is not None and not _is_step(span, trace)
    }
    records = {name: dialect.read(span, trace) for name, (span, dialect) in asked.items()}
    inner = _merge_servers(asked, records, trace)
    for name, stages in _stages(asked, trace, inner).items():
        times = {f"{STAGE}{stage}": union_milliseconds(spans) for stage, spans in stages.items()}
        records[name] = replace(records[name], fields={**times, **records[name].fields})
    kept = tuple(record for name, record in records.items() if name not in inner)
    return Read(kept, ignored=0 if kept else len(pieces))


def _is_step(span: Span, trace: Trace) -> bool:
    """A model of an ensemble: told as a stage of the ensemble's request."""
    return MODEL in span.attributes and any(MODEL in up.attributes for up in trace.ancestors(span))


def _merge_servers(
    asked: Mapping[str, tuple[Span, Dialect]], records: dict[str, ProducerRecord], trace: Trace
) -> dict[str, str]:
    """Engine spans below a client's span: by span, the client's span that took them in."""
    inner: dict[str, str] = {}
    for name, (span, dialect) in asked.items():
        if dialect.name != "engine":
            continue
        above = next((up.span_id for up in trace.ancestors(span) if up.span_id in asked), None)
        if above is None or asked[above][1].name == "engine":
            continue
        inner[name] = above
        records[above] = _with_server(records[above], records[name])
    return inner


def _with_server(client: ProducerRecord, server: ProducerRecord) -> ProducerRecord:
    own, told = dict(client.fields), server.fields
    wanted = list(_SERVER_TELLS)
    if "first_token_time" not in own:  # the client's own is another quantity: never mixed
        wanted += ["first_token_time", "first_token_from", "inter_token_time"]
    own |= {field: told[field] for field in wanted if field in told and field not in own}
    return replace(
        client,
        fields=own,
        models=tuple(dict.fromkeys((*client.models, *server.models))),
        resource_tags={**client.resource_tags, **server.resource_tags},
        joins={**client.joins, **server.joins},
    )


def _stages(
    asked: Mapping[str, tuple[Span, Any]], trace: Trace, inner: Mapping[str, str]
) -> dict[str, dict[str, list[Span]]]:
    """Spans by request and stage."""
    outer = [name for name in asked if name not in inner]
    found: dict[str, dict[str, list[Span]]] = {}
    for span in trace.spans.values():
        stage = _stage_name(span)
        if span.span_id in asked or stage is None:
            continue
        above = next((up.span_id for up in trace.ancestors(span) if up.span_id in asked), None)
        owner = inner.get(above, above) if above is not None else None
        if owner is None and len(outer) == 1:
            owner = outer[0]
        if owner is not None:
            found.setdefault(owner, {}).setdefault(stage, []).append(span)
    return found


def _stage_name(span: Span) -> str | None:
    said = span.attributes.get(STAGE_ATTRIBUTE)
    if isinstance(said, str) and said:
        return said[:100]
    operation = span.attributes.get("gen_ai.operation.name")
    return operation if operation in ("execute_tool", "retrieval") else None
