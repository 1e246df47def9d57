"""alerts.yaml: the full example is read, every mistake is reported at once on its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from alerts.channels.registry import CHANNELS
from alerts.config import AlertConfig, read_alert_config
from alerts.errors import AlertConfigError
from alerts.model import ReadingState, ResponseAction, Severity
from alerts.rules import Bounds, Matcher, StateCondition, Subject, ValueSource

GOLDEN = Path(__file__).parents[2] / "golden" / "alerts"


def read(text: str) -> AlertConfig:
    return read_alert_config(text, "alerts.yaml", CHANNELS)


def mistakes(text: str) -> list[tuple[int, str, str]]:
    with pytest.raises(AlertConfigError) as caught:
        read(text)
    return [(each.line, each.place, each.message) for each in caught.value.problems]


def test_the_full_example_is_read() -> None:
    config = read((GOLDEN / "full.yaml").read_text())
    assert [each.name for each in config.owners] == ["flight-ml", "data-platform"]
    assert config.receiver("on-call").options == {
        "url": "http://127.0.0.1:9000/hook",
        "secret_env": "INFERWATCH_HOOK_SECRET",
        "private_addresses_allowed": True,
    }
    assert not config.receiver("office").send_resolved
    contrast, auc, rate, blind = config.rules
    assert contrast.when == (
        Matcher("check", ("contrast",)),
        Matcher("method", ("stratified_chi_square",)),
    )
    assert contrast.condition == Bounds(upper=0.02, recover_upper=0.015)
    assert contrast.value is ValueSource.LOW
    assert (contrast.hold, contrast.keep_firing_for, contrast.minimum_n) == (2, 3, 100)
    assert contrast.severity is Severity.PAGE
    assert contrast.response is ResponseAction.REDUCE_TRAFFIC
    assert contrast.about is Subject.DISTRIBUTION
    assert auc.condition == Bounds(lower=0.6, recover_lower=0.65)
    assert config.receiver_of(auc).name == "office"
    assert config.receiver_of(contrast).name == "on-call"
    assert rate.condition == Bounds(lower=0.001, upper=12)
    assert blind.condition == StateCondition(frozenset({ReadingState.FAILED, ReadingState.NO_DATA}))


EXPECTED = [
    (3, "owners[0].people", "at least one person"),
    (4, "owners[0].receiver", "no receiver is called 'on-cal'; did you mean 'on-call'?"),
    (5, "owners[1].name", "used twice"),
    (11, "receivers[0].url", "http:// or https://"),
    (12, "receivers[0].secret", "secret_env or secret_file"),
    (14, "receivers[1].channel", "did you mean 'webhook'?"),
    (17, "receivers[2].url", "user name or password"),
    (18, "receivers[2].url_env", "given beside url"),
    (20, "receivers[2].private_addresses_allowed", "true or false"),
    (22, "rules[0]", "owner is missing"),
    (22, "rules[0]", "response is missing"),
    (27, "rules[1].when.colum", "did you mean 'column'?"),
    (28, "rules[1].above", "finite number"),
    (29, "rules[1].severity", "must be one of page, ticket, notice"),
    (30, "rules[1].owner", "did you mean 'flight-ml'?"),
    (31, "rules[1].response", "did you mean 'reduce_traffic'?"),
    (33, "rules[2].when.check", "only stand at the end"),
    (
        35,
        "rules[2]",
        "exactly one of above, below, outside, allowed, state, burn, all_of or any_of",
    ),
    (35, "rules[2]", "got above and below"),
    (39, "rules[3]", "runbook is missing"),
    (39, "rules[3]", "impact is missing"),
    (42, "rules[3].recover_below", "0.3 must not exceed 0.2"),
    (43, "rules[3].for", "at least 1"),
    (47, "rules[3].summary", "unknown name {colunm}; did you mean 'column'?"),
    (47, "rules[3].summary", "unknown name {value.real}"),
    (47, "rules[3].summary", "{value:999999999}: this format is not supported"),
    (48, "rules[3]", "unknown key 'sumary'; did you mean 'summary'?"),
    (50, "rules[4].when", "at least one label"),
    (51, "rules[4].outside", "must be the lower one"),
    (53, "rules[4]", "'severity' is given twice, first on line 52"),
    (56, "rules[4].runbook", "http(s) address or a path"),
    (59, "rules[5].state", "measured is the good state"),
    (60, "rules[5].minimum_n", "no meaning beside `state`"),
    (64, "file", "unknown key 'alert'"),
]


def test_every_mistake_is_reported_at_once_on_its_line() -> None:
    found = mistakes((GOLDEN / "mistakes.yaml").read_text())
    assert {(line, place) for line, place, _ in found} == {each[:2] for each in EXPECTED}
    assert len(found) == len(EXPECTED) - 1  # one of them is looked at twice
    for line, place, text in EXPECTED:
        assert any(
            (line, place) == (found_line, found_place) and text in message
            for found_line, found_place, message in found
        ), (line, place, text)


def test_problems_come_in_order_of_their_lines_and_never_show_a_secret() -> None:
    with pytest.raises(AlertConfigError) as caught:
        read((GOLDEN / "mistakes.yaml").read_text())
    lines = [each.line for each in caught.value.problems]
    assert lines == sorted(lines)
    assert "c2VjcmV0" not in str(caught.value)
    assert "bob:pw" not in str(caught.value)
    assert f"alerts.yaml: {len(lines)} problems" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "is empty"),
        ("- a\n- b\n", 1, "must be keys and values"),
        ("owners: [\n", 2, "not readable as YAML"),
        ("owners: \x00\n", 1, "not readable as YAML"),
        ("a: &x [1]\nb: *x\n", 2, "alias *x is not supported"),
        ("a: !!python/object:os.system {}\n", 1, "tag"),
        ("a: 1\n---\nb: 2\n", 2, "more than one document"),
        ("a: " + "[" * 30_000, 1, "nested more than 20 levels"),
        ("owners: 3\nreceivers: []\nrules: []\n", 1, "must be a list"),
        ("? [a]\n: b\n", 1, "a key must be one word"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(text: str, line: int, message: str) -> None:
    assert any(at == line and message in said for at, _, said in mistakes(text)), mistakes(text)


@pytest.mark.parametrize("number", [".nan", ".inf", "-.inf", "nan", "1e999", "'0.2'", "true"])
def test_a_threshold_must_be_a_finite_number(number: str) -> None:
    text = (GOLDEN / "full.yaml").read_text().replace("above: 0.02\n", f"above: {number}\n")
    assert [place for _, place, _ in mistakes(text)] == ["rules[0].above"]


@pytest.mark.parametrize("key", ["owner", "response"])
def test_a_rule_without_owner_or_response_is_refused(key: str) -> None:
    lines = (GOLDEN / "full.yaml").read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line.strip().startswith(f"{key}: "))
    text = "\n".join(lines[:first] + lines[first + 1 :])
    assert [message.split(";")[0] for _, _, message in mistakes(text)] == [f"{key} is missing"]
