"""PagerDuty, Jira Service Management, Slack and Teams against a real server on loopback."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from alerts.channels.base import Receipt
from alerts.channels.outbound import Outbound
from alerts.channels.registry import CHANNELS, open_channel
from alerts.config import Receiver, read_alert_config
from alerts.errors import AlertConfigError, SendFailed, SendFailure
from alerts.groups import EventType
from alerts.messages import Message
from alerts.service_messages import ping_message

from .factories import NOW
from .receiver import LocalReceiver, answer_with, listening
from .told import message, schema_mistakes

ROUTING_KEY = "R0UT1NGKEY" + "x" * 22
API_KEY = "0f4e6d2c-secret-key-of-the-team"
SECRETS = {"KEY": ROUTING_KEY, "API": API_KEY}
GROUP = "inferwatch:air/delay/reduce_traffic"
OPTIONS: dict[str, dict[str, str | bool]] = {
    "pagerduty": {"routing_key_env": "KEY"},
    "jsm": {"api_key_env": "API"},
    "slack": {},
    "teams": {},
}
every_channel = pytest.mark.parametrize("channel", OPTIONS)


@pytest.fixture(scope="module")
def http() -> Iterator[Outbound]:
    with Outbound(timeout=5.0) as outbound:
        yield outbound


@pytest.fixture
def server() -> Iterator[LocalReceiver]:
    with listening() as receiver:
        receiver.answer = answer_with(202, b'{"status":"success"}')
        yield receiver


def send(channel: str, url: str, told: Message, http: Outbound, **options: str | bool) -> Receipt:
    given = {"private_addresses_allowed": True, **OPTIONS[channel], **options}
    named = {"url_env": "URL"} if channel in ("slack", "teams") else {"url": url}
    receiver = Receiver("on-call", channel, options={**named, **given})
    opened = open_channel(receiver, {**SECRETS, "URL": url})
    return opened.send(told, delivery_id="dlv_1", now=NOW, http=http)


def bodies(server: LocalReceiver) -> list[Any]:
    return [json.loads(each.body) for each in server.received]


@every_channel
def test_a_taken_message_gives_a_receipt(
    channel: str, server: LocalReceiver, http: Outbound
) -> None:
    receipt = send(channel, server.url, message(), http)
    assert receipt.status == 202
    assert len(server.received) == 1


@every_channel
@pytest.mark.parametrize(
    ("status", "reason", "permanent", "disables"),
    [
        (302, SendFailure.REDIRECTED, False, False),
        (400, SendFailure.REFUSED, True, False),
        (404, SendFailure.REFUSED, True, False),
        (410, SendFailure.RECEIVER_GONE, True, True),
        (429, SendFailure.RATE_LIMITED, False, False),
        (500, SendFailure.RECEIVER_ERROR, False, False),
        (503, SendFailure.RECEIVER_ERROR, False, False),
    ],
)
def test_other_answers_are_judged_as_for_every_channel(
    channel: str,
    status: int,
    reason: SendFailure,
    permanent: bool,
    disables: bool,
    server: LocalReceiver,
    http: Outbound,
) -> None:
    server.answer = answer_with(status, b"no", location=server.url, retry_after="7")
    with pytest.raises(SendFailed) as caught:
        send(channel, server.url, message(), http)
    failed = caught.value
    assert (failed.reason, failed.permanent) == (reason, permanent)
    assert failed.disable_receiver is disables
    assert failed.retry_after is not None
    assert failed.retry_after.total_seconds() == 7
    assert len(server.received) == 1  # a redirect is not followed


@every_channel
def test_a_private_address_is_refused_unless_allowed(
    channel: str, server: LocalReceiver, http: Outbound
) -> None:
    url = server.url.replace("http://", "https://")
    with pytest.raises(SendFailed) as caught:
        send(channel, url, message(), http, private_addresses_allowed=False)
    assert caught.value.reason is SendFailure.ADDRESS_REFUSED
    assert caught.value.permanent
    assert server.received == []


@every_channel
def test_no_secret_is_sent_in_clear_to_a_public_address(
    channel: str, server: LocalReceiver, http: Outbound
) -> None:
    with pytest.raises(SendFailed) as caught:
        send(channel, "http://example.org/x", message(), http, private_addresses_allowed=False)
    assert caught.value.reason is SendFailure.NOT_CONFIGURED
    assert "https://" in caught.value.detail


@every_channel
def test_no_secret_stands_in_an_error_or_in_the_text_of_a_channel(
    channel: str, server: LocalReceiver, http: Outbound
) -> None:
    server.answer = answer_with(400, b"bad")
    secret_url = f"{server.url}/T0/B0/secret-of-the-hook"
    with pytest.raises(SendFailed) as caught:
        send(channel, secret_url, message(), http)
    receiver = Receiver(
        "r",
        channel,
        options={"url_env": "URL", "private_addresses_allowed": True, **OPTIONS[channel]},
    )
    opened = repr(open_channel(receiver, {**SECRETS, "URL": secret_url}))
    for text in (str(caught.value), opened if channel in ("slack", "teams") else ""):
        assert "secret-of-the-hook" not in text
    for secret in SECRETS.values():
        assert secret not in str(caught.value) + opened


def test_pagerduty_gets_one_incident_a_group_and_its_end(
    server: LocalReceiver, http: Outbound
) -> None:
    send("pagerduty", server.url, message(), http)
    send("pagerduty", server.url, message(EventType.RESOLVED, new=1, still_open=1), http)
    send("pagerduty", server.url, message(EventType.RESOLVED, new=2), http)
    sent = bodies(server)
    assert [each["event_action"] for each in sent] == ["trigger", "trigger", "resolve"]
    assert {each["dedup_key"] for each in sent} == {GROUP}
    assert all(schema_mistakes("pagerduty_event", each) == [] for each in sent)
    assert all(each["routing_key"] == ROUTING_KEY for each in sent)


def test_pagerduty_ends_the_incident_of_a_test_message(
    server: LocalReceiver, http: Outbound
) -> None:
    send("pagerduty", server.url, ping_message("on-call", "air", "https://w", NOW), http)
    first, second = bodies(server)
    assert (first["event_action"], second["event_action"]) == ("trigger", "resolve")
    assert first["payload"]["severity"] == "info"
    assert first["dedup_key"] == second["dedup_key"]
    assert first["dedup_key"].endswith("dlv_1")


def test_the_end_of_a_drill_leaves_the_real_incident_open(
    server: LocalReceiver, http: Outbound
) -> None:
    send("pagerduty", server.url, message(), http)
    send("pagerduty", server.url, message(EventType.RESOLVED, drill=True), http)
    real, drill = bodies(server)
    assert real["dedup_key"] != drill["dedup_key"]


def test_jira_gets_an_alert_then_notes_then_the_end(server: LocalReceiver, http: Outbound) -> None:
    for told in (
        message(),
        message(new=1, still_open=1),
        message(EventType.UPDATED),
        message(EventType.RESOLVED, new=1, still_open=1),
        message(EventType.RESOLVED, new=2),
    ):
        send("jsm", server.url, told, http)
    parts = [urlsplit(each.path) for each in server.received]
    kinds = [part.path.removeprefix("/hook").rpartition("/")[2] for part in parts]
    assert kinds == ["", "", "notes", "", "notes", "", "notes", "close"]
    for part, body in zip(parts, bodies(server), strict=True):
        if part.path == "/hook":
            assert part.query == ""
            assert schema_mistakes("jsm_alert", body) == []
            assert body["alias"] == GROUP
        else:
            assert f"/hook/{GROUP}/" in unquote(part.path)
            assert parse_qs(part.query) == {"identifierType": ["alias"]}
            assert schema_mistakes("jsm_note", body) == []
    assert {each.headers["authorization"] for each in server.received} == {f"GenieKey {API_KEY}"}


def test_the_alias_in_an_address_of_jira_is_one_part_of_its_path(
    server: LocalReceiver, http: Outbound
) -> None:
    send("jsm", server.url, message(EventType.RESOLVED), http)
    path = urlsplit(server.received[0].path).path
    assert path.count("/") == 3
    assert unquote(path) == f"/hook/{GROUP}/close"


def test_a_repetition_after_a_lost_note_creates_no_second_alert(
    server: LocalReceiver, http: Outbound
) -> None:
    answers = iter([answer_with(202), answer_with(500), answer_with(202), answer_with(202)])

    def answer_in_turn(handler: BaseHTTPRequestHandler) -> None:
        next(answers)(handler)

    server.answer = answer_in_turn
    with pytest.raises(SendFailed):
        send("jsm", server.url, message(EventType.UPDATED), http)
    send("jsm", server.url, message(EventType.UPDATED), http)
    created = [each for each in bodies(server) if "alias" in each]
    assert {each["alias"] for each in created} == {GROUP}


def test_several_requests_of_one_message_share_one_deadline(server: LocalReceiver) -> None:
    """Else a slow service would hold a message for longer than its claim lasts."""

    def answer_slowly(handler: BaseHTTPRequestHandler) -> None:
        server.released.wait(0.7)
        with contextlib.suppress(OSError):  # nobody waits for the second answer any more
            answer_with(202)(handler)

    server.answer = answer_slowly
    began = time.monotonic()
    with Outbound(timeout=1.0) as impatient, pytest.raises(SendFailed) as caught:
        send("jsm", server.url, message(EventType.UPDATED), impatient)
    assert caught.value.reason is SendFailure.TIMED_OUT
    assert time.monotonic() - began < 1.6
    assert len(server.received) == 2


@pytest.mark.parametrize("channel", ["slack", "teams"])
def test_the_posted_body_is_the_format(channel: str, server: LocalReceiver, http: Outbound) -> None:
    for event in (EventType.OPENED, EventType.RESOLVED, EventType.UPDATED):
        send(channel, server.url, message(event), http)
    send(channel, server.url, ping_message("on-call", "air", "https://w", NOW), http)
    for body, received in zip(bodies(server), server.received, strict=True):
        assert schema_mistakes(f"{channel}_message", body) == []
        assert received.headers["x-inferwatch-delivery"] == "dlv_1"
        assert received.headers["content-type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize(
    ("channel", "environment", "remedy"),
    [
        ("pagerduty", {"KEY": "short"}, "32 letters and digits"),
        ("pagerduty", {}, "environment variable KEY is missing"),
        ("jsm", {"API": "has blanks in it, which no key has"}, "no blanks"),
        ("slack", {}, "environment variable URL is missing"),
        ("teams", {"URL": "ftp://x"}, "must begin with http"),
    ],
)
def test_a_receiver_that_can_t_be_opened_says_what_to_mend(
    channel: str, environment: dict[str, str], remedy: str
) -> None:
    named: dict[str, str | bool] = {"url_env": "URL"} if channel in ("slack", "teams") else {}
    with pytest.raises(SendFailed) as caught:
        open_channel(Receiver("r", channel, options={**named, **OPTIONS[channel]}), environment)
    assert caught.value.reason is SendFailure.NOT_CONFIGURED
    assert not caught.value.permanent
    assert remedy in caught.value.detail


FILE = """
owners:
  - {{name: a, people: [x@example.org], receiver: r}}
receivers:
  - {{name: r, {keys}}}
rules:
  - {{name: q, when: {{check: drift}}, above: 1, severity: notice, owner: a, response: investigate}}
"""


@pytest.mark.parametrize(
    ("keys", "mistakes"),
    [
        ("channel: slack, url_env: U", []),
        ("channel: slack, url: 'https://h/x'", ["url: this address is a secret"]),
        ("channel: teams, url_file: /run/u", []),
        ("channel: teams", ["url_env or url_file is missing"]),
        ("channel: pagerduty, routing_key_env: K", []),
        ("channel: pagerduty, routing_key: abc", ["secrets never stand in this file"]),
        ("channel: pagerduty", ["routing_key_env or routing_key_file is missing"]),
        (
            "channel: pagerduty, routing_key_env: K, url: 'http://p.example/x'",
            ["must begin with https://"],
        ),
        ("channel: jsm, api_key_file: /run/k, url: 'https://api.opsgenie.com/v2/alerts'", []),
        ("channel: jsm, api_key: abc, colour: red", ["secrets never stand", "unknown key"]),
        ("channel: jsm, api_key_env: A, api_key_file: B", ["keep one"]),
    ],
)
def test_the_keys_of_a_receiver_are_checked(keys: str, mistakes: list[str]) -> None:
    if not mistakes:
        read_alert_config(FILE.format(keys=keys), "alerts.yaml", CHANNELS)
        return
    with pytest.raises(AlertConfigError) as caught:
        read_alert_config(FILE.format(keys=keys), "alerts.yaml", CHANNELS)
    found = [str(problem) for problem in caught.value.problems]
    assert len(found) == len(mistakes)
    assert all(any(mistake in each for each in found) for mistake in mistakes)
    assert all("line 5" in each for each in found)
