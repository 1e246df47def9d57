"""Programs that the demo runs beside itself: the collector and the dashboard, as real processes."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from monitor.errors import InferwatchError

START_SECONDS = 60.0
STOP_SECONDS = 15.0
_LOOK_AGAIN_SECONDS = 0.1
_SHOWN_LOG = 1_500


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def chosen_port(wanted: int) -> int:
    """The wanted port of 127.0.0.1, or a free one when somebody listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            return free_port()
        return int(probe.getsockname()[1])


@contextmanager
def running(
    name: str, command: Sequence[str], environment: Mapping[str, str], health: str, log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program until the block ends; the block begins once `health` answers 200.

    Raises InferwatchError with the end of its log when it ends early or does not answer in time.
    """
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 - our own program, no shell
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=dict(environment)
        )
    try:
        _wait_until_healthy(name, process, health, log)
        yield process
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ask the program to end, and end it when it does not."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait_until_healthy(
    name: str, process: subprocess.Popen[bytes], health: str, log: Path
) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise InferwatchError(f"the {name} ended early; its log {log} ends with:\n{_end(log)}")
        if _answers(health):
            return
        time.sleep(_LOOK_AGAIN_SECONDS)
    raise InferwatchError(
        f"the {name} did not answer at {health} within {START_SECONDS:.0f} s; its log {log} ends "
        f"with:\n{_end(log)}"
    )


def _answers(health: str) -> bool:
    try:
        return httpx.get(health, timeout=2.0, trust_env=False).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False


def _end(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-_SHOWN_LOG:]
