"""Throttling of sign-ins: an attempt is booked before it is tried, and struck off when it is right.

Unknown logins count like known ones, so that the answer tells nobody which there are.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.store.access_tables import login_attempt
from monitor.store.sessions import digest_of

PERIOD = timedelta(minutes=15)
MOST_OF_ONE_AT_ONE = 5
"""Failures with one login from one address within the period."""
MOST_OF_ONE = 50
"""With one login from anywhere, so that a stranger does not lock a person out at once."""
MOST_AT_ONE = 50
"""From one address with any login."""
_LOCK = 72_056


def book_attempt(connection: Connection, login: str, address: str, now: datetime) -> bool:
    """Book an attempt; False when there were too many and it may not be tried."""
    digest, address = digest_of(login), address[:100]
    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK, _number(digest))))
    row = login_attempt.c
    connection.execute(sa.delete(login_attempt).where(row.at <= now - PERIOD))
    of_login, at_address = row.login_digest == digest, row.address == address
    limits = (
        (sa.and_(of_login, at_address), MOST_OF_ONE_AT_ONE),
        (of_login, MOST_OF_ONE),
        (at_address, MOST_AT_ONE),
    )
    for which, most in limits:
        if (connection.scalar(sa.select(sa.func.count()).where(which)) or 0) >= most:
            return False
    values = {"login_digest": digest, "address": address, "at": now}
    connection.execute(sa.insert(login_attempt).values(values))
    return True


def strike_off(connection: Connection, login: str, address: str) -> None:
    """The person got in: what failed before with this login from here counts no more."""
    row = login_attempt.c
    connection.execute(
        sa.delete(login_attempt).where(
            row.login_digest == digest_of(login), row.address == address[:100]
        )
    )


def _number(digest: bytes) -> int:
    return int.from_bytes(digest[:4], "big", signed=True)
