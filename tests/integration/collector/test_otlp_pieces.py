"""Traces that come in pieces: stages before their request, steps of ensembles, unknown models."""

from __future__ import annotations

import time
from typing import Any

import pytest

from monitor.settings import Settings
from tests.integration.collector.conftest import World, settings_of
from tests.integration.collector.test_otlp import TRACE, post, span, stored, traces

WAITING = (
    f"select part_key from intake_part where group_key = '{TRACE}' and not done and :model > 0"
)


@pytest.fixture
def settings() -> Settings:
    return settings_of(trace_seconds=0)


def attribute(name: str, value: str) -> dict[str, Any]:
    return {"key": name, "value": {"stringValue": value}}


def test_a_refused_span_is_kept_where_people_look_as_exporters_never_read_the_answer(
    world: World,
) -> None:
    unknown = {**span(world, 1), "attributes": [attribute("ml.model.name", "nobody")]}
    answer = post(world, "/v1/traces", traces(unknown)).json()
    assert answer["partialSuccess"]["rejectedSpans"] == "1"
    query = f"select message from rejection where request_id = '{TRACE}-{1:016x}' and :model > 0"
    (kept,) = world.rows(query)
    assert "'nobody'" in kept.message
    assert "also_known_as" in kept.message


def test_a_stage_waits_for_its_request_however_long_that_takes(world: World) -> None:
    stage = {**span(world, 2), "parentSpanId": f"{1:016x}",
             "attributes": [attribute("ml.stage", "retrieval")]}  # fmt: skip
    assert post(world, "/v1/traces", traces(stage)).json() == {}
    time.sleep(1.2)
    assert [row.part_key for row in world.rows(WAITING)] == [f"span:{2:016x}"]
    assert post(world, "/v1/traces", traces(span(world, 1))).json() == {}
    assert stored(world, 1) == [("r-1", 1)]
    end = time.monotonic() + 10
    while world.rows(WAITING) and time.monotonic() < end:
        time.sleep(0.05)
    assert world.rows(WAITING) == []


def test_steps_of_an_ensemble_need_no_model_of_their_own(world: World) -> None:
    def model(number: int, name: str) -> dict[str, Any]:
        return {**span(world, number), "attributes": [attribute("triton.model_name", name)]}

    step = {**model(2, "tokenise"), "parentSpanId": f"{1:016x}"}
    assert post(world, "/v1/traces", traces(step, model(1, world.model))).json() == {}
    assert stored(world, 1) == [(f"{TRACE}-{1:016x}", 1)]
    alone = post(world, "/v1/traces", traces(model(3, "tokenise"))).json()
    assert alone["partialSuccess"]["rejectedSpans"] == "1"
