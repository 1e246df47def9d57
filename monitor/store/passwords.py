"""Passwords: argon2id hashes, and a check that costs the same for accounts that do not exist."""

from __future__ import annotations

from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from monitor.errors import ConfigurationError, Problem

MIN_LENGTH, MAX_LENGTH = 12, 256
# RFC 9106's second recommendation, argon2-cffi's default: argon2id, 64 MiB, 3 passes, 4 lanes.
_HASHER = PasswordHasher()


def hashed(password: str) -> str:
    """The argon2id hash of a password; ConfigurationError when it is too short or too long."""
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        wanted = f"a password has {MIN_LENGTH} to {MAX_LENGTH} characters, this one {len(password)}"
        raise ConfigurationError("account", [Problem("password", wanted)])
    return _HASHER.hash(password)


def matches(stored: str | None, password: str) -> bool:
    """Whether a password is the right one. Without a stored hash it takes as long, and never is."""
    try:
        right = _HASHER.verify(stored if stored is not None else _nobodys(), password[:MAX_LENGTH])
    except (VerificationError, InvalidHashError):
        return False
    return right and stored is not None and len(password) <= MAX_LENGTH


@cache
def _nobodys() -> str:
    return _HASHER.hash("a password that nobody has")
