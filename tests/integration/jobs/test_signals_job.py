"""Signals, from stored records to measurements: who counts, how old a day is, what is due when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.engine import Engine

from monitor.checks.intervals import wilson_limits
from monitor.jobs.run import Runner
from monitor.store.hand_over import apply_alert_rules
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import (
    START,
    TestClock,
    apply,
    current_context,
    deployment,
    label,
    label_batch,
    make_contract,
    request,
    rows_of,
    send,
)
from tests.integration.jobs.support import DAY, HOUR, problems

SIGNALS = [
    {"name": "appealed", "kind": "event", "direction": "higher_is_worse", "max_age": "10d"},
    {"name": "stars", "kind": "rating", "direction": "lower_is_worse", "scale": [1, 5],
     "max_age": "4d"},
    {"name": "preferred", "kind": "preference", "direction": "lower_is_worse", "max_age": "4d"},
    {"name": "polite", "kind": "rubric", "direction": "lower_is_worse", "max_age": "4d"},
]  # fmt: skip
NEWEST = (
    "select distinct on (column_name, deployment_ids, window_start) column_name, deployment_ids,"
    " window_start, state, value, low, high, n, detail, unit, direction, method, reason, known_at"
    " from measurement where check_name = 'signal' and leg = :leg"
    " order by column_name, deployment_ids, window_start, known_at desc"
)


@pytest.fixture
def credit(engine: Engine, project_id: int) -> ModelContext:
    """The model `credit` with four signals; deployments 1 and 2."""
    context = apply(engine, project_id, make_contract(signals=SIGNALS))
    for number in (1, 2):
        assert deployment(engine, context, model_version=str(number)) == number
    return current_context(engine, project_id)


@pytest.fixture
def eager(runner: Runner) -> Iterator[Runner]:
    return replace(runner, revision_pause=timedelta(0))


def day_of(
    n: int, *, prefix: str = "r", day: int = 0, deployments: int = 1
) -> list[dict[str, Any]]:
    """n requests of one day, each deployment every other one."""
    return [
        request(
            f"{prefix}{k}", START + day * DAY + timedelta(minutes=k), deployment=1 + k % deployments
        )
        for k in range(n)
    ]


def tell(
    store: IntakeStore, model: ModelContext, name: str, rows: list[dict[str, Any]], **more: Any
) -> None:
    texts = [row.pop("text", None) for row in rows]
    batch = label_batch(model, rows, name=name, **more)
    if any(texts):
        table = batch.table.set_column(10, batch.table.schema.field("text"), [[*texts]])
        batch = replace(batch, table=table)
    store.store_labels(batch)


def newest(engine: Engine, leg: str = "live") -> dict[tuple[str, tuple[int, ...], int], Any]:
    return {
        (row.column_name, tuple(row.deployment_ids), (row.window_start - START) // DAY): row
        for row in rows_of(engine, 1, NEWEST, leg=leg)
    }


def events(
    *numbers: int, prefix: str = "r", after: timedelta = DAY, value: float = 1.0, **more: Any
):
    return [
        label(f"{prefix}{k}", value, START + timedelta(minutes=k) + after, **more) for k in numbers
    ]


def test_a_day_grows_older_until_silence_means_no(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext, clock: TestClock
) -> None:
    send(store, credit, day_of(200, deployments=2))
    tell(store, credit, "appealed", events(*range(20), after=2 * HOUR))
    tell(store, credit, "appealed", events(*range(20, 30), after=6 * DAY))
    seen = []
    for days in (1, 2, 6, 8, 11, 15):
        clock.now = START + days * DAY + HOUR
        eager.catch_up()
        row = newest(engine)["appealed", (1, 2), 0]
        seen.append((row.detail["maturity"], row.detail["events"], row.value))
    assert seen == [
        ("too_early", 0, 0.0),  # an hour old: what came after two hours is not yet told
        ("too_early", 20, 0.1),
        ("partial", 20, 0.1),
        ("partial", 30, 0.15),
        ("final", 30, 0.15),
        ("final", 30, 0.15),
    ]
    row = newest(engine)["appealed", (1, 2), 0]
    assert (row.low, row.high) == pytest.approx(wilson_limits(30, 200))
    assert (row.n, row.unit, row.direction) == (200, "share", "higher_is_worse")
    curve = {point["hours"]: point["events"] for point in row.detail["by_age"]}
    assert (curve[1], curve[3], curve[24], curve[168], curve[240]) == (0, 20, 20, 30, 30)
    assert {key[1] for key in newest(engine)} == {(1,), (2,), (1, 2)}
    assert newest(engine)["appealed", (1,), 0].value == 0.15
    # after the longest age nothing is measured again by itself
    assert row.known_at < START + 12 * DAY
    assert [one for one in problems(engine) if one.job.startswith(("signals", "labels"))] == []


RULES = """
owners: [{name: desk, people: [ada@example.org], receiver: book}]
receivers: [{name: book, channel: webhook, url: "https://h.test/x", secret_env: S}]
rules:
  - name: too-many-appeals
    when: {check: signal, column: appealed, scale: day}
    value: low
    above: 0.05
    severity: ticket
    owner: desk
    response: investigate
"""


def test_a_rule_waits_until_a_day_is_old_enough(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext, clock: TestClock
) -> None:
    apply_alert_rules(engine, 1, RULES, name="rules.yaml", by="tests", now=START)
    send(store, credit, day_of(200))
    tell(store, credit, "appealed", events(*range(40), after=2 * HOUR))
    states = []
    for days in (2, 7, 10):
        clock.now = START + days * DAY
        eager.catch_up()
        states.append([row.state for row in rows_of(engine, 1, "select state from alert")])
    assert newest(engine)["appealed", (1,), 0].value == 0.2
    assert states == [[], [], ["firing"]]


def test_every_kind_is_measured_and_the_labels_stay_apart(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext, clock: TestClock
) -> None:
    clock.now = START + 12 * DAY
    send(store, credit, day_of(200))
    stars = [label(f"r{k}", 1 + k % 5, START + DAY) for k in range(60)]
    tell(store, credit, "stars", stars)
    words = ["win"] * 30 + ["tie"] * 20 + ["loss"] * 10
    judged = [{**label(f"r{k}", None, START + DAY), "text": word} for k, word in enumerate(words)]
    tell(store, credit, "preferred", judged)
    tell(store, credit, "polite", [label(f"r{k}", float(k < 45), START + DAY) for k in range(50)])
    tell(store, credit, "default", [label(f"r{k}", float(k % 2), START + DAY) for k in range(200)])
    eager.catch_up()
    found = newest(engine)
    told = {
        name: (row.method, row.value, row.n)
        for (name, _, _), row in found.items()
        if name != "appealed"
    }
    assert told == {
        "stars": ("mean_rating", 3.0, 60),
        "preferred": ("win_rate", pytest.approx(40 / 60), 60),
        "polite": ("pass_rate", 0.9, 50),
    }
    assert found["stars", (1,), 0].detail["coverage"] == pytest.approx(0.3)
    assert found["stars", (1,), 0].detail["maturity"] == "final"
    never = found["appealed", (1,), 0]
    assert (never.state, never.reason) == (
        "too_few", "0 records of 'appealed' were ever received, 1 needed",
    )  # fmt: skip
    coverage = (
        "select n from measurement where method = 'label_coverage' and segment_id = 0"
        " and window_end - window_start = interval '1 day'"
    )
    assert {row.n for row in rows_of(engine, 1, coverage)} == {200}
    assert rows_of(engine, 1, "select * from label_mark") == []
    assert rows_of(engine, 1, "select * from label_orphan") == []


def test_corrections_sources_and_late_arrivals_revise_the_day(
    store: IntakeStore, engine: Engine, eager: Runner, project_id: int, clock: TestClock
) -> None:
    contract = make_contract(
        signals=SIGNALS, label={"name": "default", "sources": ["desk", "app"], "max_age": "7d"}
    )
    credit = apply(engine, project_id, contract)
    deployment(engine, credit, model_version="1")
    credit = current_context(engine, project_id)
    clock.now = START + 20 * DAY
    send(store, credit, day_of(100))
    tell(store, credit, "appealed", events(*range(10), source="app"))
    eager.catch_up()
    key = ("appealed", (1,), 0)
    assert newest(engine)[key].value == 0.1
    clock.now = START + 40 * DAY
    # the desk is trusted more, though it observed earlier; the app corrects itself later
    tell(
        store,
        credit,
        "appealed",
        events(0, 1, value=0.0, after=HOUR, source="desk"),
        arrived_at=clock.now,
    )
    tell(
        store,
        credit,
        "appealed",
        events(2, value=0.0, after=2 * DAY, source="app"),
        arrived_at=clock.now,
    )
    tell(
        store,
        credit,
        "appealed",
        events(3, value=0.0, after=HOUR, source="app"),
        arrived_at=clock.now,
    )
    tell(store, credit, "appealed", events(50, after=11 * DAY, source="app"), arrived_at=clock.now)
    eager.catch_up()
    row = newest(engine)[key]
    assert row.value == 0.07
    assert row.known_at >= START + 40 * DAY
    revisions = rows_of(engine, 1, "select value from measurement where check_name = 'signal'"
                        " and column_name = 'appealed' order by known_at")  # fmt: skip
    assert [one.value for one in revisions] == [0.1, 0.07]


def test_a_record_without_a_time_is_of_no_use_when_its_id_comes_twice(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext, clock: TestClock
) -> None:
    clock.now = START + 30 * DAY
    send(store, credit, [*day_of(60), *day_of(60, day=3)])
    tell(store, credit, "appealed", events(*range(10), after=4 * DAY))
    timed = [
        label(f"r{k}", 1.0, START + 5 * DAY, event_time=START + 3 * DAY + timedelta(minutes=k))
        for k in range(30, 36)
    ]
    tell(store, credit, "appealed", timed)
    eager.catch_up()
    found = newest(engine)
    assert found["appealed", (1,), 0].detail["events"] == 0
    assert found["appealed", (1,), 3].detail["events"] == 6
    # one day alone is measured again: its neighbours are still looked at
    tell(store, credit, "appealed", events(11, after=4 * DAY), arrived_at=clock.now)
    eager.catch_up()
    assert newest(engine)["appealed", (1,), 0].detail["events"] == 0


def test_legs_do_not_mix(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext, clock: TestClock
) -> None:
    clock.now = START + 20 * DAY
    send(store, credit, day_of(60))
    send(store, credit, day_of(60), leg="shadow:b")
    tell(store, credit, "appealed", events(*range(6), leg="shadow:b"))
    eager.catch_up()
    assert newest(engine)["appealed", (1,), 0].detail["events"] == 0
    assert newest(engine, "shadow:b")["appealed", (1,), 0].detail["events"] == 6


def test_a_contract_without_a_label_has_signals_too(
    store: IntakeStore, engine: Engine, eager: Runner, project_id: int, clock: TestClock
) -> None:
    context = apply(engine, project_id, make_contract(signals=SIGNALS, label=None))
    deployment(engine, context, model_version="1")
    context = current_context(engine, project_id)
    clock.now = START + 20 * DAY
    send(store, context, day_of(60))
    tell(store, context, "appealed", events(*range(6)))
    eager.catch_up()
    assert newest(engine)["appealed", (1,), 0].value == 0.1
    assert rows_of(engine, 1, "select * from label_mark") == []
    assert [one for one in problems(engine) if one.job.startswith(("signals", "labels"))] == []


def test_a_model_without_signals_costs_nothing(
    store: IntakeStore, engine: Engine, eager: Runner, project_id: int, clock: TestClock
) -> None:
    context = apply(engine, project_id, make_contract())
    deployment(engine, context, model_version="1")
    context = current_context(engine, project_id)
    send(store, context, day_of(60))
    eager.catch_up()
    assert rows_of(engine, 1, "select * from job_window where job like 'signals%'") == []


def test_days_that_come_in_late_are_measured_the_same_day(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext, clock: TestClock
) -> None:
    clock.now = START + 20 * DAY
    send(store, credit, day_of(60, day=17))
    tell(store, credit, "appealed", events(1))
    eager.catch_up()
    send(store, credit, day_of(60, prefix="late", day=16))
    eager.catch_up()
    assert ("appealed", (1,), 16) in newest(engine)
    send(store, credit, day_of(60, prefix="old"))  # older than any signal may be: once a day
    eager.catch_up()
    assert ("appealed", (1,), 0) not in newest(engine)
    clock.now += DAY
    eager.catch_up()
    assert ("appealed", (1,), 0) in newest(engine)
    assert eager.catch_up() == 0
