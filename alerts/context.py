"""What else is known about an alert when somebody is told of it. Pure values; monitor fills them.

Everything may be unknown: a message never waits for its context.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Changed:
    """A version tag that changed before the alert began: which deployment brought it, when."""

    tag: str
    before: str | None
    after: str | None
    deployment: str
    at: datetime


@dataclass(frozen=True)
class TrafficShare:
    """How many of a model's requests in the alert's window the deployments concerned served."""

    requests: int
    total: int

    @property
    def share(self) -> float:
        """0 to 1; 0 when there was no request."""
        return self.requests / self.total if self.total else 0.0


@dataclass(frozen=True)
class AlertContext:
    """The surroundings of one alert.

    `baseline` says in words what the value is compared with, such as `training: 0.12`. `fired`
    counts the episodes that fired in 30 days, this one included. `quality` says in words what was
    known about quality then (for drift) or about drift (for quality). `traffic` is None for alerts
    that name no deployment. `action` is what became of the automatic action. `server` says in words
    what the model's servers told of themselves then, `look_at` which areas to measure; neither is a
    conclusion. Links are addresses; those that act expire at `links_until`.
    """

    baseline: str | None = None
    fired: int | None = None
    changed: tuple[Changed, ...] = ()
    quality: str | None = None
    traffic: TrafficShare | None = None
    action: str | None = None
    command: str | None = None
    data_until: datetime | None = None
    server: tuple[str, ...] = ()
    look_at: tuple[str, ...] = ()
    acknowledge_link: str | None = None
    silence_link: str | None = None
    evidence_link: str | None = None
    links_until: datetime | None = None


NOTHING_KNOWN = AlertContext()
