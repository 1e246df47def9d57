"""The collector's HTTP application: routes, documents and the answers to errors."""

from __future__ import annotations

import gc
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from typing import Annotated

import msgspec
from fastapi import Depends, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from monitor.collector import schemas
from monitor.collector.actions_api import actions_router
from monitor.collector.alert_desk import AlertDesk
from monitor.collector.alerts_api import alerts_router
from monitor.collector.assembler import Assembler
from monitor.collector.boundary import guarded
from monitor.collector.edge import Edge
from monitor.collector.events_api import EventDesk, events_router
from monitor.collector.link_pages import link_router
from monitor.collector.logs import LOGGER
from monitor.collector.otlp_api import OtlpDesk, otlp_router
from monitor.collector.otlp_metrics_api import OtlpMetrics, otlp_metrics_router
from monitor.collector.ports import Store
from monitor.collector.silences_api import silences_router
from monitor.errors import DatabaseNotReady, DatabaseUnavailable, RequestRefused
from monitor.intake.legs import LEG_PATTERN
from monitor.intake.registry import TOLD_FORMATS
from monitor.records import LIVE_LEG
from monitor.settings import Settings
from monitor.store.action_orders import Outside
from monitor.store.open import open_store

RETRY_DATABASE_SECONDS = 2
"""Exporters of OpenTelemetry give a batch up after ten seconds in all."""
GARBAGE_THRESHOLDS = (20_000, 20, 50)
SWITCH_SECONDS = 0.0005
DESCRIPTION = (
    "Takes request logs and late labels. A 200 means that the records are committed; its counts"
    " add up to what was sent. One bad record never costs its neighbours."
)
_BEARER = Depends(HTTPBearer(auto_error=False, description="An API key of one project."))
Model = Annotated[str, Query(min_length=1, max_length=200, description="Name of the model.")]
Leg = Annotated[str, Query(pattern=LEG_PATTERN, description="live, batch, shadow:… or replay:…")]


def create_app(
    settings: Settings | None = None,
    store: Store | None = None,
    *,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> FastAPI:
    """The application; without arguments on the settings and the database of the environment."""
    settings = settings or Settings.from_environment()
    store = store or open_store(settings)
    edge = Edge(settings, store, clock)
    outside = Outside(settings.public_url, settings.api_url)
    assembler = Assembler(store.engine, edge.producers, clock) if store.engine else None
    desk = AlertDesk(store, store.engine, clock, outside) if store.engine else None
    metrics = OtlpMetrics(edge, store.engine) if store.engine else None
    wait = timedelta(seconds=settings.exchange_seconds)
    pause = timedelta(seconds=settings.trace_seconds)
    otlp = events = None
    if store.engine and assembler is not None:
        otlp = OtlpDesk(edge, store.engine, clock, pause, assembler.touch)
        events = EventDesk(edge, store.engine, clock, wait, assembler.touch)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        # Bodies are lists of many small tuples that live briefly: rarer collections cost nothing.
        gc.set_threshold(*GARBAGE_THRESHOLDS)
        # Parts are put together in a thread beside: answers must not wait for its turn to end.
        sys.setswitchinterval(SWITCH_SECONDS)
        if assembler is not None:
            assembler.start()
        yield
        if assembler is not None:
            assembler.close()
        if events is not None:
            events.close()
        if otlp is not None:
            otlp.close()
        if metrics is not None:
            metrics.close()
        if desk is not None:
            desk.close()
        edge.close()

    app = FastAPI(
        title="Inferwatch collector",
        version=version("inferwatch"),
        description=DESCRIPTION,
        lifespan=lifespan,
    )
    app.state.edge = edge
    _add_intake(app, edge)
    if metrics is not None:
        app.include_router(otlp_metrics_router(metrics))
    if events is not None:
        app.include_router(events_router(events))
    if otlp is not None:
        app.include_router(otlp_router(otlp))
    if desk is not None:
        for router in (alerts_router, silences_router, actions_router, link_router):
            app.include_router(router(desk))
    _add_service(app, edge)
    _add_errors(app, edge)
    return app


def _add_intake(app: FastAPI, edge: Edge) -> None:
    @app.post(
        "/v1/requests",
        summary="Store requests",
        response_model=schemas.IntakeAnswerBody,
        responses=schemas.REFUSALS,
        openapi_extra=schemas.body_of_records(schemas.REQUEST_RECORD, *TOLD_FORMATS),
        dependencies=[_BEARER],
    )
    async def requests(request: Request, model: Model, leg: Leg = LIVE_LEG) -> Response:
        """One body holds requests of one model and leg, as JSON array, NDJSON or Arrow stream."""
        return _json(await guarded(edge.take_requests(request, model, leg), "requests"))

    @app.post(
        "/v1/labels",
        summary="Store labels",
        response_model=schemas.IntakeAnswerBody,
        responses=schemas.REFUSALS,
        openapi_extra=schemas.body_of_records(schemas.LABEL_RECORD),
        dependencies=[_BEARER],
    )
    async def labels(request: Request, model: Model) -> Response:
        """What turned out to be true; a later label is a new revision, never an overwrite."""
        return _json(await guarded(edge.take_labels(request, model), "labels"))

    @app.post(
        "/v1/deployments",
        summary="Register a deployment",
        response_model=schemas.DeploymentAnswer,
        responses=schemas.REFUSALS,
        openapi_extra=schemas.body_of_deployment(),
        dependencies=[_BEARER],
    )
    async def deployments(request: Request, model: Model) -> Response:
        """A full set of version tags gets a number; the same tags always get the same one."""
        return _json(await guarded(edge.register_deployment(request, model), "deployments"))


def _add_service(app: FastAPI, edge: Edge) -> None:
    @app.get("/healthz", summary="The process lives", response_model=schemas.State)
    async def healthz() -> Response:
        return _json(b'{"status":"alive"}')

    @app.get(
        "/readyz",
        summary="Bodies can be stored",
        response_model=schemas.State,
        responses={503: schemas.REFUSALS[503]},
    )
    async def readyz() -> Response:
        return _json(await guarded(edge.ready(), "readyz"))

    @app.get("/metrics", summary="Counters for Prometheus", response_class=Response)
    async def metrics() -> Response:
        return Response(edge.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_errors(app: FastAPI, edge: Edge) -> None:
    @app.exception_handler(RequestRefused)
    async def refused(request: Request, error: RequestRefused) -> Response:
        edge.metrics.refused(_kind(request), error.reason)
        LOGGER.info(
            "refused path=%s status=%d reason=%s", _kind(request), error.status, error.reason
        )
        return _refusal(error.status, error.reason, str(error), error.retry_after)

    @app.exception_handler(RequestValidationError)
    async def bad_parameter(request: Request, error: RequestValidationError) -> Response:
        names = sorted({str(part) for each in error.errors() for part in each["loc"][1:]})
        edge.metrics.refused(_kind(request), "bad_parameter")
        return _refusal(
            422, "bad_parameter", f"parameter {', '.join(names)} is missing or not valid"
        )

    @app.exception_handler(HTTPException)
    async def not_served(_: Request, error: HTTPException) -> Response:
        answer = _refusal(error.status_code, "not_served", str(error.detail))
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(ClientDisconnect)
    async def gone(request: Request, _: ClientDisconnect) -> Response:
        edge.metrics.refused(_kind(request), "sender_gone")
        return _refusal(
            400, "sender_gone", "the sender closed the connection before the body's end"
        )

    @app.exception_handler(DatabaseUnavailable)
    @app.exception_handler(DatabaseNotReady)
    async def away(request: Request, error: Exception) -> Response:
        reason = "database_unavailable"
        if isinstance(error, DatabaseNotReady):
            reason = "database_not_ready"
        edge.metrics.refused(_kind(request), reason)
        LOGGER.warning("nothing stored path=%s reason=%s", _kind(request), reason)
        message = "nothing was stored; send it again after Retry-After"
        return _refusal(503, reason, message, RETRY_DATABASE_SECONDS)


def _kind(request: Request) -> str:
    """The last word of a known path; one word for all others, so that metrics stay bounded."""
    known = {"/v1/requests": "requests", "/v1/labels": "labels", "/v1/deployments": "deployments"}
    return known.get(request.url.path, "other")


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")


def _refusal(status: int, reason: str, message: str, retry_after: int | None = None) -> Response:
    body = msgspec.json.encode({"reason": reason, "message": message})
    headers = {"Retry-After": str(retry_after)} if retry_after is not None else {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(body, status, headers, media_type="application/json")
