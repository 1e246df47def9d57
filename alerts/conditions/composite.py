"""Rules made of other rules: all of these fire, any of those, unless that one does. Pure.

What is looked at is the state of alerts, not numbers. A part fires from the moment its alert fires
until that is resolved; a part without data keeps its state, so that missing data changes nothing.
Only alerts that carry all of the composite's own labels take part.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from alerts.model import Alert, Labels, Reading, ReadingState

PROJECT = "project"
HOLDS, BROKEN = 1.0, 0.0


@dataclass(frozen=True)
class Composite:
    """Names of rules, and the labels that their alerts must have in common."""

    all_of: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    on: tuple[str, ...] = ("model",)

    @property
    def parts(self) -> tuple[str, ...]:
        """Every rule that is looked at."""
        return (*self.all_of, *self.any_of, *self.unless)

    def describe(self) -> str:
        """For people: `a and b fire, and c or d fires, unless e fires`."""
        said = []
        if self.all_of:
            said.append(" and ".join(self.all_of) + _fire(self.all_of, " fires", " fire"))
        if self.any_of:
            said.append(" or ".join(self.any_of) + " fires")
        text = ", and ".join(said)
        return text + (f", unless {' or '.join(self.unless)} fires" if self.unless else "")

    def key(self, labels: Labels) -> tuple[str, ...] | None:
        """The values of the composite's own labels among these; None when one of them is absent."""
        found = [labels.get(name, "") for name in self.on]
        return (labels.get(PROJECT, ""), *found) if all(found) else None

    def labels(self, key: tuple[str, ...]) -> Labels:
        """The labels of the subject that has this key."""
        return Labels(tuple(zip((PROJECT, *self.on), key, strict=True)))

    def holds(self, firing: frozenset[str]) -> bool:
        """Whether the composite is true while exactly these rules fire on a subject."""
        if not firing.issuperset(self.all_of):
            return False
        if self.any_of and firing.isdisjoint(self.any_of):
            return False
        return firing.isdisjoint(self.unless)


def composite_reading(
    condition: Composite, subject: Labels, cause: Reading, alerts: Iterable[Alert]
) -> Reading:
    """What the alerts of a subject say at the time of the reading that may have changed them."""
    mine = list(alerts)
    open_ones = [each for each in mine if each.is_firing]
    firing = frozenset(each.rule for each in open_ones)
    return Reading(
        labels=subject,
        at=cause.at,
        window_start=cause.window_start,
        state=ReadingState.MEASURED,
        value=HOLDS if condition.holds(firing) else BROKEN,
        n=len(open_ones),
        text=_said(condition, firing),
        evidence={name: _standing(mine, name) for name in condition.parts},
    )


def _said(condition: Composite, firing: frozenset[str]) -> str:
    named = [name for name in condition.parts if name in firing]
    return f"firing: {', '.join(named)}" if named else "none of its rules fires"


def _standing(alerts: Iterable[Alert], rule: str) -> str:
    """For people: in which state the alerts of one rule are, the most of them named first."""
    states = sorted({each.state.value for each in alerts if each.rule == rule})
    return ", ".join(states) or "no alert"


def _fire(names: tuple[str, ...], one: str, several: str) -> str:
    return one if len(names) == 1 else several
