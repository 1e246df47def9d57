"""What a message says, how large it may grow, and that hostile text does no harm in it."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alerts.codec import message_from_json, message_to_json
from alerts.config import AlertConfig
from alerts.context import NOTHING_KNOWN, AlertContext, Changed, TrafficShare
from alerts.groups import Change, EventType
from alerts.lifecycle import step
from alerts.message_body import MAXIMUM_BODY_BYTES, encode_body
from alerts.messages import Message, render
from alerts.model import (
    Alert,
    Labels,
    Reading,
    ReadingState,
    ResponseAction,
    Severity,
    Told,
    ToldEvent,
)
from alerts.rules import StateCondition, Subject
from alerts.templates import fill
from alerts.text import clean

from .factories import NOW, SUBJECT, config, groups_of, hour, reading, rule

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
    response_name="move-away",
)


KNOWN = AlertContext(
    baseline="training (file, n 10,000): 0.02",
    fired=3,
    changed=(Changed("runtime_version", None, "1.18", "canary", hour(1)),),
    quality="AUC 0.71 for requests of February",
    traffic=TrafficShare(500, 2000),
    action="refused: at most one a day",
    command="inferwatch respond run 17",
    data_until=hour(2),
    acknowledge_link="https://api/a?t=1",
    silence_link="https://api/s?t=1",
    evidence_link="https://watch.example.org/model?model=delay",
    links_until=NOW + timedelta(days=2),
)


def opened(
    setup: AlertConfig, *readings: Reading, context: AlertContext = NOTHING_KNOWN
) -> Message:
    result = step(setup, {}, readings, NOW)
    (only,) = groups_of(setup, result.alerts)
    known = tuple(replace(entry, context=context) for entry in only.entries)
    return render(replace(only, entries=known), "https://watch.example.org/", NOW)


def knowing(alert: Alert, event: ToldEvent) -> Alert:
    return replace(alert, told={"on-call": Told(alert.episode, event, NOW)})


def data_of(message: Message) -> Mapping[str, Any]:
    parsed = json.loads(encode_body(message.body))
    assert set(parsed) == {"type", "timestamp", "data"}
    data: Mapping[str, Any] = parsed["data"]
    return data


def test_an_opened_message_says_everything_that_is_needed() -> None:
    measured = reading(2, 0.31, low=0.28, high=0.35, unit="nats", evidence={"auc": 0.71})
    message = opened(config(PAGE), measured, context=KNOWN)
    assert message.title == "[page] delay: contrast opened; response: reduce traffic"
    assert message.lines == (
        "opened: Column distance of (none): 0.310 nats, n 500",
        "Value 0.31 nats, alert when above 0.2; compared with training (file, n 10,000): 0.02",
        "Window 2026-03-02T01:00:00Z to 2026-03-02T02:00:00Z, n 500, interval 0.28 to 0.35;"
        " data until 2026-03-02T02:00:00Z",
        "Since 2026-03-02T02:00:00Z, fired 3 times in 30 days",
        "Concerns 25% of the requests then (500 of 2,000)",
        "Changed before it began: runtime_version unknown → 1.18, deployment canary,"
        " 2026-03-02 01:00 UTC",
        "Known then: AUC 0.71 for requests of February",
        "Automatic action: refused: at most one a day",
        "The distribution changed: a reason to look, no verdict on quality.",
        "Response: reduce traffic (move-away), owner flight-ml",
        "Do: inferwatch respond run 17",
        "Runbook: https://example.org/runbook",
        "Impact: Wrong inputs.",
        "Only if: Another deployment serves.",
        "Limit: Not below a tenth.",
        "Take it on: https://api/a?t=1",
        "Silence: https://api/s?t=1",
        "Evidence: https://watch.example.org/model?model=delay",
        f"https://watch.example.org/alert?fingerprint={SUBJECT.fingerprint('contrast')}",
    )
    data = data_of(message)
    assert message.body["type"] == "finding.opened"
    assert message.body["timestamp"] == "2026-03-03T00:00:00Z"
    assert data["group"] == "air/delay/reduce_traffic"
    assert data["group_labels"] == {"model": "delay", "response": "reduce_traffic"}
    counts = {"in_group": 1, "new": 1, "still_open": 1, "shown": 1, "not_shown": 0}
    assert data["counts"] == counts
    assert (data["owner"], data["note"], data["drill"]) == ("flight-ml", "", False)
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
        "name": "move-away",
        "command": "inferwatch respond run 17",
        "runbook": "https://example.org/runbook",
        "impact": "Wrong inputs.",
        "precondition": "Another deployment serves.",
        "limit": "Not below a tenth.",
    }
    assert (alert["severity"], alert["owner"]) == ("page", "flight-ml")
    assert alert["fired_30_days"] == 3
    assert alert["baseline"] == "training (file, n 10,000): 0.02"
    assert alert["changed"] == [
        {
            "tag": "runtime_version",
            "before": None,
            "after": "1.18",
            "deployment": "canary",
            "at": "2026-03-02T01:00:00Z",
        }
    ]
    assert alert["traffic"] == {"share": 0.25, "requests": 500, "of": 2000}
    assert alert["quality"] == "AUC 0.71 for requests of February"
    assert alert["automatic"] == "refused: at most one a day"
    assert alert["links"] == {
        "alert": f"https://watch.example.org/alert?fingerprint={alert['fingerprint']}",
        "acknowledge": "https://api/a?t=1",
        "silence": "https://api/s?t=1",
        "evidence": "https://watch.example.org/model?model=delay",
        "expires": "2026-03-05T00:00:00Z",
    }


def test_what_is_not_known_is_null_and_no_line() -> None:
    message = opened(config(replace(PAGE, runbook=None, response_name=None)), reading(2, 0.31))
    (alert,) = data_of(message)["alerts"]
    for name in ("baseline", "fired_30_days", "quality", "automatic", "data_until", "reason"):
        assert alert[name] is None, name
    assert alert["changed"] == []
    assert alert["links"]["acknowledge"] is None
    text = "\n".join(message.lines)
    assert not re.search(r"None|null|Runbook|Take it on|Known then|30 days", text)


def test_a_resolved_message_carries_the_reason() -> None:
    setup = config()
    fired = step(setup, {}, [reading(1, 0.3)], NOW)
    told = {key: knowing(one, ToldEvent.OPENED) for key, one in fired.alerts.items()}
    ended = step(setup, told, [reading(2, 0.1)], NOW)
    (only,) = groups_of(setup, ended.alerts)
    message = render(only, "https://w", NOW)
    assert message.title == "[ticket] delay: psi-high resolved"
    assert message.lines[0] == (
        "resolved (recovered): drift psi distance: 0.1, alert when above 0.2"
    )
    assert not [line for line in message.lines if line.startswith(("Response", "Take it on"))]
    (alert,) = data_of(message)["alerts"]
    assert (alert["state"], alert["reason"]) == ("resolved", "recovered")
    assert data_of(message)["counts"]["still_open"] == 0
    assert alert["since"] == "2026-03-02T01:00:00Z"
    assert alert["resolved_at"] == "2026-03-02T02:00:00Z"


@pytest.mark.parametrize(
    ("event", "change", "title"),
    [
        (EventType.UPDATED, Change.GOT_WORSE, "got worse; response: reduce traffic"),
        (EventType.UPDATED, Change.NONE, "still open; response: reduce traffic"),
        (EventType.STORM, Change.OPENED, "told as one; response: reduce traffic"),
        (EventType.RESOLVED, Change.ENDED, "resolved"),
    ],
)
def test_the_title_says_what_is_new(event: EventType, change: Change, title: str) -> None:
    (group,) = groups_of(config(PAGE), step(config(PAGE), {}, [reading(1, 0.3)], NOW).alerts)
    (entry,) = group.entries
    changed = replace(group, event=event, entries=(replace(entry, change=change),))
    assert render(changed, "https://w", NOW).title == f"[page] delay: contrast {title}"
    two = replace(changed, entries=changed.entries * 2)
    assert render(two, "https://w", NOW).title == f"[page] delay: 2 alerts {title}"


def test_a_drill_is_marked_for_people_and_programs_and_says_why_it_is_sent() -> None:
    (group,) = groups_of(config(PAGE), step(config(PAGE), {}, [reading(1, 0.3)], NOW).alerts)
    message = render(replace(group, drill=True, note="Rehearsal 4"), "https://w", NOW)
    assert message.title.startswith("DRILL [page] delay")
    assert message.lines[0].startswith("This is a drill")
    assert message.lines[1] == "Rehearsal 4"
    data = data_of(message)
    assert (data["drill"], data["note"], message.drill) == (True, "Rehearsal 4", True)


def test_what_is_new_or_changed_stands_first_and_is_kept_when_the_message_is_cut() -> None:
    many = [
        reading(1, 0.3, labels=Labels.of(method="psi", model="m", column=f"column_{i}"))
        for i in range(300)
    ]
    (group,) = groups_of(config(PAGE), step(config(PAGE), {}, many, NOW).alerts)
    changes = {297: Change.OPENED, 298: Change.GOT_WORSE, 299: Change.ENDED}
    entries = [
        replace(entry, change=changes.get(place, Change.NONE))
        for place, entry in enumerate(group.entries)
    ]
    message = render(replace(group, entries=tuple(entries)), "https://w", NOW)
    data = data_of(message)
    assert [each["change"] for each in data["alerts"][:4]] == [
        *("opened", "got_worse", "ended", "still_open")
    ]
    assert data["counts"]["new"] == 3
    assert message.lines[0].startswith("opened: ")


def test_half_a_link_is_never_given() -> None:
    long = "https://api/" + "x" * 900
    message = opened(config(PAGE), reading(1, 0.3), context=replace(KNOWN, acknowledge_link=long))
    (alert,) = data_of(message)["alerts"]
    assert alert["links"]["acknowledge"] is None
    assert f"Take it on: {long}" in message.lines


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


def test_a_sentence_of_our_own_names_the_deployment_as_people_do() -> None:
    labels = Labels.of(**{**SUBJECT, "deployment": "3"})
    named = Labels.of(**{**labels, "deployment_name": "canary"})
    for known, name in ((labels, "3"), (named, "canary")):
        line = opened(config(), reading(1, 0.3, labels=known)).lines[0]
        said = f"opened: drift psi distance deployment {name}: 0.3, alert when above 0.2"
        assert line == said


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
    known = replace(
        KNOWN,
        baseline=text,
        quality=text,
        action=text,
        command=text,
        changed=(Changed(text, text, text, text, NOW),) * 20,
    )
    message = opened(setup, each, context=known)
    body = encode_body(message.body)
    assert len(body) < MAXIMUM_BODY_BYTES
    for shown in (message.title, *message.lines, body.decode()):
        assert not {unicodedata.category(each) for each in shown} & {"Cc", "Cs", "Zl", "Zp"}
        assert "\u202e" not in shown


def test_clean_makes_one_capped_line() -> None:
    assert clean("a\r\n b\x00\u202ec", 10) == "a bc"
    assert clean("x" * 50, 10) == "x" * 9 + "…"
    assert clean("é 🙂", 10) == "é 🙂"


def test_clean_drops_a_mark_wherever_it_stands_and_keeps_what_can_be_read() -> None:
    for number in range(0x3000):
        mark = chr(number)
        if mark.isspace() or unicodedata.category(mark) in ("Cc", "Cs", "Zl", "Zp"):
            assert clean(f"a{mark}b", 10) in ("ab", "a b")
        elif mark.isprintable():
            assert clean(f"a{mark}b", 10) == f"a{mark}b"
    for mark in "\u200e\u061c\u202e\u2066\ufeff":
        assert clean(f"a{mark}b", 10) == "ab"


def test_fill_shows_short_numbers_and_what_is_absent() -> None:
    text = fill(
        "{{{column}}} {value} {value:.1f} {n} {n:,} {segment} {low}",
        {"column": "c", "value": 0.123456, "n": 12345, "segment": None},
    )
    assert text == "{c} 0.1235 0.1 12345 12,345 (none) (none)"
