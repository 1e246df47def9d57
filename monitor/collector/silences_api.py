"""The calls about silences: list them, make one, end one."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy.engine import Engine

from alerts.rules import Matcher
from alerts.silences import Silence
from monitor.collector import alert_schemas as schemas
from monitor.collector.alert_desk import (
    BEARER,
    AlertDesk,
    Number,
    encode,
    ends_at,
    json_answer,
    read_deed,
)
from monitor.collector.boundary import guarded
from monitor.reports.alert_json import silence_json
from monitor.reports.silences import silence_lines
from monitor.store.alert_silences import silence_alert
from monitor.store.engine import Role
from monitor.store.projects import Scope
from monitor.store.silences import WantedSilence, add_silence, end_silence


def silences_router(desk: AlertDesk) -> APIRouter:
    """All calls about silences that are not about one alert."""
    router = APIRouter(prefix="/v1/silences", tags=["silences"], dependencies=[BEARER])
    _add_list(router, desk)
    _add_make(router, desk)
    _add_end(router, desk)
    return router


def _add_list(router: APIRouter, desk: AlertDesk) -> None:
    @router.get(
        "",
        summary="List silences",
        response_model=schemas.SilenceList,
        responses=schemas.READ_REFUSALS,
    )
    async def list_silences(
        request: Request,
        past: Annotated[bool, Query(description="Those that are over too.")] = False,
    ) -> Response:
        """Those that hold or will hold, the first to end first; at most 500."""

        async def answer() -> bytes:
            project = await desk.project(request, Scope.ALERTS_READ)
            found = await desk.work(_lines, desk.engine, project, past)
            return encode({"silences": [silence_json(each) for each in found]})

        return json_answer(await guarded(answer(), "silences"))


def _add_make(router: APIRouter, desk: AlertDesk) -> None:
    @router.post(
        "",
        summary="Keep alerts quiet for a while",
        response_model=schemas.SilenceAnswer,
        responses=schemas.ACT_REFUSALS,
        openapi_extra=schemas.body_of(schemas.SilenceBody),
    )
    async def make_silence(request: Request) -> Response:
        """Alerts that fit all matchers are not told of; what fires at its end is told then."""

        async def answer() -> bytes:
            project = await desk.project(request, Scope.ALERTS_ACT)
            body = await read_deed(request, schemas.SilenceBody)
            now = desk.clock()
            starts = body.starts_at or now
            wanted = WantedSilence(
                matchers_of(body.matchers), starts, ends_at(body.length, body.until, starts),
                body.by, body.reason,
            )  # fmt: skip
            made = await desk.work(_add, desk.engine, project, wanted, now)
            return encode(silence_json(made))

        return json_answer(await guarded(answer(), "silences"))


def _add_end(router: APIRouter, desk: AlertDesk) -> None:
    @router.post(
        "/{number}/end",
        summary="End a silence",
        response_model=schemas.SilenceAnswer,
        responses=schemas.ACT_REFUSALS,
        openapi_extra=schemas.body_of(schemas.EndBody),
    )
    async def end_silence_(request: Request, number: Number) -> Response:
        """What it kept quiet and still fires is told at once."""

        async def answer() -> bytes:
            project = await desk.project(request, Scope.ALERTS_ACT)
            body = await read_deed(request, schemas.EndBody)
            ended = await desk.work(_end, desk.engine, project, number, body.by, desk.clock())
            return encode(silence_json(ended))

        return json_answer(await guarded(answer(), "silences"))


def add_silence_call(router: APIRouter, desk: AlertDesk) -> None:
    """Add the call that makes a silence from an alert."""

    @router.post(
        "/{number}/silence",
        summary="Keep alerts like this one quiet for a while",
        response_model=schemas.SilenceAnswer,
        responses=schemas.ACT_REFUSALS,
        openapi_extra=schemas.body_of(schemas.SilenceAlertBody),
    )
    async def silence_like_alert(request: Request, number: Number) -> Response:
        """All alerts of its rule on its model, or its very subject only."""

        async def answer() -> bytes:
            project = await desk.project(request, Scope.ALERTS_ACT)
            body = await read_deed(request, schemas.SilenceAlertBody)
            now = desk.clock()
            until = ends_at(body.length, body.until, now)
            made = await desk.work(_add_for_alert, desk.engine, project, number, body, until, now)
            return encode(silence_json(made))

        return json_answer(await guarded(answer(), "silences"))


def matchers_of(given: dict[str, str | list[str]]) -> tuple[Matcher, ...]:
    """Labels with a value or several, as matchers."""
    return tuple(
        Matcher(label, (values,) if isinstance(values, str) else tuple(values))
        for label, values in given.items()
    )


def _lines(engine: Engine, project: int, past: bool) -> list[Silence]:
    return [each.silence for each in silence_lines(engine, project, every=past)]


def _add(engine: Engine, project: int, wanted: WantedSilence, now: datetime) -> Silence:
    return add_silence(engine, project, wanted, now, role=Role.DASHBOARD)


def _add_for_alert(
    engine: Engine,
    project: int,
    number: int,
    body: schemas.SilenceAlertBody,
    until: datetime,
    now: datetime,
) -> Silence:
    return silence_alert(
        engine, project, number, until, body.by, body.reason, now,
        only_this_subject=body.only_this_subject, role=Role.DASHBOARD,
    )  # fmt: skip


def _end(engine: Engine, project: int, number: int, by: str, now: datetime) -> Silence:
    return end_silence(engine, project, number, by, now, role=Role.DASHBOARD)
