"""OpenTelemetry from real producers to stored requests, over HTTP to the real collector."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
from sqlalchemy.engine import Engine

from monitor.collector.app import create_app
from monitor.contract import Contract
from monitor.records import RequestOutcome
from monitor.store import projects
from monitor.store.engine import Role, make_engine, transaction
from monitor.store.intake_store import IntakeStore
from tests.factories import apply, contract_body, rows_of
from tests.integration.collector.conftest import settings_of
from tests.integration.collector.serving import serving
from tests.producers.running import PROGRAMS, free_port, python_library_folder, running
from tests.producers.test_openai_bodies import llama
from tests.producers.venvs import KEPT, producer_python, producer_venv, weekly

__all__ = ["llama"]

pytestmark = pytest.mark.producer
NAMES = ("age", "score", "latency", "queue_time", "compute_time", "retrieval", "first_token_time",
         "prompt_tokens", "output_tokens", "retries")  # fmt: skip


@dataclass(frozen=True)
class Collected:
    """A running collector, and what is stored of the model `served`."""

    url: str
    key: str
    engine: Engine

    def environment(self, **more: str) -> dict[str, str]:
        """What OpenTelemetry's exporters read."""
        return {
            **os.environ,
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.url,
            "OTEL_EXPORTER_OTLP_HEADERS": f"Authorization=Bearer%20{self.key}",
            **more,
        }

    def requests(self, n: int) -> list[Any]:
        """The stored requests by id, once there are n of them; columns by their names."""
        query = "select * from project_1.log_served order by request_id"
        end = time.monotonic() + 30
        while True:
            with transaction(self.engine, 1, Role.OWNER) as connection:
                found = list(connection.exec_driver_sql(query))
            if len(found) >= n or time.monotonic() > end:
                return found
            time.sleep(0.2)

    def tags(self) -> dict[str, str]:
        """Tags of the newest deployment."""
        return dict(rows_of(self.engine, 1, "select tags from deployment order by id desc")[0].tags)


@pytest.fixture
def collected(database_url: str, engine: Engine, project_id: int) -> Iterator[Collected]:
    body = contract_body(model="served", label=None, also_known_as=["sum", "micro"])
    body["columns"] = [
        {"name": name, "type": "number", "nullable": True,
         **({"field": "stage.retrieval"} if name == "retrieval" else {})}
        for name in NAMES
    ] + [{"name": "finish_reason", "type": "category", "nullable": True},
         {"name": "first_token_from", "type": "category", "nullable": True}]  # fmt: skip
    apply(engine, project_id, Contract.model_validate(body))
    with transaction(engine, None, Role.OWNER) as connection:
        key = projects.create_key(connection, project_id, "otel", ("ingest",), by="test")
    store = IntakeStore(database_url, make_engine(database_url))
    settings = settings_of(trace_seconds=2)
    with serving(create_app(settings, store, clock=lambda: datetime.now(UTC))) as url:
        yield Collected(url, key, engine)


def test_the_python_sdk_sends_requests_with_their_stages(collected: Collected) -> None:
    subprocess.run(
        [producer_python("otel_sdk"), str(PROGRAMS / "otel_spans.py"), "3", "served"],
        env=collected.environment(
            OTEL_EXPORTER_OTLP_COMPRESSION="gzip",
            OTEL_RESOURCE_ATTRIBUTES="ml.model.version=7,ml.precision=int8,cloud.region=eu-1",
        ),
        check=True, timeout=60,
    )  # fmt: skip
    found = collected.requests(3)
    assert [row.request_id for row in found] == ["sdk-0", "sdk-1", "sdk-2"]
    assert [row.age for row in found] == [40, 41, 42]
    assert all(row.retrieval >= 10 and row.latency >= row.retrieval for row in found)
    assert collected.tags() == {"model_version": "7", "precision": "int8", "region": "eu-1"}


def test_trap_14_the_sdk_for_python_sends_numbers_as_text_in_json(collected: Collected) -> None:
    environment = collected.environment(OTEL_EXPORTER_OTLP_PROTOCOL="http/json")
    program = [producer_python("otel_json"), str(PROGRAMS / "otel_spans.py"), "2", "served"]
    subprocess.run(program, env=environment, check=True, timeout=60)
    found = collected.requests(2)
    assert [(row.request_id, row.age) for row in found] == [("sdk-0", 40), ("sdk-1", 41)]
    assert all(row.retrieval >= 10 for row in found)


class Hesitant(BaseHTTPRequestHandler):
    """Answers 503 with Retry-After first, then hands on to the collector; counts calls."""

    target: ClassVar[str] = ""
    calls: ClassVar[list[int]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if not self.calls:
            self.calls.append(503)
            self.send_response(503)
            self.send_header("Retry-After", "1")
            self.end_headers()
            return
        headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        answer = httpx.post(self.target + self.path, content=body, headers=headers)
        self.calls.append(answer.status_code)
        self.send_response(answer.status_code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_trap_15_the_python_sdk_comes_back_after_a_503_and_loses_nothing(
    collected: Collected,
) -> None:
    Hesitant.target, Hesitant.calls = collected.url, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hesitant)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        subprocess.run(
            [producer_python("otel_sdk"), str(PROGRAMS / "otel_spans.py"), "2", "served"],
            env=collected.environment(
                OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{server.server_port}"
            ),
            check=True, timeout=60,
        )  # fmt: skip
    finally:
        server.shutdown()
        server.server_close()
    assert Hesitant.calls == [503, 200]
    assert [row.request_id for row in collected.requests(2)] == ["sdk-0", "sdk-1"]


def test_trap_14_the_sdk_for_javascript_sends_json_in_chunks(collected: Collected) -> None:
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("no Node.js here: its exporter can't be run")
    folder = KEPT / "otel_js"
    folder.mkdir(parents=True, exist_ok=True)
    packages = ("@opentelemetry/sdk-trace-base@2.10.0",
                "@opentelemetry/exporter-trace-otlp-http@0.223.1")  # fmt: skip
    if not (folder / "complete").exists():
        subprocess.run([npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder),
                        *packages], check=True, timeout=200, capture_output=True)  # fmt: skip
        (folder / "complete").touch()
    subprocess.run(
        [node, str(PROGRAMS / "otel_spans.js"), collected.url, collected.key, "served"],
        env={**os.environ, "NODE_PATH": str(folder / "node_modules")}, check=True, timeout=60,
    )  # fmt: skip
    (row,) = collected.requests(1)
    assert (row.request_id, row.retries) == ("js-0", 2)


def test_the_official_instrumentation_of_the_openai_client(
    collected: Collected, llama: str
) -> None:
    program = [producer_python("genai_openai"), str(PROGRAMS / "otel_chat.py"), llama, "micro"]
    subprocess.run(program, env=collected.environment(), check=True, timeout=100)
    found = collected.requests(3)
    assert len(found) == 3
    streamed = [row for row in found if row.first_token_time is not None]
    failed = [row for row in found if row.outcome != 1]
    assert len(streamed) == 1
    assert streamed[0].first_token_from == "client"
    assert 0 < streamed[0].first_token_time <= streamed[0].latency
    assert len(failed) == 1
    answered = [row for row in found if row.outcome == 1]
    assert {row.output_tokens for row in answered} == {6}
    assert all(row.prompt_tokens > 0 for row in answered)


def test_trap_13_bentoml_sends_rows_whose_ids_its_caller_knows(
    collected: Collected, tmp_path: Path
) -> None:
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [str(producer_venv("bentoml") / "bin/bentoml"), "serve",
               "bentoml_otlp_service:Credit", "--host", "127.0.0.1", "--port", str(port),
               "--working-dir", str(PROGRAMS)]  # fmt: skip
    environment = collected.environment(
        BENTOML_DO_NOT_TRACK="true", BENTOML_HOME=str(tmp_path / "home"), TZ="Asia/Tokyo",
        OTEL_BLRP_SCHEDULE_DELAY="200",
    )  # fmt: skip
    before, called = datetime.now(UTC), []
    with running(command, f"{address}/readyz", tmp_path / "log", environment):
        for ages in ([41.0], [55.0, 56.0]):
            answer = httpx.post(f"{address}/classify", json={"ages": ages}, timeout=20)
            answer.raise_for_status()
            called.append(answer.headers["x-bentoml-request-id"])
        found = {row.request_id: row for row in collected.requests(3)}
    assert set(found) == {called[0], f"{called[1]}/0", f"{called[1]}/1"}
    rows = sorted((row.age, row.score) for row in found.values())
    assert rows == [(41.0, 0.41), (55.0, 0.55), (56.0, 0.56)]
    assert all(before <= row.event_time <= datetime.now(UTC) for row in found.values())
    assert collected.tags() == {}, "`not available` is no version"


@weekly
def test_mlflow_sends_its_traces_by_otlp(collected: Collected) -> None:
    # Without a protocol it asks for gRPC, which nobody sends here.
    environment = collected.environment(OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf")
    program = [producer_python("mlflow_3"), str(PROGRAMS / "mlflow_otlp.py")]
    subprocess.run(program, env=environment, check=True, timeout=100)
    failed, answered = sorted(collected.requests(2), key=lambda row: row.age)
    assert (failed.outcome, answered.outcome) == (RequestOutcome.FAILED, RequestOutcome.ANSWERED)
    assert "4711" not in failed.outcome_reason
    assert (answered.age, answered.score) == (41, 0.41)
    assert (answered.prompt_tokens, answered.output_tokens) == (5, 2)
    assert 20 <= answered.retrieval <= answered.latency
    assert collected.tags()["model_version"] == "3"


def test_triton_tells_queue_and_compute_by_otlp(collected: Collected, tmp_path: Path) -> None:
    web, metrics = free_port(), free_port()
    with running(
        [producer_python("triton"), str(PROGRAMS / "otlp_triton.py"), str(web), str(metrics),
         collected.url],
        f"http://127.0.0.1:{web}/v2/models/sum/ready", tmp_path / "triton.log",
        collected.environment(LD_LIBRARY_PATH=python_library_folder()),
    ):  # fmt: skip
        tensor = {"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [1.0, 2.0]}
        for _ in range(3):
            request = urllib.request.Request(
                f"http://127.0.0.1:{web}/v2/models/sum/infer",
                json.dumps({"inputs": [tensor]}).encode(), {"content-type": "application/json"},
            )  # fmt: skip
            with urllib.request.urlopen(request, timeout=30) as answer:
                assert answer.status == 200
        found = collected.requests(3)
    assert len(found) == 3
    for row in found:
        assert row.compute_time >= 20
        assert row.queue_time >= 0
        assert row.latency >= row.compute_time
    told = collected.tags()
    assert (told["model_version"], told["precision"], told["runtime"]) == ("3", "int8", "triton")
