"""Two entries of one exchange, waited for within an import. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

MOST_WAITING = 200_000
Body = TypeVar("Body")


@dataclass(frozen=True)
class Half(Generic[Body]):
    """One entry: which side it is, where it stood, and what it holds."""

    side: str
    file: str
    place: int
    body: Body


class Halves(Generic[Body]):
    """Entries that wait for their other side; the oldest leave when too many wait."""

    def __init__(self) -> None:
        self._waiting: dict[str, dict[str, Half[Body]]] = {}

    def put(self, key: str, half: Half[Body]) -> dict[str, Half[Body]] | None:
        """Both sides when they are there now. The first entry of a side is kept."""
        sides = self._waiting.setdefault(key, {})
        sides.setdefault(half.side, half)
        if len(sides) == 2:
            return self._waiting.pop(key)
        return None

    def too_many(self) -> Iterator[tuple[str, dict[str, Half[Body]]]]:
        """Those that waited longest, when more than MOST_WAITING wait."""
        while len(self._waiting) > MOST_WAITING:
            key = next(iter(self._waiting))
            yield key, self._waiting.pop(key)

    def rest(self) -> Iterator[tuple[str, dict[str, Half[Body]]]]:
        """Those whose other side never came."""
        while self._waiting:
            key = next(iter(self._waiting))
            yield key, self._waiting.pop(key)
