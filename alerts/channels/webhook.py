"""Webhooks after Standard Webhooks 1.0.0: signed JSON over HTTP POST."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

import httpx

from alerts.channels.base import Receipt, not_configured, read_secret
from alerts.channels.http_post import one_of, open_address, post, read_address
from alerts.channels.outbound import Outbound
from alerts.config import Receiver
from alerts.message_body import encode_body
from alerts.messages import Message
from alerts.yaml_source import Section

_SECRET_PREFIX = "whsec_"  # noqa: S105 - the marker of a secret, not one
_DELIVERY_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_SECRET_REMEDY = "secrets never stand in this file; put it into secret_env or secret_file"  # noqa: S105


@dataclass(frozen=True)
class Webhook:
    """The webhook of one receiver. `secrets` are key bytes; each gives one signature."""

    url: httpx.URL
    secrets: tuple[bytes, ...] = field(repr=False)
    private_addresses_allowed: bool = False

    @staticmethod
    def read_options(receiver: Section) -> Mapping[str, str | bool]:
        """url, url_env or url_file; secret_env or secret_file; private_addresses_allowed."""
        receiver.refuse("secret", _SECRET_REMEDY)
        options = read_address(receiver)
        options |= one_of(
            receiver, ("secret_env", "secret_file"), refused="secret" in receiver.nodes
        )
        return options

    @classmethod
    def open(cls, receiver: Receiver, environment: Mapping[str, str]) -> Self:
        """Read address and secrets. Several secrets, separated by blanks, sign side by side."""
        url = open_address(receiver, environment)
        secrets = open_secrets(receiver, environment)
        return cls(url, secrets, bool(receiver.options.get("private_addresses_allowed")))

    def send(self, message: Message, *, delivery_id: str, now: datetime, http: Outbound) -> Receipt:
        """Post the body. Raises SendFailed; ValueError for a delivery id that can't be signed."""
        body = encode_body(message.body)
        headers = {
            "content-type": "application/json",
            **signed_headers(self.secrets, delivery_id, now, body),
        }
        return post(
            http, self.url, body, headers, now=now, private_allowed=self.private_addresses_allowed
        )


def open_secrets(receiver: Receiver, environment: Mapping[str, str]) -> tuple[bytes, ...]:
    """The signing keys of a receiver, separated by blanks. Raises SendFailed (not_configured)."""
    texts = read_secret(receiver, "secret", environment).split()
    keys = tuple(key for key in map(_key_of, texts) if key is not None)
    if len(keys) != len(texts):
        raise not_configured(
            receiver, "its secret must be whsec_ and 24 to 64 bytes in base64; make a new one"
        )
    return keys


def signed_headers(
    secrets: tuple[bytes, ...], delivery_id: str, now: datetime, body: bytes
) -> dict[str, str]:
    """The three headers of Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`, in base64."""
    if not _DELIVERY_ID.fullmatch(delivery_id):
        raise ValueError(f"delivery id {delivery_id!r} must be 1 to 128 letters, digits, - or _")
    timestamp = str(int(now.timestamp()))
    signed = f"{delivery_id}.{timestamp}.".encode("ascii") + body
    digests = (hmac.new(secret, signed, hashlib.sha256).digest() for secret in secrets)
    signatures = (f"v1,{base64.b64encode(digest).decode('ascii')}" for digest in digests)
    return {
        "webhook-id": delivery_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(signatures),
    }


def _key_of(secret: str) -> bytes | None:
    """The key bytes of `whsec_…`; None when it is not 24 to 64 bytes in base64."""
    try:
        key = base64.b64decode(secret.removeprefix(_SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if secret.startswith(_SECRET_PREFIX) and 24 <= len(key) <= 64 else None
