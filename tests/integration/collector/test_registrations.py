"""A registered deployment gives its tags to the requests it matches, and to no others."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.engine import Engine

from monitor.collector.producer_store import ProducerStore, Sender
from monitor.deployment import Tags
from monitor.intake.producer_record import ProducerRecord, Read
from monitor.store.intake_store import IntakeStore
from monitor.store.models import MAX_NEW_DEPLOYMENTS_A_DAY, ModelContext
from monitor.store.registrations import MAX_CONFLICTS, NewRegistration
from tests.factories import START, apply, make_contract, rows_of
from tests.integration.collector.conftest import World
from tests.unit.intake.factories import NOW

HOST = {"host": "gpu-3"}
TAGS_OF = """
    select r.request_id, d.tags from request_log r
    join deployment d on d.id = r.deployment_id order by r.request_id
"""


@pytest.fixture
def credit(engine: Engine, project_id: int) -> ModelContext:
    return apply(engine, project_id, make_contract())


def register(
    store: IntakeStore, model: ModelContext, tags: dict[str, str], joins: Any = None, **span: Any
) -> None:
    new = NewRegistration(HOST if joins is None else joins, span.get("start", START), None)
    ids = (model.project_id, model.model_id)
    store.registrations.register(*ids, Tags.of(tags), None, new, START)


def send(store: IntakeStore, model: ModelContext, *records: ProducerRecord) -> None:
    named = Sender(model.project_id, START, model.contract.model)
    kept = ProducerStore(store).keep(named, Read(records=records))
    assert kept.accepted == len(records)


def record(name: str, hours: float = 0, **more: Any) -> ProducerRecord:
    return ProducerRecord(name, START + timedelta(hours=hours), **{"joins": HOST, **more})


def tags_of(engine: Engine) -> dict[str, dict[str, str]]:
    return {row.request_id: row.tags for row in rows_of(engine, 1, TAGS_OF)}


def test_a_request_gets_the_tags_that_hold_for_its_marks_at_its_time(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    register(store, credit, {"driver_version": "550.90", "precision": "int8"})
    register(store, credit, {"driver_version": "560.10"}, start=START + timedelta(hours=1))
    send(store, credit, record("r1"), record("r2", 2), record("r3", -1),
         record("r4", joins={"host": "gpu-4"}),
         record("r5", request_tags={"precision": "fp16"}))  # fmt: skip
    found = tags_of(engine)
    assert found["r1"] == {"driver_version": "550.90", "precision": "int8"}
    assert found["r2"] == {"driver_version": "560.10"}
    assert (found["r3"], found["r4"]) == ({}, {})
    assert found["r5"] == {"driver_version": "550.90", "precision": "fp16"}
    conflicts = rows_of(engine, 1, "select tag, used, other, requests from tag_conflict")
    assert [tuple(row) for row in conflicts] == [("precision", "fp16", "int8", 1)]
    said = rows_of(engine, 1, "select distinct tag, source from tag_source order by 1, 2")
    assert [tuple(row) for row in said] == [
        ("driver_version", "registration"), ("precision", "registration"), ("precision", "request"),
    ]  # fmt: skip


def test_a_late_registration_never_rewrites_what_is_stored(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    send(store, credit, record("r1"))
    register(store, credit, {"precision": "int8"})
    send(store, credit, record("r2"))
    again = ProducerStore(store).keep(
        Sender(1, START, credit.contract.model), Read(records=(record("r1"),))
    )
    assert again.accepted == 0
    assert tags_of(engine) == {"r1": {}, "r2": {"precision": "int8"}}


def test_when_two_registrations_match_neither_is_guessed(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    register(store, credit, {"precision": "int8", "runtime": "vllm"})
    register(store, credit, {"precision": "fp16", "runtime": "vllm"}, {"pod": "p-1"})
    send(store, credit, record("r1", joins={**HOST, "pod": "p-1"}))
    assert tags_of(engine) == {"r1": {"runtime": "vllm"}}
    rows = rows_of(engine, 1, "select tag, used, other, used_source from tag_conflict")
    assert [tuple(row) for row in rows] == [("precision", None, "fp16 | int8", "registration")]


def test_contradictions_are_counted_and_their_number_is_bounded(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    many = MAX_CONFLICTS + 3
    register(store, credit, {"precision": "int8"})
    claims = [record(f"r{n}", request_tags={"precision": f"p{n}"}) for n in range(many)]
    kept = ProducerStore(store).keep(
        Sender(1, START, credit.contract.model), Read(records=tuple(claims))
    )
    assert kept.accepted == many
    rows = rows_of(engine, 1, "select tag, requests from tag_conflict")
    assert len(rows) == MAX_CONFLICTS + 1
    assert [row.requests for row in rows if row.tag == "*"] == [3]
    send(store, credit, record("more", request_tags={"precision": "p1"}))
    store.registrations.flush()
    total = rows_of(engine, 1, "select sum(requests) as n from tag_conflict")
    assert total[0].n == many + 1


def body(**changes: Any) -> bytes:
    return json.dumps({"tags": {"model_version": "7"}, **changes}).encode()


def test_a_deployment_is_registered_over_http_and_the_same_again_is_the_same(world: World) -> None:
    told = body(joins=HOST, evidence={"host": "gpu-3"})
    first = world.post(told, path="/v1/deployments", kind="application/json").json()
    assert first["created"] is True
    assert first["registration"] > 0
    again = world.post(told, path="/v1/deployments", kind="application/json").json()
    assert again == {**first, "created": False}
    moved = world.post(
        body(joins=HOST, valid_from="2026-08-01T00:00:00Z", valid_to="2026-08-02T00:00:00+02:00"),
        path="/v1/deployments",
        kind="application/json",
    ).json()
    assert moved["deployment"] == first["deployment"]
    assert moved["registration"] != first["registration"]
    rows = world.rows("select joins, valid_from, valid_to, evidence from deployment_registration"
                      " where model_id = :model order by id")  # fmt: skip
    assert (rows[0].joins, rows[0].valid_from, rows[0].valid_to) == (HOST, NOW, None)
    assert rows[0].evidence == {"host": "gpu-3"}
    assert (rows[1].valid_to - rows[1].valid_from) == timedelta(hours=22)
    bare = world.post(body(), path="/v1/deployments", kind="application/json").json()
    assert bare == {"deployment": first["deployment"], "created": False}


def test_all_that_is_wrong_with_a_registration_is_said_at_once(world: World) -> None:
    told = body(joins={"host": "unknown", "pod": 3}, valid_from="yesterday",
                valid_to="2020-01-01T00:00:00Z", evidence=[1])  # fmt: skip
    answer = world.post(told, path="/v1/deployments", kind="application/json")
    assert answer.status_code == 422
    assert answer.json()["reason"] == "bad_registration"
    for part in ("joins.host is 'unknown'", "joins.pod", "valid_from", "valid_to", "evidence"):
        assert part in answer.json()["message"]
    odd = world.post(body(colour="red"), path="/v1/deployments", kind="application/json")
    assert (odd.status_code, odd.json()["reason"]) == (422, "bad_deployment")


def test_who_said_a_tag_is_kept_of_deployments_only(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    """So that a flood of made-up versions, which share one deployment, leaves no flood of rows."""
    many = tuple(
        record(f"r{n}", request_tags={"model_version": f"v{n}"})
        for n in range(MAX_NEW_DEPLOYMENTS_A_DAY + 5)
    )
    send(store, credit, *many)
    rows = rows_of(engine, 1, "select count(*) as n from tag_source")
    assert rows[0].n == MAX_NEW_DEPLOYMENTS_A_DAY
