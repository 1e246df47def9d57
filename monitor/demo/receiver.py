"""A small webhook receiver, as an on-call service would run one: it checks and counts deliveries.

Signatures are checked after Standard Webhooks 1.0.0 (HMAC-SHA256 over `id.timestamp.body`). It
shares no code with the channel that signs, so that a mistake there does not cancel out here.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

SECRET_PREFIX = "whsec_"  # noqa: S105 - the marker of a secret, not one
TOLERANCE_SECONDS = 300
MAX_BODY_BYTES = 1 << 20


def new_secret() -> str:
    """A fresh secret of 32 random bytes in the form receivers and senders share."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode("ascii")


def refusal(headers: Mapping[str, str], body: bytes, secret: str, now_seconds: float) -> str | None:
    """Why a delivery is not to be trusted, or None. `headers` are looked up in lower case."""
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    delivery_id, timestamp, signatures = (headers.get(name, "") for name in names)
    if not (delivery_id and timestamp and signatures):
        return "a header is missing"
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        return "the timestamp is not a number of seconds"
    if abs(int(timestamp) - now_seconds) > TOLERANCE_SECONDS:
        return "the timestamp is more than five minutes away"
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    expected = hmac.new(key, f"{delivery_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    candidates = (_decoded(each) for each in signatures.split() if each.startswith("v1,"))
    if not any(hmac.compare_digest(expected, candidate) for candidate in candidates):
        return "no signature fits"
    return None


def _decoded(signature: str) -> bytes:
    try:
        return base64.b64decode(signature.removeprefix("v1,"), validate=True)
    except (binascii.Error, ValueError):
        return b""


@dataclass(frozen=True)
class Received:
    """One delivery that was verified: its id, how often it came, and the body of the first time."""

    delivery_id: str
    times: int
    body: Mapping[str, Any]


class WebhookReceiver:
    """Listens on a free port of 127.0.0.1 while used as a context manager."""

    def __init__(self, secret: str, clock: Callable[[], float] = time.time) -> None:
        self.secret = secret
        self.refused = 0
        self._clock = clock
        self._lock = threading.Lock()
        self._received: dict[str, Received] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """Where to send deliveries."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/alerts"

    def received(self) -> tuple[Received, ...]:
        """Verified deliveries in order of first arrival; a repeated id counts once."""
        with self._lock:
            return tuple(self._received.values())

    def take(self, headers: Mapping[str, str], body: bytes) -> int:
        """Judge one delivery; returns the HTTP status to answer with."""
        if refusal(headers, body, self.secret, self._clock()) is not None:
            with self._lock:
                self.refused += 1
            return 401
        try:
            content = json.loads(body)
        except ValueError:
            return 400
        if not isinstance(content, dict):
            return 400
        delivery_id = headers["webhook-id"]
        with self._lock:
            known = self._received.get(delivery_id)
            first = Received(delivery_id, 1, content)
            self._received[delivery_id] = (
                first if known is None else Received(delivery_id, known.times + 1, known.body)
            )
        return 204

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler_of(receiver: WebhookReceiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not length.isdigit() or int(length) > MAX_BODY_BYTES:
                self._answer(413 if length.isdigit() else 411)
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            self._answer(receiver.take(headers, self.rfile.read(int(length))))

        def _answer(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Stay silent: the demo's terminal belongs to its own words."""

    return Handler
