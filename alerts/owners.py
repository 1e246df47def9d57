"""Who answers: teams, people, and who is told when nobody takes an alert on. Pure values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class Person:
    """Somebody who answers; `receiver` reaches this person alone."""

    name: str
    email: str | None = None
    receiver: str | None = None


@dataclass(frozen=True)
class EscalationStep:
    """Receivers that are told when nobody took an alert on within `after` of its first message."""

    after: timedelta
    receivers: tuple[str, ...]


@dataclass(frozen=True)
class Owner:
    """The team and people who answer, their usual receiver, and who is told when nobody answers.

    `people` are names or addresses; `persons` holds those of whom more is known.
    """

    name: str
    people: tuple[str, ...]
    receiver: str
    persons: tuple[Person, ...] = ()
    escalation: tuple[EscalationStep, ...] = ()
