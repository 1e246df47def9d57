"""HTTP clients that can't be led to addresses messages must not go to.

The address is checked when the connection is made, on every address the name resolves to, and the
connection goes to the address that was checked: a name that resolves differently a moment later
gains nothing. No redirects, no proxies from the environment, one connection a request, and one
deadline for the whole exchange.
"""

from __future__ import annotations

import ipaddress
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Self

import httpcore
import httpx

from alerts.channels.addresses import refusal

TIMEOUT_SECONDS = 15.0

Resolver = Callable[[str, int], list[str]]


class AddressRefused(httpcore.ConnectError):
    """The name resolves to an address that messages never go to."""


class NameUnresolvable(httpcore.ConnectError):
    """The name has no address."""


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a name, as the system's resolver gives them."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def checked_addresses(
    host: str, port: int, resolver: Resolver, *, private_allowed: bool
) -> list[str]:
    """The addresses of a name, every one of them allowed.

    Raises NameUnresolvable, or AddressRefused when any of them is one that messages never go to.
    """
    try:
        addresses = resolver(host, port)
    except (OSError, UnicodeError) as error:
        raise NameUnresolvable(f"{host} has no address: {error}") from error
    for address in addresses:
        reason = refusal(
            ipaddress.ip_address(address.partition("%")[0]), private_allowed=private_allowed
        )
        if reason is not None:
            raise AddressRefused(f"{host}: {reason}")
    return addresses


class GuardedBackend(httpcore.NetworkBackend):
    """Opens connections to checked addresses only."""

    def __init__(self, *, private_allowed: bool, timeout: float, resolver: Resolver) -> None:
        self._private_allowed = private_allowed
        self._timeout = timeout
        self._resolver = resolver
        self._plain = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address that answers, after all were checked.

        The whole exchange must end within `timeout`, where that is shorter than the usual one.
        """
        whole = self._timeout if timeout is None else min(self._timeout, timeout)
        deadline = time.monotonic() + whole
        failure: Exception = NameUnresolvable(f"{host} has no address")
        for address in checked_addresses(
            host, port, self._resolver, private_allowed=self._private_allowed
        ):
            try:
                stream = self._plain.connect_tcp(
                    address, port, _left(deadline, timeout), local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return DeadlineStream(stream, deadline)
        raise failure

    def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ARG002 - httpcore's signature
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        """Never: a file is no receiver."""
        raise AddressRefused(f"{path}: messages are not sent to sockets in the file system")

    def sleep(self, seconds: float) -> None:
        """Wait; httpcore asks for it between its own attempts, of which there are none."""
        self._plain.sleep(seconds)


class DeadlineStream(httpcore.NetworkStream):
    """A connection whose every wait ends at one deadline.

    Without it a receiver that sends a byte now and then would hold the sender for hours.
    """

    def __init__(self, stream: httpcore.NetworkStream, deadline: float) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Some bytes; httpcore.ReadTimeout at the deadline."""
        return self._stream.read(max_bytes, self._wait(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """All bytes; httpcore.WriteTimeout at the deadline."""
        self._stream.write(buffer, self._wait(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        """The same connection, encrypted, with the same deadline."""
        wait = self._wait(timeout, httpcore.ConnectTimeout)
        return DeadlineStream(
            self._stream.start_tls(ssl_context, server_hostname, wait), self._deadline
        )

    def get_extra_info(self, info: str) -> Any:
        """What httpcore asks of a connection."""
        return self._stream.get_extra_info(info)

    def _wait(self, timeout: float | None, error: type[httpcore.TimeoutException]) -> float:
        left = _left(self._deadline, timeout)
        if left <= 0:
            raise error("the whole exchange took too long")
        return left


def _left(deadline: float, timeout: float | None) -> float:
    left = max(0.0, deadline - time.monotonic())
    return left if timeout is None else min(left, timeout)


class _Answer(httpx.SyncByteStream):
    """The body of an answer, read as it is needed."""

    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._answer.iter_stream())

    def close(self) -> None:
        self._answer.close()


class GuardedTransport(httpx.BaseTransport):
    """Sends httpx requests through a guarded connection. Raises httpcore's errors."""

    def __init__(self, backend: GuardedBackend, tls: ssl.SSLContext) -> None:
        self._pool = httpcore.ConnectionPool(
            ssl_context=tls,
            network_backend=backend,
            # Without a limit here: slow receivers would take up all connections otherwise.
            max_connections=None,
            max_keepalive_connections=0,
            retries=0,
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """One request, one connection."""
        url = request.url
        answer = self._pool.handle_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
                content=request.read(),
                extensions=request.extensions,
            )
        )
        return httpx.Response(
            status_code=answer.status, headers=answer.headers, stream=_Answer(answer)
        )

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()


class Outbound:
    """What channels send with; a context manager that closes it.

    `timeout` is what one whole exchange may take, in seconds; `tls` is how certificates are
    checked, for connections that are not HTTP.
    """

    def __init__(self, *, timeout: float = TIMEOUT_SECONDS, resolver: Resolver = resolve) -> None:
        self.timeout = timeout
        self.tls = httpx.create_ssl_context(trust_env=False)
        self.tls.load_default_certs()  # authorities that the operator added to the system
        self._resolver = resolver
        self._clients = {
            private_allowed: httpx.Client(
                transport=GuardedTransport(
                    GuardedBackend(
                        private_allowed=private_allowed, timeout=timeout, resolver=resolver
                    ),
                    self.tls,
                ),
                timeout=timeout,
                follow_redirects=False,
                trust_env=False,
            )
            for private_allowed in (False, True)
        }

    def client(self, *, private_allowed: bool) -> httpx.Client:
        """The client; `private_allowed` opens loopback and private networks."""
        return self._clients[private_allowed]

    def connect(self, host: str, port: int, *, private_allowed: bool) -> socket.socket:
        """A connection for protocols other than HTTP, to an address that was checked.

        Raises NameUnresolvable, AddressRefused, or OSError when no address answers in time.
        """
        deadline = time.monotonic() + self.timeout
        failure: OSError = OSError("no address answered")
        for address in checked_addresses(
            host, port, self._resolver, private_allowed=private_allowed
        ):
            try:
                return socket.create_connection((address, port), max(0.01, _left(deadline, None)))
            except OSError as error:
                failure = error
        raise failure

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            client.close()
