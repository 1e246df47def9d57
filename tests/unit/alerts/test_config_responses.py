"""Responses in alerts.yaml: what is read, inherited by rules and refused."""

from __future__ import annotations

from datetime import timedelta

import pytest

from alerts.channels.registry import CHANNELS
from alerts.config import AlertConfig, read_alert_config
from alerts.errors import AlertConfigError
from alerts.model import Labels, ResponseAction, Severity
from alerts.responses import AutomaticAction, DefinedResponse
from alerts.rules import Matcher

FILE = """\
owners:
  - {name: flight-ml, people: [ada@example.org], receiver: on-call}
receivers:
  - {name: on-call, channel: webhook, url: "https://x.example", secret_env: A}
  - {name: router, channel: webhook, url: "https://y.example", secret_env: B}
responses:
%s
rules:
  - name: contrast
    when: {check: contrast}
    above: 0.02
    severity: page
    owner: flight-ml
    impact: People miss flights.
    response: %s
"""
MOVE = """\
  - name: move-traffic
    action: reduce_traffic
    runbook: docs/runbooks/move.md
    precondition: The other deployment has room.
    command: "inferwatch respond run {alert}"
    may_run: [flight-ml, ada@example.org]
    automatic:
      receiver: router
      dry_run: false
      scope: {model: "flight*"}
      to_percent: 5
      at_most_percent: 40
      at_most_a_day: 2
      cool_down: 1h30m
      needs_acknowledgement: true
      expires_after: 14d
      outcome_within: 2m
"""


def read(responses: str, name: str = "move-traffic") -> AlertConfig:
    return read_alert_config(FILE % (responses.rstrip("\n"), name), "alerts.yaml", CHANNELS)


def mistakes(responses: str, name: str = "move-traffic") -> list[str]:
    with pytest.raises(AlertConfigError) as caught:
        read(responses, name)
    return [str(each) for each in caught.value.problems]


def changed(old: str, new: str) -> str:
    assert old in MOVE
    return MOVE.replace(old, new)


def test_a_response_is_read_with_all_its_limits() -> None:
    assert read(MOVE).responses == (
        DefinedResponse(
            name="move-traffic",
            action=ResponseAction.REDUCE_TRAFFIC,
            runbook="docs/runbooks/move.md",
            precondition="The other deployment has room.",
            command="inferwatch respond run {alert}",
            may_run=("flight-ml", "ada@example.org"),
            automatic=AutomaticAction(
                receiver="router",
                dry_run=False,
                scope=(Matcher("model", ("flight*",)),),
                to_percent=5.0,
                at_most_percent=40.0,
                at_most_a_day=2,
                cool_down=timedelta(minutes=90),
                needs_acknowledgement=True,
                expires_after=timedelta(days=14),
                outcome_within=timedelta(minutes=2),
            ),
        ),
    )


def test_an_automatic_action_is_a_dry_run_unless_the_file_says_otherwise() -> None:
    small = "  - {name: back, action: roll_back, runbook: r, automatic: {receiver: router}}"

    automatic = read(small, "back").responses[0].automatic

    assert automatic == AutomaticAction("router")
    assert automatic.dry_run


def test_a_rule_takes_action_runbook_precondition_and_command_from_its_response() -> None:
    rule = read(MOVE).rules[0]

    assert (rule.response, rule.response_name) == (ResponseAction.REDUCE_TRAFFIC, "move-traffic")
    assert rule.runbook == "docs/runbooks/move.md"
    assert rule.precondition == "The other deployment has room."
    assert rule.command == "inferwatch respond run {alert}"


def test_a_bare_action_word_needs_no_defined_response() -> None:
    with pytest.raises(AlertConfigError, match="runbook is missing"):
        read(MOVE, "retrain")
    rule = read(MOVE, "retrain\n    runbook: r.md").rules[0]

    assert (rule.response, rule.response_name) == (ResponseAction.RETRAIN, None)


@pytest.mark.parametrize(
    ("responses", "line", "told"),
    [
        (changed("name: move-traffic", "name: retrain"), 7, "is the word of an action"),
        (changed("    action: reduce_traffic\n", ""), 7, "action is missing"),
        (changed("receiver: router", "receiver: rooter"), 14, "did you mean 'router'"),
        (changed("      receiver: router\n", ""), 14, "receiver is missing"),
        (changed("ada@example.org", "eve@example.org"), 12, "no owner or person is called"),
        (changed("[flight-ml, ada@example.org]", "[]"), 12, "names nobody"),
        (changed("to_percent: 5\n", "to_percent: 105\n"), 17, "must lie within 0 and 100"),
        (changed("      to_percent: 5\n", ""), 14, "which share of traffic"),
        (changed('      scope: {model: "flight*"}\n', ""), 14, "scope is missing"),
        (changed("cool_down: 1h30m", "cool_down: soon"), 20, "must be a duration"),
        (changed("outcome_within: 2m", "outcome_within: 1s"), 23, "must lie within 10s to 1d"),
        (changed("{alert}", "{model}"), 11, "knows only {alert}, got {model}"),
        (changed("{alert}", "{alert"), 11, "is no template"),
        (changed("at_most_a_day: 2", "at_most_a_day: 0"), 19, "at least 1"),
        (changed("cool_down", "cooldown"), 20, "unknown key 'cooldown'"),
        (changed("reduce_traffic", "retrain"), 17, "retrain moves no traffic"),
    ],
)
def test_what_can_not_be_used_is_told_with_its_line(responses: str, line: int, told: str) -> None:
    found = mistakes(responses, "retrain" if "name: retrain" in responses else "move-traffic")

    assert any(each.startswith(f"line {line}, ") and told in each for each in found), found


def test_people_do_not_get_actions() -> None:
    file = FILE.replace(
        '{name: router, channel: webhook, url: "https://y.example", secret_env: B}',
        "{name: router, channel: slack, url_env: SLACK}",
    )
    with pytest.raises(AlertConfigError, match="actions go to programs"):
        read_alert_config(file % (MOVE.rstrip(), "move-traffic"), "alerts.yaml", CHANNELS)


def test_an_automatic_response_in_use_brings_a_rule_on_its_outcome() -> None:
    config = read(MOVE)
    (made,) = [rule for rule in config.rules if rule.name == "no-outcome-of-move-traffic"]
    labels = {
        "check": "condition", "method": "actions_without_outcome",
        "defined_response": "move-traffic", "model": "flight-delay",
    }  # fmt: skip
    assert made.matches(Labels.from_mapping(labels))
    assert not made.matches(Labels.from_mapping({**labels, "defined_response": "other"}))
    assert (made.owner, made.severity, made.runbook) == (
        "flight-ml", Severity.PAGE, "docs/runbooks/move.md",
    )  # fmt: skip


def test_a_rule_of_the_file_on_outcomes_takes_its_place_and_unused_responses_bring_none() -> None:
    own = """\
  - name: outcomes
    when: {check: condition, method: actions_without_outcome}
    above: 0
    severity: notice
    owner: flight-ml
    response: investigate
"""
    text = FILE % (MOVE.rstrip("\n"), "move-traffic")
    with_own = read_alert_config(text + own, "alerts.yaml", CHANNELS)
    assert [rule.name for rule in with_own.rules] == ["contrast", "outcomes"]
    assert [rule.name for rule in read(MOVE, "investigate\n    runbook: x").rules] == ["contrast"]
