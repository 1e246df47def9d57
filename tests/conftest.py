"""What every test may ask for.

- `database_url`: a fresh, migrated database of its own (about 0.1 s); no partitions are made yet.
- `empty_database_url`: a fresh database that was never migrated.
- `engine`, `project_id` (project "default"), `store` (IntakeStore), `runner` (Runner), `clock` (the
  runner's clock: set `clock.now`) on that database.
- `admin_url`: the administrator's address of the same database, for what the product may not do.
- `module_database_url`: as `database_url`, shared by the tests of one module.
- `database_template`: what `database_url` is copied from. A module whose tests all begin with the
  same history overrides it with `played_database`: played once, copied for each test.

Tests that use any of them get the marker `postgres`. The server is the embedded one, or the one
that INFERWATCH_TEST_DATABASE_URL names; with pytest-xdist each worker has its own. Other
INFERWATCH_ variables (but those of producers' tests) and DATABASE_URL are taken out of the
environment, so that no test touches an installation of the person who runs it.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.run import Runner
from monitor.postgres.databases import drop_database
from monitor.store import projects, schema
from monitor.store.bulk import BulkConnections
from monitor.store.engine import Role, make_engine, transaction
from monitor.store.intake_store import IntakeStore
from tests.database import VARIABLE, DatabaseServer, database_server, fresh_database
from tests.factories import TestClock

_SERVER_FIXTURES = {"postgres_server", "home"}
_OF_TESTS = ("INFERWATCH_WEEKLY", "INFERWATCH_PRODUCER_VENVS")
_MAIN = sys.modules["__main__"]


def pytest_configure(config: pytest.Config) -> None:
    """Take the person's own installation out of the environment."""
    for name in [*os.environ]:
        ours = name.startswith(("INFERWATCH_", "DATABASE_URL"))
        if ours and name not in (VARIABLE, *_OF_TESTS):
            del os.environ[name]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that uses a database server."""
    for item in items:
        if _SERVER_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.postgres)


def pytest_runtest_setup() -> None:
    """Give back the main module: Streamlit's script runner leaves a page in its place, and every
    process that a later test starts would run that page first."""
    sys.modules["__main__"] = _MAIN


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[DatabaseServer]:
    """A Postgres server for the whole run."""
    with database_server() as server:
        yield server


@pytest.fixture(scope="session")
def migrated_template(postgres_server: DatabaseServer) -> str:
    """The name of a migrated database that nobody connects to: copying it is quick."""
    url = fresh_database(postgres_server)
    with opened(url) as made:
        schema.upgrade(made)
    return database_name(url)


@pytest.fixture(scope="module")
def database_template(migrated_template: str) -> str:
    """The name of the database that each test's own is copied from."""
    return migrated_template


@pytest.fixture
def database_url(postgres_server: DatabaseServer, database_template: str) -> Iterator[str]:
    """A fresh, migrated database."""
    with _copied(postgres_server, database_template) as url:
        yield url


@pytest.fixture(scope="module")
def module_database_url(postgres_server: DatabaseServer, migrated_template: str) -> Iterator[str]:
    """A fresh, migrated database that all tests of a module share."""
    with _copied(postgres_server, migrated_template) as url:
        yield url


@pytest.fixture
def empty_database_url(postgres_server: DatabaseServer) -> Iterator[str]:
    """A fresh database without any table."""
    with _copied(postgres_server, None) as url:
        yield url


@pytest.fixture
def admin_url(postgres_server: DatabaseServer, database_url: str) -> str:
    """The administrator's address of `database_url`."""
    return postgres_server.admin_url_of(database_name(database_url))


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """An engine on `database_url`."""
    with opened(database_url) as made:
        yield made


@pytest.fixture
def project_id(engine: Engine) -> int:
    """The project "default"."""
    with transaction(engine, None, Role.OWNER) as connection:
        return projects.ensure_project(connection, "default")


@pytest.fixture
def store(database_url: str) -> Iterator[IntakeStore]:
    """The collector's store on `database_url`."""
    made = IntakeStore(database_url, make_engine(database_url))
    yield made
    made.close()


@pytest.fixture
def clock() -> TestClock:
    """The runner's clock: 2024-06-02 unless a test sets it."""
    return TestClock()


@pytest.fixture
def runner(database_url: str, engine: Engine, clock: TestClock) -> Iterator[Runner]:
    """Runs the jobs on `database_url`, at the time that `clock` shows."""
    bulk = BulkConnections(database_url, Role.WORKER)
    yield Runner(engine, bulk, "worker-1", "http://dashboard.test", clock, {}, random.Random(1))
    bulk.close()


@dataclass(frozen=True)
class Playing:
    """What a history is played with."""

    engine: Engine
    project_id: int
    store: IntakeStore
    runner: Runner
    clock: TestClock


@contextmanager
def played_database(
    server: DatabaseServer, template: str, play: Callable[[Playing], object]
) -> Iterator[str]:
    """The name of a database in which a history was played and that nobody is connected to."""
    with _copied(server, template) as url:
        store, clock = IntakeStore(url, make_engine(url)), TestClock()
        bulk = BulkConnections(url, Role.WORKER)
        with opened(url) as made:
            with transaction(made, None, Role.OWNER) as connection:
                number = projects.ensure_project(connection, "default")
            runner = Runner(
                made, bulk, "worker-1", "http://dashboard.test", clock, {}, random.Random(1)
            )
            play(Playing(made, number, store, runner, clock))
        bulk.close()
        store.close()
        yield database_name(url)


@contextmanager
def opened(url: str) -> Iterator[Engine]:
    """An engine that leaves no connection behind."""
    made = make_engine(url)
    try:
        yield made
    finally:
        made.dispose()


def database_name(url: str) -> str:
    """The database that an address names."""
    return urlsplit(url).path.lstrip("/")


@contextmanager
def _copied(server: DatabaseServer, template: str | None) -> Iterator[str]:
    url = fresh_database(server, template=template)
    try:
        yield url
    finally:
        drop_database(server.admin_url, database_name(url))
        server.created.remove(database_name(url))
