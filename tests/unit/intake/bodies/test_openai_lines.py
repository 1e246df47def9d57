"""What a gateway logs of requests to OpenAI-compatible servers, a line each."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from monitor.errors import RequestRefused
from monitor.intake.bodies.openai_lines import read_openai_lines
from monitor.records import RejectionReason, RequestOutcome
from tests.unit.intake.bodies.test_openai import ASKED, CHAT

AT = "2026-09-01T10:00:00.25Z"


def line(**changes: Any) -> bytes:
    told = {"request": ASKED, "response": CHAT, "event_time": AT, **changes}
    return json.dumps({name: value for name, value in told.items() if value is not ...}).encode()


def test_a_line_says_more_than_the_bodies_and_what_it_says_itself_counts() -> None:
    told = line(
        request_id="r-1", fields={"latency": 812, "retries": 1, "mood": "good"},
        tags={"driver_version": "550.90"}, joins={"host": "gpu-3"}, team="search",
        headers={"X-ML-Precision": "int8", "x-ml-variant": ["b", "c"]},
    )  # fmt: skip
    (record,) = read_openai_lines(told + b"\n\n", 5).records
    assert record.request_id == "r-1"
    assert record.event_time == datetime(2026, 9, 1, 10, 0, 0, 250_000, UTC)
    assert (record.fields["latency"], record.fields["retries"]) == (812, 1)
    assert record.fields["prompt_tokens"] == 120
    assert record.fields["variant"] == "b"
    assert record.attributes["fields.mood"] == "good"
    assert record.attributes["team"] == "search"
    assert record.joins == {"host": "gpu-3", "system_fingerprint": "fp_1"}
    assert record.request_tags["driver_version"] == "550.90"
    assert record.request_tags["precision"] == "int8"


def test_id_and_time_may_come_from_the_answer() -> None:
    (record,) = read_openai_lines(line(event_time=...), 5).records
    assert record.request_id == "chatcmpl-9"
    assert record.event_time == datetime.fromtimestamp(1_790_000_000, UTC)


@pytest.mark.parametrize(
    "response",
    [json.dumps(CHAT), json.dumps(json.dumps(CHAT)), [CHAT | {"choices": []}],
     f"data: {json.dumps(CHAT)}\n\ndata: [DONE]\n\n"],
)  # fmt: skip
def test_an_answer_may_be_an_object_a_text_chunks_or_a_stream(response: Any) -> None:
    (record,) = read_openai_lines(line(response=response), 5).records
    assert record.fields["output_tokens"] == 30


def test_a_first_token_time_of_the_sender_is_never_mixed_with_the_servers_own() -> None:
    answer = {**CHAT, "metrics": {"time_to_first_token_ms": 40.0}}
    said = {"first_token_time": 95.0}
    (record,) = read_openai_lines(line(response=answer, fields=said), 5).records
    assert record.fields["first_token_time"] == 95.0
    assert "first_token_from" not in record.fields
    said = {**said, "first_token_from": "client"}  # type: ignore[dict-item]
    (record,) = read_openai_lines(line(response=answer, fields=said), 5).records
    assert record.fields["first_token_from"] == "client"


def test_an_error_with_its_status_is_a_failure_of_its_request() -> None:
    error = {"error": {"type": "server_error", "message": "the prompt was: hush"}}
    (record,) = read_openai_lines(line(response=error, status=500, request_id="r"), 5).records
    assert record.outcome is RequestOutcome.FAILED
    assert "hush" not in repr(record.outcome_reason)


def test_what_cannot_be_read_is_rejected_at_its_place_and_costs_no_neighbour() -> None:
    lines = [
        line(), b"{", b"[]", line(request=..., response=...),
        line(event_time="2026-09-01T10:00:00"), line(event_time=5),
        line(response={"choices": []}), line(response="<html>"),
        line(response={"choices": []}, request_id="r", event_time=...), line(), b'{"a":' * 40,
    ]  # fmt: skip
    read = read_openai_lines(b"\n".join(lines), 20)
    assert read.places == (0, 9)
    assert [(each.place, each.reason) for each in read.rejections] == [
        (1, RejectionReason.UNREADABLE), (2, RejectionReason.NOT_AN_OBJECT),
        (3, RejectionReason.UNREADABLE), (4, RejectionReason.TIME_WITHOUT_ZONE),
        (5, RejectionReason.BAD_TIME), (6, RejectionReason.MISSING_ID),
        (7, RejectionReason.UNREADABLE), (8, RejectionReason.MISSING_TIME),
        (10, RejectionReason.TOO_DEEP),
    ]  # fmt: skip


def test_more_lines_than_allowed_are_refused_as_a_whole() -> None:
    with pytest.raises(RequestRefused) as refused:
        read_openai_lines(b"\n".join([line()] * 3), 2)
    assert refused.value.status == 413
