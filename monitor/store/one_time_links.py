"""One-time links: the first one makes the account of the admin, others sign in a person once."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.store.access_tables import account, one_time_link
from monitor.store.accounts import has_accounts
from monitor.store.sessions import TOKEN_BYTES, digest_of

GOOD_FOR = timedelta(hours=24)
LINK_PATH = "/link/"


@dataclass(frozen=True)
class OneTimeLink:
    """A link that still holds. Without an account it makes the first one."""

    id: int
    account_id: int | None
    login: str | None


def make_link(connection: Connection, account_id: int | None, by: str, now: datetime) -> str:
    """A fresh link's token, shown this once; links made before for the same end."""
    same = one_time_link.c.account_id.is_not_distinct_from(account_id)
    ended = sa.update(one_time_link).where(same, one_time_link.c.used_at.is_(None))
    connection.execute(ended.values(used_at=now))
    token = secrets.token_urlsafe(TOKEN_BYTES)
    connection.execute(
        sa.insert(one_time_link).values(
            digest=digest_of(token),
            account_id=account_id,
            created_by=by,
            created_at=now,
            expires_at=now + GOOD_FOR,
        )
    )
    return token


def first_link(connection: Connection, public_url: str, by: str, now: datetime) -> str | None:
    """The address that makes the first account; None when there is an account already."""
    if has_accounts(connection):
        return None
    return link_address(public_url, make_link(connection, None, by, now))


def link_address(public_url: str, token: str) -> str:
    """Where a browser opens a link."""
    return f"{public_url.rstrip('/')}{LINK_PATH}{token}"


def find_link(connection: Connection, token: str, now: datetime) -> OneTimeLink | None:
    """The link of a token; None when it is unknown, used, over, or no longer fitting.

    A first link fits only while there is no account, another one only while its account is on.
    """
    link = one_time_link.c
    query = (
        sa.select(link.id, link.account_id, account.c.login)
        .select_from(one_time_link.outerjoin(account, account.c.id == link.account_id))
        .where(
            link.digest == digest_of(token),
            link.used_at.is_(None),
            link.expires_at > now,
            sa.case(
                (link.account_id.is_(None), ~sa.exists().select_from(account.alias("any"))),
                else_=account.c.disabled_at.is_(None),
            ),
        )
    )
    row = connection.execute(query).one_or_none()
    return OneTimeLink(row.id, row.account_id, row.login) if row is not None else None


def use_link(connection: Connection, link: OneTimeLink, now: datetime) -> bool:
    """Use a link up; False when somebody was quicker."""
    change = sa.update(one_time_link).where(
        one_time_link.c.id == link.id, one_time_link.c.used_at.is_(None)
    )
    return connection.execute(change.values(used_at=now)).rowcount == 1
