"""The pages behind a small gate that adds security headers: `python -m dashboards.server`.

Streamlit sends no telemetry, watches no files, serves no folder and shows no stack traces. The
policy lets the browser load and call nothing but this server.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import streamlit as st
import uvicorn
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.web.bootstrap import load_config_options

from dashboards.registry import PAGES

APP = Path(__file__).parent / "app.py"
INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")
SECONDS_TO_SAY_GOODBYE = 3
OPTIONS = {
    "browser.gatherUsageStats": False,
    "server.fileWatcherType": "none",
    "server.runOnSave": False,
    "server.headless": True,
    "server.enableStaticServing": False,
    "server.enableAgentApi": False,
    "server.maxUploadSize": 1,
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


def security_headers() -> tuple[tuple[bytes, bytes], ...]:
    """Headers of every answer."""
    index = Path(st.__file__).parent / "static" / "index.html"
    policy = content_security_policy(index.read_text(encoding="utf-8"))
    headers = {
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "no-referrer",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
        "cross-origin-opener-policy": "same-origin",
    }
    return tuple((name.encode(), value.encode()) for name, value in headers.items())


class SecurityHeaders:
    """Adds the headers to every HTTP answer; web sockets pass untouched."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._headers = security_headers()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, with headers on the way back."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *self._headers]
            await send(message)

        await self._app(scope, receive, send_with_headers if scope["type"] == "http" else send)


def allowed_hosts(host: str, named: Sequence[str]) -> list[str]:
    """Host names that browsers may use; none means any, for a server behind a proxy of its own.

    On a loopback address only its own names are accepted: a foreign page whose name was made to
    point here must not read the pages.
    """
    own = list(LOOPBACK_NAMES) if host in LOOPBACK_NAMES else []
    return [*own, *(name for name in named if name not in own)]


def make_app(hosts: Sequence[str] = ()) -> st.App:
    """The application that uvicorn serves."""
    options = {**OPTIONS, "server.allowedHosts": list(hosts)}
    load_config_options({name.replace(".", "_"): value for name, value in options.items()})
    return st.App(
        APP,
        routes=[Route(f"/{PAGES[0].url_path}", to_first_page)],
        middleware=[Middleware(SecurityHeaders)],
    )


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
    uvicorn.run(
        make_app(allowed_hosts(given.host, given.allowed_host)),
        host=given.host,
        port=given.port,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=SECONDS_TO_SAY_GOODBYE,
    )


if __name__ == "__main__":
    main()
