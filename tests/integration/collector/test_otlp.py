"""Traces and logs over HTTP to stored requests and labels: forms, answers, retries, waiting."""

from __future__ import annotations

import gzip
import json
import time
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from sqlalchemy.engine import Engine

from monitor.collector.app import create_app
from monitor.contract import Contract
from monitor.errors import DatabaseUnavailable
from monitor.settings import Settings
from monitor.store import projects
from monitor.store.engine import Role, make_engine, transaction
from monitor.store.intake_store import IntakeStore
from tests.factories import apply, contract_body, rows_of
from tests.integration.collector.conftest import World, settings_of
from tests.integration.collector.serving import serving
from tests.text_model import SIZE, hashed
from tests.unit.intake.factories import NOW

TRACE = "0af7651916cd43dd8448eb211c80319c"
START = int(NOW.timestamp()) * 1_000_000_000
STORED = "select request_id, outcome from request_log where model_id = :model order by 1"


@pytest.fixture
def settings() -> Settings:
    return settings_of(trace_seconds=0)


def traces(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def span(world: World, number: int = 1, **said: Any) -> dict[str, Any]:
    said = {"ml.model.name": world.model, "ml.request.id": f"r-{number}", **said}
    return {
        "traceId": TRACE, "spanId": f"{number:016x}", "name": "rank", "kind": 2,
        "startTimeUnixNano": str(START), "endTimeUnixNano": str(START + 1_000_000),
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in said.items()],
    }  # fmt: skip


def post(world: World, path: str, body: Any, **headers: str) -> Any:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return world.client.post(
        path, content=content,
        headers={"Authorization": f"Bearer {world.key}", "Content-Type": "application/json",
                 **headers},
    )  # fmt: skip


def stored(world: World, n: int) -> list[tuple[Any, ...]]:
    end = time.monotonic() + 20
    while len(world.rows(STORED)) < n and time.monotonic() < end:
        time.sleep(0.05)
    return [tuple(row) for row in world.rows(STORED)]


def test_json_and_gzip_and_chunks_are_taken_and_answered_in_kind(world: World) -> None:
    answer = post(world, "/v1/traces", traces(span(world, 1)))
    assert (answer.status_code, answer.json()) == (200, {})
    packed = gzip.compress(json.dumps(traces(span(world, 2))).encode())
    assert post(world, "/v1/traces", packed, **{"Content-Encoding": "gzip"}).status_code == 200
    chunked = world.client.post(
        "/v1/traces", content=iter([json.dumps(traces(span(world, 3))).encode()]),
        headers={"Authorization": f"Bearer {world.key}", "Content-Type": "application/json"},
    )  # fmt: skip
    assert chunked.status_code == 200
    assert stored(world, 3) == [("r-1", 1), ("r-2", 1), ("r-3", 1)]


def test_protobuf_is_answered_in_protobuf_and_what_has_no_model_is_a_partial_success(
    world: World,
) -> None:
    message = ExportTraceServiceRequest()
    made = message.resource_spans.add().scope_spans.add().spans.add()
    made.trace_id, made.span_id = bytes.fromhex(TRACE), bytes(7) + b"\1"
    made.start_time_unix_nano, made.end_time_unix_nano = START, START + 1
    made.attributes.add(key="ml.model.name").value.string_value = "nobody"
    kind = {"Content-Type": "application/x-protobuf"}
    answer = post(world, "/v1/traces", message.SerializeToString(), **kind)
    assert answer.headers["content-type"].startswith("application/x-protobuf")
    told = ExportTraceServiceResponse.FromString(answer.content)
    assert told.partial_success.rejected_spans == 1
    assert "also_known_as" in told.partial_success.error_message
    named = {**kind, "X-Inferwatch-Model": world.model}
    answer = post(world, "/v1/traces", message.SerializeToString(), **named)
    assert not ExportTraceServiceResponse.FromString(answer.content).HasField("partial_success")
    assert len(stored(world, 1)) == 1


def test_trap_15_the_same_batch_again_changes_nothing_and_a_bad_one_is_refused_for_good(
    world: World,
) -> None:
    for _ in range(3):
        assert post(world, "/v1/traces", traces(span(world, 1))).status_code == 200
    assert stored(world, 1) == [("r-1", 1)]
    time.sleep(1.2)
    assert len(stored(world, 1)) == 1
    assert post(world, "/v1/traces", b"{").status_code == 400
    assert post(world, "/v1/traces", b"{}", **{"Content-Type": "text/plain"}).status_code == 415


def test_trap_15_something_temporary_is_a_503_that_says_when_and_never_a_500(
    world: World, module_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.integration.collector.serving import serving

    store = IntakeStore(module_database_url, make_engine(module_database_url))
    app = create_app(settings_of(), store, clock=lambda: NOW)

    def away(*_: object) -> int:
        raise DatabaseUnavailable("Postgres does not answer")

    monkeypatch.setattr("monitor.collector.otlp_api.add_parts", away)
    with serving(app) as address:
        import httpx

        answer = httpx.post(
            f"{address}/v1/traces", content=json.dumps(traces(span(world, 9))),
            headers={"Authorization": f"Bearer {world.key}", "Content-Type": "application/json"},
        )  # fmt: skip
    assert answer.status_code == 503
    assert 1 <= int(answer.headers["retry-after"]) <= 3


def test_spans_of_no_request_are_taken_and_ignored(world: World) -> None:
    other = {**span(world, 1), "attributes": []}
    assert post(world, "/v1/traces", traces(other)).json() == {}
    time.sleep(0.7)
    assert stored(world, 0) == []


def test_an_evaluation_is_stored_as_a_label_and_needs_its_scope(world: World) -> None:
    said: dict[str, Any] = {
        "gen_ai.evaluation.score.value": {"doubleValue": 1.0},
        "gen_ai.response.id": {"stringValue": "r-1"},
        "ml.model.name": {"stringValue": world.model},
    }
    record = {
        "timeUnixNano": str(START),
        "eventName": "gen_ai.evaluation.result",
        "attributes": [{"key": name, "value": value} for name, value in said.items()],
    }
    body = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    unfit = world.make_key("ingest")
    refused = post(world, "/v1/logs", body, Authorization=f"Bearer {unfit}")
    assert refused.status_code == 403
    answer = post(world, "/v1/logs", body)
    assert (answer.status_code, answer.json()) == (200, {})
    labels = world.rows("select request_id from label where model_id = :model")
    assert [row.request_id for row in labels] == ["r-1"]


def test_the_collector_embeds_texts_after_it_has_answered(
    engine: Engine, project_id: int, database_url: str
) -> None:
    body = contract_body(model="chat", label=None)
    body["columns"] = [
        {"name": "meaning", "type": "vector", "size": SIZE, "nullable": True,
         "embedding": {"of": "prompt_text", "model": "mine"}},
    ]  # fmt: skip
    apply(engine, project_id, Contract.model_validate(body))
    with transaction(engine, None, Role.OWNER) as connection:
        key = projects.create_key(connection, project_id, "otel", ("ingest",), by="test")
    settings = settings_of(trace_seconds=0, text_models={"mine": "tests.text_model:hashed"})
    store = IntakeStore(database_url, make_engine(database_url))
    text = "where is my parcel"
    message = json.dumps([{"role": "user", "parts": [{"type": "text", "content": text}]}])
    said = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "chat",
            "gen_ai.input.messages": message}  # fmt: skip
    made = {
        "traceId": TRACE, "spanId": "00000000000000aa", "name": "chat chat", "kind": 3,
        "startTimeUnixNano": str(START), "endTimeUnixNano": str(START + 1_000_000),
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in said.items()],
    }  # fmt: skip
    with serving(create_app(settings, store, clock=lambda: NOW)) as url:
        answer = httpx.post(f"{url}/v1/traces", json=traces(made),
                            headers={"Authorization": f"Bearer {key}"})  # fmt: skip
        assert (answer.status_code, answer.json()) == (200, {})
        end = time.monotonic() + 20
        query = "select numbers from request_log"
        while not (rows := rows_of(engine, None, query)) and time.monotonic() < end:
            time.sleep(0.05)
    ((vector,),) = rows
    assert vector == hashed([text])[0].tolist()
