"""How many bodies may be in the works at once; beyond that senders are asked to come back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from monitor.errors import RequestRefused

RETRY_SECONDS = 1


class Gate:
    """Counts bodies from their first byte to their answer. Used from one event loop only."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.inside = 0

    @contextmanager
    def enter(self) -> Iterator[None]:
        """A place inside; raises RequestRefused 503 with Retry-After when all are taken."""
        if self.inside >= self._most:
            raise RequestRefused(
                503,
                "overloaded",
                f"{self._most} bodies are being stored; send it again after Retry-After",
                retry_after=RETRY_SECONDS,
            )
        self.inside += 1
        try:
            yield
        finally:
            self.inside -= 1
