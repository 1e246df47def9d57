"""Rules that a file need not write: an automatic action that nobody knows the outcome of.

Pure. A rule of the file on the same condition takes their place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from alerts.model import ResponseAction
from alerts.responses import DefinedResponse
from alerts.rules import Bounds, Matcher, Rule, Subject

OUTCOMES = {"check": "condition", "method": "actions_without_outcome"}
_NAME = "no-outcome-of-{}"


def usual_rules(rules: Sequence[Rule], responses: Sequence[DefinedResponse]) -> Iterator[Rule]:
    """One rule for each automatic response in use, unless a rule of the file looks at outcomes.

    It is as urgent as the most urgent rule that names the response, and goes to the same owner.
    """
    if any(_looks_at_outcomes(rule) for rule in rules):
        return
    taken = {rule.name for rule in rules}
    for response in responses:
        users = [rule for rule in rules if rule.response_name == response.name]
        if response.automatic is not None and users:
            most_urgent = min(users, key=lambda rule: rule.severity.rank)
            yield _rule_of(response, most_urgent, taken)


def _looks_at_outcomes(rule: Rule) -> bool:
    said = {matcher.label: matcher for matcher in rule.when}
    return all(name in said and said[name].matches(OUTCOMES) for name in OUTCOMES)


def _rule_of(response: DefinedResponse, user: Rule, taken: Collection[str]) -> Rule:
    name = _NAME.format(response.name)
    labels = {**OUTCOMES, "defined_response": response.name}
    return Rule(
        name=name if name not in taken else f"{name}-in-time",
        when=tuple(Matcher(label, (value,)) for label, value in labels.items()),
        condition=Bounds(upper=0.0),
        severity=user.severity,
        owner=user.owner,
        receiver=user.receiver,
        response=ResponseAction.INVESTIGATE,
        runbook=response.runbook or user.runbook,
        impact="Nobody knows whether what was asked of the deployment system was done.",
        about=Subject.SERVICE,
        summary="{value:.0f} actions of {defined_response} without an outcome in time",
    )
