"""The pages behind a gate that asks who is there: `python -m dashboards.server`.

Streamlit sends no telemetry, watches no files, serves no folder and shows no stack traces. The
policy lets the browser load and call nothing but this server.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import logging
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import streamlit as st
import uvicorn
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.web.bootstrap import load_config_options

from dashboards.gate import Gate
from dashboards.registry import PAGES
from dashboards.session_book import SessionBook, cookie_name
from dashboards.signing_in import OPEN_PATHS, Doors
from monitor.errors import ConfigurationError, InferwatchError, Problem
from monitor.reports.database import connect
from monitor.settings import LOOPBACK_NAMES, Settings, refuse_open_dashboard

APP = Path(__file__).parent / "app.py"
INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
SECONDS_TO_SAY_GOODBYE = 3
CANNOT_RUN = 2
# Scripts and styles of Streamlit, the same for everybody; all else is never kept.
KEPT_BY_BROWSERS = "/static/"
OPTIONS = {
    "browser.gatherUsageStats": False,
    "server.fileWatcherType": "none",
    "server.runOnSave": False,
    "server.headless": True,
    "server.enableStaticServing": False,
    "server.enableAgentApi": False,
    "server.maxUploadSize": 1,
    # A full collection after each run of a page took a third of the time of the run.
    "runner.postScriptGC": False,
    "client.toolbarMode": "minimal",
    "client.showErrorDetails": "none",
    "theme.light.paddingTop": "4rem",
    "theme.dark.paddingTop": "4rem",
    "theme.light.primaryColor": "#1f5a99",
    "theme.dark.primaryColor": "#63b3ed",
    # Parts of a page are headings of the second level: a title is followed by no third one.
    "theme.headingFontSizes": ["2.25rem", "1.5rem", "1.25rem"],
    # Captions are this colour at 60 %: any lighter and they were hard to read.
    "theme.light.textColor": "#101418",
    "theme.light.codeTextColor": "#04140c",
    "theme.dark.codeTextColor": "#a8f0c6",
}


def content_security_policy(index: str) -> str:
    """The policy for Streamlit's first page; its inline scripts are allowed by their hashes."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in INLINE_SCRIPT.findall(index)
    )
    return (
        f"default-src 'self'; script-src 'self' {hashes}; style-src 'self' 'unsafe-inline';"
        " img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self';"
        " worker-src 'self' blob:; object-src 'none'; base-uri 'self'; form-action 'self';"
        " frame-ancestors 'none'"
    )


def security_headers() -> dict[str, str]:
    """Headers of every answer that has no stricter ones of its own."""
    index = Path(st.__file__).parent / "static" / "index.html"
    policy = content_security_policy(index.read_text(encoding="utf-8"))
    return {
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        # Not "no-referrer": browsers would then hide the origin of our own forms as well.
        "referrer-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
        "cross-origin-opener-policy": "same-origin",
    }


class SecurityHeaders:
    """Adds the headers to every HTTP answer; web sockets pass untouched."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._headers = security_headers()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, with headers on the way back."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
                if not scope["path"].startswith(KEPT_BY_BROWSERS) or is_html(headers):
                    headers["cache-control"] = "no-store"
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)


def is_html(headers: MutableHeaders) -> bool:
    """Whether an answer is a page."""
    return headers.get("content-type", "").startswith("text/html")


def allowed_hosts(host: str, named: Sequence[str]) -> list[str]:
    """Host names that browsers may use; none means any, for a server behind a proxy of its own.

    On a loopback address only its own names are accepted: a foreign page whose name was made to
    point here must not read the pages.
    """
    own = list(LOOPBACK_NAMES) if host in LOOPBACK_NAMES else []
    return [*own, *(name for name in named if name not in own)]


def make_pages(hosts: Sequence[str] = ()) -> st.App:
    """The pages alone, open to whoever reaches them: the gate belongs before them."""
    options = {**OPTIONS, "server.allowedHosts": list(hosts)}
    load_config_options({name.replace(".", "_"): value for name, value in options.items()})
    return st.App(APP, routes=[Route(f"/{PAGES[0].url_path}", to_first_page)])


def make_app(settings: Settings, host: str, hosts: Sequence[str] = ()) -> ASGIApp:
    """The application that uvicorn serves."""
    refuse_open_dashboard(settings, host)
    pages: ASGIApp = make_pages(hosts)
    if settings.dashboard_auth:
        pages = behind_gate(pages, settings, host)
    return SecurityHeaders(pages)


def behind_gate(pages: ASGIApp, settings: Settings, host: str) -> Gate:
    """An application that only people with a session reach."""
    if settings.database_url is None:
        remedy = "set DATABASE_URL, or start everything together with: inferwatch up"
        problem = Problem("DATABASE_URL", f"is missing, and with it all accounts; {remedy}")
        raise ConfigurationError("environment", [problem])
    book = SessionBook(connect(settings.database_url))
    doors = Doors(settings, book, host)
    open_pages: dict[str, ASGIApp] = dict.fromkeys(OPEN_PATHS, doors.app())
    if settings.provider is not None:
        from dashboards.provider import PROVIDER_PATH, ProviderDoor

        open_pages[PROVIDER_PATH] = ProviderDoor(doors, settings.provider).app()
    return Gate(pages, open_pages, book, cookie_name(settings))


async def to_first_page(request: Request) -> RedirectResponse:
    """The first page lives at the root; Streamlit knows no other address of it."""
    query = request.url.query
    return RedirectResponse(f"/?{query}" if query else "/")


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(prog="python -m dashboards.server", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8501)
    parser.add_argument("--allowed-host", action="append", default=[])
    given = parser.parse_args(arguments)
    try:
        hosts = allowed_hosts(given.host, given.allowed_host)
        app = make_app(Settings.from_environment(), given.host, hosts)
    except InferwatchError as error:
        print(error, file=sys.stderr)  # noqa: T201 - a program's last words
        raise SystemExit(CANNOT_RUN) from None
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("inferwatch").setLevel(logging.INFO)
    uvicorn.run(
        app,
        host=given.host,
        port=given.port,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=SECONDS_TO_SAY_GOODBYE,
    )


if __name__ == "__main__":
    main()
