"""The calls about alerts: look at them, and do what people do about them.

A key sees and acts on the alerts of its project only: whatever belongs to another is not found.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy.engine import Engine

from alerts.model import Severity, Standing
from monitor.collector import alert_schemas as schemas
from monitor.collector.actions_api import add_respond_call
from monitor.collector.alert_desk import (
    BEARER,
    AlertDesk,
    Number,
    encode,
    ends_at,
    json_answer,
    read_deed,
)
from monitor.collector.alert_export_api import add_export
from monitor.collector.boundary import guarded
from monitor.collector.silences_api import add_silence_call
from monitor.reports.alert_detail import alert_detail
from monitor.reports.alert_json import alert_json, detail_json
from monitor.reports.alerts import OPEN_STATES, FindingFilter, finding, findings
from monitor.store.engine import Role
from monitor.store.hand_over import (
    acknowledge_alert,
    archive_alert,
    false_alarm,
    resolve_alert,
    snooze_alert,
    unarchive_alert,
)
from monitor.store.projects import Scope

MAX_PAGE = 1_000_000
MAX_SIZE = 200
Text = Annotated[str | None, Query(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]
Deed = Callable[..., Any]
DEEDS: dict[str, tuple[Deed, str, str]] = {
    "acknowledge": (
        acknowledge_alert,
        "Take an open alert on",
        "It stays open; escalation stops until this episode ends.",
    ),
    "archive": (
        archive_alert,
        "Keep an open alert quiet until it is much worse",
        "Nothing is told of it, nor of its next episodes, until it is much worse than now.",
    ),
    "unarchive": (
        unarchive_alert,
        "Have an archived alert told again",
        "It may be over: its next episode is meant then.",
    ),
    "resolve": (
        resolve_alert,
        "End an open alert by hand",
        "Whoever was told of its opening is told of its end. The next breach opens it anew.",
    ),
}
"""Deeds that need nothing but a person and perhaps a comment: what, in a line, in a sentence."""


def alerts_router(desk: AlertDesk) -> APIRouter:
    """All calls about alerts."""
    router = APIRouter(prefix="/v1/alerts", tags=["alerts"], dependencies=[BEARER])
    add_export(router, desk)
    _add_reading(router, desk)
    for name, (deed, summary, description) in DEEDS.items():
        _add_deed(router, desk, name, deed, summary, description)
    _add_snooze(router, desk)
    _add_false_alarm(router, desk)
    add_silence_call(router, desk)
    add_respond_call(router, desk)
    return router


def _add_reading(router: APIRouter, desk: AlertDesk) -> None:
    @router.get(
        "",
        summary="List alerts",
        response_model=schemas.AlertPage,
        responses=schemas.READ_REFUSALS,
    )
    async def list_alerts(
        request: Request,
        state: schemas.StateChoice = schemas.StateChoice.OPEN,
        severity: Severity | None = None,
        standing: Standing | None = None,
        model: Text = None,
        rule: Text = None,
        owner: Text = None,
        page: Annotated[int, Query(ge=1, le=MAX_PAGE)] = 1,
        size: Annotated[int, Query(ge=1, le=MAX_SIZE)] = 50,
    ) -> Response:
        """The most severe first; firing before the rest, nobody's before somebody's, then newest.

        A page beyond the last one answers the last one.
        """
        wanted = FindingFilter(
            states=states_of(state),
            severities=(severity.value,) if severity else (),
            standings=(standing.value,) if standing else (),
            model=model,
            rule=rule,
            owner=owner,
        )

        async def answer() -> bytes:
            project = await desk.project(request, Scope.ALERTS_READ)
            found = await desk.work(findings, desk.engine, project, wanted, page, size)
            listed = [alert_json(each, desk.public_url) for each in found.rows]
            return encode(
                {"alerts": listed, "total": found.total, "page": found.number, "pages": found.pages}
            )

        return json_answer(await guarded(answer(), "alerts"))

    @router.get(
        "/{number}",
        summary="Show an alert",
        response_model=schemas.AlertDetailAnswer,
        responses=schemas.READ_REFUSALS,
    )
    async def show_alert(request: Request, number: Number) -> Response:
        """With its history, the messages about it, and the actions asked for, newest first."""

        async def answer() -> bytes:
            project = await desk.project(request, Scope.ALERTS_READ)
            found = await desk.work(alert_detail, desk.engine, project, number)
            return encode(detail_json(found, desk.public_url))

        return json_answer(await guarded(answer(), "alerts"))


def _add_deed(
    router: APIRouter, desk: AlertDesk, name: str, deed: Deed, summary: str, description: str
) -> None:
    @router.post(
        f"/{{number}}/{name}",
        summary=summary,
        description=description,
        name=f"{name}_alert",
        response_model=schemas.AlertAnswer,
        responses=schemas.ACT_REFUSALS,
        openapi_extra=schemas.body_of(schemas.PersonBody),
    )
    async def act(request: Request, number: Number) -> Response:
        async def answer() -> bytes:
            project = await desk.project(request, Scope.ALERTS_ACT)
            body = await read_deed(request, schemas.PersonBody)
            return await desk.work(
                _do_and_tell, desk, deed, project, number, (body.by, body.comment, desk.clock())
            )

        return json_answer(await guarded(answer(), "alerts"))


def _add_snooze(router: APIRouter, desk: AlertDesk) -> None:
    @router.post(
        "/{number}/snooze",
        summary="Keep an open alert quiet for a while",
        response_model=schemas.AlertAnswer,
        responses=schemas.ACT_REFUSALS,
        openapi_extra=schemas.body_of(schemas.SnoozeBody),
    )
    async def snooze_alert_(request: Request, number: Number) -> Response:
        """Nothing is told of it until then, except its end; what is due is told afterwards."""

        async def answer() -> bytes:
            project = await desk.project(request, Scope.ALERTS_ACT)
            body = await read_deed(request, schemas.SnoozeBody)
            now = desk.clock()
            until = ends_at(body.length, body.until, now)
            return await desk.work(
                _do_and_tell, desk, snooze_alert, project, number,
                (until, body.by, body.comment, now),
            )  # fmt: skip

        return json_answer(await guarded(answer(), "alerts"))


def _add_false_alarm(router: APIRouter, desk: AlertDesk) -> None:
    @router.post(
        "/{number}/false-alarm",
        summary="Say that nothing was wrong",
        response_model=schemas.FalseAlarmAnswer,
        responses=schemas.ACT_REFUSALS,
        openapi_extra=schemas.body_of(schemas.PersonBody),
    )
    async def false_alarm_(request: Request, number: Number) -> Response:
        """The alert ends; of a drift incident all that are open, and its weeks are learned from."""

        async def answer() -> bytes:
            project = await desk.project(request, Scope.ALERTS_ACT)
            body = await read_deed(request, schemas.PersonBody)
            arguments = (body.by, body.comment, desk.clock())
            done = await desk.work(_judge, desk.engine, project, number, arguments)
            return encode({"incident": done.incident, "ended": list(done.ended)})

        return json_answer(await guarded(answer(), "alerts"))


def states_of(choice: schemas.StateChoice) -> tuple[str, ...]:
    """The states that a choice means; none means all."""
    if choice is schemas.StateChoice.OPEN:
        return OPEN_STATES
    return () if choice is schemas.StateChoice.ALL else (choice.value,)


def _do_and_tell(
    desk: AlertDesk, deed: Deed, project: int, number: int, arguments: tuple[Any, ...]
) -> bytes:
    """Do a deed as the dashboard's role; the alert as it is afterwards."""
    deed(desk.engine, project, number, *arguments, role=Role.DASHBOARD)
    return encode(alert_json(finding(desk.engine, project, number), desk.public_url))


def _judge(engine: Engine, project: int, number: int, arguments: tuple[str, str, datetime]) -> Any:
    return false_alarm(engine, project, number, *arguments, role=Role.DASHBOARD)
