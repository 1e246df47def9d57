"""`POST /v1/traces` and `POST /v1/logs`: OTLP over HTTP, protobuf and JSON.

An answer of 200 says that what matters of the body is committed. What can't be placed is told as
partial success and must not be sent again; something temporary is answered 503 with Retry-After,
never 500, as exporters drop a batch at once on a 500.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.security import HTTPBearer
from google.protobuf.json_format import MessageToJson
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from sqlalchemy.engine import Engine

from monitor.collector import schemas
from monitor.collector.boundary import guarded
from monitor.collector.edge import Edge, origin_of
from monitor.collector.gate import Gate
from monitor.collector.otlp_metrics_api import JSON, MODEL_HEADER, PROTOBUF
from monitor.collector.part_writer import PartWriter
from monitor.collector.producer_store import Sender
from monitor.errors import RequestRefused
from monitor.intake.otlp.dialects.registry import dialect_of, says_something
from monitor.intake.otlp.logs import log_key, read_logs
from monitor.intake.otlp.metrics import UnreadableOtlp
from monitor.intake.otlp.resource import SENDER_MODEL
from monitor.intake.otlp.trace import Dialect, Trace
from monitor.intake.otlp.traces import KIND, PIECES_WAIT, is_step
from monitor.intake.otlp.wire import Parsed, Span, pack, parse_logs, parse_traces
from monitor.intake.parts import RequestPart
from monitor.origin import Origin
from monitor.records import Rejection, RejectionReason
from monitor.store.engine import Role, transaction
from monitor.store.intake_parts import add_parts
from monitor.store.projects import Principal, Scope

MOST_WAITING = 256
MOST_TOLD, MOST_KEPT = 1_000, 1_000
_BEARER = Depends(HTTPBearer(auto_error=False, description="An API key of one project."))


class OtlpDesk:
    """Reads bodies in threads of their own and keeps spans as parts of their traces."""

    def __init__(
        self,
        edge: Edge,
        engine: Engine,
        clock: Callable[[], datetime],
        wait: timedelta,
        touch: Callable[[int], None],
    ) -> None:
        self._edge, self._engine, self._clock, self._wait = edge, engine, clock, wait
        self._touch = touch
        self._pool = ThreadPoolExecutor(2, "otlp")
        self._gate = Gate(MOST_WAITING)
        self._writer = PartWriter(self._keep)

    def close(self) -> None:
        """Finish what was begun."""
        self._pool.shutdown()
        self._writer.close()

    async def take_traces(self, request: Request) -> Response:
        """Keep the spans of a body; the answer in the body's own form."""
        is_json, principal, model, body = await self._read(request)
        with self._gate.enter():
            work = (self._spans, origin_of(principal, request), principal, body, is_json, model)
            parts, refused = await self._run(*work)
            if parts:
                await self._writer.keep(principal.project_id, parts)
                self._touch(principal.project_id)
        answer = ExportTraceServiceResponse()
        if refused:
            answer.partial_success.rejected_spans = sum(refused.values())
            answer.partial_success.error_message = _told(refused)
        return _answer(answer, is_json=is_json)

    async def take_logs(self, request: Request) -> Response:
        """Keep the log records of a body; the answer in the body's own form."""
        is_json, principal, model, body = await self._read(request)
        with self._gate.enter():
            parts, refused = await self._run(
                self._logs, origin_of(principal, request), principal, body, is_json, model
            )
            if parts:
                await self._writer.keep(principal.project_id, parts)
                self._touch(principal.project_id)
        answer = ExportLogsServiceResponse()
        if refused:
            answer.partial_success.rejected_log_records = sum(refused.values())
            answer.partial_success.error_message = _told(refused)
        return _answer(answer, is_json=is_json)

    async def _read(self, request: Request) -> tuple[bool, Principal, str | None, bytes]:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in (PROTOBUF, JSON):
            raise RequestRefused(415, "unsupported_type", f"Content-Type is {PROTOBUF} or {JSON}")
        principal, body = await self._edge.read_told(request, Scope.INGEST)
        model = request.query_params.get("model") or request.headers.get(MODEL_HEADER)
        return kind == JSON, principal, model, body

    async def _run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)

    def _spans(
        self,
        origin: Origin,
        principal: Principal,
        body: bytes,
        is_json: bool,
        model: str | None,
    ) -> tuple[list[RequestPart], Counter[str]]:
        parsed = _parsed(parse_traces, body, is_json)
        refused = Counter(parsed.refused)
        unknown: list[Rejection] = []
        parts, now, trace = [], self._clock(), Trace.of(parsed.spans)
        for place, span in enumerate(parsed.spans):
            if not says_something(span):
                continue
            named = _with_sender(span, model)
            dialect = None if is_step(span, trace) else dialect_of(span)
            found = dialect and self._unknown_model(origin, principal, place, named, dialect)
            if found:
                unknown.append(found)
                continue
            wait = self._wait if dialect else max(self._wait, PIECES_WAIT)
            name = f"span:{span.span_id}"
            parts.append(RequestPart(KIND, span.trace_id, name, pack(named), now, now + wait))
        self._keep_unknown(principal, unknown, now)
        refused.update(each.message for each in unknown)
        return parts, refused

    def _unknown_model(
        self, origin: Origin, principal: Principal, place: int, span: Span, dialect: Dialect
    ) -> Rejection | None:
        """Why no model of the project can take a request; None where one can."""
        record = dialect.read(span, Trace({span.span_id: span}))
        if self._edge.store.model_known_as(principal.project_id, record.models) is not None:
            return None
        told = ", ".join(repr(name[:80]) for name in record.models[:4]) or "no name"
        message = f"no model is known as {told}; add a name to also_known_as of its contract"
        origin = origin.told_by(record.joins)
        return Rejection(
            place, RejectionReason.UNKNOWN_MODEL, message, record.request_id, origin=origin
        )

    def _keep_unknown(self, principal: Principal, found: list[Rejection], now: datetime) -> None:
        """Most exporters never look at a partial success, so it is kept here too."""
        if found:
            kept = tuple(found[:MOST_KEPT])
            self._edge.store.keep_unplaced(principal.project_id, "requests", now, kept)

    def _logs(
        self,
        origin: Origin,
        principal: Principal,
        body: bytes,
        is_json: bool,
        model: str | None,
    ) -> tuple[list[RequestPart], Counter[str]]:
        parsed = _parsed(parse_logs, body, is_json)
        found = read_logs([_with_sender(each, model) for each in parsed.logs])
        refused = Counter(parsed.refused)
        now = self._clock()
        if found.records or found.labels or found.rejections:
            self._edge.may_label(principal, found.labels)
            anytime = Scope.BACKFILL in principal.scopes
            sender = Sender(principal.project_id, now, model, anytime=anytime, origin=origin)
            kept = self._edge.producers.keep(sender, found.read())
            refused.update(each.message for each in kept.rejections)
        due = now + max(self._wait, PIECES_WAIT)
        return [
            RequestPart(KIND, each.trace_id, log_key(each), pack(each), now, due)
            for each in found.content
        ], refused

    def _keep(self, project_id: int, parts: Any) -> int:
        with transaction(self._engine, project_id, Role.INGEST) as connection:
            return add_parts(connection, project_id, parts)


def _parsed(parse: Callable[..., Parsed], body: bytes, is_json: bool) -> Parsed:
    try:
        return parse(body, is_json=is_json)
    except UnreadableOtlp as error:
        raise RequestRefused(400, "unreadable", str(error)) from None


def _with_sender(one: Any, model: str | None) -> Any:
    """The span or record, saying which model its sender named beside the body."""
    if model is None:
        return one
    fields = {name: getattr(one, name) for name in one.__struct_fields__}
    return type(one)(**{**fields, "resource": {**one.resource, SENDER_MODEL: model}})


def _told(refused: Counter[str]) -> str:
    return "; ".join(f"{count} x {why}" for why, count in refused.most_common(5))[:MOST_TOLD]


def _answer(message: Any, *, is_json: bool) -> Response:
    if is_json:
        return Response(MessageToJson(message), media_type=JSON)
    return Response(message.SerializeToString(), media_type=PROTOBUF)


def otlp_router(desk: OtlpDesk) -> APIRouter:
    """The routes."""
    router = APIRouter(dependencies=[_BEARER])

    @router.post("/v1/traces", summary="Keep OTLP traces", **_described("Trace"))
    async def traces(request: Request) -> Response:
        """Spans that are requests of a model, or stages of one; all others are ignored."""
        return await guarded(desk.take_traces(request), "traces")

    @router.post("/v1/logs", summary="Keep OTLP logs", **_described("Logs"))
    async def logs(request: Request) -> Response:
        """Calls of BentoML, evaluations, and content of language models; others are ignored."""
        return await guarded(desk.take_logs(request), "logs")

    return router


def _described(what: str) -> dict[str, Any]:
    binary = {"schema": {"type": "string", "format": "binary"}}
    body = {PROTOBUF: binary, JSON: {"schema": {"type": "object"}}}
    answer = {200: {"description": f"Export{what}ServiceResponse"}}
    return {
        "responses": {**schemas.REFUSALS, **answer},
        "openapi_extra": {"requestBody": {"required": True, "content": body}},
    }
