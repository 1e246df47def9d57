"""CloudEvents out of HTTP messages: both versions, all modes, and rubbish."""

from __future__ import annotations

import base64
import json
from contextlib import suppress

import pytest
from cloudevents.v1.conversion import to_binary, to_structured
from cloudevents.v1.http import CloudEvent
from hypothesis import given
from hypothesis import strategies as st

from monitor.intake.events.event import (
    BATCHED,
    STRUCTURED,
    Event,
    UnreadableEvent,
    azure_event,
    read_message,
)

ATTRIBUTES = {
    "source": "http://localhost:9081/",
    "type": "org.kubeflow.serving.inference.request",
    "id": "11-22",
    "time": "2026-11-29T14:04:18.096654Z",
    "inferenceservicename": "iris",
}


def lower(headers: object) -> dict[str, str]:
    return {name.lower(): value for name, value in dict(headers).items()}  # type: ignore[call-overload]


@pytest.mark.parametrize("mode", [to_binary, to_structured], ids=["binary", "structured"])
def test_the_official_library_s_messages_are_read_in_both_modes(mode: object) -> None:
    event = CloudEvent({**ATTRIBUTES, "datacontenttype": "application/json"}, {"instances": [[1]]})
    headers, body = mode(event)  # type: ignore[operator]
    (read,) = read_message(lower(headers), body)
    assert (read.id, read.source, read.type) == ("11-22", ATTRIBUTES["source"], ATTRIBUTES["type"])
    assert read.time == ATTRIBUTES["time"]
    assert read.extensions["inferenceservicename"] == "iris"
    assert json.loads(read.data) == {"instances": [[1]]}


def test_version_0_3_is_taken_as_seldon_sends_it() -> None:
    headers = {f"ce-{name}": value for name, value in ATTRIBUTES.items()} | {
        "ce-specversion": "0.3"
    }
    (read,) = read_message(headers, b"{}")
    assert read.id == "11-22"
    body = {**ATTRIBUTES, "specversion": "0.3", "datacontentencoding": "base64",
            "data": base64.b64encode(b'{"a":1}').decode()}  # fmt: skip
    (read,) = read_message({"content-type": STRUCTURED}, json.dumps(body).encode())
    assert read.data == b'{"a":1}'


def test_a_batch_holds_several_events() -> None:
    each = {**ATTRIBUTES, "specversion": "1.0"}
    body = json.dumps([{**each, "id": "a", "data": 1}, {**each, "id": "b", "data_base64": "AQI="}])
    found = read_message({"content-type": f"{BATCHED}; charset=utf-8"}, body.encode())
    assert [(one.id, one.data) for one in found] == [("a", b"1"), ("b", b"\x01\x02")]


@pytest.mark.parametrize(
    ("headers", "body", "words"),
    [
        ({}, b"{}", "no CloudEvent"),
        ({"ce-id": "1", "ce-specversion": "1.0"}, b"", "source is missing; type is missing"),
        ({"ce-id": "1", "ce-source": "s", "ce-type": "t", "ce-specversion": "2"}, b"", "not '2'"),
        ({"content-type": STRUCTURED}, b"[", "no JSON"),
        ({"content-type": STRUCTURED}, b"[]", "JSON object"),
        ({"content-type": BATCHED}, b"{}", "JSON array"),
        ({"content-type": BATCHED}, b"[" + b"0," * 1_000 + b"0]", "at most 1000"),
    ],
    ids=["none", "holes", "version", "cut", "array", "object", "many"],
)
def test_what_is_no_event_is_told_with_what_is_missing(
    headers: dict[str, str], body: bytes, words: str
) -> None:
    with pytest.raises(UnreadableEvent, match=words.replace("(", r"\(")):
        read_message(headers, body)


def test_entries_of_the_azure_client_have_headers_of_their_own() -> None:
    headers = {"ce-type": "azureml.inference.model_inputs", "ce-time": "1795960706",
               "ce-x-request-id": "f96c", "ce-model-version": "default"}  # fmt: skip
    event = azure_event(headers, b"[]")
    assert (event.id, event.time, event.extensions["model-version"]) == (
        "f96c", "1795960706", "default",
    )  # fmt: skip
    with pytest.raises(UnreadableEvent, match="ce-x-request-id is missing; ce-time is missing"):
        azure_event({"ce-type": "azureml.inference.model_inputs"}, b"")


@given(st.binary(max_size=200), st.text(max_size=20), st.text(max_size=20))
def test_an_event_kept_and_read_back_is_the_same(data: bytes, name: str, value: str) -> None:
    event = Event("i", "s", "t", None, "c", {name: value}, data)
    try:
        packed = event.pack()
    except UnicodeEncodeError:
        return  # a lone surrogate: no HTTP header can hold one
    assert Event.unpack(packed) == event


@given(st.binary(max_size=300))
def test_rubbish_is_refused_and_never_a_fault(body: bytes) -> None:
    for kind in (STRUCTURED, BATCHED, "application/json"):
        with suppress(UnreadableEvent):  # any other error fails the test
            read_message({"content-type": kind}, body)
