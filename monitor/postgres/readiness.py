"""Wait until a server answers a real query, and give it its role and database."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import LiteralString

import psycopg
from psycopg import sql

from monitor.errors import EmbeddedPostgresError

APPLICATION_ROLE = "inferwatch"
APPLICATION_DATABASE = "inferwatch"
_LONGEST_PAUSE_SECONDS = 0.5
_TOLERATED_REFUSALS = 10
_PASSING_REFUSALS = ("the database system is", "too many clients", "connection slots")


class ServerEndedError(EmbeddedPostgresError):
    """The server process ended before it answered; the text ends with its last log lines."""


def wait_until_ready(
    admin_url: str,
    data: Path,
    *,
    is_alive: Callable[[], bool],
    tail: Callable[[], str],
    timeout: float,
) -> None:
    """Return once the server of `data` has answered a query.

    Raises ServerEndedError when it dies first, EmbeddedPostgresError when it is still silent after
    `timeout` seconds or refuses the supervisor's password.
    """
    deadline = time.monotonic() + timeout
    pause, refusals = 0.02, 0
    while True:
        try:
            if _answers(admin_url, data):
                return
            failure = "another server answers on its port"
        except psycopg.OperationalError as error:
            failure = str(error).strip()
        refusals += _is_refusal(failure)
        if not is_alive():
            raise ServerEndedError(
                f"the database server ended while starting. Its log says:\n{tail()}"
            )
        if refusals > _TOLERATED_REFUSALS:
            raise EmbeddedPostgresError(
                f"the database server refuses its supervisor: {failure}. If it is the password, "
                "put the superuser.password that belongs to this data folder back."
            )
        if time.monotonic() >= deadline:
            raise EmbeddedPostgresError(
                f"the database server has not answered for {timeout:.0f} s ({failure}). It may "
                f"still be recovering: try again later. Its log says:\n{tail()}"
            )
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE_SECONDS)


def answers(url: str) -> bool:
    """Whether our server at `url` lets us in and answers a query within a few seconds."""
    try:
        with connect(url, timeout=5) as connection:
            return connection.execute("SELECT 1").fetchone() == (1,)
    except psycopg.OperationalError:
        return False


def connect(url: str, timeout: int = 10) -> psycopg.Connection:
    """Connect to our own server, whatever PGSSLMODE, PGOPTIONS and the like say for others."""
    return psycopg.connect(
        url,
        autocommit=True,
        connect_timeout=timeout,
        sslmode="disable",
        gssencmode="disable",
        options="",
    )


def _answers(admin_url: str, data: Path) -> bool:
    with connect(admin_url) as connection:
        row = connection.execute("SELECT current_setting('data_directory')").fetchone()
    return row is not None and Path(row[0]).resolve() == data.resolve()


def _is_refusal(failure: str) -> bool:
    """Whether the server said no for good; while starting or full it says no for a while."""
    return "FATAL:" in failure and not any(text in failure for text in _PASSING_REFUSALS)


def provision(admin_url: str, password: str) -> None:
    """Make the application's role and database if missing, and set the role's password.

    The role may create roles but is no superuser, so that row-level security binds it.
    """
    with connect(admin_url) as connection:
        role = sql.Identifier(APPLICATION_ROLE)
        if not _exists(connection, "SELECT 1 FROM pg_roles WHERE rolname = %s", APPLICATION_ROLE):
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN CREATEROLE").format(role))
        set_password(connection, APPLICATION_ROLE, password)
        find_database = "SELECT 1 FROM pg_database WHERE datname = %s"
        if not _exists(connection, find_database, APPLICATION_DATABASE):
            database = sql.Identifier(APPLICATION_DATABASE)
            connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(database, role))


def set_password(connection: psycopg.Connection, role: str, password: str) -> None:
    """Set a role's password; only its SCRAM verifier leaves this process."""
    verifier = connection.pgconn.encrypt_password(
        password.encode(), role.encode(), b"scram-sha-256"
    ).decode()
    connection.execute(
        sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(role), sql.Literal(verifier))
    )


def _exists(connection: psycopg.Connection, query: LiteralString, name: str) -> bool:
    return connection.execute(query, (name,)).fetchone() is not None
