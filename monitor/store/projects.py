"""Projects and their API keys.

A key is `iw_<prefix>_<secret>`: the prefix finds its row, the secret (256 random bits) is kept as a
SHA-256 only. A slow hash would add nothing at that entropy.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.errors import ConfigurationError, Problem, UnknownSubject
from monitor.store.tables import api_key, project

KEY_MARK = "iw"
PREFIX_BYTES = 6
SECRET_BYTES = 32


class Scope(StrEnum):
    """What a key may do."""

    INGEST = "ingest"
    LABELS = "labels"
    BACKFILL = "backfill"
    READ = "read"
    ADMIN = "admin"
    EXPORT = "export"
    ALERTS_READ = "alerts:read"
    ALERTS_ACT = "alerts:act"


@dataclass(frozen=True)
class Principal:
    """Who is calling: one project, what they may do there, and the name of their key."""

    project_id: int
    key_id: int
    scopes: frozenset[str]
    key_name: str = ""


def ensure_project(connection: Connection, name: str) -> int:
    """The project's number; it is created with a fresh hashing key when it is new."""
    found = connection.scalar(sa.select(project.c.id).where(project.c.name == name))
    if found is not None:
        return int(found)
    statement = sa.insert(project).values(name=name, hash_key=secrets.token_bytes(16))
    return int(connection.scalar(statement.returning(project.c.id)))


def project_number(connection: Connection, name: str) -> int:
    """The project's number; UnknownSubject when there is none of this name."""
    found = connection.scalar(sa.select(project.c.id).where(project.c.name == name))
    if found is None:
        names = ", ".join(connection.scalars(sa.select(project.c.name).order_by(project.c.name)))
        raise UnknownSubject(f"no project {name!r}; there are: {names or 'none yet'}")
    return int(found)


def create_key(
    connection: Connection,
    project_id: int,
    name: str,
    scopes: Iterable[str],
    *,
    by: str,
    expires_at: datetime | None = None,
) -> str:
    """Make a key and return it: it is shown this once and never again."""
    wanted = sorted(set(scopes))
    unknown = [scope for scope in wanted if scope not in set(Scope)]
    if unknown or not wanted:
        what = f"unknown scope {', '.join(unknown)}" if unknown else "no scope given"
        raise ConfigurationError(
            "api key", [Problem("scopes", f"{what}; known are {', '.join(Scope)}")]
        )
    prefix, secret = secrets.token_hex(PREFIX_BYTES), secrets.token_urlsafe(SECRET_BYTES)
    connection.execute(
        sa.insert(api_key).values(
            project_id=project_id,
            name=name,
            prefix=prefix,
            digest=_digest(secret),
            scopes=wanted,
            created_by=by,
            expires_at=expires_at,
        )
    )
    return f"{KEY_MARK}_{prefix}_{secret}"


def has_key(connection: Connection, project_id: int) -> bool:
    """Whether the project ever had a key."""
    query = sa.select(sa.func.count()).where(api_key.c.project_id == project_id)
    return bool(connection.scalar(query))


def authenticate(connection: Connection, key: str, now: datetime) -> Principal | None:
    """Who this key belongs to, None when it is unknown, expired or revoked."""
    mark, _, rest = key.partition("_")
    prefix, _, secret = rest.partition("_")
    if mark != KEY_MARK or not prefix.isalnum() or not prefix.isascii() or not secret.isascii():
        return None
    row = connection.execute(sa.select(api_key).where(api_key.c.prefix == prefix)).one_or_none()
    stored = row.digest if row is not None else _digest("")
    matches = hmac.compare_digest(bytes(stored), _digest(secret))
    if row is None or not matches or row.revoked_at is not None:
        return None
    if row.expires_at is not None and row.expires_at <= now:
        return None
    return Principal(row.project_id, row.id, frozenset(row.scopes), row.name)


def revoke_key(connection: Connection, project_id: int, prefix: str, now: datetime) -> bool:
    """Revoke a key by its prefix; False when the project has no such live key."""
    done = connection.execute(
        sa.update(api_key)
        .where(
            api_key.c.project_id == project_id,
            api_key.c.prefix == prefix,
            api_key.c.revoked_at.is_(None),
        )
        .values(revoked_at=now)
    )
    return done.rowcount == 1


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
