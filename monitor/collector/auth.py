"""Whose call this is: a key in the Authorization header becomes a Principal."""

from __future__ import annotations

import base64
from datetime import datetime
from urllib.parse import unquote

from monitor.collector.ports import Store
from monitor.errors import RequestRefused
from monitor.store.projects import Principal, Scope

MAX_KEY_LENGTH = 200


def sent_key(header: str | None) -> str:
    """The key of an Authorization header, Bearer or the password of Basic; raises RequestRefused.

    Basic is for senders that take a URL and nothing else: `http://any:KEY@host/` (KServe's logger).
    """
    # OpenTelemetry's exporter for C++ (Triton) sends OTEL_EXPORTER_OTLP_HEADERS still encoded.
    kind, _, key = unquote((header or "").strip()).partition(" ")
    key = key.strip()
    if kind.lower() == "basic":
        key = _password(key)
    elif kind.lower() != "bearer":
        key = ""
    if not key:
        raise RequestRefused(401, "no_key", "send the header Authorization: Bearer <key>")
    if len(key) > MAX_KEY_LENGTH or not key.isascii() or not key.isprintable():
        raise _wrong()
    return key


def authenticate(store: Store, header: str | None, now: datetime, scope: Scope) -> Principal:
    """The principal, who has this scope; raises RequestRefused 401 or 403. Blocking."""
    principal = store.authenticate(sent_key(header), now)
    if principal is None:
        raise _wrong()
    if scope not in principal.scopes:
        raise RequestRefused(
            403, "missing_scope", f"the key lacks the scope {scope.value}; use one that has it"
        )
    return principal


def _password(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode("ascii").partition(":")[2]
    except ValueError:
        return ""


def _wrong() -> RequestRefused:
    return RequestRefused(401, "wrong_key", "the key is unknown, expired or revoked")
