"""Events over HTTP to stored requests: pairing, time-outs, duplicates, a collector that dies."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy.engine import Engine

from monitor.collector.assembler import Assembler
from monitor.collector.producer_store import ProducerStore
from monitor.store import projects
from monitor.store.engine import Role, make_engine, transaction
from monitor.store.intake_store import IntakeStore
from tests.factories import apply, make_contract, rows_of
from tests.integration.collector.conftest import World
from tests.unit.intake.factories import NOW

KSERVE = "org.kubeflow.serving.inference"
STORED = (
    "select request_id, outcome, outcome_reason from request_log where model_id = :model order by 1"
)


def headers(
    model: str, name: str, side: str, at: str = "2026-03-01T09:30:00Z", **more: str
) -> dict[str, str]:
    said = {
        "specversion": "1.0",
        "id": name,
        "source": "http://localhost:9081/",
        "type": f"{KSERVE}.{side}",
        "time": at,
        "inferenceservicename": model,
        **more,
    }
    return {f"Ce-{key}": value for key, value in said.items()} | {
        "Content-Type": "application/json"
    }


def send(world: World, name: str, side: str, body: Any = None, **more: str) -> httpx.Response:
    at = more.pop("at", NOW.isoformat().replace("+00:00", "Z"))
    said = {"Authorization": f"Bearer {world.key}", **headers(world.model, name, side, at, **more)}
    content = json.dumps(body if body is not None else {})
    return world.client.post("/v1/cloudevents", content=content, headers=said)


@pytest.fixture
def assembler(world: World, module_database_url: str) -> Iterator[Assembler]:
    """One that the test moves on, at a clock of its own, beside the collector's."""
    store = IntakeStore(module_database_url, make_engine(module_database_url))
    yield Assembler(world.engine, ProducerStore(store), lambda: NOW + timedelta(hours=1))
    store.close()


def stored(world: World, n: int, seconds: float = 20) -> list[tuple[Any, ...]]:
    """The stored requests, once there are n of them."""
    end = time.monotonic() + seconds
    while True:
        rows = [tuple(row) for row in world.rows(STORED)]
        if len(rows) >= n or time.monotonic() > end:
            return rows
        time.sleep(0.05)


def test_two_halves_become_one_request(world: World) -> None:
    assert send(world, "r1", "request", {"instances": [[1.0]]}).json() == {"kept": 1, "ignored": 0}
    assert send(world, "r1", "response", {"predictions": [0.5]}).status_code == 200
    assert stored(world, 1) == [("r1", 1, None)]


def test_the_response_may_come_first_and_halves_may_come_twice(world: World) -> None:
    for side in ("response", "request", "response", "request"):
        assert send(world, "r2", side, {"instances": [[1.0]]}).status_code == 200
    assert stored(world, 1) == [("r2", 1, None)]
    assert send(world, "r2", "request", {"instances": [[1.0]]}).status_code == 200
    time.sleep(1.2)
    assert stored(world, 1) == [("r2", 1, None)]
    waiting = world.rows("select done from intake_part where group_key like '%r2' and :model > 0")
    assert [row.done for row in waiting] == [True, True]


def test_a_half_whose_other_never_came_is_told_when_waiting_ends(
    world: World, assembler: Assembler
) -> None:
    send(world, "lost", "request", {"instances": [[1.0]]})
    time.sleep(0.7)
    assert stored(world, 0) == [], "it waits"
    assert assembler.run_once() == 1
    ((name, outcome, reason),) = stored(world, 1)
    assert (name, outcome) == ("lost", 4)
    assert "no response event" in reason


def test_other_events_are_ignored_and_rubbish_is_refused(world: World) -> None:
    answer = send(world, "r3", "metric")
    assert answer.json() == {"kept": 0, "ignored": 1}
    bad = world.client.post(
        "/v1/cloudevents", content=b"{}", headers={"Authorization": f"Bearer {world.key}"}
    )
    assert (bad.status_code, bad.json()["reason"]) == (400, "unreadable")
    nobody = world.client.post("/v1/cloudevents", content=b"{}")
    assert nobody.status_code == 401


def test_the_key_may_stand_in_the_address_as_a_password(world: World) -> None:
    login = base64.b64encode(f"kserve:{world.key}".encode()).decode()
    said = {"Authorization": f"Basic {login}", **headers(world.model, "r4", "request")}
    assert world.client.post("/v1/cloudevents", content=b"{}", headers=said).status_code == 200
    wrong = {**said, "Authorization": "Basic " + base64.b64encode(b"kserve:no").decode()}
    assert world.client.post("/v1/cloudevents", content=b"{}", headers=wrong).status_code == 401
    broken = {**said, "Authorization": "Basic %%%"}
    assert world.client.post("/v1/cloudevents", content=b"{}", headers=broken).status_code == 401


def test_records_of_no_model_are_kept_as_rejected(world: World, assembler: Assembler) -> None:
    send(world, "r5", "request", {}, inferenceservicename="nobody")
    assembler.run_once()
    query = "select reason, request_id from rejection where request_id = 'r5' and :model > 0"
    assert [tuple(row) for row in world.rows(query)] == [("unknown_model", "r5")]


def test_trap_04_an_answer_waits_for_the_insert_alone_and_never_for_the_pairing(
    world: World, module_database_url: str
) -> None:
    """While every due group is locked by somebody else, events are taken as before."""
    send(world, "slow", "request")
    with transaction(world.engine, world.project_id, Role.OWNER) as connection:
        connection.exec_driver_sql("select * from intake_part for update")
        began = time.monotonic()
        for number in range(20):
            assert send(world, f"quick-{number}", "request").status_code == 200
        assert time.monotonic() - began < 10, "twenty answers while the pairing stands still"


class Collector:
    """The real process, which a test may kill."""

    def __init__(self, url: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._url = url
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "monitor", "collector", "--port", str(self.port)],
            env={**os.environ, "DATABASE_URL": self._url}, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for _ in range(300):
            try:
                if httpx.get(f"http://127.0.0.1:{self.port}/readyz").status_code == 200:
                    return
            except httpx.HTTPError:
                time.sleep(0.1)
        pytest.fail("the collector did not start in 30 seconds")

    def kill(self) -> None:
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def test_a_collector_killed_between_the_halves_loses_nothing(
    database_url: str, engine: Engine, project_id: int
) -> None:
    context = apply(engine, project_id, make_contract())
    with transaction(engine, None, Role.OWNER) as connection:
        key = projects.create_key(connection, project_id, "test", ("ingest",), by="test")
    at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    real = Collector(database_url)
    real.start()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{real.port}", timeout=10) as client:

            def post(number: int, side: str) -> int:
                said = headers(context.contract.model, f"k{number}", side, at)
                said["Authorization"] = f"Bearer {key}"
                return client.post("/v1/cloudevents", content=b"{}", headers=said).status_code

            assert {post(number, "request") for number in range(50)} == {200}
            real.kill()
            real.start()
            assert {post(number, "response") for number in range(50)} == {200}
        query = "select request_id, outcome from request_log"
        end = time.monotonic() + 20
        while len(rows_of(engine, None, query)) < 50 and time.monotonic() < end:
            time.sleep(0.1)
        rows = rows_of(engine, None, query)
    finally:
        real.kill()
    assert sorted(row.request_id for row in rows) == sorted(f"k{number}" for number in range(50))
    assert {row.outcome for row in rows} == {1}
