"""When a rule takes another one's place on a subject: a page instead of the ticket before it.

Pure. The subject is what both rules look at, whatever check, method or scale either measures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from alerts.config import AlertConfig
from alerts.model import Alert, Labels
from alerts.rules import Rule

SUBJECT_LABELS = ("project", "model", "leg", "column", "segment", "deployment", "label", "incident")


def same_subject(left: Labels, right: Labels) -> bool:
    """Whether two alerts are about the same thing; a label that both lack counts as equal."""
    return all(left.get(name) == right.get(name) for name in SUBJECT_LABELS)


@dataclass(frozen=True)
class Superseded:
    """Which rules are taken over by which, and the alerts as they are now."""

    config: AlertConfig
    known: Mapping[str, Alert]
    changed: Mapping[str, Alert]

    def holds(self, rule: Rule, labels: Labels) -> bool:
        """Whether an alert that supersedes this rule's fires on the subject."""
        above = {each.name for each in self.config.rules if rule.name in each.supersedes}
        if not above:
            return False
        return any(
            each.rule in above and each.is_firing and same_subject(each.labels, labels)
            for each in self.current()
        )

    def current(self) -> list[Alert]:
        """All alerts as they are now."""
        return list({**self.known, **self.changed}.values())


def superseded_by(rule: Rule, alert: Alert, place: Superseded) -> list[Alert]:
    """The open alerts that end because this one fires."""
    if not rule.supersedes or not alert.is_firing:
        return []
    return [
        each
        for each in place.current()
        if each.is_open
        and each.rule in rule.supersedes
        and each.fingerprint != alert.fingerprint
        and same_subject(each.labels, alert.labels)
    ]
