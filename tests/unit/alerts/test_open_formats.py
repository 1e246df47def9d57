"""Bodies of the webhook, of CloudEvents and of Alertmanager's formats: schema, size, content."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote

import pytest
from standardwebhooks import Webhook as Verifier

from alerts.channels.alertmanager import Alertmanager, Stated
from alerts.channels.outbound import Outbound
from alerts.channels.registry import CHANNELS, open_channel
from alerts.config import Receiver, read_alert_config
from alerts.errors import AlertConfigError, SendFailed, SendFailure
from alerts.groups import EventType
from alerts.message_body import MAXIMUM_BODY_BYTES, encode_body
from alerts.messages import Message
from alerts.service_messages import ping_message
from tests.documents import ROOT, blocks

from .factories import NOW, SUBJECT
from .formats import assert_format
from .receiver import LocalReceiver, Received, answer_with, listening
from .test_webhook import SECRET
from .told import HOSTILE, KNOWN, message

SCENES = {
    "opened": message(),
    "worse": message(EventType.UPDATED),
    "still open": message(EventType.UPDATED, new=0, still_open=1),
    "ended": message(EventType.RESOLVED),
    "many": message(new=300),
    "hostile": message(text=f"{HOSTILE} \u202e \ud800 𐍈"),
    "drill": message(drill=True, note="Rehearsal of contrast"),
}
BARE = ping_message("on-call", "air", "https://watch.example.org", NOW)
DOCS = ROOT / "docs"
SCHEMAS = {
    "cloudevents": "cloudevents",
    "alertmanager_webhook": "alertmanager_webhook",
    "alertmanager": "alertmanager_alerts",
}


@pytest.fixture(scope="module")
def http() -> Iterator[Outbound]:
    with Outbound(timeout=5.0) as outbound:
        yield outbound


@pytest.fixture(scope="module")
def server() -> Iterator[LocalReceiver]:
    with listening() as receiver:
        yield receiver


def sent(
    channel: str,
    what: Message,
    server: LocalReceiver,
    http: Outbound,
    *,
    now: datetime = NOW,
    environment: Mapping[str, str] | None = None,
    **options: str | bool,
) -> Received:
    given: dict[str, str | bool] = {"url": server.url, "private_addresses_allowed": True}
    receiver = Receiver("on-call", channel, options=given | options)
    opened = open_channel(receiver, environment or {})
    opened.send(what, delivery_id="msg_0123456789abcdef", now=now, http=http)
    return server.received[-1]


@pytest.mark.parametrize("scene", SCENES)
def test_the_webhook_keeps_its_recorded_schema(scene: str) -> None:
    body = json.loads(encode_body(SCENES[scene].body))
    assert_format("webhook", body)
    assert len(encode_body(SCENES[scene].body)) < MAXIMUM_BODY_BYTES


def test_the_example_of_the_documents_keeps_the_schema_of_the_webhook() -> None:
    examples = [json.loads(b.text) for b in blocks(DOCS / "channels.md") if b.kind == "json"]
    (example,) = (each for each in examples if "data" in each)
    assert_format("webhook", example)


@pytest.mark.parametrize("scene", [*SCENES, "bare"])
@pytest.mark.parametrize("channel", SCHEMAS)
def test_every_message_keeps_the_schema_of_its_channel(
    channel: str, scene: str, server: LocalReceiver, http: Outbound
) -> None:
    what = SCENES.get(scene, BARE)
    received = sent(channel, what, server, http)
    assert_format(SCHEMAS[channel], json.loads(received.body))
    assert len(received.body) < 64_000
    assert b"\\u202e" not in received.body
    assert "\u202e" not in received.body.decode()


def test_a_structured_event_names_source_subject_and_type(
    server: LocalReceiver, http: Outbound
) -> None:
    received = sent("cloudevents", SCENES["opened"], server, http)
    event = json.loads(received.body)
    assert received.headers["content-type"] == "application/cloudevents+json; charset=utf-8"
    assert event["type"] == "io.inferwatch.finding.opened.v1"
    assert event["source"] == "/projects/air/models/delay"
    assert event["subject"] == "air/delay/reduce_traffic"
    assert (event["id"], event["severity"]) == ("msg_0123456789abcdef", "page")
    assert event["time"] == "2026-03-03T00:00:00Z"
    assert event["data"] == SCENES["opened"].body["data"]


def test_a_binary_event_has_the_same_attributes_as_headers(
    server: LocalReceiver, http: Outbound
) -> None:
    received = sent("cloudevents", SCENES["hostile"], server, http, mode="binary")
    structured = json.loads(sent("cloudevents", SCENES["hostile"], server, http).body)
    assert received.headers["content-type"] == "application/json"
    assert json.loads(received.body) == structured["data"]
    for name in structured.keys() - {"data", "datacontenttype"}:
        header = received.headers[f"ce-{name}"]
        assert header.isascii()
        assert " " not in header
        assert '"' not in header
        assert unquote(header) == structured[name]


def test_a_drill_is_an_extension_of_the_event(server: LocalReceiver, http: Outbound) -> None:
    assert json.loads(sent("cloudevents", SCENES["drill"], server, http).body)["drill"] == "true"
    assert "drill" not in json.loads(sent("cloudevents", SCENES["opened"], server, http).body)


@pytest.mark.parametrize("channel", SCHEMAS)
def test_secrets_sign_the_very_bytes_and_authorize(
    channel: str, server: LocalReceiver, http: Outbound
) -> None:
    environment = {"SECRET": SECRET, "AUTHORIZATION": "Bearer abc"}
    received = sent(
        channel,
        SCENES["opened"],
        server,
        http,
        now=datetime.now(UTC),
        environment=environment,
        secret_env="SECRET",
        authorization_env="AUTHORIZATION",
    )
    assert received.headers["authorization"] == "Bearer abc"
    Verifier(SECRET).verify(received.body, received.headers)
    plain = sent(channel, SCENES["opened"], server, http)
    assert not {"authorization", "webhook-signature"} & plain.headers.keys()


@pytest.mark.parametrize("channel", SCHEMAS)
@pytest.mark.parametrize("value", ["", "Bearer a\nx: y", "Bearer é", "x" * 5000])
def test_an_authorization_that_is_no_header_value_is_an_operators_mistake(
    channel: str, value: str
) -> None:
    options: dict[str, str | bool] = {"url": "https://example.org", "authorization_env": "A"}
    with pytest.raises(SendFailed) as caught:
        open_channel(Receiver("on-call", channel, options=options), {"A": value})
    assert caught.value.reason is SendFailure.NOT_CONFIGURED
    assert not value or value not in str(caught.value)


@pytest.mark.parametrize("channel", SCHEMAS)
def test_an_authorization_goes_over_https_or_into_a_private_network_only(channel: str) -> None:
    options: dict[str, str | bool] = {"url": "http://example.org", "authorization_env": "A"}
    with pytest.raises(SendFailed, match="must begin with https://"):
        open_channel(Receiver("on-call", channel, options=options), {"A": "Bearer abc"})
    private = Receiver("on-call", channel, options={**options, "private_addresses_allowed": True})
    assert open_channel(private, {"A": "Bearer abc"})
    plain = Receiver("on-call", channel, options={"url": "http://example.org"})
    assert open_channel(plain, {})


def test_secrets_in_the_file_itself_and_unknown_modes_are_refused() -> None:
    text = """
owners: [{name: o, people: [a], receiver: events}]
receivers:
  - name: events
    channel: cloudevents
    url: https://example.org
    mode: both
    authorization: Bearer abc
    secret: whsec_x
  - {name: am, channel: alertmanager, authorization_env: A, authorization_file: b}
  - {name: open, channel: cloudevents, url: "http://b.example.org", authorization_env: A}
  - {name: deaf, channel: alertmanager, url: "https://a.example.org", send_resolved: false}
rules: []
"""
    with pytest.raises(AlertConfigError) as caught:
        read_alert_config(text, "alerts.yaml", CHANNELS)
    said = str(caught.value)
    for part in (
        "line 7, receivers[0].mode: must be one of structured, binary",
        "line 8, receivers[0].authorization: secrets never stand in this file",
        "line 9, receivers[0].secret: secrets never stand in this file",
        "receivers[1].authorization_file: is given beside authorization_env",
        "line 11, receivers[2].url: must begin with https://",
        "line 12, receivers[3].send_resolved: an Alertmanager has to hear of ends",
        "line 10, receivers[1]: url or url_env or url_file is missing",
    ):
        assert part in said
    assert "abc" not in said


def test_the_version_4_body_says_what_alertmanager_would(
    server: LocalReceiver, http: Outbound
) -> None:
    body = json.loads(sent("alertmanager_webhook", SCENES["opened"], server, http).body)
    assert (body["version"], body["status"], body["receiver"]) == ("4", "firing", "on-call")
    assert body["groupLabels"] == {"model": "delay", "response": "reduce_traffic"}
    (alert,) = body["alerts"]
    fingerprint = SCENES["opened"].new[0].fingerprint
    assert alert["labels"] == {
        **dict(SUBJECT),
        "column": "c00",
        "alertname": "contrast",
        "severity": "page",
        "owner": "flight-ml",
        "response": "reduce_traffic",
        "inferwatch_id": fingerprint[:24],
    }
    assert alert["fingerprint"] == fingerprint[:16]
    assert alert["startsAt"] == "2026-03-02T01:00:00Z"
    assert alert["endsAt"] == "0001-01-01T00:00:00Z"
    told = alert["annotations"]
    assert told["summary"] == "Column c00: 0.300 (none), n 500"
    assert told["runbook_url"] == "https://example.org/runbook"
    assert told["command"] == "inferwatch respond run 17"
    assert told["acknowledge_url"] == KNOWN.acknowledge_link
    assert told["changed"].startswith("runtime_version unknown → 1.18 (canary, ")
    assert (told["value"], told["threshold"], told["n"]) == ("0.3", "above 0.2", "500")
    assert body["commonLabels"] == alert["labels"]
    assert body["commonAnnotations"] == told


def test_an_ended_group_is_resolved_with_its_reason_and_its_end(
    server: LocalReceiver, http: Outbound
) -> None:
    body = json.loads(sent("alertmanager_webhook", SCENES["ended"], server, http).body)
    assert body["status"] == "resolved"
    assert [each["status"] for each in body["alerts"]] == ["resolved"]
    assert body["alerts"][0]["endsAt"] == "2026-03-03T00:00:00Z"


def test_a_cut_group_says_how_many_alerts_are_missing_and_keys_stay_apart(
    server: LocalReceiver, http: Outbound
) -> None:
    cut = json.loads(sent("alertmanager_webhook", SCENES["many"], server, http).body)
    assert cut["truncatedAlerts"] + len(cut["alerts"]) == 300
    assert "column" not in cut["commonLabels"]
    keys = {
        json.loads(sent("alertmanager_webhook", SCENES[scene], server, http).body)["groupKey"]
        for scene in ("opened", "worse", "ended")
    }
    drill = json.loads(sent("alertmanager_webhook", SCENES["drill"], server, http).body)
    assert len(keys) == 1
    assert drill["groupKey"] not in keys
    assert drill["alerts"][0]["labels"]["drill"] == "true"


def test_alertmanager_gets_no_value_in_a_label_and_an_end_ahead_while_it_fires(
    server: LocalReceiver, http: Outbound
) -> None:
    now = NOW + timedelta(hours=3)
    received = sent("alertmanager", SCENES["opened"], server, http, now=now)
    assert received.path == "/hook/api/v2/alerts"
    (alert,) = json.loads(received.body)
    (worse,) = json.loads(sent("alertmanager", SCENES["worse"], server, http).body)
    assert alert["labels"] == worse["labels"]
    assert not {"value", "low", "high", "n"} & alert["labels"].keys()
    assert (alert["startsAt"], alert["endsAt"]) == ("2026-03-02T01:00:00Z", "2026-03-03T04:00:00Z")
    (ended,) = json.loads(sent("alertmanager", SCENES["ended"], server, http, now=now).body)
    assert ended["labels"] == alert["labels"]
    assert (
        ended["endsAt"] == "2026-03-03T00:00:00Z"
    )  # when its end was noticed, not when it is sent
    assert ended["annotations"]["state_change"] == "ended"


def test_a_drill_is_another_alert_there_and_soon_ends_by_itself(
    server: LocalReceiver, http: Outbound
) -> None:
    (drill,) = json.loads(sent("alertmanager", SCENES["drill"], server, http).body)
    (real,) = json.loads(sent("alertmanager", SCENES["opened"], server, http).body)
    assert drill["labels"] == {**real["labels"], "drill": "true"}
    assert (drill["endsAt"], real["endsAt"]) == ("2026-03-03T00:05:00Z", "2026-03-03T01:00:00Z")


def test_an_alert_has_the_same_labels_whether_it_is_told_in_full_or_cut(
    server: LocalReceiver, http: Outbound
) -> None:
    def labels(what: Message) -> dict[str, dict[str, str]]:
        told = json.loads(sent("alertmanager", what, server, http).body)
        return {each["labels"]["column"]: each["labels"] for each in told}

    long = "x" * 250
    full, cut = labels(message(new=2, text=long)), labels(message(new=300, text=long))
    assert full.keys() & cut.keys() == full.keys()
    assert all(cut[column] == found for column, found in full.items())


def test_the_address_may_name_the_path_of_the_api_already(
    server: LocalReceiver, http: Outbound
) -> None:
    for end in ("", "/", "/api/v2/alerts", "/api/v2/alerts/"):
        received = sent("alertmanager", SCENES["opened"], server, http, url=server.url + end)
        assert received.path == "/hook/api/v2/alerts"


def test_all_that_is_open_is_stated_again_in_pieces(server: LocalReceiver, http: Outbound) -> None:
    receiver = Receiver(
        "am", "alertmanager", options={"url": server.url, "private_addresses_allowed": True}
    )
    channel = open_channel(receiver, {})
    assert isinstance(channel, Alertmanager)
    (alert,) = SCENES["opened"].body["data"]["alerts"]  # type: ignore[call-overload, index]
    before = len(server.received)
    assert channel.restate([Stated(alert, NOW)] * 1200, now=NOW, http=http) == 1200
    pieces = [json.loads(each.body) for each in server.received[before:]]
    assert [len(each) for each in pieces] == [500, 500, 200]
    assert channel.restate([], now=NOW, http=http) == 0


def test_a_failure_to_state_again_is_told(server: LocalReceiver, http: Outbound) -> None:
    receiver = Receiver(
        "am", "alertmanager", options={"url": server.url, "private_addresses_allowed": True}
    )
    channel = open_channel(receiver, {})
    assert isinstance(channel, Alertmanager)
    alert: dict[str, Any] = SCENES["opened"].body["data"]["alerts"][0]  # type: ignore[call-overload, index, assignment]
    server.answer = answer_with(503)
    try:
        with pytest.raises(SendFailed) as caught:
            channel.restate([Stated(alert, NOW)], now=NOW, http=http)
    finally:
        server.answer = answer_with(200)
    assert caught.value.reason is SendFailure.RECEIVER_ERROR
