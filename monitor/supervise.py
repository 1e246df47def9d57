"""Runs the parts of the service as one program: started and ended together, restarted singly.

Each part is a process of its own, so that a crash of one costs the others nothing. A part that
keeps crashing is restarted ever more slowly, never given up.
"""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType

log = logging.getLogger("inferwatch.supervise")

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
STABLE_SECONDS = 60.0
STOP_SECONDS = 20.0
LOOK_SECONDS = 0.2


@dataclass(frozen=True)
class PartSpec:
    """One part: its name and the command that runs it."""

    name: str
    command: tuple[str, ...]


@dataclass
class _Part:
    spec: PartSpec
    environment: Mapping[str, str]
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    pause: float = FIRST_PAUSE
    due: float = 0.0

    def start(self, now: float) -> None:
        self.process = subprocess.Popen(  # noqa: S603 -- our own command line
            self.spec.command, env=dict(self.environment), stdin=subprocess.DEVNULL
        )
        self.started = now
        log.info("part started part=%s pid=%d", self.spec.name, self.process.pid)

    def look(self, now: float) -> None:
        """Note an end and plan the restart; start when it is time."""
        if self.process is not None and self.process.poll() is not None:
            code, self.process = self.process.returncode, None
            stable = now - self.started > STABLE_SECONDS
            self.pause = FIRST_PAUSE if stable else min(self.pause * 2, LONGEST_PAUSE)
            self.due = now + self.pause
            log.warning(
                "part ended part=%s code=%d restart_in_seconds=%.1f",
                self.spec.name, code, self.pause,
            )  # fmt: skip
        if self.process is None and now >= self.due:
            self.start(now)

    def ask_to_end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()

    def end(self, deadline: float) -> None:
        if self.process is None:
            return
        try:
            self.process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            log.warning("part killed part=%s pid=%d", self.spec.name, self.process.pid)
            self.process.kill()
            self.process.wait()


@dataclass
class Supervisor:
    """Keeps parts running until it is told to stop."""

    parts: Sequence[PartSpec]
    environment: Mapping[str, str]
    _stopping: threading.Event = field(default_factory=threading.Event)

    def stop(self, *_: int | FrameType | None) -> None:
        """Ask for the end; safe in a signal handler."""
        self._stopping.set()

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Run until `stop`, SIGINT or SIGTERM; `ready` is called once everything was started."""
        signal.signal(signal.SIGTERM, self.stop)
        signal.signal(signal.SIGINT, self.stop)
        running = [_Part(spec, self.environment) for spec in self.parts]
        try:
            for part in running:
                part.start(time.monotonic())
            ready()
            while not self._stopping.wait(LOOK_SECONDS):
                for part in running:
                    part.look(time.monotonic())
        finally:
            for part in reversed(running):
                part.ask_to_end()
            deadline = time.monotonic() + STOP_SECONDS
            for part in running:
                part.end(deadline)


def service_parts(collector_port: int, dashboard_port: int, host: str) -> tuple[PartSpec, ...]:
    """The parts of `inferwatch up`."""
    program = (sys.executable, "-m", "monitor")
    return (
        PartSpec(
            "collector", (*program, "collector", "--host", host, "--port", str(collector_port))
        ),
        PartSpec("worker", (*program, "worker")),
        PartSpec(
            "dashboard",
            (*program, "dashboard", "--host", host, "--port", str(dashboard_port), "--no-link"),
        ),
    )
