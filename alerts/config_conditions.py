"""When a rule breaches, read and checked: the condition keys of one rule in alerts.yaml."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import yaml

from alerts.conditions.allowed import AllowedRange
from alerts.conditions.burn import BurnRate, BurnWindow
from alerts.conditions.composite import Composite
from alerts.durations import duration_text, read_duration
from alerts.model import LABEL_NAME, ReadingState
from alerts.rules import Bounds, Condition, StateCondition
from alerts.yaml_source import (
    Section,
    describe,
    did_you_mean,
    read_number,
    read_text,
    read_word,
    section,
)

NUMBERS = ("above", "below", "outside")
COMPOSITE = ("all_of", "any_of", "unless")
SINGLE = (*NUMBERS, "allowed", "state", "burn")
_MINUTE = timedelta(minutes=1)


def read_condition(each: Section, rule_names: Sequence[str]) -> Condition | None:
    """The condition; None, everything reported, when it can't be used."""
    given = [name for name in SINGLE if each.get(name) is not None]
    composite = [name for name in COMPOSITE if each.get(name) is not None]
    recovery = (each.number("recover_above"), each.number("recover_below"))
    if len(given) + bool(composite) != 1:
        _complain_of_number(each, [*given, *composite[:1]])
        return None
    if composite:
        return _read_composite(each, rule_names)
    if given[0] in NUMBERS:
        return _read_bounds(each, given[0], *recovery)
    _refuse(each, ("recover_above", "recover_below"), f"has no meaning beside `{given[0]}`")
    if given[0] == "state":
        return _read_states(each)
    return _read_allowed(each) if given[0] == "allowed" else _read_burn(each)


def _complain_of_number(each: Section, given: list[str]) -> None:
    found = f"got {' and '.join(given)}" if given else "got none"
    each.problems.add(
        each.nodes[given[1]] if len(given) > 1 else each.node,
        each.place,
        f"needs exactly one of {', '.join(SINGLE)}, all_of or any_of; {found}",
    )


def _refuse(each: Section, names: Sequence[str], why: str) -> None:
    for name in names:
        if each.get(name) is not None:
            each.complain(name, f"{why}; remove it")


def _read_bounds(
    each: Section, name: str, recover_above: float | None, recover_below: float | None
) -> Bounds | None:
    edges = _read_edges(each, name)
    if edges is None:
        return None
    bounds = Bounds(*edges, recover_lower=recover_above, recover_upper=recover_below)
    _check_recovery(each, bounds)
    return bounds


def _read_edges(each: Section, name: str) -> tuple[float | None, float | None] | None:
    """(lower, upper); None when they can't be read."""
    if name == "outside":
        return _read_pair(each, name)
    number = each.number(name)
    if number is None:
        return None
    return (None, number) if name == "above" else (number, None)


def _read_pair(each: Section, name: str) -> tuple[float, float] | None:
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
    _refuse(each, ("value", "minimum_n"), "has no meaning beside `state`")
    states = each.items(
        "state", lambda node, place: read_word(node, place, each.problems, ReadingState)
    )
    if ReadingState.MEASURED in states:
        each.complain("state", "measured is the good state; list failed, no_data or too_few")
        return None
    return StateCondition(frozenset(states)) if states else None


def _read_allowed(each: Section) -> AllowedRange | None:
    _refuse(each, ("value",), "has no meaning beside `allowed`, which looks at the whole interval")
    pair = _read_pair(each, "allowed")
    return AllowedRange(*pair) if pair is not None else None


def _read_burn(each: Section) -> BurnRate | None:
    _refuse(each, ("value",), "has no meaning beside `burn`")
    node = each.get("burn")
    burn = section(node, each.at("burn"), each.problems) if node is not None else None
    if burn is None:
        return None
    objective = burn.number("objective")
    if "objective" not in burn.nodes:
        burn.missing("objective", "give the share of good events, such as 0.99")
    elif objective is not None and not 0 < objective < 1:
        burn.complain("objective", f"must lie between 0 and 1, got {objective:g}")
        objective = None
    windows = _read_burn_windows(burn, objective)
    coverage = burn.number("coverage")
    if coverage is not None and not 0 < coverage <= 1:
        burn.complain("coverage", f"must lie above 0 and at most at 1, got {coverage:g}")
    events = _read_events(burn)
    burn.finish()
    if objective is None or not windows:
        return None
    return BurnRate(objective, tuple(windows), events == "good", coverage or 0.8)


def _read_events(burn: Section) -> str:
    """Whether the base readings hold the share of bad or of good events."""
    events = burn.text("events")
    if events not in (None, "bad", "good"):
        burn.complain("events", f"must be bad or good: what the readings count; got {events!r}")
    return events or "bad"


def _read_burn_windows(burn: Section, objective: float | None) -> list[BurnWindow]:
    if "windows" not in burn.nodes:
        burn.missing("windows", "list pairs such as {long: 1h, short: 5m, factor: 14.4}")
        return []
    windows = burn.items("windows", lambda node, place: _read_burn_window(burn, node, place))
    node = burn.get("windows")
    if isinstance(node, yaml.SequenceNode) and not node.value:
        burn.complain("windows", "must list at least one pair")
    for each in windows:
        most = 1 / (1 - objective) if objective is not None else None
        if most is not None and each.factor >= most:
            burn.complain(
                "windows",
                f"factor {each.factor:g} can never be exceeded: events that are all bad burn"
                f" {most:.4g} times the budget; lower the factor or raise the objective",
            )
    return windows


def _read_burn_window(burn: Section, node: yaml.Node, place: str) -> BurnWindow | None:
    pair = section(node, place, burn.problems)
    if pair is None:
        return None
    long, short = (read_duration(pair, name, least=_MINUTE) for name in ("long", "short"))
    factor = pair.number("factor")
    for name in ("long", "short", "factor"):
        if name not in pair.nodes:
            pair.missing(name, "a pair is {long: 1h, short: 5m, factor: 14.4}")
    pair.finish()
    if factor is not None and factor <= 0:
        pair.complain("factor", f"must be above 0, got {factor:g}")
        return None
    if long is None or short is None or factor is None:
        return None
    if short >= long:
        pair.complain("short", f"must be shorter than long, {duration_text(long)}")
        return None
    return BurnWindow(long, short, factor)


def _read_composite(each: Section, rule_names: Sequence[str]) -> Composite | None:
    why = "has no meaning in a rule made of other rules"
    _refuse(each, ("value", "minimum_n", "recover_above", "recover_below"), why)
    if each.get("when") is not None:
        each.complain("when", f"{why}: `on` names the labels its parts have in common; remove it")
    found = {name: _read_parts(each, name, rule_names) for name in COMPOSITE}
    on = each.items("on", lambda node, place: _read_label(each, node, place)) or ["model"]
    if "model" not in on:
        each.complain("on", "must name model: alerts are judged model by model")
    made = Composite(
        tuple(found["all_of"]), tuple(found["any_of"]), tuple(found["unless"]), tuple(on)
    )
    for name in sorted({part for part in made.parts if made.parts.count(part) > 1}):
        each.problems.add(each.node, each.place, f"{name!r} is named more than once")
    if not made.all_of and not made.any_of:
        each.problems.add(
            each.node, each.place, "needs all_of or any_of: `unless` alone would always hold"
        )
        return None
    return made


def _read_parts(each: Section, name: str, rule_names: Sequence[str]) -> list[str]:
    parts = each.items(name, lambda node, place: read_text(node, place, each.problems, limit=100))
    mine = each.raw_text("name")
    for part in parts:
        if part == mine:
            each.complain(name, "a rule can't be a part of itself")
        elif part not in rule_names:
            hint = did_you_mean(part, rule_names)
            each.complain(name, f"no rule is called {part!r}{hint}")
    return parts


def _read_label(each: Section, node: yaml.Node, place: str) -> str | None:
    text = read_text(node, place, each.problems, limit=63)
    if text is not None and not LABEL_NAME.fullmatch(text):
        each.problems.add(node, place, f"must be a label's name, got {describe(node)}")
        return None
    return text
