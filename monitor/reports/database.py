"""How reports reach the database: as the dashboard's role, one project, one moment.

The pages above must not know SQL; they hold the engine as an opaque thing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from monitor.store.engine import Role, make_engine, transaction
from monitor.store.tables import project


@dataclass(frozen=True)
class ProjectName:
    """A project as a person picks it."""

    id: int
    name: str


def connect(database_url: str) -> Engine:
    """The engine that all reports of one process share."""
    return make_engine(database_url, pool_size=5)


@contextmanager
def reading(engine: Engine, project_id: int | None) -> Iterator[Connection]:
    """A transaction in which every statement sees the same moment of one project."""
    with transaction(engine, project_id, Role.DASHBOARD, snapshot=True) as connection:
        yield connection


def projects(engine: Engine) -> tuple[ProjectName, ...]:
    """All projects, oldest first."""
    query = sa.select(project.c.id, project.c.name).order_by(project.c.id)
    with reading(engine, None) as connection:
        return tuple(ProjectName(row.id, row.name) for row in connection.execute(query))
