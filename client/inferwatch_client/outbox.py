"""Packed bodies that wait for the collector, lane by lane, in memory or in the spool.

A lane that has to wait (its model is not known yet) doesn't hold up the others.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field

from inferwatch_client.bodies import Body, halves
from inferwatch_client.counters import Counters
from inferwatch_client.items import Lane
from inferwatch_client.spool import Spool, SpoolDamaged, SpoolFull, read_payload
from inferwatch_client.waiting import Waiting


@dataclass
class _Line:
    bodies: deque[Body] = field(default_factory=deque)
    not_before: float = 0.0
    refused_since: float | None = None


class Outbox:
    """Bodies in the order in which they are due. `waiting` counts their records and bytes."""

    def __init__(
        self, lock: threading.RLock, waiting: Waiting, counters: Counters, spool: Spool | None
    ) -> None:
        self._lock = lock
        self._waiting = waiting
        self._counters = counters
        self.spool = spool
        self._lines: dict[Lane, _Line] = {}

    def add(self, body: Body, *, first: bool = False) -> None:
        """Keep a body, on disk where there is a spool; `first` before others of its lane."""
        if self.spool is not None:
            try:
                body = self.spool.write(body)
            except SpoolFull:
                self._counters.drop("spool_full", body.records)
                return
            except OSError as error:  # a full or broken disk: memory is what is left
                self._counters.spool_failures += 1
                self._counters.warn("spool", "the spool can't be written: %s", error)
        self._enter(body, first=first)

    def adopt(self) -> None:
        """Take over what processes that are gone have left in the spool."""
        if self.spool is None:
            return
        try:
            for body in self.spool.orphans():
                with self._lock:
                    records = body.records if body is not None else 1
                    self._counters.logged += records
                    self._counters.adopted += records
                if body is None:
                    self._counters.drop("spool_damaged")
                else:
                    self._enter(body, first=False)
        except OSError as error:
            self._counters.spool_failures += 1
            self._counters.warn("spool", "the spool can't be read: %s", error)

    def due(self, now: float) -> Body | None:
        """The next body of a lane that need not wait."""
        with self._lock:
            ready = [line for line in self._lines.values() if line.bodies]
            ready = [line for line in ready if line.not_before <= now]
            if not ready:
                return None
            return min(ready, key=lambda line: line.not_before).bodies[0]

    def next_due(self) -> float | None:
        """When a lane with bodies is due; None when there is none."""
        with self._lock:
            return min(
                (line.not_before for line in self._lines.values() if line.bodies), default=None
            )

    def payload(self, body: Body) -> bytes | None:
        """What to send; None when its file is damaged, and then it is dropped."""
        if body.payload is not None:
            return body.payload
        try:
            return read_payload(body)
        except (SpoolDamaged, OSError) as error:
            if self.done(body):
                self._counters.drop("spool_damaged", body.records, f"a file of the spool: {error}")
            return None

    def done(self, body: Body) -> bool:
        """The body is settled and its lane goes on; False when it was given up before."""
        with self._lock:
            line = self._lines.get(body.lane)
            if line is None or body not in line.bodies:
                return False
            line.bodies.remove(body)
            line.refused_since = None
            if not line.bodies:
                del self._lines[body.lane]
            self._waiting.release(body.records, body.memory)
        if self.spool is not None:
            try:
                self.spool.remove(body)
            except OSError as error:
                self._counters.warn("spool", "a file of the spool can't be removed: %s", error)
        return True

    def split(self, body: Body, payload: bytes) -> bool:
        """Put two halves in the body's place; False when it is a single record."""
        with self._lock:
            line = self._lines.get(body.lane)
            if line is None or body not in line.bodies:  # given up while it was sent
                return True
        parts = halves(body, payload)
        for part in reversed(parts):
            self.add(part, first=True)
        if parts:
            self.done(body)
        return bool(parts)

    def postpone(self, body: Body, until: float, *, refused_at: float | None = None) -> float:
        """Let the body's lane wait; the seconds since it was first refused for its key or model."""
        with self._lock:
            line = self._lines.get(body.lane)
            if line is None:
                return 0.0
            line.not_before = until
            if refused_at is None:
                return 0.0
            if line.refused_since is None:
                line.refused_since = refused_at
            return refused_at - line.refused_since

    def remaining(self) -> list[Body]:
        """All bodies."""
        with self._lock:
            return [body for line in self._lines.values() for body in line.bodies]

    def clear(self) -> list[Body]:
        """Give up all bodies; files in the spool stay."""
        with self._lock:
            given_up = self.remaining()
            self._lines.clear()
            for body in given_up:
                self._waiting.release(body.records, body.memory)
            return given_up

    def hurry(self) -> None:
        """Every lane is due now."""
        with self._lock:
            for line in self._lines.values():
                line.not_before = 0.0

    def _enter(self, body: Body, *, first: bool) -> None:
        with self._lock:
            line = self._lines.setdefault(body.lane, _Line())
            if first:
                line.bodies.appendleft(body)
            else:
                line.bodies.append(body)
            self._waiting.hold(body.records, body.memory)
