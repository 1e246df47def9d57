"""What alerts of other rules mean for an alert: a page takes the place of the ticket before it.

Pure. The subject is what both rules look at, whatever check, method or scale either measures.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from alerts.conditions.composite import Composite
from alerts.config import AlertConfig
from alerts.model import Alert, Labels
from alerts.related import related_rules
from alerts.rules import Rule

SUBJECT_LABELS = ("project", "model", "leg", "column", "segment", "deployment", "label", "incident")

Key = tuple[str, ...]


def subject_of(labels: Labels) -> Key:
    """What an alert is about; a label that two alerts lack counts as equal."""
    return tuple(labels.get(name, "") for name in SUBJECT_LABELS)


class Neighbours:
    """The alerts that rules look at beside their own, as they are now.

    Kept by rule and subject: in a storm every new alert asks for its neighbours.
    """

    def __init__(self, config: AlertConfig, alerts: Mapping[str, Alert]) -> None:
        self._watched = related_rules(config)
        self._above: dict[str, list[str]] = defaultdict(list)
        self._wholes: dict[str, list[Composite]] = defaultdict(list)
        self._alerts: dict[tuple[str, Key], dict[str, Alert]] = defaultdict(dict)
        self._parts: dict[tuple[Composite, Key], dict[str, Alert]] = defaultdict(dict)
        for rule in config.rules:
            for name in rule.supersedes:
                self._above[name].append(rule.name)
            if isinstance(rule.condition, Composite):
                for name in rule.condition.parts:
                    self._wholes[name].append(rule.condition)
        for alert in alerts.values():
            self.note(alert)

    def note(self, alert: Alert) -> None:
        """This is how an alert is now."""
        if alert.rule not in self._watched:
            return
        self._alerts[(alert.rule, subject_of(alert.labels))][alert.fingerprint] = alert
        for whole in self._wholes.get(alert.rule, ()):
            key = whole.key(alert.labels)
            if key is not None:
                self._parts[(whole, key)][alert.fingerprint] = alert

    def overtaken(self, rule: Rule, labels: Labels) -> bool:
        """Whether an alert that supersedes this rule's fires on the subject."""
        above = self._above.get(rule.name, ())
        key = subject_of(labels) if above else ()
        return any(each.is_firing for name in above for each in self._alerts[(name, key)].values())

    def below(self, rule: Rule, alert: Alert) -> list[Alert]:
        """The open alerts that end because this one of the rule fires."""
        if not rule.supersedes or not alert.is_firing:
            return []
        key = subject_of(alert.labels)
        return [
            each
            for name in rule.supersedes
            for each in self._alerts[(name, key)].values()
            if each.is_open and each.fingerprint != alert.fingerprint
        ]

    def parts(self, whole: Composite, key: Key) -> Iterable[Alert]:
        """The alerts that a composite is made of on one subject."""
        return self._parts[(whole, key)].values()
