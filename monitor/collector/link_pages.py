"""Pages of signed links: opening one shows what it would do, its one button does it.

Nobody logs in here: whoever got the link may do the one deed it names, on one episode of one alert,
until it expires.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Path, Request
from fastapi.responses import HTMLResponse

from alerts.errors import AlertNotOpen, LinkExpired, LinkNotValid
from alerts.links import LINK_PATH, AlertLink, LinkDeed
from alerts.text import words
from monitor.collector.alert_desk import LIMITS, AlertDesk
from monitor.collector.bodies import read_body
from monitor.collector.boundary import guarded
from monitor.collector.link_deeds import FORMS, do_deed
from monitor.collector.link_view import HEADERS, View, dashboard_link, html_of, minute_text, shown
from monitor.errors import (
    ConfigurationError,
    DatabaseNotReady,
    DatabaseUnavailable,
    RequestRefused,
    UnknownSubject,
)
from monitor.reports.alerts import Finding, finding, number_of
from monitor.store.alert_links import read_alert_link

FORM_TYPE = "application/x-www-form-urlencoded"
MAX_FIELDS = 10
Token = Annotated[str, Path(description="The signed part of the link.")]
PAGE = {"content": {"text/html": {"schema": {"type": "string"}}}}
STATUSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "A page.", **PAGE},
    404: {"description": "No link of ours, or its alert is gone.", **PAGE},
    409: {"description": "The alert is over, or in another episode.", **PAGE},
    410: {"description": "The link's time is over.", **PAGE},
    503: {"description": "The database is away.", **PAGE},
}
POST_STATUSES: dict[int | str, dict[str, Any]] = {
    **STATUSES,
    **{
        status: {"description": words_, **PAGE}
        for status, words_ in (
            (400, "The form can't be read."),
            (408, "The form did not arrive in time."),
            (411, "No form, and no length of one."),
            (413, "The form is too large."),
            (415, "Not a form."),
            (422, "Something in the form can't be used; the page says what."),
        )
    },
}
FORM_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            FORM_TYPE: {
                "schema": {
                    "type": "object",
                    "properties": {
                        name: {"type": "string"} for name in ("by", "comment", "for")
                    },
                }
            }
        },
    }
}  # fmt: skip


def link_router(desk: AlertDesk) -> APIRouter:
    """The pages of signed links."""
    router = APIRouter(tags=["links"], default_response_class=HTMLResponse)

    @router.get(LINK_PATH + "{token}", summary="Show what a link would do", responses=STATUSES)
    async def show_link(token: Token) -> HTMLResponse:
        """Changes nothing: mail programs open links on their own."""
        return await _page(desk, _ask, desk, token)

    @router.post(
        LINK_PATH + "{token}",
        summary="Do what a link says",
        responses=POST_STATUSES,
        openapi_extra=FORM_BODY,
    )
    async def use_link(request: Request, token: Token) -> HTMLResponse:
        """The button of the page."""
        try:
            fields = await _form_of(request)
        except RequestRefused as error:
            return _html(_refused(error))
        return await _page(desk, _act, desk, token, fields)

    return router


async def _page(desk: AlertDesk, work: Callable[..., View], *arguments: Any) -> HTMLResponse:
    try:
        view = await guarded(desk.work(work, *arguments), "links")
    except RequestRefused as error:
        return _html(_refused(error))
    except (DatabaseUnavailable, DatabaseNotReady):
        line = "Nothing was changed. Open the link again in a moment."
        return _html(View(503, "The database does not answer", (line,)))
    return _html(view)


def _ask(desk: AlertDesk, token: str) -> View:
    """The page with the button, or why there is none."""
    now = desk.clock()
    try:
        link, found = _look_up(desk, token, now)
    except (LinkNotValid, LinkExpired, UnknownSubject) as error:
        return _useless(error)
    over = _over(desk, link, found)
    if over is not None:
        return over
    form = FORMS[link.deed]
    lines = list(form.says)
    if link.deed is LinkDeed.ACKNOWLEDGE and found.acknowledged_by:
        at = minute_text(found.acknowledged_at) if found.acknowledged_at else "before"
        lines.append(f"{found.acknowledged_by} took it on at {at}. You would take their place.")
    return View(
        200, form.title, tuple(lines), shown(found), form.form(link.who or ""),
        dashboard_link(desk.public_url, found),
    )  # fmt: skip


def _act(desk: AlertDesk, token: str, fields: Mapping[str, str]) -> View:
    """Do it, and say so."""
    now = desk.clock()
    try:
        link, found = _look_up(desk, token, now)
    except (LinkNotValid, LinkExpired, UnknownSubject) as error:
        return _useless(error)
    over = _over(desk, link, found)
    if over is not None:
        return over
    by = link.who or fields.get("by", "")
    try:
        done = do_deed(desk.engine, link, found, by, fields, now)
    except ConfigurationError as error:
        form = replace(
            FORMS[link.deed].form(link.who or ""), by=fields.get("by", "")[:200],
            comment=fields.get("comment", "")[:2_000], chosen=fields.get("for", ""),
        )  # fmt: skip
        said = tuple(str(problem) for problem in error.problems)
        return View(422, "This can't be used yet", said, shown(found), form)
    except AlertNotOpen:
        found = finding(desk.engine, link.project, found.id)
        return _over(desk, link, found) or View(409, "The alert changed", ("Open the link again.",))
    after = finding(desk.engine, link.project, found.id)
    return View(
        200, done.title, done.lines, shown(after), dashboard=dashboard_link(desk.public_url, after)
    )


def _look_up(desk: AlertDesk, token: str, now: datetime) -> tuple[AlertLink, Finding]:
    link = read_alert_link(desk.engine, token, now)
    number = number_of(desk.engine, link.project, link.key.fingerprint)
    return link, finding(desk.engine, link.project, number)


def _over(desk: AlertDesk, link: AlertLink, found: Finding) -> View | None:
    """Why the link can do nothing to the alert as it is; None when it can."""
    address = dashboard_link(desk.public_url, found)
    if found.episode != link.key.episode:
        line = (
            f"It was about episode {link.key.episode} of this alert, which is over. The alert is"
            f" in episode {found.episode} now and {words(found.state)}; newer messages have a link"
            " for it."
        )
        return View(
            409, "This link is about an earlier episode", (line,), shown(found), None, address
        )
    if not found.is_open:
        why = words(found.resolved_reason or "resolved")
        when = minute_text(found.resolved_at) if found.resolved_at else "before"
        line = f"It was resolved at {when}: {why}. There is nothing left to do here."
        return View(409, "This alert is over", (line,), shown(found), None, address)
    return None


def _useless(error: Exception) -> View:
    if isinstance(error, LinkExpired):
        return View(410, "This link has expired", (_sentence(error),))
    if isinstance(error, UnknownSubject):
        return View(404, "The alert of this link is gone", ("It is not stored any more.",))
    line = "Copy the whole address from the message, or open the alert in the dashboard."
    return View(404, "This link can't be used", (_sentence(error), line))


def _sentence(error: Exception) -> str:
    text = str(error)
    return text[:1].upper() + text[1:] + "."


def _refused(error: RequestRefused) -> View:
    return View(error.status, "That did not work", (_sentence(error),))


def _html(view: View) -> HTMLResponse:
    return HTMLResponse(html_of(view), view.status, HEADERS)


async def _form_of(request: Request) -> dict[str, str]:
    """The fields of a form; RequestRefused when it is none."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != FORM_TYPE:
        raise RequestRefused(415, "unsupported_type", f"Content-Type is {FORM_TYPE}")
    body = await read_body(request, LIMITS)
    try:
        fields = parse_qs(
            body.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS,
            encoding="utf-8", errors="strict",
        )  # fmt: skip
    except ValueError:
        raise RequestRefused(400, "unreadable", "the form can't be read; send it again") from None
    return {name: values[0].replace("\r\n", "\n") for name, values in fields.items()}
