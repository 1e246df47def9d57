"""Rules that look at the alerts of other rules: who judges some readings needs those alerts too."""

from __future__ import annotations

from alerts.conditions.composite import Composite
from alerts.config import AlertConfig


def related_rules(config: AlertConfig) -> frozenset[str]:
    """Composites and their parts, and rules that take the place of others."""
    found: set[str] = set()
    for rule in config.rules:
        if isinstance(rule.condition, Composite):
            found |= {rule.name, *rule.condition.parts}
        if rule.supersedes:
            found |= {rule.name, *rule.supersedes}
    return frozenset(found)
