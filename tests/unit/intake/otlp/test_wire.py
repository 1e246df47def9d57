"""OTLP bodies: both encodings say the same; JSON of each writer; rubbish is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from monitor.intake.otlp.metrics import UnreadableOtlp
from monitor.intake.otlp.wire import (
    MOST_ATTRIBUTES,
    MOST_NAME,
    MOST_VALUES,
    pack,
    parse_logs,
    parse_traces,
    unpacked,
)

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
START, END = 1_795_960_335_000_000_000, 1_795_960_335_250_000_000


def body(number: Any = str, kind: Any = 3, **span: Any) -> dict[str, Any]:
    made = {
        "traceId": TRACE, "spanId": SPAN, "name": "chat m", "kind": kind,
        "startTimeUnixNano": number(START), "endTimeUnixNano": number(END),
        "attributes": [
            {"key": "gen_ai.usage.input_tokens", "value": {"intValue": number(5)}},
            {"key": "big", "value": {"intValue": number(9_007_199_254_740_991)}},
            {"key": "list", "value": {"arrayValue": {"values": [{"doubleValue": 0.5}]}}},
        ],
        "status": {"code": 1},
    }  # fmt: skip
    made |= span
    return {
        "resourceSpans": [
            {
                "resource": {
                    "attributes": [{"key": "service.name", "value": {"stringValue": "ranker"}}]
                },
                "scopeSpans": [{"scope": {"name": "app"}, "spans": [made]}],
            }
        ]
    }


@pytest.mark.parametrize(
    ("number", "kind"),
    [(str, 3), (int, 3), (int, "SPAN_KIND_CLIENT")],
    ids=["python", "js", "names"],
)
def test_trap_14_each_writer_of_json_is_read(number: Any, kind: Any) -> None:
    (span,) = parse_traces(json.dumps(body(number, kind)).encode(), is_json=True).spans
    assert (span.trace_id, span.span_id, span.kind) == (TRACE, SPAN, 3)
    assert span.milliseconds == 250.0
    assert span.attributes == {
        "gen_ai.usage.input_tokens": 5, "big": 9_007_199_254_740_991, "list": [0.5],
    }  # fmt: skip
    assert span.resource == {"service.name": "ranker"}


def test_protobuf_and_json_say_the_same_and_a_kept_span_is_read_back() -> None:
    message = ExportTraceServiceRequest()
    span = message.resource_spans.add().scope_spans.add().spans.add()
    span.trace_id, span.span_id = bytes.fromhex(TRACE), bytes.fromhex(SPAN)
    span.name, span.kind = "chat m", 3
    span.start_time_unix_nano, span.end_time_unix_nano = START, END
    span.attributes.add(key="x").value.int_value = 1
    (one,) = parse_traces(message.SerializeToString(), is_json=False).spans
    told = body(attributes=[{"key": "x", "value": {"intValue": "1"}}], status={})
    del told["resourceSpans"][0]["resource"], told["resourceSpans"][0]["scopeSpans"][0]["scope"]
    (other,) = parse_traces(json.dumps(told).encode(), is_json=True).spans
    assert one == other
    assert list(unpacked([pack(one)])) == [one]


def test_a_span_that_can_not_be_placed_is_counted_with_its_reason() -> None:
    found = parse_traces(json.dumps(body(spanId="b7ad")).encode(), is_json=True)
    assert found.refused == {"a span has no trace id of 16 bytes and span id of 8 bytes": 1}
    found = parse_traces(json.dumps(body(endTimeUnixNano="1")).encode(), is_json=True)
    assert found.refused == {"a span has no start, or ends before it starts": 1}


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        ([{"key": str(n), "value": {"intValue": n}} for n in range(MOST_ATTRIBUTES + 1)],
         f"has more than {MOST_ATTRIBUTES} attributes"),
        ([{"key": "k" * (MOST_NAME + 1), "value": {"intValue": 1}}],
         f"has an attribute whose name is longer than {MOST_NAME} characters"),
        ([{"key": "x", "value": {"arrayValue": {"values": [{"intValue": 1}] * (MOST_VALUES + 1)}}}],
         f"has a value of more than {MOST_VALUES} values"),
    ],
    ids=["attributes", "name", "values"],
)  # fmt: skip
def test_what_is_too_large_is_refused_with_its_reason_and_never_cut(
    attributes: list[Any], why: str
) -> None:
    told = body(attributes=attributes)
    good = body()["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    told["resourceSpans"][0]["scopeSpans"][0]["spans"].append(good)
    found = parse_traces(json.dumps(told).encode(), is_json=True)
    assert (found.refused, len(found.spans)) == ({f"a span {why}": 1}, 1)
    told = body()
    told["resourceSpans"][0]["resource"]["attributes"] = attributes
    found = parse_traces(json.dumps(told).encode(), is_json=True)
    assert (found.refused, found.spans) == ({f"a span {why}": 1}, [])
    record = {"timeUnixNano": str(START), "attributes": attributes}
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    assert parse_logs(json.dumps(logs).encode(), is_json=True).refused == {f"a log record {why}": 1}


def test_all_values_of_a_large_vector_are_read() -> None:
    values = [{"doubleValue": n / 2} for n in range(4_096)]
    told = body(attributes=[{"key": "v", "value": {"arrayValue": {"values": values}}}])
    (span,) = parse_traces(json.dumps(told).encode(), is_json=True).spans
    assert span.attributes["v"] == [n / 2 for n in range(4_096)]


def test_trap_17_a_log_whose_time_is_0_was_observed_at_a_time() -> None:
    index = {"key": "index", "value": {"intValue": "0"}}
    record = {
        "timeUnixNano": "0",
        "observedTimeUnixNano": str(START),
        "eventName": "gen_ai.choice",
        "body": {"kvlistValue": {"values": [index]}},
    }
    told = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    (log,) = parse_logs(json.dumps(told).encode(), is_json=True).logs
    assert (log.at, log.event_name, log.body) == (START, "gen_ai.choice", {"index": 0})
    assert list(unpacked([pack(log)])) == [log]


@pytest.mark.parametrize(
    "text", ["[]", "{", '{"resourceSpans": 1}', json.dumps(body(traceId="no hex")), "[" * 99]
)
def test_json_that_is_no_otlp_is_refused(text: str) -> None:
    with pytest.raises(UnreadableOtlp):
        parse_traces(text.encode(), is_json=True)


@given(st.binary(max_size=300))
def test_rubbish_is_refused_and_never_a_fault(rubbish: bytes) -> None:
    for parse in (parse_traces, parse_logs):
        for is_json in (True, False):
            try:
                parse(rubbish, is_json=is_json)
            except UnreadableOtlp:
                continue
