"""What the plan must know of messages that are owed or sent already. Pure values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta


@dataclass(frozen=True)
class Lane:
    """Pages to a receiver, or everything else: notices must not use up the room of pages."""

    receiver: str
    pages: bool


@dataclass(frozen=True)
class Outlook:
    """`openings` are the moments of recent messages that opened alerts, `storms` the newest
    message that told a storm as one. `undelivered` holds (fingerprint, receiver) of pages that were
    not taken within 2 minutes. `refresh` is how often receivers want to hear that an alert is
    still open, by name: systems that forget what they are not reminded of.
    """

    openings: Mapping[Lane, Sequence[datetime]] = field(default_factory=dict)
    storms: Mapping[Lane, datetime] = field(default_factory=dict)
    undelivered: frozenset[tuple[str, str]] = frozenset()
    refresh: Mapping[str, timedelta] = field(default_factory=dict)


NOTHING_SENT = Outlook()
