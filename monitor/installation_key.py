"""The key that this installation signs evidence with: from the settings, or a file of its own.

The file is made at first use, readable by its owner alone. One that others can read is refused:
whoever has read it can sign in this installation's name.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from monitor.errors import ConfigurationError, Problem
from monitor.evidence.signing import SigningKey, UnreadableKey
from monitor.settings import Settings

FILE_NAME = "signing.key"
_PRIVATE_MODE = 0o600


def signing_key(settings: Settings) -> SigningKey:
    """The installation's key; raises ConfigurationError when it can't be used."""
    if settings.signing_key is not None:
        return _read(settings.signing_key.encode(), "INFERWATCH_SIGNING_KEY")
    path = settings.home / FILE_NAME
    try:
        if not path.exists():
            _make(path)
        return _read_file(path)
    except OSError as error:
        raise _unusable(str(path), f"can't be read or made: {error.strerror or error}") from error


def existing_key(settings: Settings) -> SigningKey | None:
    """The installation's key; None where none was made yet. Raises like `signing_key`."""
    path = settings.home / FILE_NAME
    try:
        missing = settings.signing_key is None and not path.exists()
    except OSError as error:
        raise _unusable(str(path), f"can't be read: {error.strerror or error}") from error
    return None if missing else signing_key(settings)


def _read_file(path: Path) -> SigningKey:
    with path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_IMODE(mode) & 0o077:
            told = f"others can read it (mode {stat.S_IMODE(mode):04o}); run `chmod 600 {path}`"
            raise _unusable(str(path), told)
        return _read(file.read(), str(path))


def _make(path: Path) -> None:
    """Write a new key beside its place and link it there: of two makers the first one wins."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f".{FILE_NAME}.{secrets.token_hex(8)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(SigningKey.generate().private_pem)
            file.flush()
            os.fsync(file.fileno())
        try:
            path.hardlink_to(beside)
        except FileExistsError:
            return
    finally:
        beside.unlink(missing_ok=True)


def _read(pem: bytes, place: str) -> SigningKey:
    try:
        return SigningKey.from_pem(pem)
    except UnreadableKey as error:
        remedy = "make one with `openssl genpkey -algorithm ed25519`"
        raise _unusable(place, f"{error}; {remedy}") from None


def _unusable(place: str, what: str) -> ConfigurationError:
    return ConfigurationError("signing key", [Problem(place, what)])
