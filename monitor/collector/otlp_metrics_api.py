"""`POST /v1/metrics`: OTLP metrics of servers and clients, kept as readings a minute."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from fastapi import APIRouter, Depends, Request, Response
from fastapi.security import HTTPBearer
from google.protobuf.json_format import MessageToJson
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceResponse,
)
from sqlalchemy.engine import Engine

from monitor.collector import schemas
from monitor.collector.boundary import guarded
from monitor.collector.edge import Edge
from monitor.collector.gate import Gate
from monitor.errors import RequestRefused
from monitor.intake.otlp.metrics import UnreadableOtlp, count_points, parse_metrics, read_metrics
from monitor.store.engine import Role, transaction
from monitor.store.models import model_numbers_by_any_name
from monitor.store.projects import Scope
from monitor.store.server_readings import KeptMetrics, keep_metrics

PROTOBUF, JSON = "application/x-protobuf", "application/json"
MOST_POINTS, MOST_WAITING = 100_000, 32
MODEL_HEADER = "x-inferwatch-model"
_BEARER = Depends(HTTPBearer(auto_error=False, description="An API key of one project."))


class OtlpMetrics:
    """Keeps bodies of metrics one after the other: they are sums, and few."""

    def __init__(self, edge: Edge, engine: Engine) -> None:
        self._edge = edge
        self._engine = engine
        self._pool = ThreadPoolExecutor(1, "metrics")
        self._gate = Gate(MOST_WAITING)

    def close(self) -> None:
        """Finish what was begun."""
        self._pool.shutdown()

    async def take(self, request: Request) -> Response:
        """Keep a body; the answer in the body's own form."""
        is_json = _is_json(request)
        principal, body = await self._edge.read_told(request, Scope.INGEST)
        model = request.query_params.get("model") or request.headers.get(MODEL_HEADER)
        work = partial(self._keep, principal.project_id, body, is_json=is_json, model=model)
        with self._gate.enter():
            answer = await asyncio.get_running_loop().run_in_executor(self._pool, work)
        if is_json:
            return Response(MessageToJson(answer), media_type=JSON)
        return Response(answer.SerializeToString(), media_type=PROTOBUF)

    def _keep(
        self, project_id: int, body: bytes, *, is_json: bool, model: str | None
    ) -> ExportMetricsServiceResponse:
        try:
            message = parse_metrics(body, is_json=is_json)
        except UnreadableOtlp as error:
            raise RequestRefused(400, "unreadable", str(error)) from None
        if count_points(message) > MOST_POINTS:
            told = f"more than {MOST_POINTS:,} points in one body; export fewer at a time"
            raise RequestRefused(413, "too_many_records", told)
        refused, reasons, kept = 0, list[str](), list[KeptMetrics]()
        with transaction(self._engine, project_id, Role.INGEST) as connection:
            numbers = model_numbers_by_any_name(connection, project_id)

            def find(names: Sequence[str]) -> int | None:
                return next((numbers[name] for name in names if name in numbers), None)

            if model is not None and model not in numbers:
                raise RequestRefused(404, "unknown_model", "no such model in the key's project")
            own = [numbers[model]] if model is not None else []
            for source, read in sorted(read_metrics(message).items()):
                refused += read.refused
                reasons += read.reasons
                kept.append(
                    keep_metrics(connection, project_id, f"otlp:{source}", read.points, find, own)
                )
        return _answer(refused, reasons, kept)


def _answer(
    refused: int, reasons: list[str], kept: Sequence[KeptMetrics]
) -> ExportMetricsServiceResponse:
    """Empty when every point was taken or stands for no reading; otherwise how many, and why."""
    answer = ExportMetricsServiceResponse()
    for each in kept:
        refused += sum(each.left_out.values())
        reasons += each.left_out
        if each.unknown_models:
            reasons.append(f"unknown models: {', '.join(each.unknown_models[:5])}")
    if refused:
        answer.partial_success.rejected_data_points = refused
        answer.partial_success.error_message = "; ".join(dict.fromkeys(reasons))[:1_000]
    return answer


def _is_json(request: Request) -> bool:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (PROTOBUF, JSON):
        raise RequestRefused(415, "unsupported_type", f"Content-Type is {PROTOBUF} or {JSON}")
    return kind == JSON


def otlp_metrics_router(metrics: OtlpMetrics) -> APIRouter:
    """The route."""
    router = APIRouter()

    @router.post(
        "/v1/metrics",
        summary="Keep OTLP metrics",
        responses={**schemas.REFUSALS, 200: {"description": "ExportMetricsServiceResponse"}},
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {
                    PROTOBUF: {"schema": {"type": "string", "format": "binary"}},
                    JSON: {"schema": {"type": "object"}},
                },
            }
        },
        dependencies=[_BEARER],
    )
    async def take(request: Request) -> Response:
        """Metrics that stand for a reading of a server are added to it; sent again, they change
        nothing. All others are ignored."""
        return await guarded(metrics.take(request), "metrics")

    return router
