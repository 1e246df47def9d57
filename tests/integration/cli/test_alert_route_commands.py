"""`inferwatch alerts explain-route` and `inferwatch alerts silence`, as a person types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Run

RULES = """\
owners:
  - name: risk-ml
    people: [ada@example.org, {name: Grace, receiver: grace-phone}]
    receiver: on-call
    escalation: [{after: 2m, to: [Grace]}]
receivers:
  - {name: on-call, channel: webhook, url_env: U, secret_env: S, repeat_after: 4h}
  - {name: grace-phone, channel: webhook, url_env: U, secret_env: S}
  - {name: chat, channel: webhook, url_env: U, secret_env: S, send_resolved: false}
route:
  group_interval: 5m
  routes:
    - {name: chatter, when: {severity: notice}, receiver: chat, mute_times: [nights]}
times:
  - {name: nights, zone: Europe/Berlin, spans: [{times: ["22:00-06:00"]}]}
delivery: {longest_silence: 7d}
rules:
  - name: answers-fail
    when: {check: serving, method: error_rate}
    above: 0.01
    severity: page
    owner: risk-ml
    response: roll_back
    runbook: docs/fail.md
    impact: No answers.
"""


@pytest.fixture
def rules_file(tmp_path: Path) -> Path:
    path = tmp_path / "alerts.yaml"
    path.write_text(RULES)
    return path


@pytest.fixture
def applied(run: Run, contract_file: Path, rules_file: Path) -> Run:
    assert run("contract", "apply", contract_file).code == 0
    assert run("alerts", "apply", rules_file, "--by", "ada").code == 0
    return run


def test_a_rule_is_explained_with_receiver_group_repeat_and_escalation(
    run: Run, rules_file: Path
) -> None:
    command = ("alerts", "explain-route", "--rule", "answers-fail", "--label", "model=credit")
    done = run(*command, "--file", rules_file)
    assert done.code == 0, done.err
    assert "on-call (webhook)" in done.out
    assert "why     route; the receiver is that of owner risk-ml" in done.out
    assert "when    at once, then at most every 5m" in done.out
    assert "group   default/credit/roll_back" in done.out
    assert "again   every 4h; its end is told" in done.out
    assert "when    2m after the first message" in done.out
    assert done.out.index("on-call (webhook)") < done.out.index("grace-phone (webhook)")


def test_a_mute_time_is_told_for_any_moment(run: Run, rules_file: Path) -> None:
    command = ("alerts", "explain-route", "--label", "severity=notice", "--file", rules_file)
    night = run(*command, "--at", "2026-07-01T21:00Z")
    assert "held    mute time nights" in night.out
    assert "chat (webhook)" in night.out
    assert "its end is not told" in night.out
    assert "held" not in run(*command, "--at", "2026-07-01T12:00Z").out


def test_mistakes_of_the_question_are_told_with_what_there_is(run: Run, rules_file: Path) -> None:
    command = ("alerts", "explain-route", "--file", rules_file)
    for wrong, told in (
        (("--rule", "answer-fails"), "no rule is called 'answer-fails'; there are answers-fail"),
        (("--label", "severity=loud"), "severity must be one of page, ticket, notice, got 'loud'"),
        (("--label", "owner=nobody"), "no owner is called 'nobody'; there are risk-ml"),
        (("--label", "model"), "is not LABEL=VALUE"),
        (("--label", "model=a", "--label", "model=b"), "model is given twice"),
        ((), "say --alert NUMBER, or --rule and --label"),
    ):
        done = run(*command, *wrong)
        assert done.code == 2
        assert told in done.err


def test_without_rules_in_force_the_remedy_is_told(run: Run, contract_file: Path) -> None:
    assert run("contract", "apply", contract_file).code == 0
    done = run("alerts", "explain-route", "--label", "severity=page")
    assert done.code == 2
    assert "inferwatch alerts apply" in done.err


def test_a_silence_is_added_seen_by_explanations_listed_and_ended(applied: Run) -> None:
    added = applied(
        "alerts", "silence", "add", "--label", "model=credit", "--label", "check=serving",
        "--for", "2h", "--reason", "planned work", "--by", "ada",
    )  # fmt: skip
    assert added.code == 0, added.err
    assert added.out.startswith("Silence 1 holds from ")
    question = ("alerts", "explain-route", "--rule", "answers-fail", "--label", "model=credit")
    asked = json.loads(applied(*question, "--json").out)
    assert [each["kind"] for each in asked["kept_quiet"]] == ["silenced"]
    assert [each["receiver"] for each in asked["receivers"]] == ["on-call", "grace-phone"]
    assert "Kept quiet: silence 1 of ada" in applied(*question).out
    (listed,) = json.loads(applied("alerts", "silence", "list", "--json").out)
    assert listed["labels"] == {"model": ["credit"], "check": ["serving"]}
    assert "planned work" in applied("alerts", "silence", "list").out
    ended = applied("alerts", "silence", "end", "1", "--by", "grace")
    assert ended.out.startswith("Silence 1 is over since ")
    assert json.loads(applied(*question, "--json").out)["kept_quiet"] == []
    assert "No silence holds" in applied("alerts", "silence", "list").out
    (past,) = json.loads(applied("alerts", "silence", "list", "--all", "--json").out)
    assert past["ended_by"] == "grace"


def test_a_silence_needs_a_reason_something_it_is_about_and_a_length_within_the_rules(
    applied: Run,
) -> None:
    done = applied("alerts", "silence", "add", "--for", "30d", "--by", "ada")
    assert done.code == 2
    for told in ("write why", "name 1 to 20 labels", "lasts at most 7d"):
        assert told in done.err
    both = applied("alerts", "silence", "add", "--label", "model=credit", "--reason", "x")
    assert both.code == 2
    assert "--until" in both.err
