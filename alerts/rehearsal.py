"""Rehearsals: made-up readings that make a rule fire, and what was shown by trying. Pure.

A rehearsal runs the whole chain of one rule, from a reading to the outcome of its action, with
everything marked as a drill. What it says holds for the rule as it was: `rule_digest` tells whether
the rule, its response or who is reached has changed since.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from typing import Any

from alerts.conditions.allowed import AllowedRange
from alerts.conditions.burn import BurnRate
from alerts.conditions.composite import Composite
from alerts.config import AlertConfig
from alerts.lifecycle import step
from alerts.model import Alert, Labels, Reading, ReadingState
from alerts.routing import branches_of
from alerts.rules import Bounds, Matcher, Rule, StateCondition
from alerts.subjects import facts_of

DRILL_LABEL = "drill"
WINDOW = timedelta(hours=1)
ROWS = 1_000


class RehearsalStep(StrEnum):
    """The links of the chain, in their order."""

    READING = "reading"
    ALERT = "alert"
    MESSAGE = "message"
    ACKNOWLEDGED = "acknowledged"
    ACTION = "action"
    OUTCOME = "outcome"
    ENDED = "ended"


class Rehearsed(StrEnum):
    """What is known about a rule from rehearsals."""

    NEVER = "never"
    CHANGED = "changed"  # rehearsed before, but the rule or what belongs to it is another now
    FAILED = "failed"
    PASSED = "passed"


@dataclass(frozen=True)
class StepDone:
    """One step: whether it did what it should, and in words what happened."""

    step: RehearsalStep
    passed: bool
    text: str
    at: datetime


def drill_labels(rule: Rule, given: Mapping[str, str], mark: str) -> Labels:
    """Labels that the rule matches: `given` ones where it asks for none, and the mark of the drill.

    Where the rule allows several values, the first is taken.
    """
    labels = {**given, **{each.label: _fitting(each) for each in rule.when}}
    return Labels.from_mapping({**labels, DRILL_LABEL: mark})


def drill_alert(
    config: AlertConfig, rule: Rule, given: Mapping[str, str], mark: str, now: datetime
) -> tuple[Alert | None, tuple[Reading, ...]]:
    """The alert that made-up readings of a rule lead to by its own life, and those readings.

    None when they do not make it fire, which would be a fault of the rule.
    """
    setup, tried = _apart(config, rule)
    readings = tuple(_readings(setup, tried, given, mark, now))
    found = step(setup, {}, readings, now).alerts.values()
    mine = [each for each in found if each.rule == rule.name]
    return (mine[0] if mine and mine[0].is_firing else None), readings


def rule_digest(config: AlertConfig, rule: Rule) -> str:
    """SHA-256 of the rule, its owner, way, receivers and response: another one, another chain.

    The way through the routing tree is that of the labels which the rule itself asks for. What is
    left at its default does not count, so that a new key of a later program changes none.
    """
    owner = next((each for each in config.owners if each.name == rule.owner), None)
    facts = facts_of(drill_labels(rule, {}, ""), rule)
    ways = [replace(each, place="") for each in branches_of(config.route, facts)]
    names = {rule.receiver, *(each.receiver for each in ways)}
    if owner is not None:
        names |= {owner.receiver, *(one for step in owner.escalation for one in step.receivers)}
    response = next((each for each in config.responses if each.name == rule.response_name), None)
    if response is not None and response.automatic is not None:
        names.add(response.automatic.receiver)
    receivers = sorted((each for each in config.receivers if each.name in names), key=_name)
    parts = [each for each in config.rules if each.name in _parts(rule)]
    whole = [_plain(each) for each in (rule, owner, ways, response, receivers, parts)]
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _name(each: Any) -> str:
    return str(each.name)


def _parts(rule: Rule) -> tuple[str, ...]:
    return rule.condition.parts if isinstance(rule.condition, Composite) else ()


def _plain(value: Any) -> Any:
    """A value of the configuration as JSON, the same in every process."""
    if is_dataclass(value) and not isinstance(value, type):
        told = {each.name: getattr(value, each.name) for each in fields(value)}
        usual = {
            each.name: each.default if each.default is not MISSING else _made(each)
            for each in fields(value)
        }
        return {name: _plain(one) for name, one in told.items() if one != usual[name]}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, frozenset):
        return sorted(json.dumps(_plain(each)) for each in value)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)


def _made(each: Any) -> Any:
    return each.default_factory() if each.default_factory is not MISSING else MISSING


def _fitting(matcher: Matcher) -> str:
    pattern = matcher.patterns[0] if matcher.patterns else ""
    return pattern[:-1] + DRILL_LABEL if pattern.endswith("*") else pattern


def _apart(config: AlertConfig, rule: Rule) -> tuple[AlertConfig, Rule]:
    """The rule and its parts alone: a drill ends no alert, and no alert holds it back."""
    parts = [each for each in config.rules if each.name in _parts(rule)]
    tried = replace(rule, supersedes=())
    if isinstance(rule.condition, Composite):
        # Its own alert must carry the mark, or it would be the real one.
        marked = replace(rule.condition, on=(*rule.condition.on, DRILL_LABEL))
        tried = replace(tried, condition=marked)
    rules = (*(replace(each, supersedes=()) for each in parts), tried)
    return replace(config, rules=rules, inhibitions=()), tried


def _readings(
    config: AlertConfig, rule: Rule, given: Mapping[str, str], mark: str, now: datetime
) -> Iterable[Reading]:
    condition = rule.condition
    if not isinstance(condition, Composite):
        yield from _breaches(rule, drill_labels(rule, given, mark), now, _windows(rule))
        return
    common = {name: given.get(name, DRILL_LABEL) for name in condition.on if name != DRILL_LABEL}
    needed = (*condition.all_of, *condition.any_of[:1])
    for part in (each for each in config.rules if each.name in needed):
        labels = drill_labels(part, {**given, **common}, mark)
        count = max(_windows(rule), _windows(part)) + _windows(rule)
        yield from _breaches(part, labels, now, count)


def _windows(rule: Rule) -> int:
    """How many windows in a row must breach until the rule fires."""
    return max(rule.hold, math.ceil(rule.hold_time / _length(rule)) + 1)


def _length(rule: Rule) -> timedelta:
    if isinstance(rule.condition, BurnRate):
        return min(each.short for each in rule.condition.windows)
    return WINDOW


def _breaches(rule: Rule, labels: Labels, now: datetime, count: int) -> Iterable[Reading]:
    length = _length(rule)
    if isinstance(rule.condition, BurnRate):
        count += math.ceil(rule.condition.longest / length)
    for number in range(count):
        end = now - (count - 1 - number) * length
        yield _breach(rule, labels, end - length, end)


def _breach(rule: Rule, labels: Labels, start: datetime, end: datetime) -> Reading:
    condition = rule.condition
    made = Reading(
        labels=labels, at=end, window_start=start, state=ReadingState.NO_DATA,
        text="made up for a drill",
    )  # fmt: skip
    if isinstance(condition, StateCondition):
        state = min(condition.states)
        return replace(made, state=state)
    value = _bad_value(condition)
    return replace(
        made, state=ReadingState.MEASURED, value=value, low=value, high=value,
        n=max(rule.minimum_n, ROWS), evidence={"drill": "made-up numbers"},
    )  # fmt: skip


def _bad_value(condition: Bounds | AllowedRange | BurnRate | Composite | StateCondition) -> float:
    """A number that breaches: half as far again beyond the threshold."""
    if isinstance(condition, BurnRate):
        return 0.0 if condition.counts_good else 1.0
    if not isinstance(condition, Bounds | AllowedRange):
        raise AssertionError("states and parts are not judged by a number")
    upper, lower = condition.upper, condition.lower
    if upper is not None:
        return upper + max(abs(upper) / 2, 0.01)
    return (lower or 0.0) - max(abs(lower or 0.0) / 2, 0.01)
