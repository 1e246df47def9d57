"""Retention on the command line: spans, holds, certificates, and erasing a person."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.keep_house import drop_expired_labels, drop_expired_requests, forget_expired
from monitor.jobs.run import Runner
from monitor.store.engine import Role, transaction
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
from tests.integration.cli.conftest import Run

DAY = timedelta(days=1)
AFTER = START + 400 * DAY


@pytest.fixture
def model(
    engine: Engine, project_id: int, store: IntakeStore, runner: Runner, clock: TestClock
) -> ModelContext:
    columns = [
        *contract_body()["columns"],
        {"name": "customer", "type": "integer", "role": "entity"},
    ]
    context = apply(engine, project_id, make_contract(columns=columns))
    deployment(engine, context, model_version="1")
    context = current_context(engine, project_id)
    rows = [request(str(i), START, score=0.5, customer=i % 4) for i in range(40)]
    send(store, context, rows)
    store.store_labels(label_batch(context, [label(str(i), 1.0, START + DAY) for i in range(40)]))
    clock.now = START + 2 * DAY
    runner.catch_up()
    return context


def clean_up(engine: Engine, model: ModelContext) -> int:
    """What the worker's housekeeping does long after; how many partitions went."""
    gone = drop_expired_requests(engine, [model], AFTER) + drop_expired_labels(
        engine, [model], AFTER
    )
    with transaction(engine, model.project_id, Role.WORKER) as connection:
        forget_expired(connection, model, AFTER)
    return len(gone)


def left(engine: Engine) -> tuple[int, int, int]:
    query = (
        "select (select count(*) from request_log), (select count(*) from label),"
        " (select count(*) from sample)"
    )
    return tuple(rows_of(engine, 1, query)[0])


def test_classes_are_shown_with_their_span_and_oldest_row(run: Run, model: ModelContext) -> None:
    shown = json.loads(run("retention", "show", "--json").out)
    kept = {row["kept_class"]: (row["kept"], row["oldest"]) for row in shown["classes"]}
    assert kept["requests"][0] == kept["samples"][0] == "184 days"
    assert kept["labels"][0] == "365 days"
    assert {kept[name][0] for name in ("measurements", "alerts", "audit")} == {"for good"}
    assert kept["requests"][1].startswith(START.date().isoformat())
    assert shown["certificates"] == []
    assert "184 days" in run("retention", "show").out


def test_a_hold_stops_deletion_and_its_release_lets_it_go_on_with_certificates(
    run: Run, engine: Engine, model: ModelContext
) -> None:
    placed = run("retention", "hold", "credit", "--reason", "case 12", "--by", "counsel")
    assert placed.out == "Hold 1 stands.\n"
    assert clean_up(engine, model) == 0
    assert left(engine) == (40, 40, 1)
    assert "case 12" in run("retention", "show").out
    released = run("retention", "release", 1, "--reason", "closed", "--by", "counsel")
    assert released.code == 0, released.err
    assert clean_up(engine, model) >= 2
    assert left(engine) == (0, 0, 0)
    shown = json.loads(run("retention", "show", "--json").out)
    counts = [each["body"]["counts"] for each in shown["certificates"]]
    assert {"requests": 40} in counts
    assert {"labels": 40} in counts
    assert any(each.get("samples") == 1 for each in counts)
    requests = next(
        each["body"] for each in shown["certificates"] if "requests" in each["body"]["counts"]
    )
    assert requests["first"] == requests["last"] == START.isoformat()
    listed = json.loads(run("audit", "list", "--json").out)
    deeds = [(row["deed"], row["actor"]) for row in listed]
    assert ("hold_placed", "counsel") in deeds
    assert ("hold_released", "counsel") in deeds
    assert deeds.count(("deleted_by_retention", "inferwatch worker")) == len(counts)
    assert run("audit", "verify").code == 0


def test_holds_that_say_too_little_are_refused(run: Run, model: ModelContext) -> None:
    for words, told in (
        (("hold", "credit", "--reason", " "), "reason"),
        (("hold", "credit", "--reason", "x", "--class", "alerts"), "never deleted"),
        (("hold", "other", "--reason", "x"), "other"),
        (("release", "9", "--reason", "x"), "no hold 9 stands"),
    ):
        ended = run("retention", *words)
        assert ended.code == 2, words
        assert told in ended.err


def test_a_person_is_erased_by_number(run: Run, engine: Engine, model: ModelContext) -> None:
    ended = run("erase", "credit", "--entity", "3", "--by", "privacy desk", "--json")
    assert ended.code == 0, ended.err
    certificate = json.loads(ended.out)
    assert (certificate["counts"]["requests"], certificate["counts"]["labels"]) == (10, 10)
    assert certificate["column"] == "customer"
    assert len(certificate["entity"]) == 16
    assert left(engine) == (30, 30, 1)
    refused = run("erase", "credit", "--entity", "three")
    assert refused.code == 2
    assert "holds numbers" in refused.err
    told = run("erase", "credit", "--entity", "2").out
    assert "requests 10" in told
    assert "Certificate" in told
