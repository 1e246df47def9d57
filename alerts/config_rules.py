"""One rule of alerts.yaml, read and checked. `alerts.config` documents the format."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

import yaml

from alerts.model import LABEL_NAME, ReadingState, ResponseAction, Severity
from alerts.rules import Bounds, Matcher, Rule, StateCondition, Subject, ValueSource
from alerts.templates import template_mistakes
from alerts.yaml_source import (
    Section,
    describe,
    did_you_mean,
    is_null,
    read_number,
    read_word,
    section,
)

USUAL_LABELS = (
    "project",
    "model",
    "check",
    "method",
    "column",
    "segment",
    "deployment",
    "deployment_name",
    "incident",
    "scope",
    "leg",
    "scale",
    "baseline",
    "label",
)
_CONDITIONS = ("above", "below", "outside", "state")
_NUMBER_KEYS = ("value", "recover_above", "recover_below", "minimum_n")
_NEAR_A_USUAL_LABEL = 0.8
_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")

Value = TypeVar("Value")


def read_rule(each: Section, owners: Sequence[str], receivers: Sequence[str]) -> Rule | None:
    """The rule; None, everything reported, when it can't be used."""
    when = _read_when(each)
    condition = _read_condition(each)
    severity = _required(
        each, "severity", each.word("severity", Severity), "page, ticket or notice"
    )
    action = each.word("response", ResponseAction)
    action = _required(each, "response", action, "name the reaction that is due")
    owner = _required(
        each, "owner", _read_reference(each, "owner", owners), "name who answers for it"
    )
    rule = Rule(
        name=each.raw_text("name"),
        when=when,
        condition=condition or Bounds(),
        severity=severity or Severity.NOTICE,
        owner=owner or "",
        response=action or ResponseAction.INVESTIGATE,
        value=each.word("value", ValueSource) or ValueSource.VALUE,
        hold=each.whole("for", least=1) or 1,
        keep_firing_for=each.whole("keep_firing_for", least=1) or 1,
        minimum_n=each.whole("minimum_n", least=0) or 0,
        receiver=_read_reference(each, "receiver", receivers),
        runbook=each.text("runbook"),
        impact=each.text("impact"),
        precondition=each.text("precondition"),
        limit=each.text("limit"),
        about=each.word("about", Subject),
        summary=each.text("summary"),
    )
    each.finish()
    _check_page(each, rule)
    _check_runbook(each, rule)
    _check_summary(each, rule)
    complete = None not in (condition, severity, action, owner)
    return rule if complete else None


def _required(each: Section, name: str, value: Value | None, remedy: str) -> Value | None:
    """The value; an absent key is reported, a wrong one was reported when it was read."""
    if each.get(name) is None:
        each.missing(name, remedy)
    return value


def _read_reference(each: Section, name: str, known: Sequence[str]) -> str | None:
    """The name of something declared elsewhere in the file."""
    text = each.text(name, limit=100)
    if text is not None and text not in known:
        each.complain(name, f"no {name} is called {text!r}{did_you_mean(text, known)}")
        return None
    return text


def _read_when(each: Section) -> tuple[Matcher, ...]:
    node = each.get("when")
    if node is None:
        each.missing("when", "say which labels a reading must have, such as {check: drift}")
        return ()
    when = section(node, each.at("when"), each.problems)
    if when is None:
        return ()
    if not when.nodes:
        each.complain("when", "must name at least one label")
    matchers = (_read_matcher(when, name, value) for name, value in when.nodes.items())
    return tuple(matcher for matcher in matchers if matcher is not None)


def _read_matcher(when: Section, name: str, node: yaml.Node) -> Matcher | None:
    if not LABEL_NAME.fullmatch(name):
        when.complain(name, f"label {name!r} must be a lower-case word")
        return None
    if name not in USUAL_LABELS:
        hint = did_you_mean(name, USUAL_LABELS, cutoff=_NEAR_A_USUAL_LABEL)
        if hint:
            when.complain(name, f"no reading has the label {name!r}{hint}")
    nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
    patterns = [_read_pattern(when, name, each) for each in nodes]
    if not patterns:
        when.complain(name, "lists no value")
    return Matcher(name, tuple(pattern for pattern in patterns if pattern is not None))


def _read_pattern(when: Section, name: str, node: yaml.Node) -> str | None:
    if not isinstance(node, yaml.ScalarNode) or is_null(node):
        when.problems.add(
            node, when.at(name), f"must be text or a list of texts, got {describe(node)}"
        )
        return None
    pattern = str(node.value)
    if "*" in pattern[:-1]:
        when.problems.add(node, when.at(name), f"{pattern!r}: `*` may only stand at the end")
        return None
    return pattern


def _read_condition(each: Section) -> Bounds | StateCondition | None:
    given = [name for name in _CONDITIONS if each.get(name) is not None]
    recover_above, recover_below = each.number("recover_above"), each.number("recover_below")
    if len(given) != 1:
        found = f"got {' and '.join(given)}" if given else "got none"
        each.problems.add(
            each.nodes[given[1]] if given else each.node,
            each.place,
            f"needs exactly one of {', '.join(_CONDITIONS)}; {found}",
        )
        return None
    if given == ["state"]:
        return _read_states(each)
    edges = _read_edges(each, given[0])
    if edges is None:
        return None
    bounds = Bounds(*edges, recover_lower=recover_above, recover_upper=recover_below)
    _check_recovery(each, bounds)
    return bounds


def _read_edges(each: Section, name: str) -> tuple[float | None, float | None] | None:
    """(lower, upper); None when they can't be read."""
    if name != "outside":
        number = each.number(name)
        if number is None:
            return None
        return (None, number) if name == "above" else (number, None)
    numbers = each.items(name, lambda node, place: read_number(node, place, each.problems))
    node = each.get(name)
    if isinstance(node, yaml.SequenceNode) and len(node.value) != 2:
        each.complain(name, f"must be two numbers [low, high], got {len(node.value)}")
    if len(numbers) != 2:
        return None
    if numbers[0] >= numbers[1]:
        each.complain(name, f"the first number must be the lower one, got {numbers}")
        return None
    return numbers[0], numbers[1]


def _check_recovery(each: Section, bounds: Bounds) -> None:
    """Recovery thresholds lie on the good side of the threshold they stand in for."""
    upper, lower = bounds.upper, bounds.lower
    recover_upper, recover_lower = bounds.recover_upper, bounds.recover_lower
    if recover_upper is not None:
        if upper is None:
            each.complain("recover_below", "belongs to `above` or `outside`; use recover_above")
        elif recover_upper > upper:
            each.complain("recover_below", f"{recover_upper:g} must not exceed {upper:g}")
    if recover_lower is not None:
        if lower is None:
            each.complain("recover_above", "belongs to `below` or `outside`; use recover_below")
        elif recover_lower < lower:
            each.complain("recover_above", f"{recover_lower:g} must not be under {lower:g}")
    if recover_upper is not None and recover_lower is not None and recover_lower > recover_upper:
        each.complain("recover_above", f"{recover_lower:g} exceeds recover_below {recover_upper:g}")


def _read_states(each: Section) -> StateCondition | None:
    for name in _NUMBER_KEYS:
        if each.get(name) is not None:
            each.complain(name, "has no meaning beside `state`; remove it")
    states = each.items(
        "state", lambda node, place: read_word(node, place, each.problems, ReadingState)
    )
    if ReadingState.MEASURED in states:
        each.complain("state", "measured is the good state; list failed, no_data or too_few")
        return None
    return StateCondition(frozenset(states)) if states else None


def _check_page(each: Section, rule: Rule) -> None:
    """Who is woken must find what to do and why it matters."""
    if rule.severity is not Severity.PAGE:
        return
    for name in ("runbook", "impact"):
        if each.get(name) is None:
            each.missing(name, "a page rule needs it, so that the person woken knows what to do")


def _check_runbook(each: Section, rule: Rule) -> None:
    runbook = rule.runbook or ""
    if _ADDRESS.match(runbook) and not runbook.startswith(("https://", "http://")):
        each.complain("runbook", f"must be an http(s) address or a path, got {runbook!r}")


def _check_summary(each: Section, rule: Rule) -> None:
    if rule.summary is None:
        return
    labels = (*USUAL_LABELS, *(matcher.label for matcher in rule.when))
    for mistake in template_mistakes(rule.summary, labels):
        each.complain("summary", mistake)
