"""Pieces of traces that nothing can read cost themselves and nobody else."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from monitor.collector.assembler import Assembler
from monitor.collector.producer_store import ProducerStore
from monitor.intake.otlp.traces import TRACES
from monitor.intake.otlp.wire import pack, parse_traces
from monitor.intake.parts import RequestPart
from monitor.intake.producer_record import Read
from monitor.settings import Settings
from monitor.store.engine import Role, make_engine, transaction
from monitor.store.intake_parts import add_parts
from monitor.store.intake_store import IntakeStore
from tests.integration.collector.conftest import World, settings_of
from tests.integration.collector.test_otlp import STORED, post, span, stored, traces
from tests.unit.intake.factories import NOW

PARTS = "select part_key, done from intake_part where group_key = :group order by 1"


@pytest.fixture
def settings() -> Settings:
    return settings_of(trace_seconds=1)


@pytest.fixture
def clock() -> Callable[[], datetime]:
    """NOW, and going on from there."""
    began = time.monotonic()
    return lambda: NOW + timedelta(seconds=time.monotonic() - began)


def parts_of(world: World, group: str) -> list[tuple[Any, ...]]:
    with transaction(world.engine, world.project_id, Role.OWNER) as connection:
        return [tuple(row) for row in connection.execute(sa.text(PARTS), {"group": group})]


def rejected(world: World) -> list[str]:
    query = "select reason from rejection where project_id = :project"
    with transaction(world.engine, world.project_id, Role.OWNER) as connection:
        return list(connection.scalars(sa.text(query), {"project": world.project_id}))


class Fragile:
    """Puts traces together, but for one that it stumbles over."""

    kind, complete_at = "fragile", None  # of its own: no other collector takes it

    def assemble(self, parts: Any, now: datetime) -> Read:
        """The requests of a trace."""
        if parts[0].group_key.startswith("bad"):
            raise RecursionError("too deep")
        return TRACES.assemble(parts, now)


def test_a_group_that_nothing_can_read_is_rejected_and_the_others_are_stored(
    world: World, module_database_url: str
) -> None:
    (good,) = parse_traces(json.dumps(traces(span(world, 7))).encode(), is_json=True).spans
    parts = [
        RequestPart("fragile", group, "span:1", pack(good), NOW, NOW - timedelta(hours=1))
        for group in ("bad-trace", "good-trace")
    ]
    store = IntakeStore(module_database_url, make_engine(module_database_url))
    worker = Assembler(world.engine, ProducerStore(store), lambda: NOW, (Fragile(),))
    with transaction(world.engine, world.project_id, Role.INGEST) as connection:
        add_parts(connection, world.project_id, parts)
    worker.run_once()
    store.close()
    assert stored(world, 1) == [("r-7", 1)]
    assert parts_of(world, "bad-trace") == [("span:1", True)]
    assert rejected(world) == ["unreadable"]


def test_content_that_nothing_can_read_costs_its_text_and_nothing_else(world: World) -> None:
    said = {"gen_ai.operation.name": "chat", "gen_ai.request.model": world.model}
    asked = span(world, 1, **said)
    record = {
        "traceId": asked["traceId"], "spanId": asked["spanId"], "timeUnixNano": "1",
        "eventName": "gen_ai.client.inference.operation.details",
        "attributes": [
            {"key": "gen_ai.output.messages", "value": {"stringValue": "[" * 100_000}}
        ],
    }  # fmt: skip
    body = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    assert post(world, "/v1/logs", body).json() == {}
    assert post(world, "/v1/traces", traces(asked)).json() == {}
    assert len(stored(world, 1)) == 1
    assert any(thread.name == "assembler" for thread in threading.enumerate())


def test_an_odd_attribute_is_no_error_of_the_collector(world: World) -> None:
    odd = span(world, 1)
    names = {"arrayValue": {"values": [{"stringValue": "chat"}]}}
    odd["attributes"] = [{"key": "gen_ai.operation.name", "value": names}]
    answer = post(world, "/v1/traces", traces(odd, span(world, 2)))
    assert (answer.status_code, answer.json()) == (200, {})
    assert stored(world, 1) == [("r-2", 1)]
    assert len(world.rows(STORED)) == 1


def test_content_that_names_no_call_is_told_to_its_sender_and_kept_as_a_rejection(
    world: World,
) -> None:
    record = {
        "timeUnixNano": "1", "eventName": "gen_ai.client.inference.operation.details",
        "attributes": [{"key": "gen_ai.output.messages", "value": {"stringValue": "[]"}}],
    }  # fmt: skip
    body = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    told = post(world, "/v1/logs", body).json()["partialSuccess"]
    assert told["rejectedLogRecords"] == "1"
    assert "names no trace id and span id" in told["errorMessage"]
    assert rejected(world) == ["missing_id"]
