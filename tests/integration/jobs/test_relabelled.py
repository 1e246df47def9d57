"""What is done again when nothing but labels of a window changed, and what rests."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy.engine import Engine

from monitor.jobs import check_windows, join_labels
from monitor.jobs.names import CHECKS_DAY, LABELS, PROFILE
from monitor.jobs.plans.base import Plan, PlanInputs
from monitor.jobs.plans.registry import OF_REQUESTS, PLANS
from monitor.jobs.run import Runner
from monitor.keys import keyed_hash
from monitor.measurement import Measurement
from monitor.profiles.labels import binary_counts
from monitor.profiles.part import PartKind, merge
from monitor.store.engine import Role, transaction
from monitor.store.intake_store import IntakeStore
from monitor.store.label_rows import read_orphans
from monitor.store.models import ModelContext
from monitor.windows import Grain
from tests.factories import START, TestClock, label, label_batch, request, rows_of, send
from tests.integration.jobs.support import DAY, HOUR, stored, traffic


@pytest.fixture
def eager(runner: Runner) -> Iterator[Runner]:
    """A runner that revises measurements as soon as labels come."""
    return replace(runner, revision_pause=timedelta(0))


def test_labels_alone_do_not_measure_the_requests_again(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext, clock: TestClock
) -> None:
    """Drift and the like rest, quality is revised; a late request measures everything again."""
    send(store, credit, traffic(START, 2, 80))
    eager.catch_up()
    clock.now += DAY

    def plans_after(job: str) -> set[str]:
        ran: set[str] = set()
        plans = PLANS[CHECKS_DAY]
        spied = {CHECKS_DAY: tuple(_spied(plan, ran) for plan in plans)}
        resting = frozenset(
            spy for spy, plan in zip(spied[CHECKS_DAY], plans, strict=True) if plan in OF_REQUESTS
        )
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(check_windows, "PLANS", {**PLANS, **spied})
            patched.setattr(check_windows, "OF_REQUESTS", resting)
            eager.catch_up({job, CHECKS_DAY})
        return ran

    known = labels_of(traffic(START, 2, 80))
    store.store_labels(label_batch(credit, known, arrived_at=START + DAY))
    assert plans_after(LABELS) == {
        _name(plan) for plan in PLANS[CHECKS_DAY] if plan not in OF_REQUESTS
    }
    send(store, credit, traffic(START, 1, 20, seed=9))
    assert plans_after(PROFILE) == {_name(plan) for plan in PLANS[CHECKS_DAY]}


def labels_of(
    rows: list[dict[str, Any]], observed_at: datetime = START + DAY
) -> list[dict[str, Any]]:
    return [label(row["request_id"], 1.0, observed_at) for row in rows]


def _name(plan: Plan) -> str:
    return str(getattr(plan, "__name__", plan))


def _spied(plan: Plan, ran: set[str]) -> Plan:
    def spy(inputs: PlanInputs) -> Iterator[Measurement]:
        if inputs.window.start == START:
            ran.add(_name(plan))
        yield from plan(inputs)

    return spy


def _parts(engine: Engine, model: ModelContext) -> dict[Any, str]:
    return {one.key: one.part.digest() for one in stored(engine, model, PartKind.LABELS)}


def _days(engine: Engine, model: ModelContext) -> dict[Any, str]:
    found = stored(engine, model, PartKind.LABELS, grain=Grain.DAY)
    return {one.key: one.part.digest() for one in found}


def test_only_the_windows_of_the_labels_change(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext, clock: TestClock
) -> None:
    clock.now += 5 * DAY
    third = traffic(START + 3 * DAY, 3, 80)
    send(store, credit, traffic(START, 3, 80, seed=4))
    send(store, credit, third)
    eager.catch_up()
    hours, days = _parts(engine, credit), _days(engine, credit)
    told = (
        "select distinct window_start, window_end, check_name from measurement"
        " where known_at > :since and check_name <> 'label_feed'"  # of the days labels come on
    )
    since = clock.now
    clock.now += timedelta(minutes=1)
    first = [row for row in third if row["event_time"] < START + 3 * DAY + HOUR]
    mine = labels_of(first, START + 4 * DAY)
    store.store_labels(label_batch(credit, mine, arrived_at=START + 4 * DAY))
    eager.catch_up()
    changed = {key for key, digest in _parts(engine, credit).items() if hours[key] != digest}
    assert {key.window_start for key in changed} == {START + 3 * DAY}
    changed = {key for key, digest in _days(engine, credit).items() if days[key] != digest}
    day = START.replace(hour=0) + 3 * DAY
    assert {key.window_start for key in changed} == {day}
    revised = [tuple(row) for row in rows_of(engine, 1, told, since=since)]
    assert (day, day + DAY, "quality") in revised
    assert [one for one in revised if not one[0] <= day < one[1]] == []


def test_many_small_runs_join_what_one_large_run_joins(
    store: IntakeStore,
    engine: Engine,
    eager: Runner,
    credit: ModelContext,
    clock: TestClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Runs of at most 30 labels, orphans kept seven at a time; the days add up to their hours."""
    clock.now += 3 * DAY
    rows = traffic(START, 30, 12)
    send(store, credit, rows)
    known = labels_of(rows, START + 2 * DAY) + [
        label(f"nobody-{k}", 1.0, START + DAY) for k in range(40)
    ]
    random.Random(3).shuffle(known)
    for place in range(0, len(known), 20):
        arrived = START + DAY + timedelta(seconds=place)
        store.store_labels(label_batch(credit, known[place : place + 20], arrived_at=arrived))
    monkeypatch.setattr(join_labels, "LABELS_AT_ONCE", 30)
    monkeypatch.setattr(join_labels, "WAITING_AT_ONCE", 7)
    eager.catch_up()
    hourly = merge([one.part for one in stored(engine, credit, PartKind.LABELS)])
    daily = stored(engine, credit, PartKind.LABELS, grain=Grain.DAY)
    assert merge([one.part for one in daily]).digest() == hourly.digest()
    counts = binary_counts(hourly)
    assert (counts.n, int(counts.positives.sum())) == (len(rows), len(rows))
    waiting = rows_of(engine, 1, "select request_id, reason from label_orphan")
    assert {tuple(row) for row in waiting} == {(f"nobody-{k}", "no_request") for k in range(40)}
    assert rows_of(engine, 1, "select * from label_mark") == []
    runs = rows_of(engine, 1, "select runs from job_window where job = 'labels'")
    assert sum(row.runs for row in runs) > len(known) / 30


def test_a_label_of_two_requests_on_different_days_is_ambiguous(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext, clock: TestClock
) -> None:
    clock.now += 3 * DAY
    send(store, credit, [request("p", START), request("p", START + 2 * DAY), request("q", START)])
    both = [label("p", 1.0, START + 2 * DAY), label("q", 1.0, START + 2 * DAY)]
    store.store_labels(label_batch(credit, both, arrived_at=START + 2 * DAY))
    eager.catch_up()
    waiting = rows_of(engine, 1, "select request_id, reason from label_orphan")
    assert [tuple(row) for row in waiting] == [("p", "ambiguous")]
    counts = binary_counts(merge([one.part for one in stored(engine, credit, PartKind.LABELS)]))
    assert (counts.n, int(counts.positives.sum())) == (3, 1)


def test_a_failed_check_is_tried_again_as_a_whole(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext, clock: TestClock
) -> None:
    """A late request, then a run that fails: the next run still measures everything."""
    send(store, credit, traffic(START, 2, 80))
    eager.catch_up()
    clock.now += DAY
    send(store, credit, traffic(START, 1, 20, seed=9))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(check_windows, "write_measurements", lambda *_: 1 / 0)
        eager.catch_up({PROFILE, CHECKS_DAY})
    read = "select rows_read, state from job_window where job = 'checks-day' and window_start = :at"
    found = rows_of(engine, 1, read, at=START.replace(hour=0))
    assert [tuple(row) for row in found] == [(None, "failed")]


def test_only_the_orphans_of_new_requests_are_read(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext, clock: TestClock
) -> None:
    clock.now += DAY
    known = [label(f"r-{k}", 1.0, START + DAY) for k in range(30)]
    store.store_labels(label_batch(credit, known, arrived_at=START + DAY))
    eager.catch_up()
    hashed = keyed_hash(["r-3", "r-4", "elsewhere"], credit.hash_key)
    with transaction(engine, 1, Role.WORKER) as connection:
        found = read_orphans(connection, credit, hashed)
        none = read_orphans(connection, credit, hashed[2:])
    assert sorted(found.labels.keys.tolist()) == sorted(hashed[:2].tolist())
    assert len(none.labels) == 0
