"""The two background threads of a process and what they share: one packs, one sends.

A forked child gets a pipeline of its own: what waited in its parent stays there.
"""

from __future__ import annotations

import itertools
import secrets
import threading
import time
from collections.abc import Callable

from inferwatch_client.counters import Counters, Statistics
from inferwatch_client.items import Item
from inferwatch_client.options import Options
from inferwatch_client.outbox import Outbox
from inferwatch_client.packer import Packer
from inferwatch_client.sender import Sender
from inferwatch_client.spool import Spool
from inferwatch_client.waiting import Waiting

LOOK_SECONDS = 0.05
"""How often the packer looks: so the model's threads never have to wake it."""
ROOM_SECONDS = 0.002
ADOPT_SECONDS = 60.0
REST_AFTER_DEFECT = 1.0
PACK_SECONDS = 5.0
"""Packing what waits takes a fraction of this; a spool keeps only what is packed."""
_ABANDONED: list[Pipeline] = []
"""Pipelines of parents in forked children: closing their connections would disturb the parent."""


class Pipeline:
    """Everything between `log` and the collector, for one process."""

    def __init__(self, options: Options, on_start: Callable[[], None]) -> None:
        self._options = options
        self._on_start = on_start
        self._lock = threading.RLock()
        self.counters = Counters(self._lock)
        self.waiting = Waiting(self._lock, options.memory_records, options.memory_bytes)
        self._spool = Spool(options.spool, options.spool_bytes) if options.spool else None
        self._outbox = Outbox(self._lock, self.waiting, self.counters, self._spool)
        self._packer = Packer(options, self.waiting, self._outbox, self.counters)
        self._sender = Sender(options, self._outbox, self.counters)
        self._threads: list[threading.Thread] = []
        self._closing = threading.Event()
        self._pack_now = threading.Event()
        self._packed = threading.Event()
        self._adopt_at = 0.0
        self.closed = False
        self.id_prefix = f"{secrets.token_hex(8)}-"
        self.id_numbers = itertools.count()

    def put(self, item: Item) -> None:
        """Let an item wait, or count it as dropped. The first one starts the threads."""
        if self.waiting.put(item):
            return
        if not self.waiting.open and not self.closed:
            self._start()
            if self.waiting.put(item):
                return
        if self._options.wait_for_room and self._put_when_there_is_room(item):
            return
        with self._lock:
            self.counters.logged += item.records
            self.counters.drop("closed" if self.closed else "queue_full", item.records)

    def _put_when_there_is_room(self, item: Item) -> bool:
        deadline = time.monotonic() + self._options.wait_for_room
        self._pack_now.set()
        while time.monotonic() < deadline and not self.closed:
            time.sleep(ROOM_SECONDS)
            if self.waiting.put(item):
                return True
        return False

    def flush(self, seconds: float) -> bool:
        """Wait until nothing waits, at most so long; whether that came about."""
        deadline = time.monotonic() + seconds
        self._pack_now.set()
        while self.waiting.records or len(self.waiting):
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.01)
        return True

    def close(self, seconds: float) -> None:
        """Send what waits, at most so long; leave the rest in the spool or count it as dropped."""
        with self._lock:
            if self.closed:
                return
            self.closed, self.waiting.open = True, False
        if self._threads or len(self.waiting):
            self._finish(time.monotonic() + seconds)
        for body in self._outbox.clear():
            if body.path is None and body.records:
                self.counters.drop("exit", body.records)
        if self._spool is not None:
            self._spool.close()
        self.counters.tell(all_of_it=True)

    def abandon(self) -> None:
        """In a forked child: leave the parent's connections and locks alone."""
        if self._spool is not None:
            self._spool.leave_to_parent()
        _ABANDONED.append(self)

    def statistics(self) -> Statistics:
        """Counts of this moment."""
        with self._lock:
            counted = self.counters
            return Statistics(
                logged=self.waiting.offered + counted.logged,
                accepted=counted.answered["accepted"],
                duplicate=counted.answered["duplicate"],
                conflict=counted.answered["conflict"],
                rejected=dict(counted.rejected),
                dropped=dict(counted.dropped),
                waiting=self.waiting.records,
                waiting_bytes=self.waiting.bytes,
                spool_bytes=self._spool.bytes if self._spool is not None else 0,
                adopted=counted.adopted,
                retries=counted.retries,
                spool_failures=counted.spool_failures,
                registered=dict(counted.registered),
            )

    def _start(self) -> None:
        with self._lock:
            if self.waiting.open:
                return
            self.waiting.open = True
            self._threads = [
                threading.Thread(target=self._run, args=(work,), name=name, daemon=True)
                for name, work in (
                    ("inferwatch-packer", self._pack_once),
                    ("inferwatch-sender", self._send_once),
                )
            ]
            try:
                self._on_start()
                for thread in self._threads:
                    thread.start()
            except RuntimeError:  # the interpreter is going down: `close` does the work itself
                return

    def _run(self, work: Callable[[], None]) -> None:
        """Until the end; after a defect the thread goes on."""
        while not self._closing.is_set():
            try:
                work()
            except Exception as error:  # noqa: BLE001 - a thread that dies would lose everything
                self.counters.warn("defect", "defect of inferwatch-client: %r", error)
                self._closing.wait(REST_AFTER_DEFECT)

    def _pack_once(self) -> None:
        self._wait_to_pack()
        self.counters.tell()
        self._pack_now.clear()
        if self._packer.step():
            self._packed.set()

    def _wait_to_pack(self) -> None:
        began = time.monotonic()
        while time.monotonic() - began < self._options.interval and not self._closing.is_set():
            if len(self.waiting) >= self._options.batch_records or self.waiting.is_half_full():
                return
            if self._pack_now.wait(LOOK_SECONDS):
                return

    def _send_once(self) -> None:
        self._adopt_sometimes()
        self._packed.clear()  # before looking: what is packed from now on wakes this thread
        if self._sender.step(time.monotonic()) or self._closing.is_set():
            return
        wait = self._sender.wait(time.monotonic())
        if wait is None or wait > 0:
            self._packed.wait(min(wait or ADOPT_SECONDS, ADOPT_SECONDS, 1.0))

    def _adopt_sometimes(self) -> None:
        now = time.monotonic()
        if self._spool is not None and now >= self._adopt_at:
            self._adopt_at = now + ADOPT_SECONDS
            self._outbox.adopt()

    def _finish(self, deadline: float) -> None:
        """Stop the threads, then pack and send here what is left."""
        self._packer.rest = _no_rest
        self._closing.set()
        self._pack_now.set()
        self._packed.set()
        for thread, least in zip(self._threads, (PACK_SECONDS, 0.0), strict=False):
            if thread.is_alive():
                thread.join(max(least, deadline - time.monotonic()))
        if any(thread.is_alive() for thread in self._threads):
            self._pack_rest()
            return
        self._packer.step()
        failing = self._sender.failing
        self._sender.hurry()
        while self._outbox.remaining() and time.monotonic() < deadline:
            if not self._sender.step(time.monotonic()):
                wait = self._sender.wait(time.monotonic()) or 0.0
                if failing or wait > deadline - time.monotonic():
                    break
                time.sleep(min(wait, 0.1))
        self._sender.close()

    def _pack_rest(self) -> None:
        """The sender hangs in a call: what waits is packed so that a spool can keep it."""
        packer = self._threads[0]
        if packer.ident is None or not packer.is_alive():
            self._packer.step()


def _no_rest(_: float) -> None:
    """At the end of a process nobody is to be spared."""
