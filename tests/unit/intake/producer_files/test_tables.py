"""Databricks, Vertex and Feast: rows of tables, in three containers."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from monitor.intake.producer_files.base import PAYLOAD_MISSING
from monitor.records import RejectionReason, RequestOutcome
from tests.unit.intake.producer_files.reading import read, write_lines

AT = datetime(2026, 11, 29, 10, tzinfo=UTC)


def gateway(**changes: Any) -> dict[str, Any]:
    return {
        "databricks_request_id": "d-1", "client_request_id": "mine", "request_time": AT,
        "status_code": 200, "sampling_fraction": 0.25, "execution_duration_ms": 12,
        "request": json.dumps({"dataframe_records": [{"x": 1, "y": "a"}]}),
        "response": json.dumps({"predictions": [0.7]}),
        "served_entity_id": "entity-9", "logging_error_codes": None, "requester": "me",
        **changes,
    }  # fmt: skip


def as_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    pq.write_table(pa.Table.from_pylist(rows), path)


def as_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    write_lines(path, [{**row, "request_time": row["request_time"].isoformat()} for row in rows])


def as_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows([{**r, "request_time": r["request_time"].isoformat()} for r in rows])


@pytest.mark.parametrize("write", [as_parquet, as_lines, as_csv])
def test_a_gateway_table_in_any_container(tmp_path: Path, write: Any) -> None:
    write(tmp_path / "table.data", [gateway()])
    whole = read(tmp_path)
    record = whole.one()
    assert whole.names == ["databricks"]
    assert (record.request_id, record.event_time) == ("d-1", AT)
    assert (record.inputs, record.outputs) == ({"x": 1, "y": "a"}, {"0": 0.7})
    assert record.fields == {"compute_time": 12.0, "sampling_rate": 0.25}
    assert record.joins == {"served_entity_id": "entity-9"}
    assert record.attributes["client_request_id"] == "mine"


def test_a_legacy_table_names_model_and_version(tmp_path: Path) -> None:
    row = {
        "databricks_request_id": "d-2", "date": "2026-11-29", "timestamp_ms": 1_795_960_706_123,
        "status_code": 200, "execution_time_ms": 7, "sampling_fraction": 1.0,
        "request": json.dumps({"dataframe_split": {"columns": ["x"], "data": [[1], [2]]}}),
        "response": json.dumps({"predictions": [3, 4]}),
        "request_metadata": [("model_name", "churn"), ("model_version", "7"),
                             ("endpoint_name", "ep")],
    }  # fmt: skip
    table = pa.Table.from_pylist([row])
    kind = pa.map_(pa.string(), pa.string())
    place = table.schema.get_field_index("request_metadata")
    table = table.set_column(place, "request_metadata", pa.array([row["request_metadata"]], kind))
    pq.write_table(table, tmp_path / "t.parquet")
    records = read(tmp_path).records
    assert [r.request_id for r in records] == ["d-2/0", "d-2/1"]
    assert records[0].models == ("churn", "ep")
    assert records[0].request_tags == {"model_version": "7"}
    assert records[0].event_time == datetime(2026, 11, 29, 13, 58, 26, 123_000, tzinfo=UTC)
    assert records[1].fields["compute_time"] == 7.0


def test_a_unity_table_gives_latency(tmp_path: Path) -> None:
    row = {
        "invocation_id": "u-1", "event_time": "2026-11-29T10:00:00Z", "latency_ms": 350,
        "status_code": 429, "endpoint_name": "ep", "request": None, "response": None,
    }  # fmt: skip
    write_lines(tmp_path / "t.jsonl", [row])
    record = read(tmp_path).one()
    assert record.fields == {"latency": 350.0, "error_type": "http_429"}
    assert (record.outcome, record.outcome_reason) == (RequestOutcome.REFUSED, "HTTP 429")


def test_tokens_of_a_chat_model_come_from_the_body(tmp_path: Path) -> None:
    asked = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}
    answer = {
        "id": "c", "object": "chat.completion", "model": "m-2026", "created": 1,
        "choices": [{"index": 0, "finish_reason": "stop",
                     "message": {"role": "assistant", "content": "yes"}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
    }  # fmt: skip
    as_lines(tmp_path / "t", [gateway(request=json.dumps(asked), response=json.dumps(answer))])
    record = read(tmp_path).one()
    assert (record.request_id, record.event_time) == ("d-1", AT)
    assert (record.fields["prompt_tokens"], record.fields["output_tokens"]) == (9, 2)
    assert record.fields["compute_time"] == 12.0
    assert record.request_tags["model_version"] == "m-2026"


def test_trap_22_a_payload_above_a_size_is_missing_and_never_read_as_empty(
    tmp_path: Path,
) -> None:
    rows = [
        gateway(request=None, logging_error_codes=["MAX_REQUEST_SIZE_EXCEEDED"]),
        gateway(databricks_request_id="d-2", response='{"predictions": [0.'),
    ]
    as_parquet(tmp_path / "t.parquet", rows)
    whole = read(tmp_path)
    record = whole.one()
    assert record.inputs == {}
    assert record.outputs == {"0": 0.7}
    assert record.outcome is RequestOutcome.ANSWERED
    assert record.attributes[PAYLOAD_MISSING] == "MAX_REQUEST_SIZE_EXCEEDED"
    assert whole.notes["without a body: MAX_REQUEST_SIZE_EXCEEDED"] == 1
    assert [(r.place, r.request_id, r.reason) for r in whole.rejections] == [
        (1, "d-2", RejectionReason.UNREADABLE)
    ]


def test_a_time_without_a_zone_needs_one(tmp_path: Path) -> None:
    as_parquet(tmp_path / "t.parquet", [gateway(request_time=datetime(2026, 11, 29, 10))])  # noqa: DTZ001
    refused = read(tmp_path).rejections[0]
    assert refused.reason is RejectionReason.TIME_WITHOUT_ZONE
    assert "--time-zone" in refused.message
    told = read(tmp_path, zone="+02:00").one().event_time
    assert told == datetime(2026, 11, 29, 8, tzinfo=UTC)


def vertex(**changes: Any) -> dict[str, Any]:
    return {
        "endpoint": "projects/1/locations/eu/endpoints/55", "deployed_model_id": "77",
        "logging_time": "2026-11-29 10:00:00.125 UTC", "request_id": "123456789012345678",
        "request_payload": ['{"x": 1}', '{"x": 2}'], "response_payload": ["0.1", "[0.2, 0.8]"],
        **changes,
    }  # fmt: skip


def test_instances_and_predictions_of_vertex_meet_by_position(tmp_path: Path) -> None:
    write_lines(tmp_path / "log.json", [vertex()])
    whole = read(tmp_path)
    assert whole.names == ["vertex"]
    first, second = whole.records
    assert (first.request_id, first.inputs, first.outputs) == (
        "123456789012345678/0", {"x": 1}, {"0": 0.1})  # fmt: skip
    assert second.outputs == {"0": 0.2, "1": 0.8}
    assert first.event_time == datetime(2026, 11, 29, 10, 0, 0, 125_000, tzinfo=UTC)
    assert first.models == ("55", "projects/1/locations/eu/endpoints/55", "77")
    assert first.joins["deployed_model_id"] == "77"


def test_a_publisher_model_of_vertex_gives_tokens(tmp_path: Path) -> None:
    answer = {
        "candidates": [{"content": {"parts": [{"text": "yes"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 4,
                          "thoughtsTokenCount": 6, "cachedContentTokenCount": 3},
        "modelVersion": "gemini-x-001",
    }  # fmt: skip
    row = {
        "endpoint": "ep", "logging_time": "2026-11-29T10:00:00Z", "request_id": 5, "model": "gem",
        "full_request": {"contents": [{"parts": [{"text": "is it?"}]}]}, "full_response": answer,
    }  # fmt: skip
    write_lines(tmp_path / "log.json", [row])
    record = read(tmp_path).one()
    told = {name: record.fields[name] for name in
            ("prompt_tokens", "output_tokens", "reasoning_tokens", "cached_tokens")}  # fmt: skip
    assert told == {"prompt_tokens": 9, "output_tokens": 10, "reasoning_tokens": 6,
                    "cached_tokens": 3}  # fmt: skip
    assert record.request_tags == {"model_version": "gemini-x-001"}
    assert record.fields["finish_reason"] == "stop"


def test_a_stale_feature_of_feast_is_null_with_its_status_and_age(tmp_path: Path) -> None:
    row = {
        "driver_id": 7, "__request_id": "r", "__log_timestamp": AT, "__log_date": AT.date(),
        "stats__rate": 0.5, "stats__rate__status": 1,
        "stats__rate__timestamp": datetime(2026, 11, 29, 9, 59, tzinfo=UTC),
        "stats__trips": 12, "stats__trips__status": 4,
        "stats__trips__timestamp": datetime(2026, 11, 20, tzinfo=UTC),
    }  # fmt: skip
    as_parquet(tmp_path / "log.parquet", [row])
    whole = read(tmp_path)
    record = whole.one()
    assert whole.names == ["feast-log"]
    assert record.inputs == {"driver_id": 7, "stats__rate": 0.5, "stats__trips": None}
    assert record.attributes["stats__trips__status"] == "outside_max_age"
    assert record.attributes["stats__rate__age_s"] == 60.0
    assert whole.notes["stats__trips: outside_max_age"] == 1
