"""Readings of the past, for rules that look at more than one window. Pure."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Protocol

from alerts.model import Labels, Reading


class History(Protocol):
    """Whoever keeps readings."""

    def readings(self, labels: Labels, after: datetime, until: datetime) -> Sequence[Reading]:
        """Readings of a subject whose windows end in `(after, until]`, each window once."""


class Timelines:
    """Readings by subject, found by time. A later one of the same window replaces the former."""

    def __init__(self) -> None:
        self._ends: dict[Labels, list[datetime]] = defaultdict(list)
        self._found: dict[Labels, dict[datetime, Reading]] = defaultdict(dict)

    def add(self, reading: Reading) -> None:
        """One more reading."""
        mine = self._found[reading.labels]
        if reading.at not in mine:
            insort(self._ends[reading.labels], reading.at)
        mine[reading.at] = reading

    def readings(self, labels: Labels, after: datetime, until: datetime) -> list[Reading]:
        """As `History.readings`, the oldest first."""
        ends = self._ends.get(labels)
        if ends is None:
            return []
        inside = ends[bisect_right(ends, after) : bisect_right(ends, until)]
        return [self._found[labels][at] for at in inside]

    def between(self, after: datetime, until: datetime) -> Iterator[Reading]:
        """The same of all subjects."""
        for labels in list(self._ends):
            yield from self.readings(labels, after, until)


NO_HISTORY: History = Timelines()
"""No reading of the past is known: burn rates are not judged until enough windows came."""


class Seen:
    """The past as it was kept, with the readings that are judged just now on top."""

    def __init__(self, kept: History) -> None:
        self._kept, self._new = kept, Timelines()

    def add(self, reading: Reading) -> None:
        """One more reading; it takes the place of a kept one of the same window."""
        self._new.add(reading)

    def readings(self, labels: Labels, after: datetime, until: datetime) -> list[Reading]:
        """As `History.readings`."""
        found = {each.at: each for each in self._kept.readings(labels, after, until)}
        found |= {each.at: each for each in self._new.readings(labels, after, until)}
        return list(found.values())
