"""What became of records: counted by reason, told on request, warned of at most once a minute."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

LOGGER = logging.getLogger("inferwatch_client")
WARN_AGAIN_SECONDS = 60.0

DROP_REASONS = {
    "queue_full": "more waited in memory than memory_records or memory_bytes allow",
    "spool_full": "more waited on disk than spool_bytes allow",
    "spool_damaged": "a file of the spool was cut off or changed",
    "too_large": "one record was larger than record_bytes, or than the collector takes",
    "not_encodable": "a value can't be written as JSON",
    "reserved_name": "a column had the name of a field of every request, such as tags",
    "no_model": "neither the client nor the call named a model",
    "columns_failed": "the function that makes columns raised an error",
    "refused": "the collector refused the whole body",
    "server_errors": "the collector failed on the same body again and again",
    "exit": "the process ended before it could be sent",
    "closed": "the client was closed before",
    "disabled": "no collector is configured",
}


@dataclass(frozen=True)
class Statistics:
    """Counts of records since the start of this process.

    `logged` is the sum of accepted, duplicate, conflict, rejected, dropped and waiting; what waits
    in the spool of an earlier process is in `adopted` as well as in `logged`.
    """

    logged: int
    accepted: int
    duplicate: int
    conflict: int
    rejected: dict[str, int]
    dropped: dict[str, int]
    waiting: int
    waiting_bytes: int
    spool_bytes: int
    adopted: int
    retries: int
    spool_failures: int
    registered: dict[str, int] = field(default_factory=dict)


class Counters:
    """Counts that several threads add to. Uses the lock it is given, which must be reentrant."""

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self.logged = 0
        self.answered: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self.adopted = 0
        self.retries = 0
        self.spool_failures = 0
        self.registered: dict[str, int] = {}
        self._untold: dict[str, str] = {}
        self._warned: dict[str, float] = {}

    def drop(self, reason: str, records: int = 1, detail: str = "") -> None:
        """Count records that are lost. Writes no log: that may block the model's thread."""
        with self._lock:
            self.dropped[reason] += records
            self._untold[reason] = detail

    def tell(self, *, all_of_it: bool = False) -> None:
        """Say in the program's log what was dropped since: at most once a minute for each reason,
        or `all_of_it` at the end."""
        with self._lock:
            untold = [(reason, self.dropped[reason]) for reason in self._untold]
        for reason, total in untold:
            with self._lock:
                detail = self._untold[reason] or DROP_REASONS[reason]
            message = "%d records dropped so far (%s): %s"
            if self.warn(f"drop {reason}", message, total, reason, detail, now=all_of_it):
                with self._lock:
                    del self._untold[reason]

    def stored(self, counts: Mapping[str, int], rejected: Mapping[str, int], sent: int) -> None:
        """Count an answer; what it leaves out of the `sent` records counts as rejected."""
        with self._lock:
            self.answered.update(counts)
            self.rejected.update(rejected)
            missing = sent - sum(counts.values()) - sum(rejected.values())
            if missing > 0:
                self.rejected["not_counted"] += missing
        if rejected:
            self.warn(
                "rejected",
                "the collector rejected records: %s",
                ", ".join(f"{number} {reason}" for reason, number in sorted(rejected.items())),
            )

    def warn(self, kind: str, message: str, *facts: object, now: bool = False) -> bool:
        """A warning in the program's log, at most one a minute of each kind unless it has to be
        said `now`; whether it was said."""
        moment = time.monotonic()
        with self._lock:
            last = self._warned.get(kind, -WARN_AGAIN_SECONDS)
            if not now and moment - last < WARN_AGAIN_SECONDS:
                return False
            self._warned[kind] = moment
        LOGGER.warning(message, *facts)
        return True
