"""Whose call this is: a key in the Authorization header becomes a Principal."""

from __future__ import annotations

from datetime import datetime

from monitor.collector.ports import Store
from monitor.errors import RequestRefused
from monitor.store.projects import Principal, Scope

MAX_KEY_LENGTH = 200


def bearer_key(header: str | None) -> str:
    """The key of an Authorization header; raises RequestRefused 401."""
    kind, _, key = (header or "").strip().partition(" ")
    key = key.strip()
    if kind.lower() != "bearer" or not key:
        raise RequestRefused(401, "no_key", "send the header Authorization: Bearer <key>")
    if len(key) > MAX_KEY_LENGTH or not key.isascii() or not key.isprintable():
        raise _wrong()
    return key


def authenticate(store: Store, header: str | None, now: datetime, scope: Scope) -> Principal:
    """The principal, who has this scope; raises RequestRefused 401 or 403. Blocking."""
    principal = store.authenticate(bearer_key(header), now)
    if principal is None:
        raise _wrong()
    if scope not in principal.scopes:
        raise RequestRefused(
            403, "missing_scope", f"the key lacks the scope {scope.value}; use one that has it"
        )
    return principal


def _wrong() -> RequestRefused:
    return RequestRefused(401, "wrong_key", "the key is unknown, expired or revoked")
