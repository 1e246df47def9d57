"""Sessions: what a browser's cookie stands for. Kept on the server, so that any can be ended.

The cookie holds 256 random bits; the database keeps their SHA-256. A slow hash would add nothing
at that entropy.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.store.access_tables import account, session

TOKEN_BYTES = 32
LONGEST = timedelta(hours=12)
IDLE = timedelta(hours=2)
SEEN_EVERY = timedelta(minutes=1)
"""How exactly the last use is written down: a write a minute at most."""


@dataclass(frozen=True)
class LiveSession:
    """A session that holds now: its number, whose it is, and when it was last used."""

    id: int
    account_id: int
    seen_at: datetime


def digest_of(token: str) -> bytes:
    """What the database keeps of a secret."""
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def open_session(
    connection: Connection, account_id: int, method: str, address: str, now: datetime
) -> str:
    """Begin a session; the token for the browser's cookie, shown this once."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    connection.execute(
        sa.insert(session).values(
            digest=digest_of(token),
            account_id=account_id,
            method=method,
            address=address[:100],
            created_at=now,
            seen_at=now,
            expires_at=now + LONGEST,
        )
    )
    return token


def live_session(connection: Connection, token: str, now: datetime) -> LiveSession | None:
    """The session of a token; None when it is unknown, over, idle, revoked or its account off."""
    query = (
        sa.select(session.c.id, session.c.account_id, session.c.seen_at)
        .join(account, account.c.id == session.c.account_id)
        .where(session.c.digest == digest_of(token), account.c.disabled_at.is_(None), _lives(now))
    )
    row = connection.execute(query).one_or_none()
    return LiveSession(row.id, row.account_id, row.seen_at) if row is not None else None


def touch(connection: Connection, found: LiveSession, now: datetime) -> None:
    """Note that the session is used, unless that was noted a moment ago."""
    if now - found.seen_at >= SEEN_EVERY:
        change = sa.update(session).where(session.c.id == found.id)
        connection.execute(change.values(seen_at=now))


def end_session(connection: Connection, token: str, by: str, now: datetime) -> bool:
    """End the session of a token; False when there was none to end."""
    return _revoke(connection, session.c.digest == digest_of(token), by, now) == 1


def revoke_sessions(connection: Connection, account_id: int, by: str, now: datetime) -> int:
    """End all sessions of an account; how many there were."""
    return _revoke(connection, session.c.account_id == account_id, by, now)


def list_sessions(
    connection: Connection, account_id: int | None, now: datetime
) -> list[dict[str, Any]]:
    """The sessions that hold now, of one account or of all, newest use first."""
    names = ("id", "method", "address", "created_at", "seen_at", "expires_at")
    query = (
        sa.select(account.c.login, *(session.c[name] for name in names))
        .join(account, account.c.id == session.c.account_id)
        .where(_lives(now), account.c.disabled_at.is_(None))
        .order_by(session.c.seen_at.desc(), session.c.id)
    )
    if account_id is not None:
        query = query.where(session.c.account_id == account_id)
    return [dict(row) for row in connection.execute(query).mappings()]


def _lives(now: datetime) -> sa.ColumnElement[bool]:
    return sa.and_(
        session.c.revoked_at.is_(None),
        session.c.expires_at > now,
        session.c.seen_at > now - IDLE,
    )


def _revoke(connection: Connection, which: sa.ColumnElement[bool], by: str, now: datetime) -> int:
    change = sa.update(session).where(which, session.c.revoked_at.is_(None))
    return connection.execute(change.values(revoked_at=now, revoked_by=by)).rowcount
