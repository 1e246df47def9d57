"""Starts the programs as processes, kills them with SIGKILL, starts them again."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerContext, ForkServerProcess

import psycopg

from monitor.postgres.server import EmbeddedServer
from tests.faults import programs
from tests.faults.programs import Place

PROGRAMS: dict[str, Callable[[Place], None]] = {
    "judge": programs.judge,
    "scheduler-1": programs.scheduler,
    "scheduler-2": programs.scheduler,
    "receiver": programs.receiver,
}
PATIENCE = 30.0


def context() -> ForkServerContext:
    """New processes come from a server that has imported everything: they start in milliseconds."""
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(["tests.faults.programs"])
    return made


@dataclass
class Processes:
    """The programs of one run by name, and the database server."""

    place: Place
    server: EmbeddedServer
    kills: dict[str, int] = field(default_factory=dict)
    _context: ForkServerContext = field(default_factory=context)
    _running: dict[str, ForkServerProcess] = field(default_factory=dict)

    def start(self, name: str) -> None:
        """Start a program; one that listens is waited for."""
        process = self._context.Process(target=PROGRAMS[name], args=(self.place,), daemon=True)
        process.start()
        self._running[name] = process

    def start_all(self) -> None:
        """Start those that do not run."""
        for name in PROGRAMS:
            if name not in self._running or not self._running[name].is_alive():
                self.start(name)

    def ended(self) -> dict[str, int | None]:
        """Programs that nobody killed and that run no more, with their exit codes."""
        return {
            name: process.exitcode
            for name, process in self._running.items()
            if not process.is_alive()
        }

    def kill(self, name: str) -> None:
        """SIGKILL; nothing is said beforehand."""
        process = self._running.pop(name)
        process.kill()
        process.join()
        self.kills[name] = self.kills.get(name, 0) + 1

    def kill_database(self) -> None:
        """SIGKILL to the server's main process, then a new one that recovers from the log."""
        pid = self.server.status().pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        self.kills["database"] = self.kills.get("database", 0) + 1
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.server.start(child_of_this_process=True)
                break
            except Exception:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)
        psycopg.connect(self.place.database_url).close()

    def stop_all(self) -> None:
        """The end of a run."""
        for process in self._running.values():
            process.kill()
            process.join()
        self._running.clear()
