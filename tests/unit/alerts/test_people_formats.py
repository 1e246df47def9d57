"""What services for people are sent: recorded schemas, sizes, what is kept when cut, no markup."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alerts.action_message import ActionOrder, AlertFacts, action_message
from alerts.channels.jsm import creation_body, note_body
from alerts.channels.pagerduty import MAXIMUM_BYTES as PAGERDUTY_BYTES
from alerts.channels.pagerduty import resolve_event, trigger_event
from alerts.channels.shown import incident_key, plain_text, shown, web_address
from alerts.channels.slack import MAXIMUM_CHARACTERS, counted_characters, slack_body
from alerts.channels.teams import MAXIMUM_BYTES, counted_bytes, teams_body
from alerts.groups import EventType
from alerts.message_body import encode_body
from alerts.messages import Message
from alerts.model import ResponseAction
from alerts.service_messages import DeadLetter, ping_message, tell_dead_letters

from .factories import NOW
from .told import HOSTILE, message, schema_mistakes, texts_in

KEY = "inferwatch:air/delay/reduce_traffic"


def pagerduty(told: Message) -> dict[str, Any]:
    return {**trigger_event(told, KEY, NOW), "routing_key": "a" * 32}


def jsm(told: Message) -> dict[str, Any]:
    return creation_body(told, KEY)


FORMATS: dict[str, Callable[[Message], dict[str, Any]]] = {
    "slack_message": slack_body,
    "teams_message": teams_body,
    "pagerduty_event": pagerduty,
    "jsm_alert": jsm,
    "jsm_note": note_body,
}
every_format = pytest.mark.parametrize("name", FORMATS)


def fits(name: str, body: dict[str, Any]) -> bool:
    """Whether a body stays below the size that its service takes."""
    if name == "teams_message":
        return counted_bytes(body) <= MAXIMUM_BYTES and len(encode_body(body)) <= 28_000
    if name == "slack_message":
        return len(json.dumps(body["blocks"], ensure_ascii=False)) <= 13_000
    return len(encode_body(body)) <= PAGERDUTY_BYTES


@every_format
@pytest.mark.parametrize("event", [EventType.OPENED, EventType.UPDATED, EventType.RESOLVED])
@pytest.mark.parametrize("new", [1, 3, 60])
def test_every_message_keeps_to_the_schema_and_the_size(
    name: str, event: EventType, new: int
) -> None:
    body = FORMATS[name](message(event, new=new, still_open=2))
    assert schema_mistakes(name, body) == []
    assert fits(name, body)


@every_format
@settings(max_examples=15, deadline=None)
@given(text=st.text(max_size=400), new=st.integers(1, 12), drill=st.booleans())
def test_no_text_breaks_a_format_or_leaves_the_newest_alert_out(
    name: str, text: str, new: int, drill: bool
) -> None:
    told = message(new=new, text=text, drill=drill, note=text)
    body = FORMATS[name](told)
    assert schema_mistakes(name, body) == []
    assert fits(name, body)
    assert any("c00" in each for each in texts_in(body))


@every_format
@pytest.mark.parametrize("text", ['"\\' * 300, "❄😀" * 300, "<>&" * 200, "\n\t" * 300])
def test_the_largest_alert_is_told_whatever_its_texts_cost(name: str, text: str) -> None:
    body = FORMATS[name](message(text=text, note=text))
    assert schema_mistakes(name, body) == []
    assert fits(name, body)
    assert any("c00" in each for each in texts_in(body))
    assert any("inferwatch respond run 17" in each for each in texts_in(body))


def test_slack_counts_all_of_its_blocks() -> None:
    body = slack_body(message(new=40, text="text " * 20))
    assert MAXIMUM_CHARACTERS / 2 < counted_characters(body) <= MAXIMUM_CHARACTERS


def order() -> Message:
    """The message that asks a deployment system to act, sent to people by mistake."""
    facts = AlertFacts(17, "contrast", "f-1", {"model": "delay"}, "Column c00", "https://w/alert")
    asked = ActionOrder(
        number=3, project="air", model="delay", response="move-away",
        action=ResponseAction.REDUCE_TRAFFIC, receiver="on-call", deployments=(), to_percent=5.0,
        from_percent=None, dry_run=True, drill=False, requested_by="ada", answer_by=NOW,
        alert=facts, outcome_url="https://w/v1/actions/3/outcome",
    )  # fmt: skip
    return action_message(asked, NOW)


def lost() -> Message:
    """What the fallback is told of messages that reached nobody."""
    letters = [DeadLetter(f"k{n}", message(text=HOSTILE), 9, "timed_out", NOW) for n in range(3)]
    return tell_dead_letters("pager", letters, "mail", "air", "https://w", NOW)


@every_format
@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: ping_message("on-call", "air", "https://w", NOW), "Nobody need do anything."),
        (lost, "3 messages did not reach pager"),
        (order, "reduce traffic (action 3)"),
        (lambda: message(EventType.STORM, new=30, note="Storm: told as one."), "told as one"),
    ],
    ids=["ping", "dead letters", "order", "storm"],
)
def test_every_other_kind_of_message_is_told_too(
    name: str, made: Callable[[], Message], told: str
) -> None:
    body = FORMATS[name](made())
    assert schema_mistakes(name, body) == []
    assert fits(name, body)
    assert any(told in each for each in texts_in(body))
    assert re.search(r"\b0 more", str(body)) is None


def test_the_schemas_refuse_what_the_services_refuse() -> None:
    """The recorded schemas are worth something: each catches a mistake of ours."""
    event = pagerduty(message())
    assert schema_mistakes("pagerduty_event", {**event, "dedup_key": "k" * 256})
    assert schema_mistakes("pagerduty_event", {**event, "routing_key": "short"})
    assert schema_mistakes("pagerduty_event", {**resolve_event(KEY), "routing_key": "a" * 31})
    assert schema_mistakes("jsm_alert", {**jsm(message()), "message": "m" * 131})
    slack = slack_body(message())
    assert schema_mistakes("slack_message", {**slack, "blocks": slack["blocks"] * 20})
    mrkdwn = {"type": "section", "text": {"type": "mrkdwn", "text": "*b*"}}
    assert schema_mistakes("slack_message", {**slack, "blocks": [mrkdwn]})
    teams = teams_body(message())
    card = teams["attachments"][0]["content"]
    block = {"type": "TextBlock", "text": "**b**"}
    bad = {
        **teams,
        "attachments": [{**teams["attachments"][0], "content": {**card, "body": [block]}}],
    }
    assert schema_mistakes("teams_message", bad)


@every_format
def test_a_cut_message_keeps_what_is_new_and_counts_what_is_not_listed(name: str) -> None:
    told = message(EventType.UPDATED, new=2, still_open=48, text="a long text " * 20)
    texts = texts_in(FORMATS[name](told))
    joined = "\n".join(texts)
    assert "c00" in joined
    assert "c49" not in joined
    counted = re.search(r"(\d+) more alerts are not listed here", joined)
    assert counted is not None
    listed = len(re.findall(r"(?m)^(?:got worse|still open): ", joined))
    assert int(counted[1]) + listed == 50


@every_format
def test_a_drill_is_marked_where_people_look_first(name: str) -> None:
    told = message(drill=True)
    body = FORMATS[name](told)
    firsts = {
        "slack_message": lambda: [body["text"], body["blocks"][0]["text"]["text"]],
        "teams_message": lambda: [
            body["attachments"][0]["content"]["fallbackText"],
            body["attachments"][0]["content"]["body"][0]["items"][0]["inlines"][0]["text"],
        ],
        "pagerduty_event": lambda: [body["payload"]["summary"]],
        "jsm_alert": lambda: [body["message"]],
        "jsm_note": lambda: [body["note"]],
    }
    assert all(text.startswith("DRILL") for text in firsts[name]())
    assert any("This is a drill" in text for text in texts_in(body))
    assert not any("DRILL" in text for text in texts_in(FORMATS[name](message())))


def test_a_drill_goes_the_way_of_a_real_alert() -> None:
    """Else it would not show that a page wakes somebody."""
    assert pagerduty(message(drill=True))["payload"]["severity"] == "critical"
    assert jsm(message(drill=True))["priority"] == "P1"
    assert "drill" in jsm(message(drill=True))["tags"]
    assert "drill" not in jsm(message())["tags"]


def test_slack_reads_no_markup_of_a_hostile_text() -> None:
    body = slack_body(message(text=HOSTILE, note=HOSTILE))
    kinds = set(re.findall(r"'type': '(\w+)'", str(body)))
    assert kinds == {"header", "plain_text", "rich_text", "rich_text_section", "text", "link"}
    links = re.findall(r"'url': '([^']+)'", str(body))
    assert links
    assert all("evil" not in link for link in links)
    assert "<" not in slack_body(message(text="<!channel>"))["text"]


def test_slack_escapes_the_line_for_notifications() -> None:
    told = message()
    forged = Message(**{**vars(told), "title": "a <!channel> & b"})
    assert slack_body(forged)["text"] == "a &lt;!channel&gt; &amp; b"


def test_teams_holds_no_element_that_reads_markdown() -> None:
    body = teams_body(message(text=HOSTILE, note=HOSTILE))
    assert schema_mistakes("teams_message", body) == []  # the schema knows text runs only
    forged = Message(**{**vars(message()), "title": "a [click](https://evil.example) <x>"})
    fallback = teams_body(forged)["attachments"][0]["content"]["fallbackText"]
    assert not set(fallback) & set("[]<>")
    actions = body["attachments"][0]["content"]["actions"]
    assert actions
    assert all("evil" not in action["url"] for action in actions)


def test_jira_gets_no_tags_of_html() -> None:
    for body in (jsm(message(text=HOSTILE)), note_body(message(text=HOSTILE))):
        assert not any("<" in text or ">" in text for text in texts_in(body))


def test_no_link_leads_to_an_address_that_is_none() -> None:
    assert web_address("https://a.example/x?y=1") == "https://a.example/x?y=1"
    for text in ("javascript:alert(1)", "runbooks/a.md", "https://a b", "https://a\n", "//a", ""):
        assert web_address(text) is None
    assert web_address("https://a.example/" + "x" * 1000) is None


def test_a_message_for_people_tells_the_whole_context() -> None:
    text = plain_text(shown(message(note="Escalated: nobody took it on.")), 100_000)
    for part in (
        "Escalated: nobody took it on.",
        "0.3, alert when above 0.2; compared with training (file, n 10,000): 0.02",
        "n 500",
        "fired 3 times in 30 days",
        "reduce traffic (move-away), owner flight-ml",
        "Do: inferwatch respond run 17",
        "Impact: Wrong inputs.",
        "Only if: Another deployment serves.",
        "Limit: Not below a tenth.",
        "runtime_version unknown → 1.18, deployment canary",
        "AUC 0.71",
        "refused: at most one a day",
        "https://example.org/runbook",
        "https://api.example.org/alerts/17/acknowledge?token=abc",
        "https://api.example.org/alerts/17/silence?token=def",
    ):
        assert part in text


def test_the_end_asks_for_nothing_any_more() -> None:
    text = plain_text(shown(message(EventType.RESOLVED)), 100_000)
    assert text.startswith("resolved (")
    for part in ("acknowledge", "silence", "Do:", "Only if"):
        assert part not in text


def test_a_group_has_one_incident_and_a_drill_its_own() -> None:
    assert incident_key(message(), "dlv_1") == incident_key(message(EventType.RESOLVED), "dlv_2")
    assert incident_key(message(drill=True), "dlv_1") != incident_key(message(), "dlv_1")
    told = message()
    long = Message(**{**vars(told), "group": "air/" + "m" * 300})
    other = Message(**{**vars(told), "group": "air/" + "m" * 301})
    assert len(incident_key(long, "d")) <= 255
    assert incident_key(long, "d") != incident_key(other, "d")
    strange = Message(**{**vars(told), "group": "flüge/❄"})
    assert incident_key(strange, "d").isascii()
