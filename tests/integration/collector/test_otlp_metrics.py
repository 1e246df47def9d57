"""OTLP metrics over HTTP: kept as readings, added once, refused in part with the reason."""

from __future__ import annotations

import gzip
import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

from monitor.store.engine import Role, transaction
from monitor.store.server_readings import forget_server_readings
from tests.integration.collector.conftest import World
from tests.unit.intake.factories import NOW

PROTOBUF, JSON = "application/x-protobuf", "application/json"


def nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1e6) * 1000


def body(model: str, *, count: int = 4, seconds: float = 0.8, at: int = 60) -> dict[str, Any]:
    """One histogram and one level, as the JSON of an exporter; `at` seconds after NOW."""
    labels = [{"key": "gen_ai.request.model", "value": {"stringValue": model}}]
    times = {
        "startTimeUnixNano": str(nanoseconds(NOW)),
        "timeUnixNano": nanoseconds(NOW + timedelta(seconds=at)),
    }
    histogram = {
        **times, "attributes": labels, "count": str(count), "sum": seconds,
        "explicitBounds": [0.1, 0.5], "bucketCounts": ["0", str(count), 0],
        "exemplars": [{"timeUnixNano": 1, "asDouble": 1, "traceId": "0af7651916cd43dd84"}],
    }  # fmt: skip
    waiting = {**times, "asInt": "7", "attributes": [
        {"key": "model_name", "value": {"stringValue": model}}]}  # fmt: skip
    metrics = [
        {"name": "gen_ai.server.request.duration", "unit": "s",
         "histogram": {"aggregationTemporality": 2, "dataPoints": [histogram]}},
        {"name": "vllm:num_requests_waiting", "gauge": {"dataPoints": [waiting]}},
        {"name": "http.server.duration", "gauge": {"dataPoints": [waiting]}},
    ]  # fmt: skip
    named = {"service.name": "ranker", "service.instance.id": "i-1"}
    resource = {"attributes": [
        {"key": name, "value": {"stringValue": text}} for name, text in named.items()
    ]}  # fmt: skip
    return {"resourceMetrics": [{"resource": resource, "scopeMetrics": [{"metrics": metrics}]}]}


def send(world: World, content: bytes, kind: str = JSON, **headers: str) -> Any:
    told = {"Authorization": f"Bearer {world.key}", "Content-Type": kind, **headers}
    return world.client.post("/v1/metrics", content=content, headers=told)


def stored(world: World) -> dict[str, Any]:
    query = "select * from server_reading where model_id = :model order by reading, minute"
    return {row.reading: row for row in world.rows(query)}


def test_a_body_of_json_becomes_readings_of_its_minute(world: World) -> None:
    answer = send(world, json.dumps(body(world.model)).encode())
    assert (answer.status_code, answer.json()) == (200, {})
    assert answer.headers["content-type"] == JSON
    found = stored(world)
    assert sorted(found) == ["queue_length", "request_time"]
    times = found["request_time"]
    assert (times.n, times.total, times.seconds) == (4, 800, 60)
    assert times.buckets == {"edges": [100, 500], "counts": [0, 4, 0]}
    assert (times.minute, times.source) == (NOW + timedelta(seconds=60), "otlp:ranker/i-1")
    assert (found["queue_length"].n, found["queue_length"].total) == (1, 7)


def test_trap_18_the_same_body_sent_again_changes_nothing(world: World) -> None:
    content = json.dumps(body(world.model)).encode()
    assert send(world, content).status_code == 200
    first = stored(world)
    assert send(world, content).json() == {}
    assert stored(world) == first
    later = json.dumps(body(world.model, count=5, seconds=1.0, at=70)).encode()
    send(world, later)
    send(world, content)
    assert (stored(world)["request_time"].n, stored(world)["request_time"].total) == (5, 1000)


def test_protobuf_is_answered_in_protobuf_packed_or_not(world: World) -> None:
    message = ExportMetricsServiceRequest()
    group = message.resource_metrics.add()
    metric = group.scope_metrics.add().metrics.add(name="nv_inference_request_success_total")
    metric.sum.aggregation_temporality, metric.sum.is_monotonic = 2, True
    point = metric.sum.data_points.add(as_int=3)
    point.start_time_unix_nano = nanoseconds(NOW)
    point.time_unix_nano = nanoseconds(NOW + timedelta(seconds=5))
    point.attributes.add(key="model").value.string_value = world.model
    packed = gzip.compress(message.SerializeToString())
    answer = send(world, packed, PROTOBUF, **{"Content-Encoding": "gzip"})
    assert answer.headers["content-type"] == PROTOBUF
    assert (
        ExportMetricsServiceResponse.FromString(answer.content).partial_success.error_message == ""
    )
    assert stored(world)["requests"].total == 3


def test_points_of_a_model_that_nobody_knows_are_told_as_rejected(world: World) -> None:
    answer = send(world, json.dumps(body("stranger")).encode())
    assert answer.status_code == 200
    told = answer.json()["partialSuccess"]
    assert told["rejectedDataPoints"] == "2"
    assert "stranger" in told["errorMessage"]
    assert stored(world) == {}


def test_a_whole_servers_points_go_to_the_model_that_the_sender_names(world: World) -> None:
    page = body("")
    metrics = page["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]
    metrics[:] = [{"name": "process.memory.usage", "sum": {
        "aggregationTemporality": 2, "isMonotonic": False,
        "dataPoints": [{"timeUnixNano": nanoseconds(NOW), "asDouble": 5e6}]}}]  # fmt: skip
    content = json.dumps(page).encode()
    assert send(world, content).json()["partialSuccess"]["rejectedDataPoints"] == "1"
    assert send(world, content, **{"X-Inferwatch-Model": world.model}).json() == {}
    assert stored(world)["memory_used"].total == 5e6


@pytest.mark.parametrize(
    ("content", "kind"),
    [(b"[]", JSON), (b"{", JSON), (b"\xff\xff", PROTOBUF), (b'{"resourceMetrics": 3}', JSON)],
)
def test_what_can_never_be_read_is_refused_for_good(
    world: World, content: bytes, kind: str
) -> None:
    assert send(world, content, kind).status_code == 400


def test_deep_nesting_and_other_types_are_refused(world: World) -> None:
    deep = b'{"resourceMetrics":' + b"[" * 500 + b"]" * 500 + b"}"
    assert send(world, deep).status_code == 400
    assert send(world, b"{}", "text/plain").status_code == 415


def test_a_key_that_may_not_send_requests_may_not_send_metrics(world: World) -> None:
    headers = {"Authorization": f"Bearer {world.make_key('labels')}", "Content-Type": JSON}
    assert world.client.post("/v1/metrics", content=b"{}", headers=headers).status_code == 403


def test_old_readings_are_forgotten_and_newer_ones_kept(world: World) -> None:
    send(world, json.dumps(body(world.model)).encode())
    for days, left in ((34, 2), (36, 0)):
        with transaction(world.engine, world.project_id, Role.WORKER) as connection:
            forget_server_readings(connection, NOW + timedelta(days=days))
        assert len(stored(world)) == left
