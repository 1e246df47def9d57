"""The pages before the gate: sign in, sign out, one-time links. All that a stranger can reach.

A form is taken only with the random value that its page put into a cookie as well, and never from
another site.
"""

from __future__ import annotations

import hmac
import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import parse_qs, quote

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from dashboards.gate import LOGIN, is_foreign
from dashboards.gate_view import POLICY, Field, GateForm, GateView, html_of
from dashboards.session_book import SessionBook, cookie_name, cookie_of, is_https
from monitor.errors import ConfigurationError, InferwatchError
from monitor.reports.access import (
    LINK_PATH,
    MIN_LENGTH,
    PERIOD,
    OneTimeLink,
    link_of,
    sign_in,
    sign_in_by_link,
    sign_out,
)
from monitor.settings import LOOPBACK_NAMES, Settings

log = logging.getLogger("inferwatch.access")

LOGOUT = "/logout"
PROVIDER_START = "/oidc/start"
FORM_COOKIE = "inferwatch_form"
FORM_TYPE = "application/x-www-form-urlencoded"
MAX_FORM_BYTES, MAX_FIELDS = 16_384, 10
WRONG = "Login or password is wrong."
STALE = "The form was too old, or cookies are switched off. Try again."
OPEN_PATHS = (LOGIN, LOGOUT, LINK_PATH)


class FormRefused(Exception):
    """A form that can't be read or was not sent by our own page; the text says why."""


@dataclass(frozen=True)
class Doors:
    """What the pages need: settings, sessions, where the server listens."""

    settings: Settings
    book: SessionBook
    host: str

    def app(self) -> Starlette:
        """The pages as an application."""
        routes = [
            Route(LOGIN, self.login, methods=["GET", "POST"]),
            Route(LOGOUT, self.logout, methods=["GET", "POST"]),
            Route(LINK_PATH + "{token}", self.link, methods=["GET", "POST"]),
        ]
        return Starlette(routes=routes, exception_handlers={InferwatchError: _unavailable})

    async def login(self, request: Request) -> Response:
        """Name and password; or the way to the provider, where there is one."""
        wanted = local_path(request.query_params.get("next"))
        if self.settings.provider is not None:
            return self._page(request, _provider_view(wanted))
        if request.method != "POST":
            return self._page(request, _login_view(200, wanted))
        try:
            fields = await read_form(request)
        except FormRefused as error:
            return self._page(request, _login_view(400, wanted, str(error)))
        wanted = local_path(fields.get("next"))
        given = fields.get("login", ""), fields.get("password", "")
        done = await self.book.ask_slowly(sign_in, *given, address_of(request), datetime.now(UTC))
        if done.throttled:
            _note("sign-in not tried, too many failed", request, given[0])
            told = f"Too many attempts. Try again in {PERIOD.seconds // 60} minutes."
            return self._page(request, _login_view(429, wanted, told))
        if done.token is None:
            _note("sign-in failed", request, given[0])
            return self._page(request, _login_view(401, wanted, WRONG, fields.get("login", "")))
        return await self.enter(request, done.token, wanted, given[0])

    async def logout(self, request: Request) -> Response:
        """A button that ends the session at once, in every window."""
        if request.method != "POST":
            form = GateForm(LOGOUT, "Sign out")
            return self._page(request, GateView(200, "Sign out?", form=form, link=("/", "Back")))
        try:
            await read_form(request)
        except FormRefused as error:
            return self._page(request, GateView(400, "Not signed out", problem=str(error)))
        await self._end_session(request)
        answer = RedirectResponse(LOGIN, 303)
        answer.delete_cookie(
            cookie_name(self.settings), secure=self._is_secure(request), httponly=True
        )
        return answer

    async def link(self, request: Request) -> Response:
        """What a one-time link would do; its button does it."""
        token = request.path_params["token"]
        found = await self.book.ask(link_of, token, datetime.now(UTC))
        if found is None:
            return self._page(request, _dead_link())
        may_be_empty = found.account_id is not None or self.host in LOOPBACK_NAMES
        if request.method != "POST":
            return self._page(request, _link_view(request, found, may_be_empty))
        try:
            fields = await read_form(request)
            password = fields.get("password") or None
            if password is None and not may_be_empty:
                raise FormRefused(f"Choose a password of at least {MIN_LENGTH} characters.")
            arguments = (fields.get("login", ""), password, address_of(request), datetime.now(UTC))
            made = await self.book.ask_slowly(sign_in_by_link, token, *arguments)
        except (FormRefused, ConfigurationError) as error:
            problems = getattr(error, "problems", None)
            told = "; ".join(each.message for each in problems) if problems else str(error)
            view = _link_view(request, found, may_be_empty, told)
            return self._page(request, view)
        if made is None:
            return self._page(request, _dead_link())
        return await self.enter(request, made, "/", found.login or fields.get("login", ""))

    async def enter(self, request: Request, token: str, wanted: str, who: str) -> Response:
        """On to the page that was wanted, with a new session; the browser's old one ends."""
        _note("signed in", request, who)
        await self._end_session(request)
        answer = RedirectResponse(wanted, 303)
        answer.set_cookie(
            cookie_name(self.settings), token, httponly=True, samesite="lax",
            secure=self._is_secure(request),
        )  # fmt: skip
        answer.delete_cookie(FORM_COOKIE, httponly=True, samesite="strict")
        return answer

    async def _end_session(self, request: Request) -> None:
        token = cookie_of(request.headers, cookie_name(self.settings))
        if token is not None:
            await self.book.ask(sign_out, token, datetime.now(UTC))
            self.book.forget()

    def told(self, request: Request, view: GateView) -> Response:
        """A page of another file."""
        return self._page(request, view)

    def _page(self, request: Request, view: GateView) -> Response:
        """The page, its form bound to a cookie."""
        mark = cookie_of(request.headers, FORM_COOKIE) or secrets.token_urlsafe(32)
        if view.form is not None:
            view = _with_mark(view, view.form, mark)
        answer = HTMLResponse(html_of(view), view.status)
        answer.headers["content-security-policy"] = POLICY
        if view.form is not None:
            answer.set_cookie(
                FORM_COOKIE, mark, httponly=True, samesite="strict",
                secure=self._is_secure(request),
            )  # fmt: skip
        return answer

    def _is_secure(self, request: Request) -> bool:
        return is_https(self.settings) or request.url.scheme == "https"


async def read_form(request: Request) -> Mapping[str, str]:
    """The fields of a form of ours; raises FormRefused."""
    if is_foreign(request.headers):
        raise FormRefused("This was sent by a page of another site.")
    if request.headers.get("content-type", "").partition(";")[0].strip() != FORM_TYPE:
        raise FormRefused("This is not a form.")
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_FORM_BYTES:
            raise FormRefused("The form is too large.")
    try:
        text = body.decode("utf-8")
        fields = parse_qs(text, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise FormRefused("The form can't be read.") from None
    mark = cookie_of(request.headers, FORM_COOKIE) or ""
    given = fields.get("mark", [""])[0]
    if not mark or not hmac.compare_digest(mark.encode(), given.encode()):
        raise FormRefused(STALE)
    return {name: values[0] for name, values in fields.items()}


def local_path(wanted: str | None) -> str:
    """Where to go after signing in: a path of this server, else the first page."""
    is_path = wanted is not None and wanted.startswith("/") and wanted[1:2] not in ("/", "\\")
    if not is_path or wanted is None or not wanted.isascii() or not wanted.isprintable():
        return "/"
    return "/" if "\\" in wanted or wanted.startswith(OPEN_PATHS) else wanted[:2_000]


def address_of(request: Request) -> str:
    """Where a request comes from, as the server or its own proxy tells."""
    return request.client.host if request.client is not None else "unknown"


def _note(what: str, request: Request, who: str) -> None:
    """One line for the log; what a stranger typed can't break out of it."""
    log.info("%s login=%r address=%r", what, who[:60], address_of(request)[:60])


def _with_mark(view: GateView, form: GateForm, mark: str) -> GateView:
    hidden = (*form.hidden, ("mark", mark))
    marked = GateForm(form.action, form.button, form.fields, hidden)
    return GateView(view.status, view.title, view.lines, view.problem, marked, view.link)


def _login_view(status: int, wanted: str, problem: str = "", login: str = "") -> GateView:
    fields = (
        Field("login", "Login", value=login[:256], autocomplete="username"),
        Field("password", "Password", "password", autocomplete="current-password"),
    )
    form = GateForm(LOGIN, "Sign in", fields, (("next", wanted),))
    return GateView(status, "Sign in to Inferwatch", problem=problem, form=form)


def _provider_view(wanted: str) -> GateView:
    # A link and no form: the policy lets no form lead to another site.
    link = (
        f"{PROVIDER_START}?next={quote(wanted, safe='')}",
        "Sign in at your organisation's page",
    )
    return GateView(200, "Sign in to Inferwatch", ("You come back here afterwards.",), link=link)


def _link_view(
    request: Request, found: OneTimeLink, may_be_empty: bool, problem: str = ""
) -> GateView:
    empty = " Stay empty: come in again by `inferwatch user link`." if may_be_empty else ""
    if found.account_id is not None:
        empty = " Stay empty: it stays as it is." if may_be_empty else ""
    password = Field(
        "password", "New password", "password", autocomplete="new-password",
        hint=f"At least {MIN_LENGTH} characters.{empty}", required=not may_be_empty,
    )  # fmt: skip
    if found.account_id is None:
        title, lines = "Make the first account", ("It may see and do everything.",)
        name = Field("login", "Login", value="admin", autocomplete="username")
        fields: tuple[Field, ...] = (name, password)
    else:
        title, lines, fields = f"Sign in as {found.login}", (), (password,)
    form = GateForm(request.url.path, "Open the dashboard", fields)
    return GateView(400 if problem else 200, title, lines, problem, form)


def _dead_link() -> GateView:
    lines = (
        "It was used already, a day is over, or a newer one was made.",
        "A new one: inferwatch user link",
    )
    return GateView(410, "This link does not hold any more", lines, link=(LOGIN, "Sign in"))


async def _unavailable(_request: Request, _error: Exception) -> Response:
    view = GateView(503, "The database does not answer", ("Try again in a moment.",))
    return HTMLResponse(html_of(view), 503, {"content-security-policy": POLICY})
