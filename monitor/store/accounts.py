"""Accounts and their roles: made, changed and listed by whoever runs the installation."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.access import AccessRole, Person
from monitor.errors import ConfigurationError, Problem, UnknownSubject
from monitor.store.access_tables import account, membership
from monitor.store.passwords import hashed
from monitor.store.sessions import revoke_sessions
from monitor.store.tables import project

FIRST_ACCOUNT_LOCK = 7_205_301_149
_LOGIN = re.compile(r"[a-z0-9][a-z0-9._+@-]{0,199}")


def checked_login(text: str) -> str:
    """A login as it is stored; ConfigurationError when it can't be one."""
    login = text.strip().lower()
    if not _LOGIN.fullmatch(login):
        wanted = "1 to 200 letters, digits and . _ + @ -, such as ada or ada@example.org"
        raise ConfigurationError("account", [Problem("login", f"{text[:60]!r} is not {wanted}")])
    return login


def checked_role(text: str) -> AccessRole:
    """A role by its name; ConfigurationError names those there are."""
    try:
        return AccessRole(text)
    except ValueError:
        known = ", ".join(AccessRole)
        problem = Problem("role", f"{text[:60]!r} is no role; there are {known}")
        raise ConfigurationError("account", [problem]) from None


def has_accounts(connection: Connection) -> bool:
    """Whether there ever was an account."""
    return bool(connection.scalar(sa.select(sa.exists().select_from(account))))


def add_account(
    connection: Connection,
    login: str,
    *,
    by: str,
    password: str | None = None,
    everywhere: AccessRole | None = None,
) -> int:
    """Make an account; ConfigurationError when the login is taken or the password too short."""
    values = {
        "login": checked_login(login),
        "password": hashed(password) if password is not None else None,
        "everywhere": everywhere.value if everywhere is not None else None,
        "created_by": by,
    }
    try:
        with connection.begin_nested():
            made = connection.scalar(sa.insert(account).values(values).returning(account.c.id))
    except sa.exc.IntegrityError:
        problem = Problem("login", f"{values['login']!r} has an account already")
        raise ConfigurationError("account", [problem]) from None
    return int(made or 0)


def add_first_account(
    connection: Connection, login: str, password: str | None, by: str
) -> int | None:
    """Make the account that may do everything; None when there is one already."""
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(FIRST_ACCOUNT_LOCK)))
    if has_accounts(connection):
        return None
    return add_account(connection, login, by=by, password=password, everywhere=AccessRole.ADMIN)


def account_number(connection: Connection, login: str) -> int:
    """The number of an account; UnknownSubject when there is none of this login."""
    query = sa.select(account.c.id).where(account.c.login == login.strip().lower())
    found = connection.scalar(query)
    if found is None:
        raise UnknownSubject(f"no account {login!r}; `inferwatch user list` shows them")
    return int(found)


def grant_role(
    connection: Connection, account_id: int, project_id: int | None, role: AccessRole, by: str
) -> None:
    """Give a role in a project, or, without one, in every project that has no role of its own."""
    if project_id is None:
        change = sa.update(account).where(account.c.id == account_id)
        connection.execute(change.values(everywhere=role.value))
        return
    row = {"account_id": account_id, "project_id": project_id}
    connection.execute(
        sa.delete(membership).where(*(membership.c[name] == each for name, each in row.items()))
    )
    connection.execute(sa.insert(membership).values(**row, role=role.value, granted_by=by))


def set_password(connection: Connection, account_id: int, password: str) -> None:
    """Set a new password; ConfigurationError when it is too short or too long."""
    change = sa.update(account).where(account.c.id == account_id)
    connection.execute(change.values(password=hashed(password)))


def disable_account(connection: Connection, account_id: int, by: str, now: datetime) -> int:
    """Nobody signs in with it any more; its sessions end. How many did."""
    change = sa.update(account).where(account.c.id == account_id, account.c.disabled_at.is_(None))
    connection.execute(change.values(disabled_at=now))
    return revoke_sessions(connection, account_id, by, now)


def person(connection: Connection, account_id: int) -> Person | None:
    """The person of an account that is not disabled, with all roles."""
    row = connection.execute(
        sa.select(account.c.login, account.c.everywhere).where(
            account.c.id == account_id, account.c.disabled_at.is_(None)
        )
    ).one_or_none()
    if row is None:
        return None
    query = sa.select(membership.c.project_id, membership.c.role)
    found = connection.execute(query.where(membership.c.account_id == account_id)).all()
    roles = {project_id: AccessRole(role) for project_id, role in found}
    everywhere = AccessRole(row.everywhere) if row.everywhere is not None else None
    return Person(account_id, row.login, roles, everywhere)


def list_accounts(connection: Connection) -> list[dict[str, Any]]:
    """All accounts with their roles, by login."""
    told = sa.func.jsonb_object_agg(project.c.name, membership.c.role)
    roles = (
        sa.select(told)
        .select_from(membership.join(project, project.c.id == membership.c.project_id))
        .where(membership.c.account_id == account.c.id)
        .scalar_subquery()
    )
    query = sa.select(
        account.c.login,
        account.c.everywhere,
        roles.label("projects"),
        account.c.password.is_not(None).label("has_password"),
        account.c.oidc_issuer.label("provider"),
        account.c.created_by,
        account.c.created_at,
        account.c.disabled_at,
    ).order_by(account.c.login)
    return [
        {**row, "projects": row["projects"] or {}} for row in connection.execute(query).mappings()
    ]
