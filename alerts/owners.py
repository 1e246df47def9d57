"""Who answers: teams, people, and who is told when nobody takes an alert on. Pure values."""

from __future__ import annotations

from collections.abc import Iterable
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


def only_person(owners: Iterable[Owner], receiver: str) -> str | None:
    """Who alone is reached by a receiver; None for one that a team shares or nobody is known of."""
    known = list(owners)
    if any(each.receiver == receiver for each in known):
        return None
    names = {one.name for each in known for one in each.persons if one.receiver == receiver}
    return names.pop() if len(names) == 1 else None
