"""What routes, inhibitions and silences compare: an alert's labels and words of its rule. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from alerts.rules import Rule

RULE_WORDS = ("rule", "severity", "owner", "response", "about")
"""Names that matchers may use beside the labels of readings."""


def facts_of(labels: Mapping[str, str], rule: Rule) -> dict[str, str]:
    """The labels of an alert with the words of its rule, under the names of `RULE_WORDS`."""
    return {
        **labels,
        "rule": rule.name,
        "severity": rule.severity.value,
        "owner": rule.owner,
        "response": rule.response.value,
        "about": rule.about.value if rule.about is not None else "",
    }
