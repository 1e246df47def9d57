"""Two entries of one exchange, waited for within an import. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from monitor.errors import RequestRefused

MOST_WAITING = 500_000
Body = TypeVar("Body")


@dataclass(frozen=True)
class Half(Generic[Body]):
    """One entry: which side it is, where it stood, and what it holds."""

    side: str
    file: str
    place: int
    body: Body


class Halves(Generic[Body]):
    """Entries that wait for their other side, at most MOST_WAITING."""

    def __init__(self) -> None:
        self._waiting: dict[str, dict[str, Half[Body]]] = {}

    def put(self, key: str, half: Half[Body]) -> dict[str, Half[Body]] | None:
        """Both sides when they are there now. The first entry of a side is kept.

        Raises RequestRefused when too many wait: calling the oldest lost could be wrong.
        """
        if len(self._waiting) >= MOST_WAITING and key not in self._waiting:
            told = f"{half.file}: more than {MOST_WAITING:,} entries wait for their other half"
            raise RequestRefused(413, "too_many_waiting", f"{told}; import fewer hours at once")
        sides = self._waiting.setdefault(key, {})
        sides.setdefault(half.side, half)
        if len(sides) == 2:
            return self._waiting.pop(key)
        return None

    def rest(self) -> Iterator[tuple[str, dict[str, Half[Body]]]]:
        """Those whose other side never came."""
        while self._waiting:
            key = next(iter(self._waiting))
            yield key, self._waiting.pop(key)
