"""What a message says, how large it may grow, and that hostile text does no harm in it."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from alerts.codec import message_from_json, message_to_json
from alerts.config import AlertConfig
from alerts.lifecycle import step
from alerts.message_body import MAXIMUM_BODY_BYTES, encode_body
from alerts.messages import Message, render
from alerts.model import Labels, Reading, ReadingState, ResponseAction, Severity
from alerts.rules import StateCondition, Subject
from alerts.templates import fill
from alerts.text import clean

from .factories import NOW, SUBJECT, config, groups_of, reading, rule

PAGE = rule(
    name="contrast",
    severity=Severity.PAGE,
    response=ResponseAction.REDUCE_TRAFFIC,
    runbook="https://example.org/runbook",
    impact="Wrong inputs.",
    precondition="Another deployment serves.",
    limit="Not below a tenth.",
    about=Subject.DISTRIBUTION,
    summary="Column {column} of {deployment}: {value:.3f} {unit}, n {n:,}",
)


def opened(setup: AlertConfig, *readings: Reading) -> Message:
    result = step(setup, {}, readings, NOW)
    (only,) = groups_of(setup, result.alerts)
    return render(only, "https://watch.example.org/", NOW)


def data_of(message: Message) -> Mapping[str, Any]:
    parsed = json.loads(encode_body(message.body))
    assert set(parsed) == {"type", "timestamp", "data"}
    data: Mapping[str, Any] = parsed["data"]
    return data


def test_an_opened_message_says_everything_that_is_needed() -> None:
    message = opened(
        config(PAGE), reading(2, 0.31, low=0.28, high=0.35, unit="nats", evidence={"auc": 0.71})
    )
    assert message.title == "[page] delay: contrast opened; response: reduce traffic"
    assert message.lines == (
        "opened: Column distance of (none): 0.310 nats, n 500",
        "window 2026-03-02T01:00:00Z to 2026-03-02T02:00:00Z, n 500, interval 0.28 to 0.35",
        "The distribution changed: a reason to look, no verdict on quality.",
        "Response: reduce traffic, owner flight-ml",
        "Runbook: https://example.org/runbook",
        "Impact: Wrong inputs.",
        "Only if: Another deployment serves.",
        "Limit: Not below a tenth.",
        f"https://watch.example.org/alert?fingerprint={SUBJECT.fingerprint('contrast')}",
    )
    data = data_of(message)
    assert message.body["type"] == "finding.opened"
    assert message.body["timestamp"] == "2026-03-03T00:00:00Z"
    assert data["group"] == "air/delay/reduce_traffic/flight-ml"
    assert data["counts"] == {"in_group": 1, "new": 1, "shown": 1, "not_shown": 0}
    (alert,) = data["alerts"]
    assert alert["labels"] == dict(SUBJECT)
    assert alert["measurement"] == {
        "state": "measured",
        "value": 0.31,
        "low": 0.28,
        "high": 0.35,
        "unit": "nats",
        "n": 500,
        "text": "",
        "window": {"start": "2026-03-02T01:00:00Z", "end": "2026-03-02T02:00:00Z"},
        "evidence": {"auc": 0.71},
    }
    assert alert["threshold"]["above"] == 0.2
    assert alert["since"] == "2026-03-02T02:00:00Z"
    assert alert["response"] == {
        "action": "reduce_traffic",
        "runbook": "https://example.org/runbook",
        "impact": "Wrong inputs.",
        "precondition": "Another deployment serves.",
        "limit": "Not below a tenth.",
    }
    assert (alert["severity"], alert["owner"]) == ("page", "flight-ml")


def test_a_resolved_message_carries_the_reason() -> None:
    setup = config()
    fired = step(setup, {}, [reading(1, 0.3)], NOW)
    ended = step(setup, fired.alerts, [reading(2, 0.1)], NOW)
    told = {each.key for each in fired.transitions}
    (only,) = group(setup, ended.alerts, ended.transitions, told).groups
    message = render(only, "https://w", NOW)
    assert message.title == "[ticket] delay: psi-high resolved"
    assert message.lines[0] == (
        "resolved (recovered): drift psi distance: 0.1, alert when above 0.2"
    )
    (alert,) = data_of(message)["alerts"]
    assert (alert["state"], alert["reason"]) == ("resolved", "recovered")
    assert alert["since"] == "2026-03-02T01:00:00Z"


def test_a_missing_number_is_said_in_words() -> None:
    blind = rule(
        condition=StateCondition(frozenset({ReadingState.FAILED})), name="blind {value:9} rule"
    )
    failed = reading(1, None, state=ReadingState.FAILED, text="no baseline", labels=SUBJECT)
    assert opened(config(blind), failed).lines[0] == (
        "opened: drift psi distance: failed no baseline, alert when state failed"
    )
    bare = replace(failed, labels=Labels.of(project="p"))
    line = "opened: blind {value:9} rule: failed no baseline, alert when state failed"
    assert opened(config(replace(blind, when=())), bare).lines[0] == line
    assert "blind {value:9} rule" in opened(config(replace(blind, when=())), bare).title


def test_a_message_survives_being_kept_with_the_same_bytes() -> None:
    message = opened(config(PAGE), reading(1, 0.3))
    kept = json.loads(json.dumps(message_to_json(message)))
    again = message_from_json(kept)
    assert again == message
    assert encode_body(again.body) == encode_body(message.body)


def test_many_alerts_are_cut_and_counted() -> None:
    many = [
        reading(1, 0.3, labels=Labels.of(method="psi", model="m", column=f"column_{i}"))
        for i in range(1000)
    ]
    message = opened(config(PAGE), *many)
    body = encode_body(message.body)
    counts = data_of(message)["counts"]
    assert len(body) < MAXIMUM_BODY_BYTES
    assert counts["in_group"] == counts["new"] == 1000
    assert counts["shown"] + counts["not_shown"] == 1000
    assert len(data_of(message)["alerts"]) == counts["shown"] >= 10
    assert message.lines[-1].startswith("950 more alerts")


hostile = st.text(alphabet=st.characters(), max_size=2000) | st.sampled_from(
    ["\u202e" * 500, "𐍈" * 2000, '"\\' * 1000, "\ud800x", "a\r\nb\x00", "![](http://evil/x.png)"]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(hostile, min_size=12, max_size=30), hostile)
def test_any_text_gives_a_body_under_the_limit_without_control_characters(
    texts: list[str], text: str
) -> None:
    labels = {f"label_{i}_{'x' * 50}": value for i, value in enumerate(texts)}
    setup = config(
        rule(
            when=(),
            name=text or "r",
            runbook=text,
            impact=text,
            precondition=text,
            limit=text,
            summary="{label_0_" + "x" * 50 + "}",
        )
    )
    each = reading(
        1,
        0.3,
        labels=Labels.from_mapping(labels),
        text=text,
        unit=text,
        evidence={value: value for value in texts},
    )
    message = opened(setup, each)
    body = encode_body(message.body)
    assert len(body) < MAXIMUM_BODY_BYTES
    for shown in (message.title, *message.lines, body.decode()):
        assert not {unicodedata.category(each) for each in shown} & {"Cc", "Cs", "Zl", "Zp"}
        assert "\u202e" not in shown


def test_clean_makes_one_capped_line() -> None:
    assert clean("a\r\n b\x00\u202ec", 10) == "a bc"
    assert clean("x" * 50, 10) == "x" * 9 + "…"
    assert clean("é 🙂", 10) == "é 🙂"


def test_fill_shows_short_numbers_and_what_is_absent() -> None:
    text = fill(
        "{{{column}}} {value} {value:.1f} {n} {n:,} {segment} {low}",
        {"column": "c", "value": 0.123456, "n": 12345, "segment": None},
    )
    assert text == "{c} 0.1235 0.1 12345 12,345 (none) (none)"
