"""The gate before everything that the dashboard serves: pages, sockets, files, Streamlit's own.

Nobody without a session that holds gets past it. What is open is listed in `signing_in.py`;
whatever else there is or will be is closed. A socket ends within seconds of its session.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboards.session_book import SessionBook, cookie_of
from monitor.errors import InferwatchError

log = logging.getLogger("inferwatch.gate")

HEALTH = "/healthz"
LOGIN = "/login"
WATCH_SECONDS = 2.0
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
REFUSED_SOCKET, TRY_AGAIN = 1008, 1013


class Gate:
    """Lets through who is signed in; the others reach `open_pages`, by path, and nothing else."""

    def __init__(
        self, app: ASGIApp, open_pages: Mapping[str, ASGIApp], book: SessionBook, cookie: str
    ) -> None:
        self._app, self._open_pages = app, open_pages
        self._book, self._cookie = book, cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Decide, and pass on or answer."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._socket(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, headers = scope["path"], Headers(scope=scope)
        if path == HEALTH:
            answer: ASGIApp = PlainTextResponse("ok\n")
        else:
            answer = self._open_page(path) or await self._refusal(scope, headers) or self._app
        await answer(scope, receive, send)

    def _open_page(self, path: str) -> ASGIApp | None:
        """What answers at an open path; a path that ends with a slash is open with all below."""
        for each, page in self._open_pages.items():
            if path.startswith(each) if each.endswith("/") else path == each:
                return page
        return None

    async def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """Why a request may not pass, None when it may."""
        try:
            found = await self._book.look(cookie_of(headers, self._cookie), used=True)
        except InferwatchError as error:
            log.error("sessions can't be read: %s", error)
            return PlainTextResponse("The database does not answer; try again.\n", 503)
        if found is None:
            return _to_login(scope, headers)
        if scope["method"] not in SAFE_METHODS and is_foreign(headers):
            return PlainTextResponse("This was sent by a page of another site.\n", 403)
        return None

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        token = cookie_of(headers, self._cookie)
        if not has_own_origin(headers) or not await self._holds(token, used=True):
            await receive()
            await send({"type": "websocket.close", "code": REFUSED_SOCKET})
            return
        await _WatchedSocket(self._holds, token, receive, send).run(self._app, scope)

    async def _holds(self, token: str | None, *, used: bool) -> bool:
        """Whether the session holds. What can't be found out counts as no."""
        try:
            return await self._book.look(token, used=used) is not None
        except InferwatchError as error:
            log.error("sessions can't be read: %s", error)
            return False


class _WatchedSocket:
    """A socket that ends with its session: looked at with every message and every few seconds."""

    def __init__(self, holds, token, receive: Receive, send: Send) -> None:
        self._holds, self._token = holds, token
        self._receive, self._send = receive, send
        self._over = asyncio.Event()

    async def run(self, app: ASGIApp, scope: Scope) -> None:
        watch = asyncio.create_task(self._watch())
        try:
            await app(scope, self._next, self._pass_on)
        finally:
            watch.cancel()

    async def _watch(self) -> None:
        while await self._holds(self._token, used=False):
            await asyncio.sleep(WATCH_SECONDS)
        await self._end()

    async def _next(self) -> Message:
        """The next message of a session that holds, or the end."""
        arriving = asyncio.ensure_future(self._receive())
        ending = asyncio.ensure_future(self._over.wait())
        await asyncio.wait({arriving, ending}, return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        if not self._over.is_set():
            message = arriving.result()
            if message["type"] != "websocket.receive" or await self._holds(self._token, used=True):
                return message
            await self._end()
        arriving.cancel()
        return {"type": "websocket.disconnect", "code": REFUSED_SOCKET}

    async def _pass_on(self, message: Message) -> None:
        if not self._over.is_set():
            await self._send(message)

    async def _end(self) -> None:
        if not self._over.is_set():
            self._over.set()
            with suppress(OSError, RuntimeError):  # the browser may be gone already
                await self._send({"type": "websocket.close", "code": REFUSED_SOCKET})


def is_foreign(headers: Headers) -> bool:
    """Whether a page of another site sent this, as far as the browser tells."""
    fetched = headers.get("sec-fetch-site")
    if fetched is not None:
        return fetched not in ("same-origin", "none")
    return headers.get("origin") is not None and not has_own_origin(headers)


def has_own_origin(headers: Headers) -> bool:
    """Whether the Origin is named and is the host that was asked."""
    try:
        origin = urlsplit(headers.get("origin", ""))
    except ValueError:
        return False
    named = origin.netloc.lower()
    return bool(named) and named == headers.get("host", "").lower()


def _to_login(scope: Scope, headers: Headers) -> Response:
    """A browser that opens a page is sent to sign in and comes back; all else is told no."""
    if scope["method"] != "GET" or "text/html" not in headers.get("accept", ""):
        return PlainTextResponse("Sign in first.\n", 401)
    query = scope["query_string"].decode("latin-1")
    wanted = scope["path"] + (f"?{query}" if query else "")
    suffix = f"?next={quote(wanted, safe='')}" if wanted != "/" else ""
    return RedirectResponse(LOGIN + suffix, 303)
