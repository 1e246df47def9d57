"""People with real accounts and sessions, made by the product's own store, for tests of the pages.

`signed_in` gives a browser the cookie of a fresh session; `session_cookie` gives it to other
clients.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext

from dashboards.session_book import COOKIE
from monitor.access import AccessRole
from monitor.errors import UnknownSubject
from monitor.store.accounts import account_number, add_account
from monitor.store.engine import Role, transaction
from monitor.store.sessions import open_session
from tests.conftest import opened

READY_SECONDS = 60


class Served(str):
    """The address of a running dashboard, with the database behind it."""

    database_url: str

    def __new__(cls, address: str, database_url: str) -> Served:
        made = super().__new__(cls, address)
        made.database_url = database_url
        return made


@contextmanager
def served(url: str, **settings: str) -> Iterator[Served]:
    """The dashboard as its own process; the address it answers at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "monitor", "dashboard", "--port", str(port)]
    with subprocess.Popen(command, env={**os.environ, "DATABASE_URL": url, **settings}) as process:
        address = f"http://127.0.0.1:{port}"
        try:
            wait_for_health(f"{address}/healthz")
            yield Served(address, url)
        finally:
            process.terminate()
            process.wait(20)


def wait_for_health(address: str) -> None:
    """Until the address answers 200."""
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(address, timeout=1) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"{address} did not answer in {READY_SECONDS} seconds")


def new_session(database_url: str, role: AccessRole = AccessRole.ADMIN) -> str:
    """The token of a fresh session of `ROLE@example.org`, who has that role in all projects."""
    login, now = f"{role}@example.org", datetime.now(UTC)
    with opened(database_url) as engine, transaction(engine, None, Role.OWNER) as connection:
        try:
            number = account_number(connection, login)
        except UnknownSubject:
            number = add_account(connection, login, by="test", everywhere=role)
        return open_session(connection, number, "link", "127.0.0.1", now)


def session_cookie(server: Served, role: AccessRole = AccessRole.ADMIN) -> str:
    """The Cookie header of a fresh session."""
    return f"{COOKIE}={new_session(server.database_url, role)}"


def signed_in(
    browser: Browser, server: Served, role: AccessRole = AccessRole.ADMIN, **options: Any
) -> BrowserContext:
    """A browser window of its own, signed in."""
    context = browser.new_context(**options)
    token = new_session(server.database_url, role)
    context.add_cookies([{"name": COOKIE, "value": token, "url": str(server), "httpOnly": True}])
    return context


def opened_with_session(server: Served, path: str) -> AbstractContextManager[Any]:
    """The answer to a GET by somebody who is signed in."""
    request = urllib.request.Request(f"{server}{path}", headers={"Cookie": session_cookie(server)})
    return urllib.request.urlopen(request)
