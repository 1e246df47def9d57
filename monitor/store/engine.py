"""Connections to Postgres: the SQLAlchemy engine, roles of least right and error mapping.

Every transaction takes one role and one project: `SET LOCAL ROLE` and `app.project` end with it, so
a pooled connection never carries rights or a project into the next use.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine, make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from monitor.errors import ConfigurationError, DatabaseNotReady, DatabaseUnavailable, Problem

CONNECT_SECONDS = 5
UNDEFINED_TABLE = "42P01"
UNDEFINED_ROLE = "22023"


class Role(StrEnum):
    """Database roles; OWNER is the login that migrates, the others can do only their work."""

    OWNER = "owner"
    INGEST = "inferwatch_ingest"
    WORKER = "inferwatch_worker"
    DASHBOARD = "inferwatch_dashboard"
    EXPORT = "inferwatch_export"
    GATE = "inferwatch_gate"


def make_engine(database_url: str, *, pool_size: int = 5) -> Engine:
    """An engine for a postgresql:// URL; raises ConfigurationError when the URL can't be read."""
    try:
        url = make_url(database_url)
    except (sa.exc.ArgumentError, ValueError):
        # Not chained: the reason repeats a piece of the address, which may be of the password.
        raise _bad_url("it can't be read as a URL") from None
    if not url.drivername.startswith("postgres"):
        raise _bad_url(f"the scheme is {url.drivername!r}")
    arguments = {
        "connect_timeout": CONNECT_SECONDS,
        "application_name": "inferwatch",
        "options": "-c timezone=UTC",
        # Transaction poolers hand each transaction another server; prepared statements break there.
        "prepare_threshold": None,
    }
    return sa.create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_size=pool_size,
        max_overflow=5,
        pool_pre_ping=True,
        hide_parameters=True,
        connect_args=arguments,
    )


@contextmanager
def transaction(
    engine: Engine, project_id: int | None, role: Role, *, snapshot: bool = False
) -> Iterator[Connection]:
    """One transaction as a role, seeing one project; commits at the end, rolls back on any error.

    `snapshot` makes it REPEATABLE READ: every statement sees the same moment.
    Raises DatabaseUnavailable when Postgres is away and DatabaseNotReady when it is not migrated.
    """
    try:
        with engine.connect() as raw:
            level = "REPEATABLE READ" if snapshot else "READ COMMITTED"
            connection = raw.execution_options(isolation_level=level)
            with connection.begin():
                _enter(connection, project_id, role)
                yield connection
    except (OperationalError, InterfaceError) as error:
        if error.connection_invalidated or sqlstate_of(error) in (None, "57P01", "57P03", "53300"):
            raise DatabaseUnavailable(f"Postgres does not answer ({_first_line(error)})") from error
        raise
    except DBAPIError as error:
        if sqlstate_of(error) in (UNDEFINED_TABLE, UNDEFINED_ROLE):
            raise DatabaseNotReady(
                f"the database is not migrated ({_first_line(error)}); run `inferwatch migrate`"
            ) from error
        raise


def told_without_values(error: BaseException) -> str:
    """An error on one line for a log or a row. Of a database error neither keys nor values."""
    if not isinstance(error, DBAPIError):
        return f"{type(error).__name__}: {error}"
    constraint = getattr(getattr(error.orig, "diag", None), "constraint_name", None)
    where = f", constraint {constraint}" if constraint else ""
    return f"{type(error.orig).__name__} (SQLSTATE {sqlstate_of(error) or 'none'}{where})"


def _enter(connection: Connection, project_id: int | None, role: Role) -> None:
    if role is not Role.OWNER:
        connection.execute(sa.text(f'set local role "{role.value}"'))
    if project_id is not None:
        connection.execute(
            sa.text("select set_config('app.project', :project, true)"),
            {"project": str(project_id)},
        )


def sqlstate_of(error: DBAPIError) -> str | None:
    """The five-character SQLSTATE, None when the connection itself failed."""
    return getattr(error.orig, "sqlstate", None)


def _first_line(error: DBAPIError) -> str:
    lines = str(error.orig).strip().splitlines()
    return lines[0][:200] if lines else type(error.orig).__name__


def _bad_url(why: str) -> ConfigurationError:
    remedy = "write postgresql://user:password@host:port/database"
    return ConfigurationError("environment", [Problem("DATABASE_URL", f"{why}; {remedy}")])
