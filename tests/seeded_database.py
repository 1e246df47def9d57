"""Fixtures: databases with the rows of `dashboard_seed`, copied from one that was filled once.

A test module or its conftest.py imports all three; a test that changes rows takes `own_database`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar
from urllib.parse import urlsplit

import pytest
from sqlalchemy.engine import Engine

from monitor.store.engine import make_engine
from tests.dashboard_seed import Seeded, seed
from tests.database import DatabaseServer, fresh_database

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Template:
    """A filled database that nobody is connected to."""

    name: str
    seeded: Seeded
    now: datetime


@dataclass(frozen=True)
class SeededDatabase:
    """A database as the pages find it."""

    url: str
    engine: Engine
    seeded: Seeded
    now: datetime

    def ask(self, report: Callable[..., Answer], *arguments: object) -> Answer:
        """A report's answer for the full project."""
        return report(self.engine, self.seeded.project_id, *arguments)


@pytest.fixture(scope="session")
def seeded_template(postgres_server: DatabaseServer, migrated_template: str) -> Template:
    """The database that is filled once."""
    url = fresh_database(postgres_server, template=migrated_template)
    engine = make_engine(url)
    now = datetime.now(UTC)
    seeded = seed(engine, now)
    engine.dispose()
    return Template(urlsplit(url).path.removeprefix("/"), seeded, now)


@pytest.fixture(scope="session")
def database(
    postgres_server: DatabaseServer, seeded_template: Template
) -> Iterator[SeededDatabase]:
    """A copy that tests share and leave as it is."""
    yield from copy_of(postgres_server, seeded_template)


@pytest.fixture
def own_database(
    postgres_server: DatabaseServer, seeded_template: Template
) -> Iterator[SeededDatabase]:
    """A copy that one test may change."""
    yield from copy_of(postgres_server, seeded_template)


def copy_of(postgres_server: DatabaseServer, template: Template) -> Iterator[SeededDatabase]:
    """A copy of the filled database, connected."""
    url = fresh_database(postgres_server, template=template.name)
    engine = make_engine(url)
    try:
        yield SeededDatabase(url, engine, template.seeded, template.now)
    finally:
        engine.dispose()
