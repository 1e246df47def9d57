"""A Postgres server for tests, and fresh databases on it.

INFERWATCH_TEST_DATABASE_URL names a server to use: a superuser's login, or one that may create
databases and roles. Without it an embedded server runs for the session.

The product's login on a test database is never a superuser, because row-level security and
missing grants would then go unnoticed.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from monitor.postgres.databases import create_database, drop_database, ensure_application_role
from monitor.postgres.initialise import ServerOptions
from monitor.postgres.readiness import APPLICATION_ROLE
from monitor.postgres.server import EmbeddedServer

VARIABLE = "INFERWATCH_TEST_DATABASE_URL"


@dataclass(frozen=True)
class DatabaseServer:
    """A server that tests may make databases on."""

    admin_url: str = field(repr=False)
    password: str = field(repr=False)
    created: list[str] = field(default_factory=list)

    def url(self, database: str) -> str:
        """The address of `database` for the application's role."""
        login = f"{APPLICATION_ROLE}:{quote(self.password, safe='')}"
        return _with(self.admin_url, login, database)

    def admin_url_of(self, database: str) -> str:
        """The address of `database` for the administrator."""
        return _with(self.admin_url, urlsplit(self.admin_url).netloc.rpartition("@")[0], database)


@contextmanager
def database_server() -> Iterator[DatabaseServer]:
    """The server of this test session; its fresh databases are dropped at the end."""
    outside = os.environ.get(VARIABLE)
    with _outside_server(outside) if outside else _embedded_server() as server:
        yield server


def fresh_database(server: DatabaseServer, *, template: str | None = None) -> str:
    """The address of a new database owned by the application's role.

    Empty, or a copy of the database named `template` (quick way to a migrated one; nobody may be
    connected to it).
    """
    name = f"test_{secrets.token_hex(8)}"
    create_database(server.admin_url, name, template=template)
    server.created.append(name)
    return server.url(name)


@contextmanager
def temporary_home() -> Iterator[Path]:
    """A home folder that the server's user can reach, unlike pytest's tmp_path under root."""
    home = Path(tempfile.gettempdir()) / f"inferwatch-test-{secrets.token_hex(6)}"
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def _embedded_server() -> Iterator[DatabaseServer]:
    options = ServerOptions(durable=False, shared_buffers="64MB")
    with temporary_home() as home:
        server = EmbeddedServer(home, options=options)
        running = server.start(child_of_this_process=True)
        try:
            password = urlsplit(running.url).password
            assert password is not None
            yield DatabaseServer(running.admin_url, password)
        finally:
            server.stop()


@contextmanager
def _outside_server(admin_url: str) -> Iterator[DatabaseServer]:
    # Derived, so that parallel sessions on one server agree on the role's password.
    password = hashlib.sha256(f"inferwatch tests {admin_url}".encode()).hexdigest()
    ensure_application_role(admin_url, password)
    server = DatabaseServer(admin_url, password)
    try:
        yield server
    finally:
        for name in server.created:
            drop_database(admin_url, name)


def _with(url: str, login: str, database: str) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{login}@{host}", path=f"/{database}"))
