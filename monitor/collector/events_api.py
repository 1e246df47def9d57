"""`POST /v1/cloudevents`, and the Azure data collector's `POST /modeldata/log`.

An answer of 200 says that the events are committed; requests come of them once both halves are
there, or when waiting ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import msgspec
from fastapi import APIRouter, Depends, Request, Response
from fastapi.security import HTTPBasic, HTTPBearer
from pydantic import BaseModel, Field
from sqlalchemy.engine import Engine

from monitor.collector import schemas
from monitor.collector.boundary import guarded
from monitor.collector.edge import Edge
from monitor.collector.gate import Gate
from monitor.collector.otlp_metrics_api import MODEL_HEADER
from monitor.collector.part_writer import PartWriter
from monitor.errors import RequestRefused
from monitor.intake.events.event import BATCHED, STRUCTURED, Event, UnreadableEvent, read_message
from monitor.intake.events.event import azure_event as read_azure
from monitor.intake.events.halves import SENDER_MODEL, half_of, part_of
from monitor.intake.parts import RequestPart
from monitor.store.engine import Role, transaction
from monitor.store.intake_parts import add_parts
from monitor.store.projects import Scope

MOST_WAITING = 5_000
_KEYS = [
    Depends(HTTPBearer(auto_error=False, description="An API key of one project.")),
    Depends(HTTPBasic(auto_error=False, description="Any name, with the key as password.")),
]


class EventsAnswer(BaseModel):
    """What became of the events of one message."""

    kept: int = Field(ge=0, description="Halves of exchanges, now or before.")
    ignored: int = Field(ge=0, description="Events of types that are no request and no response.")


class EventDesk:
    """Reads events and keeps them as parts; most of their senders never try again."""

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
        self._gate = Gate(MOST_WAITING)
        self._writer = PartWriter(self._keep)

    def close(self) -> None:
        """Finish what was begun."""
        self._writer.close()

    async def take(self, request: Request, read: Callable[..., list[Event]]) -> bytes:
        """Keep the events of one message; the answer as JSON."""
        with self._gate.enter():
            principal = await self._edge.principal(request, Scope.INGEST)
            body = await self._edge.plain_body(request)
            headers = {name.lower(): value for name, value in request.headers.items()}
            try:
                events = read(headers, body)
            except UnreadableEvent as error:
                raise RequestRefused(400, "unreadable", str(error)) from None
            events = _named(events, request)
            now = self._clock()
            parts = [
                part_of(event, half, now, self._wait)
                for event in events
                if (half := half_of(event)) is not None
            ]
            if parts:
                await self._writer.keep(principal.project_id, parts)
                self._touch(principal.project_id)
        return msgspec.json.encode({"kept": len(parts), "ignored": len(events) - len(parts)})

    def _keep(self, project_id: int, parts: Sequence[RequestPart]) -> int:
        with transaction(self._engine, project_id, Role.INGEST) as connection:
            return add_parts(connection, project_id, parts)


def _named(events: list[Event], request: Request) -> list[Event]:
    """The events, saying which model their sender named beside the body."""
    model = request.query_params.get("model") or request.headers.get(MODEL_HEADER)
    if not model:
        return events
    return [replace(each, extensions={**each.extensions, SENDER_MODEL: model}) for each in events]


def _azure(headers: dict[str, str], body: bytes) -> list[Event]:
    return [read_azure(headers, body)]


def events_router(desk: EventDesk) -> APIRouter:
    """The routes."""
    router = APIRouter(dependencies=_KEYS)

    @router.post(
        "/v1/cloudevents",
        summary="Keep CloudEvents of model servers",
        response_model=EventsAnswer,
        responses=schemas.REFUSALS,
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {
                    STRUCTURED: {"schema": {"type": "object"}},
                    BATCHED: {"schema": {"type": "array", "items": {"type": "object"}}},
                    "application/json": {
                        "schema": {"description": "Data of an event whose attributes are headers."}
                    },
                },
            }
        },
    )
    async def cloudevents(request: Request) -> Response:
        """Requests and responses of KServe and Seldon, 1.0 and 0.3: binary, structured, batched."""
        return _json(await guarded(desk.take(request, read_message), "events"))

    @router.post(
        "/modeldata/log",
        summary="Keep entries of the Azure data collector",
        response_model=EventsAnswer,
        responses=schemas.REFUSALS,
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": {"type": "array"}}},
            }
        },
    )
    async def modeldata(request: Request) -> Response:
        """What the client `azureml-ai-monitoring` posts to its sidecar, forwarded with a key."""
        return _json(await guarded(desk.take(request, _azure), "events"))

    return router


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")
