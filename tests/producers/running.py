"""Real producers as processes of a test: free ports, readiness, and an end in any case."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
READY_SECONDS, END_SECONDS = 90.0, 10.0


def free_port() -> int:
    """A port of loopback that nobody listens at now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def running(
    command: Sequence[str], ready_url: str, log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """The process, once `ready_url` answers 200; it and its children are ended afterwards."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
        try:
            _wait(process, ready_url, log)
            yield process
        finally:
            _end(process)


def python_library_folder() -> str:
    """Where this Python's own library lies; Debian's would clash with it inside Triton."""
    return str(Path(sys.base_prefix) / "lib")


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    ends = time.monotonic() + READY_SECONDS
    while time.monotonic() < ends and process.poll() is None:
        with (
            contextlib.suppress(urllib.error.URLError, OSError),
            urllib.request.urlopen(url, timeout=2) as answer,
        ):
            if answer.status == 200:
                return
        time.sleep(0.1)
    tail = log.read_text(errors="replace")[-2000:]
    pytest.fail(f"{process.args!r} did not get ready:\n{tail}")


def _end(process: subprocess.Popen[bytes]) -> None:
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)
            if sign is signal.SIGTERM:
                continue  # children that stayed behind are ended too
    if process.stdin is not None:
        process.stdin.close()
