"""Points of metrics, whichever way they came: what a series said at one moment."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

LONGEST_LABEL = 500
MOST_LABELS = 64
MOST_BUCKETS = 400
RESOURCE_MODEL = "ml.model.name"
"""The resource attribute that names a model where a metric's own labels do not."""


class PointKind(StrEnum):
    """Whether a number is a state, a count since some start, or a count since the last point."""

    LEVEL = "level"
    CUMULATIVE = "cumulative"
    DELTA = "delta"


@dataclass(frozen=True)
class Buckets:
    """Counts between edges: `counts[i]` values were in (edges[i-1], edges[i]].

    The first bucket has no lower edge and the last no upper one, so that there is one count more
    than there are edges.
    """

    edges: tuple[float, ...]
    counts: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.counts) != len(self.edges) + 1:
            raise ValueError("a histogram has one count more than edges")


@dataclass(frozen=True)
class Amount:
    """A count with its sum; the number of a plain counter is its `total`, and `n` is 0."""

    n: float
    total: float | None
    buckets: Buckets | None = None


@dataclass(frozen=True)
class MetricPoint:
    """What one series said at `at`. `start` is when it began to count, where that is told.

    `labels` are sorted pairs of name and value; `scope` names the process that told it.
    """

    name: str
    kind: PointKind
    at: datetime
    amount: Amount
    labels: tuple[tuple[str, str], ...] = ()
    start: datetime | None = None
    scope: str = ""
    unit: str = ""

    @property
    def series(self) -> str:
        """A short text that stands for scope, name and labels."""
        parts = [self.scope, self.name, *(text for pair in self.labels for text in pair)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]

    def told(self, names: Sequence[str]) -> tuple[str, ...]:
        """The values of these labels that say something, in the order of the names."""
        known = dict(self.labels)
        return tuple(dict.fromkeys(known[name] for name in names if known.get(name)))


@dataclass
class MetricRead:
    """Points of a body, and what of it could not be used, in words."""

    points: list[MetricPoint] = field(default_factory=list)
    refused: int = 0
    reasons: list[str] = field(default_factory=list)
    process_start: datetime | None = None

    def refuse(self, reason: str, count: int = 1) -> None:
        """Count points that can't be used; each reason is told once."""
        self.refused += count
        if reason not in self.reasons and len(self.reasons) < 10:
            self.reasons.append(reason)


def usable_labels(labels: dict[str, str]) -> tuple[tuple[str, str], ...] | None:
    """Sorted pairs; None when there are too many, or one is too long."""
    long = any(len(name) + len(value) > LONGEST_LABEL for name, value in labels.items())
    return None if long or len(labels) > MOST_LABELS else tuple(sorted(labels.items()))
