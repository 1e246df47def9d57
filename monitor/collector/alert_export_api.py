"""`GET /v1/alerts/export`: all that happened to alerts in a span of time.

The export is read to a file of its own first, so that somebody who downloads slowly holds no
transaction open and a document that was begun is always a whole one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import IO, Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import AwareDatetime

from monitor.collector import alert_schemas as schemas
from monitor.collector.alert_desk import AlertDesk
from monitor.collector.boundary import guarded
from monitor.collector.gate import Gate
from monitor.errors import RequestRefused
from monitor.reports.alert_export import alert_export
from monitor.reports.alert_export_files import MEDIA_TYPES, ExportFormat, written
from monitor.reports.database import projects
from monitor.store.projects import Scope
from monitor.windows import Window

LONGEST = timedelta(days=400)
USUAL = timedelta(days=30)
MEMORY_BYTES = 4 << 20
PIECE_BYTES = 64 << 10
EXPORTS_AT_ONCE = 1
Moment = Annotated[AwareDatetime | None, Query(description="RFC 3339 with a zone.")]
CONTENT = {
    media.partition(";")[0]: {"schema": {"type": "string"}} for media in MEDIA_TYPES.values()
} | {"application/json": {"schema": {"type": "object"}}}


def add_export(router: APIRouter, desk: AlertDesk) -> None:
    """Add the call; before any whose path has a number in the same place."""
    gate = Gate(EXPORTS_AT_ONCE)

    @router.get(
        "/export",
        summary="Export alerts",
        response_class=StreamingResponse,
        responses={
            200: {"description": "The export.", "content": CONTENT},
            **schemas.READ_REFUSALS,
        },
    )
    async def export_alerts(
        request: Request,
        start: Annotated[Moment, Query(alias="from")] = None,
        end: Annotated[Moment, Query(alias="to")] = None,
        form: Annotated[ExportFormat, Query(alias="format")] = ExportFormat.JSON,
    ) -> StreamingResponse:
        """Alerts with transitions, messages, attempts, actions and silences.

        A record belongs to `[from, to)` by the moment it was written down. Without `to` up to now,
        without `from` 30 days before; at most 400 days at once.
        """
        now = desk.clock()
        span = span_of(start, end, now)
        project = await guarded(desk.project(request, Scope.ALERTS_READ), "alerts")
        with gate.enter():
            file = await guarded(desk.work(_spooled, desk, project, span, form, now), "alerts")
        headers = {"Content-Disposition": f'attachment; filename="alerts.{form.value}"'}
        return StreamingResponse(_pieces(file), media_type=MEDIA_TYPES[form], headers=headers)


def span_of(start: datetime | None, end: datetime | None, now: datetime) -> Window:
    """The span that is asked for; RequestRefused 422 when it is none."""
    last = end or now
    try:
        first = start or last - USUAL
        span = Window(first, last) if first < last <= first + LONGEST else None
    except OverflowError:
        span = None
    if span is None:
        message = f"from must lie before to, and at most {LONGEST.days} days before it"
        raise RequestRefused(422, "bad_parameter", message)
    return span


def _spooled(
    desk: AlertDesk, project: int, span: Window, form: ExportFormat, now: datetime
) -> IO[bytes]:
    names = {each.id: each.name for each in projects(desk.engine)}
    file: Any = tempfile.SpooledTemporaryFile(MEMORY_BYTES)  # noqa: SIM115 - closed when sent
    try:
        with alert_export(
            desk.engine, project, names[project], span, desk.public_url, now
        ) as exported:
            for piece in written(exported, form):
                file.write(piece)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file  # type: ignore[no-any-return]


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(PIECE_BYTES):
            yield piece
