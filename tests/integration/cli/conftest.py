"""A migrated database for each test, and the command line run in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy.engine import Engine

from monitor.cli.main import main
from monitor.store.engine import make_engine
from monitor.store.schema import upgrade
from tests.database import DatabaseServer, database_server, fresh_database


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture(scope="session")
def server() -> Iterator[DatabaseServer]:
    with database_server() as found:
        yield found


@pytest.fixture(scope="session")
def migrated(server: DatabaseServer) -> str:
    url = fresh_database(server)
    engine = make_engine(url)
    upgrade(engine)
    engine.dispose()
    return url.rpartition("/")[2]


@pytest.fixture
def database_url(server: DatabaseServer, migrated: str) -> str:
    return fresh_database(server, template=migrated)


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    made = make_engine(database_url)
    yield made
    made.dispose()


@pytest.fixture
def run(
    database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Run:
    """The whole program, with its own reading of the environment and its own exit code."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("INFERWATCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")

    def run_command(*arguments: object) -> Ended:
        capfd.readouterr()
        code: object = 0
        try:
            main([str(each) for each in arguments])
        except SystemExit as end:
            code = end.code
        told = capfd.readouterr()
        return Ended(int(str(code or 0)), told.out, told.err)

    return run_command
