"""Rules: which readings one looks at, and when a reading is a breach.

Pure: a rule keeps nothing between readings; how long a breach must last is the lifecycle's matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from alerts.conditions.allowed import AllowedRange
from alerts.conditions.burn import BurnRate, burn_excess, is_burning
from alerts.conditions.composite import HOLDS, Composite
from alerts.model import DataState, Labels, Reading, ReadingState, ResponseAction, Severity

CONTEXT = "server_"
"""How methods begin whose readings a server tells of itself: context, and never a page alone."""


def is_context(method: str) -> bool:
    """Whether a method's readings may raise suspicion or explain, and no more."""
    return method.startswith(CONTEXT)


class Verdict(StrEnum):
    """What one reading says about one rule. Unknown neither opens nor ends anything."""

    BREACH = "breach"
    CLEAR = "clear"
    UNKNOWN = "unknown"


class ValueSource(StrEnum):
    """Which number of a reading is compared: the value or an end of its interval."""

    VALUE = "value"
    LOW = "low"
    HIGH = "high"


class Subject(StrEnum):
    """What a rule's breach is evidence of; it decides the wording of the message."""

    DISTRIBUTION = "distribution"
    QUALITY = "quality"
    SERVICE = "service"
    DATA = "data"


@dataclass(frozen=True)
class Matcher:
    """A label must have one of these values; `text*` means any value that begins with the text.

    An empty pattern matches an absent label.
    """

    label: str
    patterns: tuple[str, ...]

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether one of the patterns fits."""
        value = labels.get(self.label, "")
        return any(_fits(pattern, value) for pattern in self.patterns)


def _fits(pattern: str, value: str) -> bool:
    if pattern.endswith("*"):
        return bool(value) and value.startswith(pattern[:-1])
    return pattern == value


@dataclass(frozen=True)
class Bounds:
    """A number breaches when it is under `lower` or over `upper`; equality is no breach.

    `recover_lower` and `recover_upper` take their place while the alert is firing, so that a value
    that hovers at the threshold opens one alert and not ten.
    """

    lower: float | None = None
    upper: float | None = None
    recover_lower: float | None = None
    recover_upper: float | None = None

    def is_crossed(self, number: float, *, firing: bool) -> bool:
        """Whether the number breaches, given whether the alert already fires."""
        lower, upper = self.lower, self.upper
        if firing:
            lower = lower if self.recover_lower is None else self.recover_lower
            upper = upper if self.recover_upper is None else self.recover_upper
        return (lower is not None and number < lower) or (upper is not None and number > upper)

    def describe(self) -> str:
        """For people: `above 0.2`, `below 0.9`, `outside 0.1 to 0.3`."""
        if self.lower is not None and self.upper is not None:
            return f"outside {self.lower:g} to {self.upper:g}"
        return f"above {self.upper:g}" if self.upper is not None else f"below {self.lower:g}"


@dataclass(frozen=True)
class StateCondition:
    """A reading breaches by how it ended, such as failed or no_data, not by a number."""

    states: frozenset[ReadingState]

    def describe(self) -> str:
        """For people: `state failed or no_data`."""
        return "state " + " or ".join(sorted(self.states))


Condition = Bounds | StateCondition | AllowedRange | BurnRate | Composite


@dataclass(frozen=True)
class Rule:
    """When a reading is a breach, for how long, how severe, who owns it, which response is due.

    A breach must last `hold` windows and `hold_time`, a clear state `keep_firing_for` windows and
    `keep_firing_time`. `response` is what is to be done, `response_name` the defined response of
    the configuration that says how, `command` the exact command. `supersedes` names rules whose
    alerts on the same subject end when this one fires. A `component` is never told of by itself:
    composite rules are made of it. `worse_factor` is how many times as far beyond the threshold
    counts as much worse. After `late_after` without a window the alert's data is late.
    """

    name: str
    when: tuple[Matcher, ...]
    condition: Condition
    severity: Severity
    owner: str
    response: ResponseAction
    value: ValueSource = ValueSource.VALUE
    hold: int = 1
    keep_firing_for: int = 1
    minimum_n: int = 0
    receiver: str | None = None
    runbook: str | None = None
    impact: str | None = None
    precondition: str | None = None
    limit: str | None = None
    about: Subject | None = None
    summary: str | None = None
    hold_time: timedelta = timedelta(0)
    keep_firing_time: timedelta = timedelta(0)
    late_after: timedelta | None = None
    active_times: tuple[str, ...] = ()
    mute_times: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    component: bool = False
    worse_factor: float = 2.0
    response_name: str | None = None
    command: str | None = None

    def command_for(self, alert: int) -> str | None:
        """The exact command, with the number of the alert filled in."""
        return None if self.command is None else self.command.replace("{alert}", str(alert))

    def matches(self, labels: Labels) -> bool:
        """Whether every matcher fits. A composite looks at other rules' alerts, at no reading.

        A page rule never looks at what a server tells of itself, however widely it asks.
        """
        if isinstance(self.condition, Composite):
            return False
        if self.severity is Severity.PAGE and is_context(labels.get("method", "")):
            return False
        return all(matcher.matches(labels) for matcher in self.when)

    def names(self, label: str, value: str) -> bool:
        """Whether the rule asks for this very value of a label."""
        return any(each.label == label and value in each.patterns for each in self.when)

    @property
    def compared(self) -> str:
        """What is held against the condition, in one word."""
        condition = self.condition
        if isinstance(condition, Bounds):
            return self.value.value
        return {
            StateCondition: "state",
            AllowedRange: "interval",
            BurnRate: "burn_rate",
            Composite: "rules",
        }[type(condition)]


def judge(rule: Rule, reading: Reading, *, currently_firing: bool) -> Verdict:
    """Breach, clear or unknown.

    A reading that was not measured, holds fewer than `minimum_n` rows or lacks the number the rule
    compares is unknown; for a condition on the state see `_judge_state`. Rules on a burn rate and
    composites judge the readings that `alerts.judging` makes for them.
    """
    condition = rule.condition
    if isinstance(condition, StateCondition):
        return _judge_state(condition.states, reading.state)
    if data_state_of(rule, reading) is not DataState.OK:
        return Verdict.UNKNOWN
    return Verdict.BREACH if _is_breached(rule, reading, currently_firing) else Verdict.CLEAR


def _is_breached(rule: Rule, reading: Reading, firing: bool) -> bool:
    condition = rule.condition
    if isinstance(condition, AllowedRange):
        return bool(condition.excess(reading))
    if isinstance(condition, BurnRate):
        return is_burning(reading, firing=firing)
    if isinstance(condition, Composite):
        return reading.value == HOLDS
    number = compared_number(rule, reading)
    if number is None or not isinstance(condition, Bounds):
        raise AssertionError("data_state_of lets through only readings that hold the number")
    return condition.is_crossed(number, firing=firing)


def _judge_state(wanted: frozenset[ReadingState], state: ReadingState) -> Verdict:
    """Only a window that held rows ends such an alert: a measured one, or one with too few rows.

    A failure says nothing about whether data came, and an empty window nothing about failures.
    """
    if state in wanted:
        return Verdict.BREACH
    if state in (ReadingState.MEASURED, ReadingState.TOO_FEW):
        return Verdict.CLEAR
    return Verdict.UNKNOWN


def compared_number(rule: Rule, reading: Reading) -> float | None:
    """The number of the reading that the rule compares; None when it has none."""
    if reading.state is not ReadingState.MEASURED:
        return None
    if isinstance(rule.condition, BurnRate):
        return reading.low
    if rule.value is ValueSource.LOW:
        return reading.low
    return reading.high if rule.value is ValueSource.HIGH else reading.value


def data_state_of(rule: Rule, reading: Reading) -> DataState:
    """Whether this reading could be judged by this rule, and if not, why."""
    if reading.state is not ReadingState.MEASURED:
        return DataState(reading.state.value)
    if isinstance(rule.condition, StateCondition | Composite):
        return DataState.OK
    if reading.n < rule.minimum_n:
        return DataState.TOO_FEW
    if isinstance(rule.condition, AllowedRange):
        return DataState.FAILED if rule.condition.excess(reading) is None else DataState.OK
    return DataState.FAILED if compared_number(rule, reading) is None else DataState.OK


def excess_of(rule: Rule, reading: Reading) -> float | None:
    """How far beyond its threshold a breaching reading is, in the unit of the reading, 0 or more.

    At least a tenth of the threshold (of the width of an allowed range), so that a value that
    stands at the threshold does not count as many times worse a moment later. None for conditions
    without a number.
    """
    condition = rule.condition
    if isinstance(condition, AllowedRange):
        excess = condition.excess(reading)
        return None if excess is None else max(excess, LEAST_EXCESS * _width(condition))
    if isinstance(condition, BurnRate):
        excess = burn_excess(reading)
        factor = float(reading.evidence.get("factor", 0.0))
        return None if excess is None else max(excess, LEAST_BURN_EXCESS * factor)
    number = compared_number(rule, reading)
    if number is None or not isinstance(condition, Bounds):
        return None
    return _beyond(condition, number)


def _beyond(bounds: Bounds, number: float) -> float:
    found = [0.0]
    if bounds.upper is not None:
        found.append(max(number - bounds.upper, LEAST_EXCESS * abs(bounds.upper)))
    if bounds.lower is not None:
        found.append(max(bounds.lower - number, LEAST_EXCESS * abs(bounds.lower)))
    return max(found)


def _width(condition: AllowedRange) -> float:
    return condition.upper - condition.lower


LEAST_EXCESS = 0.1
LEAST_BURN_EXCESS = 0.5
"""A burn rate always starts little above its factor and rises while the long window fills: much
worse is twice the factor at the least.
"""
