"""The supervisor, with real processes: restarts, and an end that leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from monitor.supervise import service_parts

PATIENCE = 20.0
SUPERVISOR = """
import sys
from monitor import supervise
from monitor.supervise import PartSpec, Supervisor
supervise.FIRST_PAUSE = 0.1
supervise.STOP_SECONDS = float(sys.argv[2])
parts = tuple(PartSpec(name, (sys.executable, "-c", code, sys.argv[1]))
              for name, code in zip(sys.argv[3::2], sys.argv[4::2]))
Supervisor(parts, {"WHO": "ada"}).run(lambda: print("ready", flush=True))
print("over", flush=True)
"""
SAY = """
import os, sys, time
with open(sys.argv[1], "a") as log:
    log.write(f"NAME {os.getpid()} {os.environ.get('WHO')}\\n")
"""
WAIT = SAY + "time.sleep(60)\n"
DIE = SAY + "sys.exit(3)\n"
STUBBORN = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + WAIT


@contextmanager
def supervising(
    log: Path, stop_seconds: float = 10.0, **parts: str
) -> Iterator[subprocess.Popen[str]]:
    """A supervisor of these parts (name to code), ready."""
    named = [text for name, code in parts.items() for text in (name, code.replace("NAME", name))]
    command = [sys.executable, "-c", SUPERVISOR, str(log), str(stop_seconds), *named]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(PATIENCE)


def started(log: Path, name: str) -> list[int]:
    """Process ids of a part, in the order of its starts."""
    lines = log.read_text().splitlines() if log.exists() else []
    return [int(line.split()[1]) for line in lines if line.startswith(f"{name} ")]


def eventually(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_part_that_dies_is_started_again_and_the_others_go_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with supervising(log, dying=DIE, steady=WAIT):
        eventually(lambda: len(started(log, "dying")) >= 3)
        assert len(started(log, "steady")) == 1
        assert alive(started(log, "steady")[0])


def test_a_killed_part_comes_back(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with supervising(log, steady=WAIT):
        eventually(lambda: started(log, "steady"))
        os.kill(started(log, "steady")[0], signal.SIGKILL)
        eventually(lambda: len(started(log, "steady")) == 2)


def test_restarts_come_ever_more_slowly(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with supervising(log, dying=DIE):
        time.sleep(4)
        # Pauses of 0.2, 0.4, 0.8, 1.6, … seconds: without them there would be dozens of starts.
        assert 2 <= len(started(log, "dying")) <= 6


@pytest.mark.parametrize("way", [signal.SIGTERM, signal.SIGINT])
def test_the_end_takes_every_part_along(tmp_path: Path, way: signal.Signals) -> None:
    log = tmp_path / "log"
    with supervising(log, one=WAIT, two=WAIT) as process:
        eventually(lambda: started(log, "one") and started(log, "two"))
        process.send_signal(way)
        assert process.wait(PATIENCE) == 0
        assert process.stdout is not None
        assert process.stdout.read() == "over\n"
        assert not any(alive(pid) for name in ("one", "two") for pid in started(log, name))


def test_a_part_that_ignores_the_request_is_killed_in_the_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with supervising(log, 1.0, stubborn=STUBBORN) as process:
        eventually(lambda: started(log, "stubborn"))
        process.terminate()
        assert process.wait(PATIENCE) == 0
        assert not alive(started(log, "stubborn")[0])


def test_parts_get_the_environment_they_are_given(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with supervising(log, steady=WAIT):
        eventually(lambda: started(log, "steady"))
        assert log.read_text().split()[2] == "ada"


def test_the_service_has_its_three_parts() -> None:
    parts = service_parts(1, 2, "127.0.0.1")
    assert [part.name for part in parts] == ["collector", "worker", "dashboard"]
    assert all(part.command[:3] == (sys.executable, "-m", "monitor") for part in parts)
    assert "127.0.0.1" in parts[0].command
