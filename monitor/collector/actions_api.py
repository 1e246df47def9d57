"""The calls about responses: start one, look at an action, report what became of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request, Response
from sqlalchemy.engine import Engine

from alerts.actions import report_of
from monitor.collector import alert_schemas as schemas
from monitor.collector.alert_desk import (
    BEARER,
    AlertDesk,
    Number,
    encode,
    json_answer,
    read_deed,
)
from monitor.collector.boundary import guarded
from monitor.errors import ConfigurationError, Problem
from monitor.reports.alert_json import action_json
from monitor.reports.database import reading
from monitor.store.actions import StoredAction, find_action, report_outcome
from monitor.store.engine import Role
from monitor.store.projects import Scope
from monitor.store.responding import checked_name, run_response


def actions_router(desk: AlertDesk) -> APIRouter:
    """All calls about actions that are not about one alert."""
    router = APIRouter(prefix="/v1/actions", tags=["actions"], dependencies=[BEARER])

    @router.get(
        "/{number}",
        summary="Show an action",
        response_model=schemas.ActionAnswer,
        responses=schemas.READ_REFUSALS,
    )
    async def show_action(request: Request, number: Number) -> Response:
        """What was asked of a deployment system, or refused, and what became of it."""

        async def answer() -> bytes:
            project = await desk.project(request, Scope.ALERTS_READ)
            return encode(action_json(await desk.work(_find, desk.engine, project, number)))

        return json_answer(await guarded(answer(), "actions"))

    @router.post(
        "/{number}/outcome",
        summary="Report what became of an action",
        response_model=schemas.ActionAnswer,
        responses=schemas.ACT_REFUSALS,
        openapi_extra=schemas.body_of(schemas.OutcomeBody),
    )
    async def report(request: Request, number: Number) -> Response:
        """The same report again changes nothing; another outcome is refused."""

        async def answer() -> bytes:
            project = await desk.project(request, Scope.ALERTS_ACT)
            body = await read_deed(request, schemas.OutcomeBody)
            done = await desk.work(_report, desk.engine, project, number, body, desk.clock())
            return encode(action_json(done))

        return json_answer(await guarded(answer(), "actions"))

    return router


def add_respond_call(router: APIRouter, desk: AlertDesk) -> None:
    """Add the call that starts the response of an alert."""

    @router.post(
        "/{number}/respond",
        summary="Start the response of an alert",
        response_model=schemas.ActionAnswer,
        responses=schemas.ACT_REFUSALS,
        openapi_extra=schemas.body_of(schemas.RespondBody),
    )
    async def respond(request: Request, number: Number) -> Response:
        """Within the limits of the response. Its state says whether it was asked for or `refused`;
        `text` says why. A response without an automatic action is recorded as carried out by hand.
        """

        async def answer() -> bytes:
            project = await desk.project(request, Scope.ALERTS_ACT)
            body = await read_deed(request, schemas.RespondBody)
            done = await desk.work(_run, desk, project, number, body, desk.clock())
            return encode(action_json(done))

        return json_answer(await guarded(answer(), "actions"))


def _find(engine: Engine, project: int, number: int) -> StoredAction:
    with reading(engine, project) as connection:
        return find_action(connection, project, number)


def _report(
    engine: Engine, project: int, number: int, body: schemas.OutcomeBody, now: datetime
) -> StoredAction:
    said: dict[str, Any] = {
        "outcome": body.outcome, "detail": body.detail, "former": body.former
    }  # fmt: skip
    try:
        report = report_of(said)
    except ValueError as error:
        raise ConfigurationError("body", [Problem("outcome", str(error))]) from None
    by = checked_name(body.by)
    return report_outcome(engine, project, number, report, by, now, role=Role.DASHBOARD)


def _run(
    desk: AlertDesk, project: int, number: int, body: schemas.RespondBody, now: datetime
) -> StoredAction:
    return run_response(
        desk.engine, project, number, body.by, now, desk.outside,
        dry_run=body.dry_run, role=Role.DASHBOARD,
    )  # fmt: skip
