"""Databases for tests and set-up, on the embedded server and on one from outside."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import psycopg
import pytest

from monitor.postgres.binaries import PostgresBinaries
from monitor.postgres.databases import create_database, drop_database, ensure_application_role
from monitor.postgres.server import EmbeddedServer
from monitor.postgres.status import RunningServer
from tests.database import VARIABLE, database_server, fresh_database, temporary_home
from tests.postgres.support import TEST_OPTIONS, ask, installations, label_of

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module", params=installations(), ids=label_of)
def running(request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    with temporary_home() as home:
        server = EmbeddedServer(home, request.param, options=TEST_OPTIONS)
        yield server.start(child_of_this_process=True)
        server.stop()


def _with_login(url: str, login: str) -> str:
    return url.replace(urlsplit(url).netloc.rpartition("@")[0], login)


def test_a_database_is_made_owned_copied_and_dropped_while_in_use(running: RunningServer) -> None:
    create_database(running.admin_url, 'odd "name"')
    url = running.url.removesuffix("/inferwatch") + "/odd%20%22name%22"
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE here (number int)")
    create_database(running.admin_url, "copied", template='odd "name"')
    client = psycopg.connect(running.url.removesuffix("/inferwatch") + "/copied")
    assert client.execute("SELECT count(*) FROM here").fetchone() == (0,)
    with pytest.raises(psycopg.errors.DuplicateDatabase):
        create_database(running.admin_url, "copied")
    for name in ("copied", 'odd "name"', "never existed"):
        drop_database(running.admin_url, name)
    client.close()
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(url)


def _check_fresh_databases() -> None:
    with database_server() as server:
        first, second = fresh_database(server), fresh_database(server)
        assert first != second
        rights = "array[rolsuper, rolbypassrls, rolcreaterole]"
        query = f"SELECT {rights} FROM pg_roles WHERE rolname = current_user"
        assert ask(first, query) == [False, False, True]
        assert ask(first, "SELECT current_user") == "inferwatch"
        with psycopg.connect(first) as connection:
            connection.execute("CREATE TABLE only_here (number int)")
            connection.execute("CREATE ROLE inferwatch_fresh_check NOLOGIN")
            connection.execute("DROP ROLE inferwatch_fresh_check")
        assert ask(second, "SELECT to_regclass('only_here') IS NULL") is True
        name = urlsplit(first).path[1:]
        assert ask(server.admin_url_of(name), "SELECT current_database()") == name
        copied = fresh_database(server, template=name)
        assert ask(copied, "SELECT count(*) FROM only_here") == 0


def test_fresh_databases_on_the_embedded_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    _check_fresh_databases()


def test_fresh_databases_on_a_server_from_outside(
    running: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, running.admin_url)
    _check_fresh_databases()
    left = ask(running.admin_url, "SELECT count(*) FROM pg_database WHERE datname LIKE 'test_%'")
    assert left == 0


@pytest.mark.parametrize("binaries", installations(), ids=label_of)
def test_fresh_databases_by_a_login_that_may_only_create(
    binaries: PostgresBinaries, monkeypatch: pytest.MonkeyPatch
) -> None:
    with temporary_home() as home:
        server = EmbeddedServer(home, binaries, options=TEST_OPTIONS)
        running = server.start(child_of_this_process=True)
        try:
            with psycopg.connect(running.admin_url, autocommit=True) as connection:
                connection.execute("DROP DATABASE inferwatch")
                connection.execute("DROP ROLE inferwatch")
                connection.execute("CREATE ROLE maker LOGIN CREATEDB CREATEROLE PASSWORD 'made'")
            monkeypatch.setenv(VARIABLE, _with_login(running.admin_url, "maker:made"))
            _check_fresh_databases()
            _check_fresh_databases()
        finally:
            server.stop()


def test_a_superuser_is_never_taken_for_the_applications_role(running: RunningServer) -> None:
    with pytest.raises(ValueError, match="superuser"):
        ensure_application_role(running.admin_url, "password", role="supervisor")
