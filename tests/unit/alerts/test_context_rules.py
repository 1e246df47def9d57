"""What servers tell of themselves may explain and raise suspicion; it never pages alone."""

from __future__ import annotations

import pytest

from alerts.channels.registry import CHANNELS
from alerts.config import AlertConfig, read_alert_config
from alerts.errors import AlertConfigError
from alerts.model import Labels, Severity
from monitor.jobs.rule_words import RULE_WORDS

HEAD = """\
owners:
  - {name: team, people: [ada@example.org], receiver: hook}
receivers:
  - {name: hook, channel: webhook, url: "https://example.org/hook", secret_env: HOOK_SECRET}
rules:
"""
RULE = """\
  - name: {name}
    {what}
    severity: {severity}
    owner: team
    response: investigate
    runbook: https://example.org/slow
    impact: People wait.
"""
QUEUE = "{when: {check: condition, method: server_queue_length}, above: 10}"


def rule(name: str, severity: str, what: str) -> str:
    return RULE.format(name=name, severity=severity, what=what)


def asks(method: str, check: str = "condition") -> str:
    return f'when: {{check: {check}, method: "{method}"}}\n    above: 10'


def read(*rules: str) -> AlertConfig:
    return read_alert_config(HEAD + "".join(rules), "alerts.yaml", CHANNELS, RULE_WORDS)


def mistakes(*rules: str) -> list[str]:
    with pytest.raises(AlertConfigError) as caught:
        read(*rules)
    return [f"{each.place}: {each.message}" for each in caught.value.problems]


@pytest.mark.parametrize("method", ["server_queue_length", "server_*", "serv*"])
def test_a_page_on_server_readings_is_refused(method: str) -> None:
    (mistake,) = mistakes(rule("queue", "page", asks(method)))
    assert mistake.startswith("rules[0].severity: what a server tells of itself never pages alone")


@pytest.mark.parametrize("severity", ["ticket", "notice"])
def test_a_ticket_or_notice_on_server_readings_is_taken(severity: str) -> None:
    assert read(rule("queue", severity, asks("server_queue_length"))).rules[0].severity == severity


SLOW = rule("slow", "ticket", asks("p95", "serving"))
FULL = rule("queue", "notice", asks("server_queue_length"))
RESTARTED = rule("restarted", "notice", asks("server_restarts"))


def test_together_with_a_rule_on_requests_they_may_page() -> None:
    both = rule("both", "page", "all_of: [slow, queue]")
    assert read(SLOW, FULL, both).rules[2].severity is Severity.PAGE


@pytest.mark.parametrize(
    "what", ["all_of: [queue, restarted]", "any_of: [slow, queue]", "any_of: [queue, restarted]"]
)
def test_a_combination_that_they_can_fill_alone_may_not_page(what: str) -> None:
    (mistake,) = mistakes(SLOW, FULL, RESTARTED, rule("any", "page", what))
    assert "never pages alone" in mistake


def test_a_page_rule_that_asks_widely_does_not_look_at_them() -> None:
    wide = read(rule("wide", "page", "when: {check: condition}\n    above: 10")).rules[0]
    labels = {"check": "condition", "method": "server_queue_length"}
    assert not wide.matches(Labels.from_mapping(labels))
    assert wide.matches(Labels.from_mapping(labels | {"method": "request_age"}))
