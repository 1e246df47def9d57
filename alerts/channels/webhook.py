"""Webhooks after Standard Webhooks 1.0.0: signed JSON over HTTP POST.

Only a 2xx answer counts. Redirects are failures. 410 asks to be sent nothing any more. A wait that
the receiver asks for is passed on. At most 64 kB of the answer are read.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Self

import httpcore
import httpx

from alerts.channels.base import Receipt, not_configured, read_secret
from alerts.channels.outbound import AddressRefused, NameUnresolvable, Outbound
from alerts.config import Receiver
from alerts.errors import SendFailed, SendFailure
from alerts.message_body import encode_body
from alerts.messages import Message
from alerts.text import clean
from alerts.yaml_source import Section

_SECRET_PREFIX = "whsec_"  # noqa: S105 - the marker of a secret, not one
_LARGEST_ANSWER = 65_536
_SHOWN_ANSWER = 200
_LONGEST_WAIT = timedelta(hours=24)
_WAIT_SECONDS = re.compile(r"\d{1,9}")
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
        options = _one_of(receiver, ("url", "url_env", "url_file"))
        options |= _one_of(
            receiver, ("secret_env", "secret_file"), refused="secret" in receiver.nodes
        )
        url = options.get("url")
        mistake = url_mistake(url) if isinstance(url, str) else None
        if mistake is not None:
            receiver.complain("url", mistake)
        options["private_addresses_allowed"] = bool(receiver.flag("private_addresses_allowed"))
        return options

    @classmethod
    def open(cls, receiver: Receiver, environment: Mapping[str, str]) -> Self:
        """Read address and secrets. Several secrets, separated by blanks, sign side by side."""
        url = read_secret(receiver, "url", environment)
        mistake = url_mistake(url)
        if mistake is not None:
            raise not_configured(receiver, f"its url {mistake}")
        texts = read_secret(receiver, "secret", environment).split()
        keys = tuple(key for key in map(_key_of, texts) if key is not None)
        if len(keys) != len(texts):
            raise not_configured(
                receiver, "its secret must be whsec_ and 24 to 64 bytes in base64; make a new one"
            )
        return cls(httpx.URL(url), keys, bool(receiver.options.get("private_addresses_allowed")))

    def send(self, message: Message, *, delivery_id: str, now: datetime, http: Outbound) -> Receipt:
        """Post the body. Raises SendFailed; ValueError for a delivery id that can't be signed."""
        body = encode_body(message.body)
        headers = {
            "content-type": "application/json",
            "accept-encoding": "identity",
            "user-agent": "inferwatch",
            **signed_headers(self.secrets, delivery_id, now, body),
        }
        client = http.client(private_allowed=self.private_addresses_allowed)
        try:
            with client.stream("POST", self.url, content=body, headers=headers) as answer:
                return _judge(answer, now)
        except _TRANSPORT_ERRORS as error:
            raise _failure_of(error) from error


_TRANSPORT_ERRORS = (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError)


def _failure_of(error: Exception) -> SendFailed:
    """What kept the request from being answered."""
    text = clean(str(error), _SHOWN_ANSWER)
    if isinstance(error, httpcore.TimeoutException):
        return SendFailed(SendFailure.TIMED_OUT, text or "no answer in time")
    if isinstance(error, AddressRefused):
        return SendFailed(SendFailure.ADDRESS_REFUSED, text, permanent=True)
    if isinstance(error, NameUnresolvable):
        return SendFailed(SendFailure.UNRESOLVABLE, text)
    if isinstance(error, httpcore.ProtocolError):
        return SendFailed(SendFailure.RECEIVER_ERROR, f"no complete HTTP answer: {text}")
    return SendFailed(SendFailure.CONNECTION_FAILED, text or "the connection broke")


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


def _judge(answer: httpx.Response, now: datetime) -> Receipt:
    """A receipt for a 2xx answer; SendFailed for any other."""
    status = answer.status_code
    shown = _start_of(answer)
    if answer.is_success:
        return Receipt(status, shown)
    raise SendFailed(
        _reason(status),
        f"answered {status} {shown}".rstrip(),
        permanent=_is_permanent(status),
        retry_after=wait_asked_for(answer.headers.get("retry-after"), now),
        status=status,
        disable_receiver=status == httpx.codes.GONE,
    )


def _start_of(answer: httpx.Response) -> str:
    """The first characters of the answer, of which at most 64 kB are read.

    The status has arrived by now: an answer that breaks off later changes nothing about it.
    """
    read = bytearray()
    with contextlib.suppress(*_TRANSPORT_ERRORS):
        for piece in answer.iter_raw():
            read += piece
            if len(read) >= _LARGEST_ANSWER:
                break
    return clean(read[:_LARGEST_ANSWER].decode("utf-8", "replace"), _SHOWN_ANSWER)


def _reason(status: int) -> SendFailure:
    if status == httpx.codes.GONE:
        return SendFailure.RECEIVER_GONE
    if status == httpx.codes.TOO_MANY_REQUESTS:
        return SendFailure.RATE_LIMITED
    if status == httpx.codes.REQUEST_TIMEOUT:
        return SendFailure.TIMED_OUT
    if httpx.codes.is_redirect(status):
        return SendFailure.REDIRECTED
    return (
        SendFailure.REFUSED if httpx.codes.is_client_error(status) else SendFailure.RECEIVER_ERROR
    )


def _is_permanent(status: int) -> bool:
    """A client error stays one; asking for patience is none."""
    patient = (httpx.codes.REQUEST_TIMEOUT, httpx.codes.TOO_MANY_REQUESTS)
    return httpx.codes.is_client_error(status) and status not in patient


def wait_asked_for(header: str | None, now: datetime) -> timedelta | None:
    """Retry-After, seconds or a date, as a wait of 0 to 24 hours; None when not readable."""
    text = (header or "").strip()
    if _WAIT_SECONDS.fullmatch(text):
        wait = timedelta(seconds=int(text))
    else:
        try:
            moment = parsedate_to_datetime(text)
        except (ValueError, TypeError, OverflowError):
            return None
        wait = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now
    return min(max(wait, timedelta(0)), _LONGEST_WAIT)


def url_mistake(text: str) -> str | None:
    """What is wrong with a webhook address, without repeating it; None when nothing is."""
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        return f"is not readable as an address: {error}"
    if url.scheme not in ("http", "https"):
        return "must begin with http:// or https://"
    if url.userinfo:
        return "must not carry a user name or password"
    if not url.host:
        return "names no host"
    return None


def _one_of(
    receiver: Section, names: tuple[str, ...], *, refused: bool = False
) -> dict[str, str | bool]:
    """Exactly one of the keys; `refused` when its absence was reported in another way."""
    texts = {name: receiver.text(name) for name in names}
    present = [name for name in names if name in receiver.nodes]
    if not present and not refused:
        receiver.missing(" or ".join(names), "give exactly one")
    elif len(present) > 1:
        receiver.complain(present[1], f"is given beside {present[0]}; keep one")
    return {name: text for name, text in texts.items() if text is not None}


def _key_of(secret: str) -> bytes | None:
    """The key bytes of `whsec_…`; None when it is not 24 to 64 bytes in base64."""
    try:
        key = base64.b64decode(secret.removeprefix(_SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if secret.startswith(_SECRET_PREFIX) and 24 <= len(key) <= 64 else None
