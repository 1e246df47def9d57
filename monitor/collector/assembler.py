"""Puts parts of requests together in the background, in every collector process.

What a sender was answered for is in the database; here it becomes requests. A group is taken by one
process at a time, and storing it twice gives duplicates, so a kill at any moment costs nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import chain

from sqlalchemy.engine import Engine

from monitor.collector.logs import describe
from monitor.collector.producer_store import ProducerStore, Sender
from monitor.errors import DatabaseNotReady, DatabaseUnavailable
from monitor.intake.assembling_registry import ASSEMBLING
from monitor.intake.parts import Assembling, RequestPart
from monitor.intake.producer_record import Read
from monitor.records import Rejection, RejectionReason
from monitor.store.engine import Role, transaction
from monitor.store.intake_parts import MOST_GROUPS, finish_parts, take_due, waiting_projects

LOGGER = logging.getLogger("inferwatch.collector")
PAUSE_SECONDS = 0.5
BUSY_SECONDS, ROUND_SECONDS = 60.0, 5.0


class Assembler:
    """A thread that looks for due groups; `run_once` does one round by itself."""

    def __init__(
        self,
        engine: Engine,
        store: ProducerStore,
        clock: Callable[[], datetime],
        kinds: Sequence[Assembling] = ASSEMBLING,
    ) -> None:
        self._engine, self._store, self._clock, self._kinds = engine, store, clock, kinds
        self._touched: dict[int, float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="assembler", daemon=True)

    def start(self) -> None:
        """Begin to work in the background."""
        if self._kinds:
            self._thread.start()

    def close(self) -> None:
        """Finish the round that was begun."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def touch(self, project_id: int) -> None:
        """Say that parts of a project came in just now: it is looked at every half second."""
        self._touched[project_id] = time.monotonic()

    def run_once(self) -> int:
        """Put together what is due in all projects; how many groups."""
        with transaction(self._engine, None, Role.INGEST) as connection:
            return self._assemble_all(waiting_projects(connection))

    def _assemble_all(self, projects: Sequence[int]) -> int:
        return sum(self._assemble(number, kind) for number in projects for kind in self._kinds)

    def _busy(self) -> list[int]:
        """Projects whose parts came into this process lately."""
        now = time.monotonic()
        for number, at in list(self._touched.items()):
            if now - at > BUSY_SECONDS:
                self._touched.pop(number, None)
        return list(self._touched)

    def _assemble(self, project_id: int, kind: Assembling) -> int:
        now = self._clock()
        with transaction(self._engine, project_id, Role.INGEST) as connection:
            taken = take_due(connection, project_id, kind.kind, kind.complete_at, now)
            if not taken.groups:
                return 0
            read = merged([_assembled(kind, parts, now) for parts in taken.groups.values()])
            self._store.keep(Sender(project_id, now), read)
            finish_parts(connection, project_id, taken)
        return len(taken.groups)

    def _run(self) -> None:
        rounded = -ROUND_SECONDS
        while not self._stop.is_set():
            # All projects only now and then: an idle one would cost two transactions each time.
            everybody = time.monotonic() - rounded >= ROUND_SECONDS
            rounded = time.monotonic() if everybody else rounded
            try:
                done = self.run_once() if everybody else self._assemble_all(self._busy())
            except (DatabaseUnavailable, DatabaseNotReady) as error:
                LOGGER.warning("parts wait reason=%s", error)
                done = 0
            except Exception as error:  # noqa: BLE001 -- parts stay, and are tried again
                LOGGER.error("parts wait error=%s", describe(error))
                done = 0
            # Few large rounds: many small ones would take the processor from those who wait for
            # an answer.
            if done < MOST_GROUPS:
                self._stop.wait(PAUSE_SECONDS)


def _assembled(kind: Assembling, parts: Sequence[RequestPart], now: datetime) -> Read:
    """The records of one group; one that can't be read is rejected and never costs the others."""
    try:
        return kind.assemble(parts, now)
    except Exception as error:  # noqa: BLE001 -- one group must not stop all groups of all projects
        LOGGER.error("unreadable kind=%s error=%s", kind.kind, describe(error))
        message = f"pieces of kind {kind.kind} can't be put together: {type(error).__name__}"
        return Read(rejections=(Rejection(0, RejectionReason.UNREADABLE, message),))


def merged(reads: Sequence[Read]) -> Read:
    """Several readings as one, in order."""
    return Read(
        tuple(chain.from_iterable(each.records for each in reads)),
        tuple(chain.from_iterable(each.labels for each in reads)),
        tuple(chain.from_iterable(each.rejections for each in reads)),
        sum(each.ignored for each in reads),
        tuple(dict.fromkeys(chain.from_iterable(each.notes for each in reads))),
    )
