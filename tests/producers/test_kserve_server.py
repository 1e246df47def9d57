"""A real KServe model server, whose calls its agent, emulated after its source, hands on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from tests.factories import rows_of
from tests.producers.kserve_agent import Agent
from tests.producers.running import PROGRAMS, free_port, running
from tests.producers.test_otlp import Collected, collected
from tests.producers.venvs import producer_python, weekly

__all__ = ["collected"]

pytestmark = pytest.mark.producer
CLOUD_EVENT = {"ce-specversion": "1.0", "ce-id": "chosen-by-the-caller", "ce-source": "caller",
               "ce-type": "org.example.asked"}  # fmt: skip


@pytest.fixture
def kserve(tmp_path: Path) -> Iterator[str]:
    """The address of a KServe server that serves the model `served`."""
    port = free_port()
    command = [producer_python("kserve"), str(PROGRAMS / "kserve_model.py"), str(port)]
    address = f"http://127.0.0.1:{port}"
    with running(command, f"{address}/v2/models/served/ready", tmp_path / "kserve.log"):
        yield address


def called(
    agent: Agent, url: str, body: bytes, headers: Mapping[str, str] | None = None
) -> tuple[str, httpx.Response]:
    """The model's answer to these bytes, handed on as they were; the id of the agent's events."""
    given = {"content-type": "application/json", **(headers or {})}
    answer = httpx.post(url, content=body, headers=given, timeout=30)
    name = agent.handle(body, answer.content, answer.status_code, given.get("ce-id"))
    return name, answer


@weekly
def test_calls_of_a_kserve_server_are_requests_by_v1_v2_and_cloudevents(
    collected: Collected, kserve: str
) -> None:
    to = collected.url.replace("http://", f"http://any:{collected.key}@")
    agent = Agent(f"{to}/v1/cloudevents", "served")
    first, second = f"{kserve}/v1/models/served:predict", f"{kserve}/v2/models/served/infer"
    tensor = (
        b'{"id": "same", "inputs": [{"name": "age", "shape": [2, 1], "datatype": "FP64",'
        b' "data": [42.0, 43.0]}]}'
    )
    try:
        plain, _ = called(agent, first, b'{"instances": [{"age": 41.0}]}')
        tensors, told = called(agent, second, tensor)
        event, answer = called(agent, first, b'{"instances": [{"age": 44.0}]}', CLOUD_EVENT)
        lost, fault = called(agent, first, b'{"instances": [{"age": -1.0}]}')
    finally:
        agent.close()
    assert agent.statuses == [200] * 7
    assert (told.status_code, answer.status_code, fault.status_code) == (200, 200, 500)
    assert answer.headers["ce-id"] != event  # trap 20: its own answer has a new id
    found = {row.request_id: (row.age, row.score, row.outcome) for row in collected.requests(4)}
    assert found == {
        plain: (41.0, 41.0, 1),
        f"{tensors}/0": (42.0, 42.0, 1),
        f"{tensors}/1": (43.0, 43.0, 1),
        event: (44.0, 44.0, 1),
    }
    tags = [row.tags for row in rows_of(collected.engine, 1, "select tags from deployment")]
    assert {each.get("model_version") for each in tags} == {None, "v3"}
    parts = rows_of(collected.engine, 1, "select group_key, done from intake_part")
    assert [row.done for row in parts if lost in row.group_key] == [False], "it waits, unpaired"
