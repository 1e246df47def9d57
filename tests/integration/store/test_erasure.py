"""Erasure: a person's rows are gone everywhere, everybody else's stay, the chain stays whole."""

from __future__ import annotations

import json
from datetime import timedelta

import psycopg
import pytest
from sqlalchemy.engine import Engine

from monitor.errors import ConfigurationError
from monitor.evidence.chain import check_chain, head_of
from monitor.jobs.run import Runner
from monitor.profiles.sample import REQUEST_ID, sample_from_bytes
from monitor.store import audit
from monitor.store.engine import Role, transaction
from monitor.store.erasure import Erased, entity_hash, erase_entity
from monitor.store.holds import place_hold, release_hold
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import (
    START,
    TestClock,
    apply,
    contract_body,
    current_context,
    deployment,
    label,
    label_batch,
    make_contract,
    request,
    rows_of,
    send,
)

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
ANA = "ana.b@example.org"
PEOPLE = (ANA, "ben", "cleo")


@pytest.fixture
def people(
    engine: Engine, project_id: int, store: IntakeStore, runner: Runner, clock: TestClock
) -> ModelContext:
    """Three people with 60 requests each over two days, labels, samples and a baseline."""
    person = {"name": "customer", "type": "category", "role": "entity"}
    columns = [*contract_body()["columns"], person]
    context = apply(engine, project_id, make_contract(columns=columns))
    deployment(engine, context, model_version="1")
    context = current_context(engine, project_id)
    rows = [
        request(f"{who}-{turn}", START + HOUR + turn % 2 * DAY, score=0.5, customer=who)
        for who in PEOPLE
        for turn in range(60)
    ]
    send(store, context, rows)
    labels = [label(f"{who}-{turn}", 1.0, START + 2 * DAY) for who in PEOPLE for turn in range(60)]
    store.store_labels(label_batch(context, [*labels, label(f"{ANA}-never", 1.0, START)]))
    clock.now = START + 3 * DAY
    runner.catch_up()
    return context


def erase(engine: Engine, model: ModelContext, value: str) -> Erased:
    with transaction(engine, model.project_id, Role.OWNER) as connection:
        return erase_entity(connection, model, value, by="privacy desk")


def sampled(engine: Engine) -> list[str]:
    """Request ids in all samples, those of baselines too."""
    found = rows_of(engine, 1, "select body from sample union all"
                    " select sample from baseline where sample is not null")  # fmt: skip
    return [name for row in found
            for name in sample_from_bytes(bytes(row.body))[REQUEST_ID].to_pylist()]  # fmt: skip


def left(engine: Engine, table: str) -> dict[str, int]:
    query = f"select split_part(request_id, '-', 1) as who, count(*) as n from {table} group by 1"
    return {row.who: row.n for row in rows_of(engine, 1, query)}


def test_all_rows_of_one_person_go_and_those_of_others_stay(
    engine: Engine, people: ModelContext, admin_url: str
) -> None:
    assert f"{ANA}-1" in sampled(engine)
    measured = rows_of(engine, 1, "select id, value from measurement order by id")
    done = erase(engine, people, ANA)
    assert done.counts["requests"] == 60
    assert done.counts["labels"] == 60
    assert done.counts["samples"] == 60
    others = {"ben": 60, "cleo": 60}
    assert left(engine, "request_log") == others
    assert {who: n for who, n in left(engine, "label").items() if who != ANA} == others
    assert not [name for name in sampled(engine) if name.startswith(f"{ANA}-")]
    assert len([name for name in sampled(engine) if name.startswith("ben-")]) >= 60
    assert rows_of(engine, 1, "select id, value from measurement order by id") == measured
    assert rows_of(engine, 1, "select sum(n) from sample")[0][0] == 120


def test_the_chain_names_the_person_by_the_keyed_hash_alone_and_stays_whole(
    engine: Engine, people: ModelContext
) -> None:
    done = erase(engine, people, ANA)
    with transaction(engine, people.project_id, Role.EXPORT) as connection:
        lines = audit.chain_lines(connection, people.project_id)
    assert list(check_chain(lines, head_of(lines, "default"), "chain")) == []
    entry = json.loads(lines[-1])
    assert (entry["deed"], entry["actor"], entry["subject"]) == (
        "deleted_by_erasure", "privacy desk", "credit",
    )  # fmt: skip
    assert entry["detail"]["body"]["entity"] == entity_hash(ANA, people.hash_key) == done.entity
    assert entry["detail"]["body"]["sha256"] == done.certificate["sha256"]
    assert ANA.encode() not in b"".join(lines)
    assert ANA not in str(rows_of(engine, 1, "select * from deletion"))


def test_nothing_in_the_database_holds_the_person_any_more(
    engine: Engine, people: ModelContext, admin_url: str
) -> None:
    """Every text of every table is looked at, and every sample, as the superuser."""
    never = f"delete from label where request_id = '{ANA}-never'"  # a label of no known request
    erase(engine, people, ANA)
    with psycopg.connect(admin_url) as admin:
        admin.execute("delete from label_orphan")
        admin.execute(never)
        names = admin.execute(
            "select c.relname from pg_class c where c.relnamespace = 'public'::regnamespace"
            " and c.relkind in ('r', 'p') and not c.relispartition"
        ).fetchall()
        holding = [
            name
            for (name,) in names
            if admin.execute(
                f"select 1 from {name} t where t::text like %s limit 1", [f"%{ANA}%"]
            ).fetchone()
        ]
    assert holding == []


def test_a_second_time_and_an_unknown_person_find_nothing(
    engine: Engine, people: ModelContext
) -> None:
    erase(engine, people, ANA)
    for value in (ANA, "nobody", "' or true --"):
        assert set(erase(engine, people, value).counts.values()) == {0}
    assert left(engine, "request_log") == {"ben": 60, "cleo": 60}


def test_a_hold_stops_erasure_until_it_is_released(engine: Engine, people: ModelContext) -> None:
    with transaction(engine, people.project_id, Role.OWNER) as connection:
        number = place_hold(
            connection, people.project_id, None, ["labels"], reason="case 12", by="counsel"
        )
    with pytest.raises(ConfigurationError, match=r"hold 1 of counsel stands \(case 12\)"):
        erase(engine, people, ANA)
    assert left(engine, "request_log")[ANA] == 60
    with transaction(engine, people.project_id, Role.OWNER) as connection:
        release_hold(
            connection, people.project_id, number, reason="closed", by="counsel", now=START
        )
    assert erase(engine, people, ANA).counts["requests"] == 60


def test_a_contract_without_an_entity_is_told_what_to_do(
    engine: Engine, project_id: int, credit: ModelContext
) -> None:
    with pytest.raises(ConfigurationError, match="role: entity"):
        erase(engine, credit, ANA)
