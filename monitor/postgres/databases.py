"""Make and drop databases on any server, embedded or not. For set-up and tests.

`admin_url` is a login that may create databases. For the embedded server that is its superuser
(`RunningServer.admin_url`): the application's own role may not create databases.
"""

from __future__ import annotations

import psycopg
from psycopg import sql

from monitor.postgres.readiness import APPLICATION_ROLE, set_password

# One number for everybody who changes the role, so that two test runs on one server take turns.
_ROLE_LOCK = 7_346_512_009


def create_database(
    admin_url: str, name: str, *, owner: str = APPLICATION_ROLE, template: str | None = None
) -> None:
    """Create database `name` owned by role `owner`, empty or as a copy of `template`.

    Raises psycopg.errors.DuplicateDatabase if it exists. Nobody may be connected to the template.
    """
    statement = sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {}").format(
        sql.Identifier(name), sql.Identifier(owner), sql.Identifier(template or "template1")
    )
    with psycopg.connect(admin_url, autocommit=True) as connection:
        connection.execute(statement)


def drop_database(admin_url: str, name: str) -> None:
    """Drop database `name` if it exists, cutting off whoever is connected."""
    statement = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
    with psycopg.connect(admin_url, autocommit=True) as connection:
        connection.execute(statement)


def ensure_application_role(admin_url: str, password: str, *, role: str = APPLICATION_ROLE) -> None:
    """Make the login role `role` (no superuser, may create roles) and set its password.

    The caller becomes a member of it, which an ordinary login needs to give it a database.
    Raises psycopg.errors.InsufficientPrivilege when the login may not create roles.
    """
    name = sql.Identifier(role)
    with psycopg.connect(admin_url) as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_ROLE_LOCK,))
        found = connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = %s", (role,))
        row = found.fetchone()
        if row is None:
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN CREATEROLE").format(name))
        elif row[0]:
            raise ValueError(f"role {role} is a superuser, to whom row-level security is nothing")
        set_password(connection, role, password)
        caller = connection.execute(
            "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        if caller is not None and not caller[0]:
            connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(name))
