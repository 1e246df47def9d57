"""Many senders, slow senders, a database that is away: what is told, and what is stored."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from monitor.collector.app import create_app
from monitor.collector.logs import PlainFormatter
from monitor.errors import DatabaseNotReady, DatabaseUnavailable
from monitor.store.models import ModelContext
from tests.integration.collector.conftest import settings_of
from tests.integration.collector.memory_store import MemoryStore
from tests.integration.collector.serving import serving
from tests.unit.intake.factories import NOW, context_of, lines, record

HEADERS = {"Authorization": "Bearer right", "Content-Type": "application/x-ndjson"}
PATH = "/v1/requests?model=credit"


def make_store() -> MemoryStore:
    given = context_of()
    return MemoryStore(
        ModelContext(
            given.project_id,
            given.model_id,
            given.contract,
            given.contract_version,
            given.layout,
            given.hash_key,
            given.deployment_ids,
        )
    )


@contextmanager
def running(store: MemoryStore, **changes: Any) -> Iterator[str]:
    with serving(create_app(settings_of(**changes), store, clock=lambda: NOW)) as address:
        yield address


def send_all(address: str, bodies: list[bytes]) -> list[httpx.Response]:
    """All bodies at once; responses in their order."""

    async def send() -> list[httpx.Response]:
        limits = httpx.Limits(max_connections=200)
        async with httpx.AsyncClient(
            base_url=address, limits=limits, timeout=30, trust_env=False
        ) as client:
            return list(
                await asyncio.gather(
                    *(client.post(PATH, content=b, headers=HEADERS) for b in bodies)
                )
            )

    return asyncio.run(send())


def test_small_bodies_share_commits_and_keep_their_own_counts() -> None:
    store = make_store()
    store.before_store = lambda _: time.sleep(0.05)
    bodies = [
        lines([record(n), *([record(n)] if n % 3 == 0 else []), *(["bad"] if n % 4 == 0 else [])])
        for n in range(40)
    ]
    with running(store) as address:
        answers = [response.json() for response in send_all(address, bodies)]
    for n, answer in enumerate(answers):
        assert answer["accepted"] == 1, n
        assert answer["duplicate"] == (n % 3 == 0), n
        assert answer["rejected"] == (n % 4 == 0), n
    assert len(store.keys) == 40
    assert len(store.groups) < 20
    assert store.closed


def test_a_body_that_the_database_can_not_take_fails_alone() -> None:
    store = make_store()
    stored_apart = threading.Event()

    def choke(batch: Any) -> None:
        ids = batch.table["request_id"].to_pylist()
        if len(ids) > 1:
            stored_apart.set()
        time.sleep(0.05)
        if "r-5" in ids:
            raise RuntimeError("secret-row-content")

    store.before_store = choke
    with running(store) as address:
        responses = send_all(address, [lines([record(n)]) for n in range(10)])
    assert stored_apart.is_set()
    assert [r.status_code for r in responses] == [500 if n == 5 else 200 for n in range(10)]
    assert responses[5].json()["reason"] == "internal"
    assert "secret" not in responses[5].text
    assert len(store.keys) == 9


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (DatabaseUnavailable("gone"), "database_unavailable"),
        (DatabaseNotReady("old"), "database_not_ready"),
    ],
)
def test_a_database_that_is_away_is_a_503_and_nothing_is_acknowledged(
    error: Exception, reason: str
) -> None:
    def fail(*_: Any) -> None:
        raise error

    small, large = lines([record(0)]), lines([record(n) for n in range(60)])
    store = make_store()
    store.before_store = fail
    with running(store) as address, httpx.Client(base_url=address, trust_env=False) as client:
        for body in (small, large):
            response = client.post(PATH, content=body, headers=HEADERS)
            assert (response.status_code, response.json()["reason"]) == (503, reason)
            assert int(response.headers["retry-after"]) >= 1
        store.before_lookup = fail
        assert client.post(PATH, content=small, headers=HEADERS).status_code == 503
        assert client.get("/readyz").status_code == 503
        assert client.get("/healthz").status_code == 200
        store.before_store, store.before_lookup = (lambda _: None), (lambda: None)
        assert client.post(PATH, content=small, headers=HEADERS).json()["accepted"] == 1
        assert client.get("/readyz").json() == {"status": "ready"}


def test_more_bodies_than_the_limit_are_asked_to_come_back() -> None:
    store = make_store()
    store.before_store = lambda _: time.sleep(0.3)
    bodies = [lines([record(n)]) for n in range(12)]
    with running(store, max_waiting_bodies=4) as address:
        responses = send_all(address, bodies)
        statuses = sorted(response.status_code for response in responses)
        assert statuses == [200] * 4 + [503] * 8
        refused = next(r for r in responses if r.status_code == 503)
        assert refused.json()["reason"] == "overloaded"
        assert refused.headers["retry-after"] == "1"
        again = [b for b, r in zip(bodies, responses, strict=True) if r.status_code == 503]
        assert {r.status_code for r in send_all(address, again[:4])} == {200}
    assert len(store.keys) == 8


def raw(address: str, head: str, *parts: bytes, pause: float = 0.0) -> bytes:
    """Bytes over a socket, a pause before each part; all that comes back."""
    host, _, port = address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(head.replace("\n", "\r\n").encode())
        for part in parts:
            time.sleep(pause)
            connection.sendall(part)
        answer = b""
        while part := connection.recv(65_536):
            answer += part
        return answer


def head(length: int | str) -> str:
    extra = f"Content-Length: {length}\n" if length != "" else ""
    return (
        f"POST {PATH} HTTP/1.1\nHost: x\nAuthorization: Bearer right\nConnection: close\n"
        f"Content-Type: application/x-ndjson\n{extra}\n"
    )


def test_a_slow_sender_is_cut_off() -> None:
    store = make_store()
    body = lines([record(0)])
    with running(store, body_timeout_seconds=0.3) as address:
        started = time.monotonic()
        answer = raw(address, head(len(body)), body[:10])
        assert time.monotonic() - started < 5
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"body_timeout" in answer
    assert not store.keys


def test_a_sender_that_goes_away_stores_nothing() -> None:
    store = make_store()
    body = lines([record(0)])
    with running(store) as address:
        host, _, port = address.removeprefix("http://").partition(":")
        for _ in range(3):
            with socket.create_connection((host, int(port))) as connection:
                connection.sendall(head(len(body)).replace("\n", "\r\n").encode() + body[:-5])
        with httpx.Client(base_url=address, trust_env=False) as client:
            assert client.post(PATH, content=body, headers=HEADERS).json()["accepted"] == 1
    assert len(store.keys) == 1


def test_a_body_needs_a_length() -> None:
    with running(make_store()) as address:
        assert raw(address, head("")).startswith(b"HTTP/1.1 411 ")
        assert raw(address, head(10**15)).startswith(b"HTTP/1.1 413 ")


def test_log_lines_hold_no_payload_no_key_and_no_line_break() -> None:
    lines_written: list[str] = []

    class Keep(logging.Handler):
        def emit(self, entry: logging.LogRecord) -> None:
            lines_written.append(PlainFormatter().format(entry))

    def fail(_: Any) -> None:
        raise RuntimeError("s3cret\nrow")

    store, handler = make_store(), Keep()
    store.before_store = fail
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        with running(store) as address, httpx.Client(base_url=address, trust_env=False) as client:
            client.post(PATH, content=lines([record(0, shop="s3cret")]), headers=HEADERS)
            client.post(f"{PATH}%0As3cret", content=b"s3cret", headers=HEADERS)
            client.post(PATH, content=b"", headers={**HEADERS, "Authorization": "Bearer s3cret"})
            client.get("/s3cret%0Ainjected")
    finally:
        root.removeHandler(handler)
    ours = [line for line in lines_written if "httpx" not in line]
    assert any("RuntimeError at " in line for line in ours)
    assert not any("s3cret" in line or "\n" in line for line in ours)


def test_the_formatter_escapes_what_would_begin_a_line() -> None:
    entry = logging.LogRecord("x", logging.INFO, "f", 1, "a\r\nb\u2028c %s", ("d\x1b",), None)
    line = PlainFormatter().format(entry)
    assert line.endswith(r"x a\r\nb\u2028c d\x1b")


def test_unknown_paths_and_methods_are_answered_in_json() -> None:
    with (
        running(make_store()) as address,
        httpx.Client(base_url=address, trust_env=False) as client,
    ):
        for method, path, status in (("GET", "/nothing", 404), ("GET", "/v1/requests", 405)):
            response = client.request(method, path)
            assert (response.status_code, response.json()["reason"]) == (status, "not_served")
        assert client.get("/docs").status_code == 200
        assert "text/plain" in client.get("/metrics").headers["content-type"]


def test_the_waiting_bodies_are_shown() -> None:
    store, inside, go_on = make_store(), threading.Event(), threading.Event()

    def wait(_: Any) -> None:
        inside.set()
        assert go_on.wait(10)

    store.before_store = wait
    with running(store) as address:
        sender = threading.Thread(target=send_all, args=(address, [lines([record(0)])]))
        sender.start()
        assert inside.wait(10)
        text = httpx.get(f"{address}/metrics", trust_env=False).text
        go_on.set()
        sender.join()
    assert "inferwatch_waiting_bodies 1.0" in text
