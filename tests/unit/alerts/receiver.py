"""A real HTTP server on loopback that answers each request as it is told to."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Received:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: bytes


Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class LocalReceiver:
    """Where the server listens, what it received and how it answers."""

    url: str = ""
    answer: Answer = field(default_factory=lambda: answer_with(200))
    received: list[Received] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)


def answer_with(status: int, body: bytes = b"ok", **headers: str) -> Answer:
    """A plain answer; underscores in header names become hyphens."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def reset(handler: BaseHTTPRequestHandler) -> None:
    """Cut the connection with a reset instead of an answer."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


def drip(handler: BaseHTTPRequestHandler) -> None:
    """A header byte now and then: each wait is short, the whole never ends."""
    for _ in range(100):
        try:
            handler.wfile.write(b"H")
        except OSError:
            return
        time.sleep(0.05)


@contextmanager
def listening(tls: ssl.SSLContext | None = None) -> Iterator[LocalReceiver]:
    """Run the server while the block runs, with encryption when a context is given."""
    receiver = LocalReceiver()

    class Handler(BaseHTTPRequestHandler):
        def handle(self) -> None:
            try:
                super().handle()
            except ssl.SSLError:  # the client did not trust the certificate
                self.close_connection = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.received.append(Received(self.path, headers, body))
            receiver.answer(self)

        def finish(self) -> None:
            try:
                super().finish()
            except (OSError, ValueError):  # the test cut the connection on purpose
                return

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    scheme = "http" if tls is None else "https"
    receiver.url = f"{scheme}://127.0.0.1:{server.server_address[1]}/hook"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
