"""One way to write a JSON value (RFC 8785), so that equal values have equal bytes and hashes."""

from __future__ import annotations

import hashlib
from typing import Any

import rfc8785

from monitor.strictjson import StrictJsonError, loads


class NotCanonical(ValueError):
    """The bytes are not the canonical form of any JSON value."""


def canonical(value: Any) -> bytes:
    """The RFC 8785 bytes of a value; raises ValueError for what JSON can't hold exactly."""
    return rfc8785.dumps(value)


def read_canonical(body: bytes) -> Any:
    """The value of canonical bytes; raises NotCanonical when they are written any other way."""
    try:
        value = loads(body)
        if rfc8785.dumps(value) == body:
            return value
    except StrictJsonError as error:
        raise NotCanonical(str(error)) from None
    except ValueError as error:  # rfc8785's own errors: numbers and texts that JSON can't hold
        raise NotCanonical(str(error)) from None
    raise NotCanonical("it is JSON, but not in the one form that is signed")


def sha256_hex(body: bytes) -> str:
    """The SHA-256 of bytes in lower-case hexadecimal."""
    return hashlib.sha256(body).hexdigest()
