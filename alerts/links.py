"""Signed links for people: take one alert on, or keep it quiet, with one click, until they expire.

Pure. A link names the project, one episode of one alert, the deed, when it ends and perhaps who
acts. It is signed with a key of the project, so that whoever got the message can do this one deed
and nothing else. Opening a link only shows what it would do: mail programs open links on their own.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import struct
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from alerts.errors import LinkExpired, LinkNotValid
from alerts.model import FindingKey, require_utc

LIFETIME = timedelta(days=7)
"""Long enough for a message that was delivered only after days of trying."""
LINK_PATH = "/act/"
MAX_WHO_BYTES = 200
MAX_TOKEN = 512
_PURPOSE = b"inferwatch alert links 1"
_HEAD = struct.Struct(">BBIQI32s")  # version, deed, project, seconds, episode, fingerprint
_VERSION = 1
_SIGNATURE_BYTES = 32


class LinkDeed(StrEnum):
    """What a link does."""

    ACKNOWLEDGE = "acknowledge"
    SILENCE = "silence"


_DEEDS = tuple(LinkDeed)  # the order is part of the format: only append


@dataclass(frozen=True)
class AlertLink:
    """What one link may do: one deed on one episode of an alert, until it expires.

    `who` is the person it was sent to; None when the page has to ask.
    """

    deed: LinkDeed
    project: int
    key: FindingKey
    expires_at: datetime
    who: str | None = None


def link_key(secret: bytes) -> bytes:
    """The signing key, 32 bytes, from a secret of the project; of no use for anything else."""
    return hmac.new(secret, _PURPOSE, hashlib.sha256).digest()


def sign_link(link: AlertLink, key: bytes) -> str:
    """The link as a token for an address: letters, digits, `-`, `_`.

    Raises ValueError when a part does not fit the format.
    """
    who = (link.who or "").encode()
    if len(who) > MAX_WHO_BYTES:
        raise ValueError(f"a link names a person in at most {MAX_WHO_BYTES} bytes")
    try:
        head = _HEAD.pack(
            _VERSION,
            _DEEDS.index(link.deed),
            link.project,
            int(require_utc("expires_at", link.expires_at).timestamp()),
            link.key.episode,
            bytes.fromhex(link.key.fingerprint),
        )
    except struct.error as error:
        raise ValueError(f"a number of the link is out of range: {error}") from None
    content = head + who
    return _text(content + _signature(content, key))


def project_of(token: str) -> int:
    """Whose key the link must be read with. Nothing is checked yet: trust nothing else of it.

    Raises LinkNotValid when it is no link at all.
    """
    content, _ = _parts(token)
    return int(_HEAD.unpack_from(content)[2])


def read_link(token: str, key: bytes, now: datetime) -> AlertLink:
    """What the link may do now.

    Raises LinkNotValid when it was changed, cut or made by somebody else, LinkExpired when its
    time is over.
    """
    content, signature = _parts(token)
    if not hmac.compare_digest(signature, _signature(content, key)):
        raise LinkNotValid("this link was changed or cut, or is of another installation")
    _, deed, project, seconds, episode, fingerprint = _HEAD.unpack_from(content)
    link = AlertLink(
        deed=_DEEDS[deed],
        project=project,
        key=FindingKey(fingerprint.hex(), episode),
        expires_at=datetime.fromtimestamp(seconds, UTC),
        who=content[_HEAD.size :].decode() or None,
    )
    if require_utc("now", now) >= link.expires_at:
        ended = link.expires_at.isoformat(timespec="minutes").replace("+00:00", "Z")
        raise LinkExpired(f"this link ended {ended}; open the alert in the dashboard instead")
    return link


def link_address(api_url: str, token: str) -> str:
    """The address to open, under the API's address as people reach it."""
    return api_url.rstrip("/") + LINK_PATH + token


def _signature(content: bytes, key: bytes) -> bytes:
    return hmac.new(key, _PURPOSE + content, hashlib.sha256).digest()


def _parts(token: str) -> tuple[bytes, bytes]:
    """Content and signature; the content has a head of a known version."""
    problem = LinkNotValid("this is no link of Inferwatch, or it was cut")
    if len(token) > MAX_TOKEN or not token.isascii():
        raise problem
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise problem from None
    # One text for one link: spare bits at the end must be empty.
    if len(raw) < _HEAD.size + _SIGNATURE_BYTES or raw[0] != _VERSION or _text(raw) != token:
        raise problem
    return raw[:-_SIGNATURE_BYTES], raw[-_SIGNATURE_BYTES:]


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")
