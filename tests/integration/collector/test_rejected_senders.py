"""Who sent what was refused: over HTTP, kept beside the record, never the key itself."""

from __future__ import annotations

import json
from typing import Any

from tests.integration.collector.conftest import World
from tests.integration.collector.test_otlp import post, span, traces
from tests.unit.intake.factories import lines, record

KEPT = "select distinct sent_with, producer, reason from rejection where model_id = :model"


def refused(number: int) -> dict[str, object]:
    return record(number, deployment=..., event_time="2013-09-01T10:00:00")


def test_key_and_user_agent_stand_beside_a_refused_record(world: World) -> None:
    agent = {"User-Agent": "scorer/2.1 python/3.12"}
    good = record(1, deployment=...)
    answer = world.post(lines([good, refused(2)]), headers=agent).json()
    assert (answer["accepted"], answer["rejected"]) == (1, 1)
    assert world.rows(KEPT) == [("test", "scorer/2.1", "time_without_zone")]
    secret = world.key.rpartition("_")[2]
    (row,) = world.rows("select r::text as told from rejection r where model_id = :model")
    assert secret not in row.told


def test_hostile_text_in_the_header_is_cleaned(world: World) -> None:
    agent: Any = {"User-Agent": b"a\xad\x85b" + b"x" * 500}
    world.post(lines([refused(1)]), headers=agent)
    ((key, producer, _),) = world.rows(KEPT)
    assert key == "test"
    assert producer == "a b" + "x" * 116 + "…"


def test_a_large_body_and_labels(world: World) -> None:
    world.post(lines([record(n, deployment=...) for n in range(200)] + [refused(900)]),
               headers={"User-Agent": "bulk/1"})  # fmt: skip
    world.post(json.dumps([{"value": 1}]).encode(), path="/v1/labels", kind="application/json",
               headers={"User-Agent": "labeller/3"})  # fmt: skip
    assert {row.producer for row in world.rows(KEPT)} == {"bulk/1", "labeller/3"}


def test_a_span_of_an_unknown_model_names_its_service(world: World) -> None:
    body = traces(span(world, **{"ml.model.name": "nobody"}))
    body["resourceSpans"][0]["resource"] = {"attributes": [
        {"key": "service.name", "value": {"stringValue": "checkout"}}]}  # fmt: skip
    assert post(world, "/v1/traces", body).status_code == 200
    rows = world.rows(
        "select sent_with, producer, reason from rejection where model_id is null"
        f" and project_id = {world.project_id} and :model is not null"
    )
    assert rows == [("test", "checkout", "unknown_model")]
