"""How a server's own names become canonical readings: one table a server, no code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Half(StrEnum):
    """Which half of a reading a series fills.

    BOTH: a level, events, or a histogram that has its count and its sum. TOTAL and COUNT: counters
    that hold the sum of durations (or the part) and their number (or the whole) apart.
    """

    BOTH = "both"
    TOTAL = "total"
    COUNT = "count"


@dataclass(frozen=True)
class Taken:
    """One use of a native series: `factor` turns its unit into the reading's.

    `only` limits it to series with one of these values of a label, `unless` leaves such out. A
    negative factor takes away, as cache hits from successes.
    """

    reading: str
    factor: float = 1.0
    half: Half = Half.BOTH
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unless: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def fits(self, labels: Mapping[str, str]) -> bool:
        """Whether a series with these labels is meant."""
        left_out = any(labels.get(name, "") in values for name, values in self.unless.items())
        return not left_out and all(
            labels.get(name, "") in values for name, values in self.only.items()
        )


@dataclass(frozen=True)
class Server:
    """A kind of server: how it is recognised, where it names its models, what its names mean.

    Names are families: counters without `_total`. `cannot` says what the format can't give.
    """

    name: str
    mark: tuple[str, ...]
    taken: Mapping[str, tuple[Taken, ...]]
    model_labels: tuple[str, ...] = ()
    version_labels: tuple[str, ...] = ()
    cannot: tuple[str, ...] = ()


SECONDS, MICROSECONDS, NANOSECONDS = 1000.0, 1e-3, 1e-6
"""Factors into milliseconds."""


def one(reading: str, factor: float = 1.0, **only: tuple[str, ...]) -> tuple[Taken, ...]:
    """A series that fills a whole reading."""
    return (Taken(reading, factor, only=only),)


def total(reading: str, factor: float = 1.0, **only: tuple[str, ...]) -> Taken:
    """A counter that holds a reading's sum."""
    return Taken(reading, factor, Half.TOTAL, only)


def count(reading: str, factor: float = 1.0, **only: tuple[str, ...]) -> Taken:
    """A counter that holds a reading's number."""
    return Taken(reading, factor, Half.COUNT, only)
