"""One rule of alerts.yaml, read and checked. `alerts.config` documents the format."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

import yaml

from alerts.conditions.composite import Composite
from alerts.config_conditions import COMPOSITE, read_condition
from alerts.config_matchers import USUAL_LABELS, read_matchers, read_names, read_reference, required
from alerts.config_responses import command_mistake
from alerts.durations import duration_of, read_duration
from alerts.model import ResponseAction, Severity
from alerts.responses import DefinedResponse
from alerts.rules import CONTEXT, Bounds, Matcher, Rule, Subject, ValueSource, is_context
from alerts.templates import template_mistakes
from alerts.yaml_source import Section, did_you_mean

_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_SECOND = timedelta(seconds=1)

Value = TypeVar("Value")


@dataclass(frozen=True)
class Names:
    """What rules may refer to: the names that the other sections of the file declare.

    `words` lists all the values that some labels can have, where they are known.
    """

    owners: Sequence[str]
    receivers: Sequence[str]
    rules: Sequence[str] = ()
    times: Sequence[str] = ()
    responses: Mapping[str, DefinedResponse] = field(default_factory=dict)
    words: Mapping[str, Collection[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Lasting:
    """How long something must last: windows in a row, and a time."""

    windows: int = 1
    time: timedelta = timedelta(0)


def read_rules(sections: Sequence[Section], names: Names) -> list[Rule]:
    """All rules, with what they say of each other checked; unusable ones are left out, reported."""
    read = [(each, read_rule(each, names)) for each in sections]
    context = frozenset(rule.name for _, rule in read if rule and _asks_for_context(rule))
    composites = {rule.name for _, rule in read if rule and isinstance(rule.condition, Composite)}
    superseding = {rule.name: rule.supersedes for _, rule in read if rule is not None}
    for each, rule in read:
        if rule is None:
            continue
        if isinstance(rule.condition, Composite):
            _check_parts(each, rule.condition, composites - {rule.name})
        _check_context(each, rule, context)
        for other in rule.supersedes:
            if rule.name in superseding.get(other, ()) and other != rule.name:
                each.complain("supersedes", f"{other!r} supersedes this rule as well; keep one")
    return [rule for _, rule in read if rule is not None]


def read_rule(each: Section, names: Names) -> Rule | None:
    """The rule; None, everything reported, when it can't be used."""
    when = _read_when(each)
    _check_words(each, when, names.words)
    condition = read_condition(each, names.rules)
    severity = required(each, "severity", each.word("severity", Severity), "page, ticket or notice")
    response = _read_response(each, names.responses)
    owner = required(
        each, "owner", read_reference(each, "owner", names.owners), "name who answers for it"
    )
    hold, keep = _read_lasting(each, "for"), _read_lasting(each, "keep_firing_for")
    rule = Rule(
        name=each.raw_text("name"),
        when=when,
        condition=condition or Bounds(),
        severity=severity or Severity.NOTICE,
        owner=owner or "",
        response=response.action if response is not None else ResponseAction.INVESTIGATE,
        value=each.word("value", ValueSource) or ValueSource.VALUE,
        hold=hold.windows,
        keep_firing_for=keep.windows,
        minimum_n=each.whole("minimum_n", least=0) or 0,
        receiver=read_reference(each, "receiver", names.receivers),
        runbook=each.text("runbook") or (response.runbook if response else None),
        impact=each.text("impact"),
        precondition=each.text("precondition") or (response.precondition if response else None),
        limit=each.text("limit") or (response.limit if response else None),
        about=each.word("about", Subject),
        summary=each.text("summary"),
        hold_time=hold.time,
        keep_firing_time=keep.time,
        late_after=read_duration(each, "late_after", least=_SECOND),
        active_times=read_names(each, "active_times", names.times, "time interval"),
        mute_times=read_names(each, "mute_times", names.times, "time interval"),
        supersedes=_read_supersedes(each, names.rules),
        component=each.flag("component") or False,
        worse_factor=_read_worse_factor(each),
        response_name=response.name or None if response is not None else None,
        command=each.text("command") or (response.command if response else None),
    )
    each.finish()
    _check_page(each, rule)
    _check_runbook(each, rule)
    _check_summary(each, rule)
    _check_command(each)
    return rule if None not in (condition, severity, response, owner) else None


def _read_response(each: Section, defined: Mapping[str, DefinedResponse]) -> DefinedResponse | None:
    """The response that is due: a bare action word, without a name, or a defined response."""
    text = each.text("response", limit=100)
    if each.get("response") is None:
        each.missing("response", "name the reaction that is due")
    if text is None:
        return None
    if text in defined:
        return defined[text]
    words = [action.value for action in ResponseAction]
    if text in words:
        return DefinedResponse("", ResponseAction(text))
    known = [*words, *defined]
    hint = did_you_mean(text, known)
    each.complain("response", f"must be one of {', '.join(known)}; got {text!r}{hint}")
    return None


def _read_lasting(each: Section, name: str) -> Lasting:
    """A number of windows such as 2, or a duration such as 2h."""
    node = each.get(name)
    if node is None:
        return Lasting()
    written = str(node.value) if isinstance(node, yaml.ScalarNode) else ""
    if re.fullmatch(r"[-+]?\d*\.?\d*", written):
        return Lasting(windows=each.whole(name, least=1) or 1)
    time = duration_of(node, each.at(name), each.problems, least=_SECOND)
    return Lasting(time=time or timedelta(0))


def _read_supersedes(each: Section, rules: Sequence[str]) -> tuple[str, ...]:
    found = read_names(each, "supersedes", rules, "rule")
    mine = each.raw_text("name")
    if mine in found:
        each.complain("supersedes", "a rule can't supersede itself")
    return tuple(name for name in found if name != mine)


def _read_worse_factor(each: Section) -> float:
    factor = each.number("worse_factor")
    if factor is not None and factor <= 1:
        each.complain("worse_factor", f"must be above 1, got {factor:g}")
    return factor or 2.0


def _check_parts(each: Section, condition: Composite, composites: set[str]) -> None:
    for name in condition.parts:
        if name in composites:
            each.problems.add(
                each.node,
                each.place,
                f"{name!r} is made of other rules itself; name its parts instead",
            )


def _asks_for_context(rule: Rule) -> bool:
    """Whether the rule names readings that a server tells of itself."""
    patterns = [p for matcher in rule.when if matcher.label == "method" for p in matcher.patterns]
    return any(
        is_context(each) or (each.endswith("*") and CONTEXT.startswith(each[:-1]))
        for each in patterns
    )


def _check_context(each: Section, rule: Rule, context: frozenset[str]) -> None:
    """What servers tell of themselves may explain; nobody is woken by it alone."""
    if rule.severity is not Severity.PAGE:
        return
    condition = rule.condition
    alone = rule.name in context or (isinstance(condition, Composite) and condition.holds(context))
    if alone:
        each.complain(
            "severity",
            "what a server tells of itself never pages alone: make it a ticket or a notice, or"
            " all_of with a rule on what requests show",
        )


def _read_when(each: Section) -> tuple[Matcher, ...]:
    node = each.get("when")
    if any(each.get(name) is not None for name in COMPOSITE):
        return ()  # whatever stands there is refused with the condition
    if node is None:
        each.missing("when", "say which labels a reading must have, such as {check: drift}")
        return ()
    return read_matchers(each, "when", USUAL_LABELS) or ()


def _check_words(
    each: Section, when: Sequence[Matcher], words: Mapping[str, Collection[str]]
) -> None:
    """A rule that can match nothing is worse than none: it looks like one."""
    for matcher in when:
        known = words.get(matcher.label)
        for pattern in matcher.patterns if known is not None else ():
            found = any(Matcher("", (pattern,)).matches({"": word}) for word in known or ())
            if pattern and not found:
                hint = did_you_mean(pattern, known or ())
                message = f"no reading has the {matcher.label} {pattern!r}{hint}"
                each.complain("when", message)


def _check_page(each: Section, rule: Rule) -> None:
    """Who is woken must find what to do and why it matters."""
    if rule.severity is not Severity.PAGE:
        return
    for name in ("runbook", "impact"):
        if each.get(name) is None and getattr(rule, name) is None:
            each.missing(name, "a page rule needs it, so that the person woken knows what to do")


def _check_runbook(each: Section, rule: Rule) -> None:
    runbook = rule.runbook or ""
    if _ADDRESS.match(runbook) and not runbook.startswith(("https://", "http://")):
        each.complain("runbook", f"must be an http(s) address or a path, got {runbook!r}")


def _check_summary(each: Section, rule: Rule) -> None:
    if rule.summary is None:
        return
    labels = [*USUAL_LABELS, *(matcher.label for matcher in rule.when)]
    if isinstance(rule.condition, Composite):
        labels += rule.condition.on
    for mistake in template_mistakes(rule.summary, labels):
        each.complain("summary", mistake)


def _check_command(each: Section) -> None:
    mistake = command_mistake(each.raw_text("command"))
    if mistake is not None:
        each.complain("command", mistake)
