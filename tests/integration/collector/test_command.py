"""`inferwatch collector` as a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def process(log: Path, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "monitor", "collector", *arguments]
    with log.open("wb") as output:
        started = subprocess.Popen(
            command, stdout=output, stderr=output, env={**os.environ, **environment}
        )
        try:
            yield started
        finally:
            started.terminate()
            started.wait(30)


def answer(started: subprocess.Popen[bytes], address: str) -> httpx.Response:
    until = time.monotonic() + 60
    while True:
        try:
            return httpx.get(f"{address}/readyz", trust_env=False)
        except httpx.TransportError:
            alive = started.poll() is None and time.monotonic() < until
            assert alive, "the collector did not start"
            time.sleep(0.1)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_it_serves_until_it_is_told_to_stop(
    database_url: str, tmp_path: Path, workers: str
) -> None:
    port, log = free_port(), tmp_path / "log"
    arguments = ("--port", str(port), "--workers", workers)
    with process(log, *arguments, DATABASE_URL=database_url) as started:
        address = f"http://127.0.0.1:{port}"
        ready = answer(started, address)
        assert (ready.status_code, ready.json()) == (200, {"status": "ready"})
        assert httpx.post(f"{address}/v1/requests?model=x", trust_env=False).status_code == 401
        started.send_signal(signal.SIGTERM)
        started.wait(30)
    written = log.read_text()
    assert "Traceback" not in written
    assert "inferwatch.collector refused path=requests status=401 reason=no_key" in written


def test_a_database_that_was_never_migrated_is_told(
    empty_database_url: str, tmp_path: Path
) -> None:
    port = free_port()
    arguments = ("--port", str(port))
    with process(tmp_path / "log", *arguments, DATABASE_URL=empty_database_url) as started:
        response = answer(started, f"http://127.0.0.1:{port}")
    assert response.status_code == 503
    assert response.json()["reason"] == "database_not_ready"
    assert "Traceback" not in (tmp_path / "log").read_text()
