"""A small HTTP server that trusts what is rightly signed, as the other end of a webhook would be.

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
from abc import ABC, abstractmethod
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
class Answer:
    """What a delivery is answered with: an HTTP status, and a JSON value where there is one."""

    status: int
    content: Mapping[str, Any] | None = None


class SignedServer(ABC):
    """Listens on a free port of 127.0.0.1 while used as a context manager.

    `refused` counts the deliveries without a signature that fits.
    """

    path = "/"

    def __init__(self, secret: str, clock: Callable[[], float] = time.time) -> None:
        self.secret = secret
        self.refused = 0
        self.lock = threading.Lock()
        self._clock = clock
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """Where to send deliveries."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{self.path}"

    def take(self, headers: Mapping[str, str], body: bytes) -> Answer:
        """Judge one delivery and hand it on when its signature fits."""
        if refusal(headers, body, self.secret, self._clock()) is not None:
            with self.lock:
                self.refused += 1
            return Answer(401)
        try:
            content = json.loads(body)
        except ValueError:
            return Answer(400)
        if not isinstance(content, dict):
            return Answer(400)
        with self.lock:
            return self.accept(headers["webhook-id"], content)

    @abstractmethod
    def accept(self, delivery_id: str, content: Mapping[str, Any]) -> Answer:
        """Answer a verified delivery; the lock is held."""

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


def _handler_of(server: SignedServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not length.isdigit() or int(length) > MAX_BODY_BYTES:
                self._answer(Answer(413 if length.isdigit() else 411))
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            self._answer(server.take(headers, self.rfile.read(int(length))))

        def _answer(self, answer: Answer) -> None:
            body = b"" if answer.content is None else json.dumps(answer.content).encode()
            self.send_response(answer.status)
            if body:
                self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Stay silent: the demo's terminal belongs to its own words."""

    return Handler
