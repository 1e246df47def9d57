"""Signing in and out, and who somebody is: what the gate before the pages asks the store.

Everything here runs with the gate's rights, which reach the tables of accounts and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from monitor.access import AccessRole, Person, Right, allows
from monitor.errors import NotAllowed
from monitor.store.access_tables import account
from monitor.store.accounts import add_first_account, person, set_password
from monitor.store.engine import Role, transaction
from monitor.store.login_attempts import PERIOD, book_attempt, strike_off
from monitor.store.one_time_links import LINK_PATH, OneTimeLink, find_link, use_link
from monitor.store.passwords import MAX_LENGTH, MIN_LENGTH, matches
from monitor.store.sessions import end_session, live_session, open_session, touch

__all__ = ["LINK_PATH", "MAX_LENGTH", "MIN_LENGTH", "PERIOD", "AccessRole", "OneTimeLink",
           "Person", "Right", "allows"]  # fmt: skip


@dataclass(frozen=True)
class SignIn:
    """What became of an attempt: a token for the cookie, or none; `throttled` when not tried."""

    token: str | None = None
    throttled: bool = False


def sign_in(engine: Engine, login: str, password: str, address: str, now: datetime) -> SignIn:
    """Sign in with a password. Unknown, disabled and wrong look alike and take the same time."""
    login = login.strip().lower()[:200]
    with transaction(engine, None, Role.GATE) as connection:
        if not book_attempt(connection, login, address, now):
            return SignIn(throttled=True)
        query = sa.select(account.c.id, account.c.password).where(
            account.c.login == login, account.c.disabled_at.is_(None)
        )
        row = connection.execute(query).one_or_none()
    # The slow part holds no connection.
    if not matches(row.password if row is not None else None, password) or row is None:
        return SignIn()
    with transaction(engine, None, Role.GATE) as connection:
        strike_off(connection, login, address)
        return SignIn(open_session(connection, row.id, "password", address, now))


def sign_in_by_provider(
    engine: Engine, issuer: str, subject: str, email: str | None, address: str, now: datetime
) -> str | None:
    """Sign in who a provider vouches for; None when that person has no account.

    The first time the account is found by the verified address, afterwards by the provider's own
    number of the person only.
    """
    with transaction(engine, None, Role.GATE) as connection:
        number = _bound(connection, issuer, subject)
        if number is None and email is not None:
            number = _bind(connection, issuer, subject, email.strip().lower())
        if number is None:
            return None
        return open_session(connection, number, "provider", address, now)


def person_of(engine: Engine, token: str, now: datetime, *, used: bool = False) -> Person | None:
    """Who a session's token belongs to now; None when the session does not hold.

    `used` notes that the session is in use, so that it does not end as idle.
    """
    with transaction(engine, None, Role.GATE) as connection:
        found = live_session(connection, token, now)
        if found is None:
            return None
        if used:
            touch(connection, found, now)
        return person(connection, found.account_id)


def required_person(
    engine: Engine, token: str, project_id: int, right: Right, now: datetime
) -> Person:
    """The person of a session who may do something in a project; else raises NotAllowed."""
    found = person_of(engine, token, now)
    if found is None:
        raise NotAllowed("your session is over; sign in again")
    require(found, project_id, right)
    return found


def require(found: Person, project_id: int, right: Right) -> None:
    """Raises NotAllowed, naming role and right, unless the person's role allows it."""
    if not found.may(right, project_id):
        role = found.role_in(project_id)
        who = f"your role here, {role}," if role is not None else "you have no role here, which"
        raise NotAllowed(f"{who} does not allow to {right}; an admin can give you another role")


def sign_out(engine: Engine, token: str, now: datetime) -> None:
    """End a session at once, in every window of the browser."""
    with transaction(engine, None, Role.GATE) as connection:
        end_session(connection, token, "signed out", now)


def link_of(engine: Engine, token: str, now: datetime) -> OneTimeLink | None:
    """The one-time link of a token, None when it does not hold; nothing is used up."""
    with transaction(engine, None, Role.GATE) as connection:
        return find_link(connection, token, now)


def sign_in_by_link(
    engine: Engine, token: str, login: str, password: str | None, address: str, now: datetime
) -> str | None:
    """Use a one-time link up and begin a session; None when the link does not hold.

    The first link makes the account of the first admin, with this login. A password is set when one
    is given. Raises ConfigurationError when login or password can't be used; the link still holds.
    """
    with transaction(engine, None, Role.GATE) as connection:
        link = find_link(connection, token, now)
        if link is None or not use_link(connection, link, now):
            return None
        number = link.account_id
        if number is None:
            number = add_first_account(connection, login, password, "first link")
        elif password is not None:
            set_password(connection, number, password)
        if number is None:
            return None
        return open_session(connection, number, "link", address, now)


def _bound(connection: Connection, issuer: str, subject: str) -> int | None:
    row = account.c
    query = sa.select(row.id).where(
        row.oidc_issuer == issuer, row.oidc_subject == subject, row.disabled_at.is_(None)
    )
    found = connection.scalar(query)
    return int(found) if found is not None else None


def _bind(connection: Connection, issuer: str, subject: str, login: str) -> int | None:
    row = account.c
    mine = sa.update(account).where(
        row.login == login, row.oidc_subject.is_(None), row.disabled_at.is_(None)
    )
    bound = mine.values(oidc_issuer=issuer, oidc_subject=subject)
    found = connection.scalar(bound.returning(row.id))
    return int(found) if found is not None else None
