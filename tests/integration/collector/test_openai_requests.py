"""Requests to OpenAI-compatible servers over HTTP, into the columns of a contract."""

from __future__ import annotations

import json
from typing import Any

from monitor.intake.bodies.openai_lines import OPENAI_LINES
from monitor.store import models
from monitor.store.engine import Role, transaction
from tests.integration.collector.conftest import World
from tests.unit.intake.bodies.test_openai import ASKED, CHAT
from tests.unit.intake.factories import contract_of

COLUMNS: tuple[dict[str, Any], ...] = (
    {"name": "prompt_tokens", "type": "integer", "role": "count"},
    {"name": "cached_tokens", "type": "integer", "role": "count", "nullable": True},
    {"name": "seconds", "type": "number", "role": "timing", "field": "latency", "unit": "s"},
    {"name": "finish_reason", "type": "category", "categories": ("stop", "length")},
)


def line(name: str, **changes: Any) -> str:
    told = {"request": ASKED, "response": CHAT, "event_time": "2026-09-01T10:00:00Z",
            "request_id": name, "fields": {"latency": 812}}  # fmt: skip
    return json.dumps({**told, **changes})


def test_a_gateways_lines_fill_the_columns_and_the_tags_of_a_registration(world: World) -> None:
    with transaction(world.engine, world.project_id, Role.OWNER) as connection:
        wanted = contract_of(*COLUMNS, model=world.model)
        models.apply_contract(connection, world.project_id, wanted, source="t", by="t")
    registered = world.post(
        json.dumps({"tags": {"precision": "fp8"}, "joins": {"system_fingerprint": "fp_1"},
                    "valid_from": "2026-08-31T00:00:00Z"}).encode(),
        path="/v1/deployments", kind="application/json",
    )  # fmt: skip
    assert registered.status_code == 200
    body = "\n".join((line("r1"), "{", line("r2", event_time="1999-01-01T00:00:00Z")))
    answer = world.post(body.encode(), kind=OPENAI_LINES)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert (told["accepted"], told["rejected"], told["violations"]) == (1, 2, 0)
    places = [(each["place"], each["reason"]) for each in told["rejections"]]
    assert places == [(1, "unreadable"), (2, "time_out_of_range")]
    (row,) = world.rows("select r.numbers, r.texts, d.tags from request_log r join deployment d"
                        " on d.id = r.deployment_id where r.model_id = :model")  # fmt: skip
    assert {120, 96, 0.812} <= set(row.numbers)
    assert "stop" in row.texts
    assert row.tags == {"precision": "fp8", "model_version": "m-2026-08-01", "config_hash": "fp_1"}
    again = world.post(line("r1").encode(), kind=OPENAI_LINES).json()
    assert (again["accepted"], again["duplicate"]) == (0, 1)


def test_lines_for_a_model_that_does_not_exist_are_refused_as_a_whole(world: World) -> None:
    answer = world.post(line("r1").encode(), kind=OPENAI_LINES, model="nobody")
    assert (answer.status_code, answer.json()["reason"]) == (404, "unknown_model")
    assert world.post(b"", kind=OPENAI_LINES).json()["accepted"] == 0
