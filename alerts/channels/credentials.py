"""What a receiver over HTTP may ask for beside its address: an Authorization header, a signature.

Both are secrets: alerts.yaml names the variable or the file that holds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

import httpx

from alerts.channels.base import not_configured, read_secret
from alerts.channels.http_post import one_of, open_address, open_secret_address, read_address
from alerts.channels.webhook import open_secrets, signed_headers
from alerts.config import Receiver
from alerts.yaml_source import Section

_LONGEST = 4_096
_REMEDY = "secrets never stand in this file; put it into {name}_env or {name}_file"
_NAMES = ("authorization", "secret")


@dataclass(frozen=True)
class Credentials:
    """The secrets of one receiver; each may be absent."""

    authorization: str | None = field(default=None, repr=False)
    secrets: tuple[bytes, ...] = field(default=(), repr=False)

    @classmethod
    def open(cls, receiver: Receiver, environment: Mapping[str, str]) -> Self:
        """Read the secrets that are named. Raises SendFailed (not_configured)."""
        return cls(
            _open_authorization(receiver, environment) if _names(receiver, _NAMES[0]) else None,
            open_secrets(receiver, environment) if _names(receiver, _NAMES[1]) else (),
        )

    def headers(self, delivery_id: str, now: datetime, body: bytes) -> dict[str, str]:
        """The headers that carry them, for one attempt to send these bytes."""
        headers = {} if self.authorization is None else {"authorization": self.authorization}
        if self.secrets:
            headers |= signed_headers(self.secrets, delivery_id, now, body)
        return headers


NO_CREDENTIALS = Credentials()


def read_protected_address(receiver: Section) -> dict[str, str | bool]:
    """url, url_env or url_file, private_addresses_allowed, and what protects the exchange.

    authorization_env or _file: the whole header value, such as `Bearer …`; secret_env or _file: the
    body is signed after Standard Webhooks. Both may be left out. Mistakes are reported.
    """
    options = read_address(receiver)
    for name in _NAMES:
        receiver.refuse(name, _REMEDY.format(name=name))
        options |= one_of(receiver, (f"{name}_env", f"{name}_file"), refused=True)
    url = options.get("url")
    if _is_sent_openly(options) and isinstance(url, str) and url.startswith("http://"):
        receiver.complain("url", "must begin with https://, because a secret is sent to it")
    return options


def open_protected_address(receiver: Receiver, environment: Mapping[str, str]) -> httpx.URL:
    """The address; where an authorization is sent to it, https only, except in private networks.

    Raises SendFailed (not_configured) when it can't be used.
    """
    if _is_sent_openly(receiver.options):
        return open_secret_address(receiver, environment)
    return open_address(receiver, environment)


def _is_sent_openly(options: Mapping[str, str | bool]) -> bool:
    named = any(f"{_NAMES[0]}_{kind}" in options for kind in ("env", "file"))
    return named and not options.get("private_addresses_allowed")


def _names(receiver: Receiver, name: str) -> bool:
    return f"{name}_env" in receiver.options or f"{name}_file" in receiver.options


def _open_authorization(receiver: Receiver, environment: Mapping[str, str]) -> str:
    text = read_secret(receiver, "authorization", environment)
    if len(text) > _LONGEST or not (text.isascii() and text.isprintable()):
        wanted = f"one line of at most {_LONGEST:,} plain characters, such as `Bearer …`"
        raise not_configured(receiver, f"its authorization must be {wanted}")
    return text
