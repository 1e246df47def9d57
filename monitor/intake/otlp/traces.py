"""The kept spans of one trace into requests: each request span once, with its stages. Pure.

An engine's span under its client's is one request: the client's record takes what only the server
can tell. So are two spans of a language model under each other that tell the same call (a
framework's and its client's, a client's and a gateway's). Stages (`ml.stage`, tools and retrievals
of language models) belong to the nearest request above them, or to the trace's only request.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from monitor.fields import STAGE
from monitor.intake.otlp.dialects.registry import dialect_of
from monitor.intake.otlp.dialects.triton import MODEL
from monitor.intake.otlp.trace import STAGE_ATTRIBUTE, Dialect, Trace, union_milliseconds
from monitor.intake.otlp.wire import LogRecord, Span, unpacked
from monitor.intake.parts import RequestPart
from monitor.intake.producer_record import ProducerRecord, Read

KIND = "trace"
PIECES_WAIT = timedelta(minutes=10)
"""How long stages and content wait for the request above them, which ends after them."""
_SERVER_TELLS = (
    *("queue_time", "prefill_time", "decode_time", "compute_time", "cached_tokens"),
    *("draft_tokens", "accepted_draft_tokens", "draft_steps"),
)
_FIRST_TOKEN = ("first_token_from", "inter_token_time")
_RESPONSE = "gen_ai.response.id"


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
        if (dialect := dialect_of(span)) is not None and not is_step(span, trace)
    }
    records = {name: dialect.read(span, trace) for name, (span, dialect) in asked.items()}
    inner = _merge_servers(asked, records, trace)
    for name, stages in _stages(asked, trace, inner).items():
        times = {f"{STAGE}{stage}": union_milliseconds(spans) for stage, spans in stages.items()}
        records[name] = replace(records[name], fields={**times, **records[name].fields})
    kept = tuple(record for name, record in records.items() if name not in inner)
    return Read(kept, ignored=0 if kept else len(pieces))


def is_step(span: Span, trace: Trace) -> bool:
    """A model of an ensemble: told as a stage of the ensemble's request."""
    return MODEL in span.attributes and any(MODEL in up.attributes for up in trace.ancestors(span))


def _merge_servers(
    asked: Mapping[str, tuple[Span, Dialect]], records: dict[str, ProducerRecord], trace: Trace
) -> dict[str, str]:
    """Spans of a request that another span tells too: by span, the one that took them in."""
    above = {name: _above(span, asked, trace) for name, (span, _) in asked.items()}
    below = Counter(above[name] for name, (_, dialect) in asked.items() if dialect.name == "gen_ai")
    inner: dict[str, str] = {}
    deepest_first = sorted(asked, key=lambda name: -sum(1 for _ in trace.ancestors(asked[name][0])))
    for name in deepest_first:
        outer = above[name]
        # Parents may go round in a circle: one of its spans stays the outer one.
        if outer is None or _outermost(outer, inner) == name:
            continue
        kinds = asked[name][1].name, asked[outer][1].name
        if kinds[0] == "engine" and kinds[1] != "engine":
            records[outer] = _with_server(records[outer], records[name])
        elif kinds == ("gen_ai", "gen_ai") and _same_call(
            asked[name][0], asked[outer][0], only=below[outer] == 1
        ):
            told = _RESPONSE in asked[outer][0].attributes
            records[outer] = _with_inner(records[outer], records[name], keep_id=told)
        else:
            continue
        inner[name] = outer
    return inner


def _outermost(name: str, inner: Mapping[str, str]) -> str:
    while name in inner:
        name = inner[name]
    return name


def _above(span: Span, asked: Mapping[str, Any], trace: Trace) -> str | None:
    return next((up.span_id for up in trace.ancestors(span) if up.span_id in asked), None)


def _same_call(inner: Span, outer: Span, *, only: bool) -> bool:
    """Whether both tell one answer: of the same id, or the only one below a span without an id."""
    told, answered = outer.attributes.get(_RESPONSE), inner.attributes.get(_RESPONSE)
    return only if told is None else told == answered


def _with_inner(outer: ProducerRecord, inner: ProducerRecord, *, keep_id: bool) -> ProducerRecord:
    """The outer request with what only the inner span tells; the outer's own words stay."""
    told = dict(inner.fields)
    if "first_token_time" in outer.fields:  # begins elsewhere than the inner's: never mixed
        for field in _FIRST_TOKEN:
            told.pop(field, None)
    return replace(
        outer,
        request_id=outer.request_id if keep_id else inner.request_id,
        models=tuple(dict.fromkeys((*outer.models, *inner.models))),
        fields={**told, **outer.fields},
        outputs=outer.outputs or inner.outputs,
        attributes={**inner.attributes, **outer.attributes},
        request_tags={**inner.request_tags, **outer.request_tags},
        resource_tags={**outer.resource_tags, **inner.resource_tags},
        joins={**outer.joins, **inner.joins},
    )


def _with_server(client: ProducerRecord, server: ProducerRecord) -> ProducerRecord:
    own, told = dict(client.fields), server.fields
    wanted = list(_SERVER_TELLS)
    if "first_token_time" not in own:  # the client's own is another quantity: never mixed
        wanted += ["first_token_time", *_FIRST_TOKEN]
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
        above = _above(span, asked, trace)
        owner = None if above is None else _outermost(above, inner)
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
