"""Conditions and the other keys of rules: what is read, and what is refused, on its line."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from alerts.channels.registry import CHANNELS
from alerts.conditions.allowed import AllowedRange
from alerts.conditions.burn import BurnRate, BurnWindow
from alerts.conditions.composite import Composite
from alerts.config import AlertConfig, read_alert_config
from alerts.errors import AlertConfigError
from alerts.responses import DefinedResponse
from alerts.rules import Bounds, Rule, StateCondition
from monitor.jobs.rule_words import RULE_WORDS

EXAMPLES = Path(__file__).parents[3] / "examples"
HEAD = """\
owners:
  - {name: team, people: [ada@example.org], receiver: hook}
receivers:
  - {name: hook, channel: webhook, url: "https://example.org/hook", secret_env: HOOK_SECRET}
times:
  - {name: nights, zone: Europe/Berlin, spans: [{times: ["22:00-06:00"]}]}
responses:
  - {name: back, action: roll_back, runbook: "https://example.org/back", limit: All of it.}
rules:
"""
REST = "    severity: notice\n    owner: team\n    response: investigate\n"
PLAIN = "  - name: plain\n    when: {check: drift}\n    above: 1\n" + REST
FIRST = HEAD.count("\n") + 1


def read(rules: str) -> AlertConfig:
    return read_alert_config(HEAD + rules, "alerts.yaml", CHANNELS, RULE_WORDS)


def one(body: str, rest: str = REST) -> Rule:
    """The rule with these lines; the lines after them are given by `rest`."""
    found = read(f"  - name: mine\n{body}{rest}{PLAIN}").rule("mine")
    assert found is not None
    return found


def refused(body: str, rest: str = REST, more: str = PLAIN) -> list[tuple[int, str, str]]:
    """Line within the rule (its name is on 1), place and message of every mistake."""
    with pytest.raises(AlertConfigError) as caught:
        read(f"  - name: mine\n{body}{rest}{more}")
    return [(each.line - FIRST + 1, each.place, each.message) for each in caught.value.problems]


def test_an_allowed_range_is_read() -> None:
    assert one("    when: {check: drift}\n    allowed: [0.1, 0.3]\n").condition == AllowedRange(
        0.1, 0.3
    )


def test_a_burn_rate_is_read() -> None:
    body = """\
    when: {check: quality, method: accuracy}
    burn:
      objective: 0.99
      events: good
      coverage: 0.5
      windows: [{long: 1h, short: 5m, factor: 14.4}, {long: 3d, short: 6h, factor: 1}]
"""
    hour, three_days = timedelta(hours=1), timedelta(days=3)
    assert one(body).condition == BurnRate(
        0.99,
        (
            BurnWindow(hour, timedelta(minutes=5), 14.4),
            BurnWindow(three_days, timedelta(hours=6), 1),
        ),
        counts_good=True,
        coverage=0.5,
    )


def test_a_composite_is_read_and_needs_no_when() -> None:
    rule = one("    any_of: [plain]\n    on: [model, column]\n")
    assert rule.condition == Composite(any_of=("plain",), on=("model", "column"))
    assert rule.when == ()


def test_all_other_keys_are_read() -> None:
    rule = one(
        """\
    when: {check: drift}
    above: 1
    for: 1h30m
    keep_firing_for: 3
    late_after: 4h
    mute_times: [nights]
    active_times: [nights]
    supersedes: [plain]
    component: true
    worse_factor: 3.5
    command: "undo {alert}"
"""
    )
    assert (rule.hold, rule.hold_time) == (1, timedelta(minutes=90))
    assert (rule.keep_firing_for, rule.keep_firing_time) == (3, timedelta(0))
    assert rule.late_after == timedelta(hours=4)
    assert (rule.mute_times, rule.active_times) == (("nights",), ("nights",))
    assert rule.supersedes == ("plain",)
    assert rule.component
    assert rule.worse_factor == 3.5
    assert rule.command == "undo {alert}"


def test_a_page_rule_may_take_its_runbook_from_the_defined_response() -> None:
    page = "    severity: page\n    owner: team\n    response: back\n    impact: No answers.\n"
    rule = one("    when: {check: drift}\n    above: 1\n", page)
    assert (rule.response.value, rule.response_name) == ("roll_back", "back")
    assert rule.runbook == "https://example.org/back"
    assert rule.limit == "All of it."


@pytest.mark.parametrize("key", ["owner", "response", "runbook", "impact"])
def test_a_page_rule_without_help_for_who_is_woken_is_refused(key: str) -> None:
    lines = {
        "severity": "page", "owner": "team", "response": "roll_back",
        "runbook": "https://example.org/x", "impact": "No answers.",
    }  # fmt: skip
    rest = "".join(f"    {name}: {text}\n" for name, text in lines.items() if name != key)
    found = refused("    when: {check: drift}\n    above: 1\n", rest)
    assert [(line, place, message.split(";")[0]) for line, place, message in found] == [
        (1, "rules[0]", f"{key} is missing")
    ]


WHEN = "    when: {check: drift}\n"
MISTAKES = [
    (WHEN, 1, "needs exactly one of above, below, outside, allowed, state, burn, all_of or any_of"),
    (WHEN + "    above: 1\n    any_of: [plain]\n", 4, "got above and any_of"),
    (WHEN + "    allowed: [3, 1]\n", 3, "first number must be the lower one"),
    (WHEN + "    allowed: [1]\n", 3, "must be two numbers [low, high], got 1"),
    (WHEN + "    allowed: [1, 2]\n    recover_below: 1\n", 4, "no meaning beside `allowed`"),
    (WHEN + "    allowed: [1, 2]\n    value: low\n", 4, "no meaning beside `allowed`"),
    (WHEN + "    burn: 3\n", 3, "must be keys and values, got '3'"),
    (WHEN + "    burn: {windows: [{long: 1h, short: 5m, factor: 2}]}\n", 3, "objective is missing"),
    (WHEN + "    burn: {objective: 0.9}\n", 3, "windows is missing"),
    (WHEN + "    burn: {objective: 0.9, windows: []}\n", 3, "at least one pair"),
    (
        WHEN + "    burn: {objective: 1, windows: [{long: 1h, short: 5m, factor: 2}]}\n",
        3,
        "must lie between 0 and 1, got 1",
    ),
    (
        WHEN + "    burn: {objective: 0.9, windows: [{long: 1h, short: 5m, factor: 14.4}]}\n",
        3,
        "factor 14.4 can never be exceeded: events that are all bad burn 10 times the budget",
    ),
    (
        WHEN + "    burn: {objective: 0.9, windows: [{long: 5m, short: 1h, factor: 2}]}\n",
        3,
        "must be shorter than long, 5m",
    ),
    (
        WHEN + "    burn: {objective: 0.9, windows: [{long: 1 hour, short: 5m, factor: 2}]}\n",
        3,
        "must be a duration such as 30s, 5m, 1h30m or 14d, got '1 hour'",
    ),
    (
        WHEN + "    burn: {objective: 0.9, windows: [{long: 1h, factor: 2}]}\n",
        3,
        "short is missing",
    ),
    (
        WHEN + "    burn: {objective: 0.9, windows: [{long: 1h, short: 5m, factor: 0}]}\n",
        3,
        "must be above 0, got 0",
    ),
    (
        WHEN + "    burn:\n      objective: 0.9\n      events: ugly\n"
        "      windows: [{long: 1h, short: 5m, factor: 2}]\n",
        5,
        "must be bad or good",
    ),
    (
        WHEN + "    burn:\n      objective: 0.9\n      covrage: 1\n"
        "      windows: [{long: 1h, short: 5m, factor: 2}]\n",
        5,
        "did you mean 'coverage'?",
    ),
    ("    unless: [plain]\n", 1, "needs all_of or any_of"),
    ("    all_of: [plan]\n", 2, "no rule is called 'plan'; did you mean 'plain'?"),
    ("    all_of: [mine]\n", 2, "can't be a part of itself"),
    ("    all_of: [plain]\n    unless: [plain]\n", 1, "'plain' is named more than once"),
    ("    all_of: [plain]\n    on: [column]\n", 3, "must name model"),
    ("    all_of: [plain]\n    on: [model, No Label]\n", 3, "must be a label's name"),
    (WHEN + "    all_of: [plain]\n", 2, "`on` names the labels its parts have in common"),
    ("    all_of: [plain]\n    minimum_n: 3\n", 3, "no meaning in a rule made of other rules"),
    (WHEN + "    above: 1\n    for: 1.5\n", 4, "whole number of at least 1, got '1.5'"),
    (WHEN + "    above: 1\n    for: 0\n", 4, "whole number of at least 1, got '0'"),
    (WHEN + "    above: 1\n    for: soon\n", 4, "must be a duration such as"),
    (WHEN + "    above: 1\n    keep_firing_for: 0s\n", 4, "must lie within 1s to 366d"),
    (WHEN + "    above: 1\n    mute_times: [night]\n", 4, "did you mean 'nights'?"),
    (WHEN + "    above: 1\n    supersedes: [mine]\n", 4, "can't supersede itself"),
    (WHEN + "    above: 1\n    supersedes: [nobody]\n", 4, "no rule is called 'nobody'"),
    (WHEN + "    above: 1\n    worse_factor: 1\n", 4, "must be above 1, got 1"),
    (WHEN + "    above: 1\n    component: maybe\n", 4, "must be true or false"),
    (WHEN + "    above: 1\n    command: 'undo {number}'\n", 4, "knows only {alert}"),
    ("    when: {check: drft}\n    above: 1\n", 2, "the check 'drft'; did you mean 'drift'?"),
    ("    when: {method: 'ps*x'}\n    above: 1\n", 2, "only stand at the end"),
    ("    when: {method: 'x*'}\n    above: 1\n", 2, "no reading has the method 'x*'"),
]


@pytest.mark.parametrize(("body", "line", "message"), MISTAKES)
def test_a_mistake_is_refused_on_its_line(body: str, line: int, message: str) -> None:
    found = refused(body)
    assert len(found) == 1, found
    assert found[0][0] == line
    assert message in found[0][2]


def test_composites_are_made_of_plain_rules() -> None:
    other = "  - name: other\n    all_of: [plain]\n" + REST
    found = refused("    all_of: [other]\n", more=other + PLAIN)
    assert [message for _, _, message in found] == [
        "'other' is made of other rules itself; name its parts instead"
    ]


def test_two_rules_must_not_supersede_each_other() -> None:
    other = (
        "  - name: other\n    when: {check: drift}\n    above: 2\n    supersedes: [mine]\n" + REST
    )
    found = refused("    when: {check: drift}\n    above: 1\n    supersedes: [other]\n", more=other)
    assert [(line, message) for line, _, message in found] == [
        (4, "'other' supersedes this rule as well; keep one"),
        (11, "'mine' supersedes this rule as well; keep one"),
    ]


def test_words_are_taken_as_they_are_where_nobody_says_which_there_are() -> None:
    text = HEAD + "  - name: mine\n    when: {check: own-check}\n    above: 1\n" + REST
    assert read_alert_config(text, "alerts.yaml", CHANNELS).rule("mine") is not None


def test_the_example_holds_a_rule_of_every_kind_and_no_mistake() -> None:
    text = (EXAMPLES / "rules.yaml").read_text()
    config = read_alert_config(text, "rules.yaml", CHANNELS, RULE_WORDS)
    kinds = {type(rule.condition) for rule in config.rules}
    assert kinds == {Bounds, StateCondition, AllowedRange, BurnRate, Composite}
    named = {
        (matcher.label, pattern)
        for rule in config.rules for matcher in rule.when for pattern in matcher.patterns
    }  # fmt: skip
    methods = {pattern for label, pattern in named if label == "method"}
    asked = {"request_age", "label_age", "failed_windows", "schema_break"}
    assert {*asked, "actions_without_outcome"} <= methods
    assert ("check", "incident") in named
    assert {"component", "mute_times", "supersedes", "minimum_n"} <= {
        name for rule in config.rules for name in vars(rule) if getattr(rule, name)
    }


def test_responses_are_those_that_were_declared() -> None:
    [back] = read(PLAIN).responses
    assert isinstance(back, DefinedResponse)
    assert back.name == "back"
