"""Silences: a person's word that alerts of some labels are not to be told for a while.

Pure values. A silence changes no state: what fires then is told when the silence ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from alerts.rules import Matcher

LONGEST = timedelta(days=30)


@dataclass(frozen=True)
class Silence:
    """Who keeps what quiet, why, and when: `[starts_at, ends_at)`."""

    id: int
    matchers: tuple[Matcher, ...]
    author: str
    reason: str
    starts_at: datetime
    ends_at: datetime

    def holds(self, labels: Mapping[str, str], now: datetime) -> bool:
        """Whether it keeps an alert with these labels quiet now."""
        return self.starts_at <= now < self.ends_at and all(
            matcher.matches(labels) for matcher in self.matchers
        )
