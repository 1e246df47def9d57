"""Halves into records: what each producer's halves mean, and what is told when one is missing."""

from __future__ import annotations

import json
import struct
from datetime import UTC, datetime, timedelta

import pytest

from monitor.intake.events.event import Event
from monitor.intake.events.exchange import EXCHANGES, NO_REQUEST, NO_RESPONSE
from monitor.intake.events.halves import half_of, part_of
from monitor.intake.parts import RequestPart
from monitor.intake.producer_record import ProducerRecord
from monitor.records import RejectionReason, RequestOutcome

NOW = datetime(2026, 11, 29, 14, 10, tzinfo=UTC)
WAIT = timedelta(minutes=5)
ASKED, TOLD = "2026-11-29T14:04:18.100Z", "2026-11-29T14:04:18.350Z"


def event(side: str, body: object, producer: str = "org.kubeflow", **more: str) -> Event:
    said = {"inferenceservicename": "iris", "namespace": "ml", "component": "predictor",
            "endpoint": "default", "recordedtime": ASKED, **more}  # fmt: skip
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Event(
        "11-22", "http://localhost:9081/", f"{producer}.serving.inference.{side}",
        ASKED if side == "request" else TOLD, "application/json",
        {name: value for name, value in said.items() if value}, data,
    )  # fmt: skip


def part(one: Event) -> RequestPart:
    half = half_of(one)
    assert half is not None
    return part_of(one, half, NOW, WAIT)


def records(*events: Event) -> tuple[ProducerRecord, ...]:
    read = EXCHANGES.assemble([part(one) for one in events], NOW)
    assert read.rejections == ()
    return read.records


def test_trap_01_request_and_response_have_one_id_and_are_two_halves_of_one_exchange() -> None:
    asked, told = part(event("request", {})), part(event("response", {}))
    assert asked.group_key == told.group_key
    assert asked.part_key != told.part_key
    other = Event(**{**vars(event("request", {})), "source": "http://other/"})
    assert part(other).group_key != asked.group_key
    transformer = part(event("request", {}, component="transformer"))
    assert transformer.group_key != asked.group_key, "each component logs an exchange of its own"


def test_trap_02_a_request_without_a_response_is_a_failed_request() -> None:
    (record,) = records(event("request", {"instances": [[0.2, 1.0]]}))
    assert record.outcome is RequestOutcome.FAILED
    assert record.outcome_reason == NO_RESPONSE
    assert dict(record.inputs) == {"0": 0.2, "1": 1.0}


def test_a_response_without_a_request_is_an_answer_without_inputs() -> None:
    (record,) = records(event("response", {"predictions": [0.9]}))
    assert record.outcome is RequestOutcome.ANSWERED
    assert dict(record.outputs) == {"0": 0.9}
    assert NO_REQUEST in record.attributes["payload_missing"]


@pytest.mark.parametrize(
    "recorded", [("", ""), (ASKED, ""), (ASKED, TOLD)], ids=["0.17", "mixed", "0.18"]
)
def test_trap_03_a_latency_is_taken_only_where_both_times_say_when_it_happened(
    recorded: tuple[str, str],
) -> None:
    (record,) = records(
        event("request", {"instances": [1]}, recordedtime=recorded[0]),
        event("response", {"predictions": [2]}, recordedtime=recorded[1]),
    )
    assert record.event_time == datetime(2026, 11, 29, 14, 4, 18, 100_000, tzinfo=UTC)
    expected = 250.0 if all(recorded) else None
    assert record.fields.get("latency") == expected


def test_trap_16_a_body_encoded_twice_is_read() -> None:
    (record,) = records(event("request", json.dumps(json.dumps({"instances": [[1, 2]]})).encode()))
    assert dict(record.inputs) == {"0": 1, "1": 2}


def test_trap_20_the_id_of_the_event_counts_and_no_id_that_the_caller_chose() -> None:
    metadata = json.dumps({"X-Request-Id": ["mine"], "X-Tenant": ["a"], "x-ml-precision": ["int8"]})
    (record,) = records(
        event("request", {"id": "mine", "inputs": []}, metadata=metadata),
        event("response", {"model_name": "iris", "model_version": "v7", "id": "mine",
                           "outputs": [{"name": "y", "datatype": "FP32", "shape": [1, 1],
                                        "data": [0.91]}]}, metadata=metadata),
    )  # fmt: skip
    assert record.request_id == "11-22"
    assert record.attributes["metadata.x-request-id"] == "mine"
    assert dict(record.request_tags) == {"model_version": "v7", "precision": "int8"}
    assert dict(record.outputs) == {"y": 0.91}


def test_versions_stand_in_the_service_s_annotations() -> None:
    said = json.dumps({"model-version": "7", "git-sha": "9f1c2ab", "team": "risk"})
    (record,) = records(event("request", {"instances": [1]}, annotations=said))
    assert dict(record.resource_tags) == {"model_version": "7", "code_revision": "9f1c2ab"}
    assert record.fields["variant"] == "default"
    assert record.joins["namespace"] == "ml"
    assert record.models == ("iris",)


def test_each_row_of_a_body_is_a_request() -> None:
    found = records(
        event("request", {"instances": [[1, 2], [3, 4]]}),
        event("response", {"predictions": [5, 6]}),
    )
    assert [(one.request_id, dict(one.inputs), dict(one.outputs)) for one in found] == [
        ("11-22/0", {"0": 1, "1": 2}, {"0": 5}),
        ("11-22/1", {"0": 3, "1": 4}, {"0": 6}),
    ]


def test_an_answer_that_says_error_is_a_failure() -> None:
    (record,) = records(event("request", {"instances": [1]}), event("response", {"error": "boom"}))
    assert record.outcome is RequestOutcome.FAILED


def test_a_streamed_chat_answer_is_logged_whole_and_read_as_a_stream() -> None:
    lines = [
        {"model": "m-1", "choices": [{"index": 0, "delta": {"content": "Hel"}}]},
        {"model": "m-1", "choices": [{"index": 0, "delta": {"content": "lo"},
                                      "finish_reason": "stop"}]},
        {"model": "m-1", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}},
    ]  # fmt: skip
    body = "".join(f"data: {json.dumps(line)}\n\n" for line in lines) + "data: [DONE]\n\n"
    (record,) = records(
        event("request", {"model": "m", "messages": [{"role": "user", "content": "hi"}]}),
        event("response", body.encode()),
    )
    assert record.fields["prompt_tokens"] == 5
    assert record.fields["output_tokens"] == 2
    assert record.fields["streamed"] is True
    assert record.outputs["text"] == "Hello"


def test_raw_tensors_behind_the_json_are_read() -> None:
    head = {"inputs": [
        {"name": "x", "shape": [2, 2], "datatype": "FP32", "parameters": {"binary_data_size": 16}},
        {"name": "s", "shape": [2, 1], "datatype": "BYTES", "parameters": {"binary_data_size": 11}},
    ]}  # fmt: skip
    raw = struct.pack("<4f", 1, 2, 3, 4) + b"\x01\0\0\0a\x02\0\0\0bc"
    first, second = records(event("request", json.dumps(head).encode() + raw))
    assert dict(first.inputs) == {"x": [1.0, 2.0], "s": "a"}
    assert dict(second.inputs) == {"x": [3.0, 4.0], "s": "bc"}
    (cut,) = records(event("request", json.dumps(head).encode() + raw[:-1]))
    assert "binary_data_size is more than there is" in cut.attributes["payload_missing"]


def test_an_exchange_whose_bodies_can_not_be_read_still_took_place() -> None:
    (record,) = records(event("request", b"\xff\xfe"), event("response", {"predictions": [1]}))
    assert record.outcome is RequestOutcome.ANSWERED
    assert "inputs: the payload is no JSON" in record.attributes["payload_missing"]
    assert dict(record.outputs) == {"0": 1}
    (odd,) = records(
        event("request", {"instances": [1, 2, 3]}), event("response", {"predictions": [1]})
    )
    assert "can't be paired" in odd.attributes["payload_missing"]


def test_an_event_without_a_time_is_refused_by_name() -> None:
    broken = Event(**{**vars(event("request", {})), "time": None})
    read = EXCHANGES.assemble([part(broken)], NOW)
    assert [(one.reason, one.request_id) for one in read.rejections] == [
        (RejectionReason.MISSING_TIME, "11-22")
    ]


def test_azure_rows_of_inputs_and_outputs_are_paired_and_its_default_is_no_version() -> None:
    said = {"x-request-id": "f96c", "model-version": "default", "agent": "azureml-ai-monitoring/1"}
    kind = "azureml.inference.model_"
    one, other = records(
        Event("f96c", "azureml", f"{kind}inputs", "1795960706", "", said,
              b'[{"age":1.5,"city":"a"},{"age":2.0,"city":"b"}]'),
        Event("f96c", "azureml", f"{kind}outputs", "1795960706", "", said, b'[{"y":1},{"y":0}]'),
    )  # fmt: skip
    assert (dict(one.inputs), dict(one.outputs)) == ({"age": 1.5, "city": "a"}, {"y": 1})
    assert dict(other.outputs) == {"y": 0}
    assert dict(one.request_tags) == {}
    assert "latency" not in one.fields


def test_seldon_names_its_model_in_an_extension() -> None:
    (record,) = records(
        event("request", {"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": [1]}]},
              "io.seldon", modelid="fraud", endpoint="fraud-default"),
    )  # fmt: skip
    assert record.models[0] == "fraud"
    assert "latency" not in record.fields
