"""Readings of the past, for rules that look at more than one window. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from alerts.model import Labels, Reading


class History(Protocol):
    """Whoever keeps readings."""

    def readings(self, labels: Labels, after: datetime, until: datetime) -> Sequence[Reading]:
        """Readings of a subject whose windows end in `(after, until]`, each window once."""


class _Nothing:
    def readings(self, labels: Labels, after: datetime, until: datetime) -> Sequence[Reading]:  # noqa: ARG002
        return ()


NO_HISTORY: History = _Nothing()
"""No reading of the past is known: burn rates are not judged until enough windows came."""


class Seen:
    """The past as it was kept, with the readings that are judged just now on top."""

    def __init__(self, kept: History) -> None:
        self._kept = kept
        self._new: dict[Labels, dict[datetime, Reading]] = defaultdict(dict)

    def add(self, reading: Reading) -> None:
        """One more reading; it takes the place of a kept one of the same window."""
        self._new[reading.labels][reading.at] = reading

    def readings(self, labels: Labels, after: datetime, until: datetime) -> list[Reading]:
        """As `History.readings`."""
        found = {each.at: each for each in self._kept.readings(labels, after, until)}
        found |= {at: each for at, each in self._new[labels].items() if after < at <= until}
        return list(found.values())
