"""Start the postgres program: as a child that dies with this process, or detached."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from monitor.errors import EmbeddedPostgresError
from monitor.postgres import launch
from monitor.postgres.account import CLEAN_ENVIRONMENT, ServerAccount
from monitor.postgres.postmaster import is_alive

LOG_ROTATION_BYTES = 10 << 20
_LAUNCH_TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class Launch:
    """Everything needed to start one server. `lock` is the descriptor that it shall hold."""

    command: Sequence[str]
    account: ServerAccount
    log: Path
    lock: int

    def arguments(self, parent: int, report: int) -> list[str]:
        user = self.account.user if self.account.drops_rights else -1
        numbers = (user, self.account.group, parent, report)
        script = launch.__file__
        return [sys.executable, "-I", "-S", script, *map(str, numbers), *self.command]


@dataclass(frozen=True)
class StartedProcess:
    """A started server. `is_alive()` tells whether it still runs; `wait(s)` waits for its end."""

    is_alive: Callable[[], bool]
    wait: Callable[[float], None] = field(default=lambda _seconds: None)


def start_child(launch_data: Launch) -> StartedProcess:
    """Start a server that ends when this process ends, however that comes about."""
    guard = _Guard(launch_data)
    guard.start()
    guard.launched.wait()
    if guard.failure is not None:
        raise EmbeddedPostgresError(f"can't start {sys.executable}: {guard.failure}")
    return StartedProcess(guard.is_alive, guard.join)


class _Guard(threading.Thread):
    """Starts the child, waits for it and so reaps it.

    The kernel ties a child's life to the thread that made it, not to the process: a server
    started from a short-lived worker thread would die with that thread.
    """

    def __init__(self, launch_data: Launch) -> None:
        super().__init__(name="embedded-postgres-guard", daemon=True)
        self.launched = threading.Event()
        self.failure: OSError | None = None
        self._launch = launch_data

    def run(self) -> None:
        try:
            with _open_log(self._launch.log) as log:
                process = subprocess.Popen(  # noqa: S603 - fixed program, no shell
                    self._launch.arguments(parent=os.getpid(), report=-1),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=CLEAN_ENVIRONMENT,
                    pass_fds=(self._launch.lock,),
                )
        except OSError as error:
            self.failure = error
            return
        finally:
            self.launched.set()
        process.wait()


def start_detached(launch_data: Launch) -> StartedProcess:
    """Start a server that outlives this process."""
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb") as report, _open_log(launch_data.log) as log:
        try:
            subprocess.run(  # noqa: S603 - fixed program, no shell
                launch_data.arguments(parent=0, report=write_end),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=CLEAN_ENVIRONMENT,
                pass_fds=(launch_data.lock, write_end),
                timeout=_LAUNCH_TIMEOUT_SECONDS,
                check=False,
            )
        finally:
            os.close(write_end)
        answer = report.read()
    if not answer.isdigit():
        raise EmbeddedPostgresError(f"can't start the server; see {launch_data.log}")
    pid = int(answer)
    return StartedProcess(lambda: is_alive(pid))


def _open_log(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")


def rotate_log(path: Path) -> int:
    """Put a log that has grown long aside; returns the size the log now has, in bytes."""
    size = path.stat().st_size if path.exists() else 0
    if size <= LOG_ROTATION_BYTES:
        return size
    path.replace(path.with_name(path.name + ".1"))
    return 0


def log_tail(path: Path, offset: int, lines: int = 20) -> str:
    """The last lines of the log written after `offset` bytes."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            text = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return "(no log)"
    return "\n".join(text.splitlines()[-lines:]) or "(the log is empty)"


def free_port(preferred: int | None) -> int:
    """`preferred` if nobody listens there on 127.0.0.1, else any free port."""
    for port in (preferred, 0):
        if port is None:
            continue
        with socket.socket() as probe:
            # As the server does: connections that linger after a restart don't take the port.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise EmbeddedPostgresError("no free TCP port on 127.0.0.1")
