"""What the plan must know of messages that are owed or sent already. Pure values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True)
class Lane:
    """Pages to a receiver, or everything else: notices must not use up the room of pages."""

    receiver: str
    pages: bool


@dataclass(frozen=True)
class Outlook:
    """`openings` are the moments of recent messages that opened alerts, `storms` the newest
    message that told a storm as one. `undelivered` holds (fingerprint, receiver) of pages that were
    not taken within 2 minutes.
    """

    openings: Mapping[Lane, Sequence[datetime]] = field(default_factory=dict)
    storms: Mapping[Lane, datetime] = field(default_factory=dict)
    undelivered: frozenset[tuple[str, str]] = frozenset()


NOTHING_SENT = Outlook()
