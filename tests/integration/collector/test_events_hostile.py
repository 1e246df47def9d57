"""Rubbish at the event routes: refused with a reason, and never at a neighbour's cost."""

from __future__ import annotations

import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.integration.collector.conftest import World
from tests.integration.collector.test_events import KSERVE, headers

STRUCTURED = "application/cloudevents+json"
BATCHED = "application/cloudevents-batch+json"
EVENT = {"specversion": "1.0", "id": "h", "source": "s", "type": f"{KSERVE}.request"}


def post(world: World, content: bytes, kind: str, **more: str) -> httpx.Response:
    said = {"Authorization": f"Bearer {world.key}", "Content-Type": kind, **more}
    return world.client.post("/v1/cloudevents", content=content, headers=said)


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": "a\0b"}, {"id": "\ud800"}, {"source": "a\0b"}, {"foo": "\ud800"},
        {"data_base64": "é"}, {"n": "HUGE"}, {"n" * 1_000_000: "v"}, {"time": "x" * 1_000_000},
        {"id": "x" * 1_000_000}, {"inferenceservicename": "a\0b"},
    ],
    ids=["nul id", "half a pair in id", "nul source", "half a pair in an extension", "base64",
         "huge integer", "long name", "long time", "long id", "nul extension"],
)  # fmt: skip
def test_an_event_that_can_not_be_kept_is_refused(world: World, wrong: dict[str, Any]) -> None:
    body = json.dumps({**EVENT, **wrong}).replace('"HUGE"', "9" * 5_000)
    answer = post(world, body.encode(), STRUCTURED)
    assert (answer.status_code, answer.json()["reason"]) == (400, "unreadable"), answer.text[:200]


def test_one_bad_event_costs_its_neighbours_nothing(world: World) -> None:
    good = {"Authorization": f"Bearer {world.key}"}

    def send(number: int) -> int:
        name = "bad%00" if number % 10 == 0 else f"n{number}"
        said = good | headers(world.model, name, "request")
        return world.client.post("/v1/cloudevents", content=b"{}", headers=said).status_code

    with ThreadPoolExecutor(20) as pool:
        codes = list(pool.map(send, range(200)))
    assert {codes[n] for n in range(200) if n % 10} == {200}
    assert {codes[n] for n in range(0, 200, 10)} == {400}


def test_limits_of_batches_headers_and_gzip(world: World) -> None:
    many = post(world, json.dumps([EVENT] * 1_001).encode(), BATCHED)
    assert many.status_code == 400
    assert "1001" in many.json()["message"]
    packed = post(world, gzip.compress(json.dumps(EVENT).encode()), STRUCTURED,
                  **{"Content-Encoding": "gzip"})  # fmt: skip
    assert packed.status_code == 200
    torn = post(world, b"not gzip", STRUCTURED, **{"Content-Encoding": "gzip"})
    assert (torn.status_code, torn.json()["reason"]) == (400, "bad_gzip")
    try:
        long = post(world, b"{}", "application/json", **{"ce-id": "x" * (1 << 20)})
        assert 400 <= long.status_code < 500
    except httpx.TransportError:
        pass  # the server may hang up
    assert post(world, json.dumps(EVENT).encode(), STRUCTURED).status_code == 200


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.dictionaries(
        st.sampled_from(["id", "source", "type", "specversion", "time", "data", "data_base64"]),
        st.one_of(st.text(max_size=20), st.integers(), st.none(), st.lists(st.text(), max_size=2),
                  st.text(st.characters(), max_size=5)),
    )
)  # fmt: skip
def test_no_structured_event_is_a_fault_of_the_server(world: World, wrong: dict[str, Any]) -> None:
    body = json.dumps({**EVENT, **wrong}).encode()
    for content, kind in ((body, STRUCTURED), (b"[" + body + b"]", BATCHED)):
        assert post(world, content, kind).status_code in (200, 400)
