"""Where one alert goes: the usual receivers by route, and more of them while nobody answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from alerts.config import AlertConfig, Receiver
from alerts.durations import duration_text
from alerts.inhibition import Facts
from alerts.model import Alert, Severity, Told, ToldEvent
from alerts.owners import EscalationStep, Owner
from alerts.routing import AT_ONCE, Branch, branches_of
from alerts.rules import Rule


@dataclass(frozen=True)
class Destination:
    """A receiver and the branch that leads there. `step` counts escalation steps, 0 is usual."""

    receiver: str
    branch: Branch
    step: int = 0
    note: str = ""


@dataclass(frozen=True)
class Escalation:
    """How far an alert has escalated, and when the next step is due if nothing happens."""

    reached: int = 0
    unreached: bool = False  # the last step came early: those before it could not be reached
    next_at: datetime | None = None


NOT_ESCALATED = Escalation()


class Directory:
    """A configuration looked up by names."""

    def __init__(self, config: AlertConfig) -> None:
        self.config = config
        self.receivers: Mapping[str, Receiver] = {each.name: each for each in config.receivers}
        self.owners: Mapping[str, Owner] = {each.name: each for each in config.owners}

    def usual(self, facts: Facts, rule: Rule) -> tuple[Destination, ...]:
        """By route; where no branch names a receiver the rule's own, or else its owner's.

        A receiver that the configuration does not have any more is replaced by the fallback.
        """
        owner = self.owners.get(rule.owner)
        own = rule.receiver or (owner.receiver if owner is not None else "")
        found: dict[str, Destination] = {}
        for branch in branches_of(self.config.route, facts):
            name = branch.receiver or own
            if name not in self.receivers:
                name = self.config.delivery.fallback or ""
            if name in self.receivers:
                found.setdefault(name, Destination(name, branch))
        return tuple(found.values())

    def steps(self, rule: Rule) -> tuple[EscalationStep, ...]:
        """The escalation of a rule's pages; everything else does not escalate."""
        owner = self.owners.get(rule.owner)
        if owner is None or rule.severity is not Severity.PAGE:
            return ()
        return owner.escalation

    def escalated(
        self, rule: Rule, usual: tuple[Destination, ...], escalation: Escalation
    ) -> tuple[Destination, ...]:
        """The receivers of the steps that were reached, without those that are usual anyway."""
        if not escalation.reached or not usual:
            return ()
        branch = replace(usual[0].branch, group_wait=AT_ONCE, repeat_after=None)
        known = {each.receiver for each in usual}
        found: dict[str, Destination] = {}
        for number, step in enumerate(self.steps(rule)[: escalation.reached], start=1):
            early = escalation.unreached and number == escalation.reached
            note = f"Escalation step {number}: " + (
                "those before could not be reached."
                if early
                else f"nobody took it on within {duration_text(step.after)}."
            )
            for name in step.receivers:
                if name in self.receivers and name not in known:
                    found.setdefault(name, Destination(name, branch, number, note))
        return tuple(found.values())


def escalation_of(
    steps: tuple[EscalationStep, ...],
    alert: Alert,
    usual: tuple[Destination, ...],
    undelivered: frozenset[tuple[str, str]],
    now: datetime,
) -> Escalation:
    """How far an alert has escalated: by the time since its first message, or at once to the next
    step when a step's receivers could not be reached. An acknowledgement stops it, a snooze makes
    it begin anew when it is over."""
    known = _known(alert)
    if not steps or not known or alert.acknowledged_by is not None:
        return NOT_ESCALATED
    start = min(each.first_at or each.at for each in known.values())
    if alert.snoozed_until is not None and start < alert.snoozed_until <= now:
        start = alert.snoozed_until
    by_time = sum(step.after <= now - start for step in steps)
    reached = by_time
    levels = [tuple(each.receiver for each in usual), *(step.receivers for step in steps)]
    while reached < len(steps) and _is_unreached(alert, levels[reached], known, undelivered):
        reached += 1
    next_at = start + steps[reached].after if reached < len(steps) else None
    return Escalation(reached, reached > by_time, next_at)


def _known(alert: Alert) -> dict[str, Told]:
    """What receivers know of the present episode as open."""
    return {
        name: each
        for name, each in alert.told.items()
        if each.episode == alert.episode and each.event is not ToldEvent.ENDED
    }


def _is_unreached(
    alert: Alert,
    level: tuple[str, ...],
    known: Mapping[str, Told],
    undelivered: frozenset[tuple[str, str]],
) -> bool:
    told = [name for name in level if name in known]
    return bool(told) and all((alert.fingerprint, name) in undelivered for name in told)
