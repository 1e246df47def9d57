"""Late, early, corrected and ambiguous labels, through the jobs into measurements.

Quality is printed from 50 rows on, so the published cases of two to four rows are repeated 50
times: shares stay what they were.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine

from monitor.jobs import join_labels as join_labels_job
from monitor.jobs.run import Runner
from monitor.profiles.labels import BinaryCounts, binary_counts
from monitor.profiles.part import PartKind, merge
from monitor.store.engine import Role, transaction
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import (
    START,
    TestClock,
    apply,
    deployment,
    label,
    label_batch,
    make_contract,
    request,
    rows_of,
    send,
)
from tests.integration.jobs.support import (
    DAY,
    HOUR,
    another,
    problems,
    stored,
    traffic,
)

REPEATS = 50
MEASURED = (
    "select value, n, known_at, detail from measurement where check_name = 'quality'"
    " and method = :method and window_start = :start and window_end = :end and segment_id = 0"
    " and state = 'measured' order by known_at"
)


@pytest.fixture
def eager(runner: Runner) -> Iterator[Runner]:
    """A runner that revises measurements as soon as labels come."""
    return replace(runner, revision_pause=timedelta(0))


def predictions(at: datetime, **predicted: int) -> list[dict[str, Any]]:
    """REPEATS requests a name; the score says the class without doubt."""
    return [
        request(f"{name}-{copy}", at, score=0.9 if value else 0.1)
        for name, value in predicted.items()
        for copy in range(REPEATS)
    ]


def labels(observed_at: datetime, **values: int) -> list[dict[str, Any]]:
    return [
        label(f"{name}-{copy}", float(value), observed_at)
        for name, value in values.items()
        for copy in range(REPEATS)
    ]


def send_labels(
    store: IntakeStore, model: ModelContext, rows: list[dict[str, Any]], arrived_at: datetime
) -> None:
    store.store_labels(label_batch(model, rows, arrived_at=arrived_at))


def measured(engine: Engine, method: str, day: datetime = START) -> list[Any]:
    return rows_of(engine, 1, MEASURED, method=method, start=day, end=day + DAY)


def counts(engine: Engine, model: ModelContext) -> BinaryCounts:
    parts = [one.part for one in stored(engine, model, PartKind.LABELS)]
    return binary_counts(merge(parts))


def orphans(engine: Engine) -> list[Any]:
    query = "select request_id, value, reason from label_orphan order by arrived_at, request_id"
    return rows_of(engine, 1, query)


def labelled(engine: Engine, model: ModelContext) -> tuple[int, int]:
    """Rows labelled 1 and rows labelled 0."""
    found = counts(engine, model)
    return int(found.positives.sum()), int(found.negatives.sum())


def test_a_label_before_its_request_waits_and_is_joined(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext, clock: TestClock
) -> None:
    # pub-033: at t=3 accuracy 1.0 with 1 label unmatched, at t=4 0.5 with none
    clock.now = START + 2 * DAY
    send(store, credit, predictions(START + HOUR, p1=1))
    send_labels(store, credit, labels(START + 2 * HOUR, p1=1), START + 2 * HOUR)
    send_labels(store, credit, labels(START + 3 * HOUR, p2=0), START + 3 * HOUR)
    eager.catch_up()
    assert [row.value for row in measured(engine, "accuracy")] == [1.0]
    assert len(orphans(engine)) == REPEATS
    assert {row.reason for row in orphans(engine)} == {"no_request"}
    clock.now += HOUR
    send(store, credit, predictions(START + 3 * HOUR, p2=1))
    eager.catch_up()
    assert [row.value for row in measured(engine, "accuracy")] == [1.0, 0.5]
    assert orphans(engine) == []
    assert [row for row in problems(engine) if row.state == "failed"] == []


def test_late_labels_revise_the_window_and_keep_what_was_known_before(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext, clock: TestClock
) -> None:
    # pub-035: on the 2nd accuracy 1.0 with coverage 0.5, on the 5th 0.5 with coverage 1.0
    clock.now = datetime(2024, 5, 2, 12, tzinfo=UTC)
    send(store, credit, predictions(START + 5 * HOUR, p1=1, p2=1, p3=0, p4=0))
    second, fifth = datetime(2024, 5, 2, 11, tzinfo=UTC), datetime(2024, 5, 5, 11, tzinfo=UTC)
    send_labels(store, credit, labels(second, p1=1, p3=0), second)
    eager.catch_up()
    assert [row.value for row in measured(engine, "accuracy")] == [1.0]
    assert [row.value for row in measured(engine, "label_coverage")] == [0.5]
    clock.now = datetime(2024, 5, 5, 12, tzinfo=UTC)
    send_labels(store, credit, labels(fifth, p2=0, p4=1), fifth)
    eager.catch_up()
    accuracy = measured(engine, "accuracy")
    assert [row.value for row in accuracy] == [1.0, 0.5]
    assert [row.value for row in measured(engine, "label_coverage")] == [0.5, 1.0]
    assert [row.known_at.date().day for row in accuracy] == [2, 5]
    assert [row.n for row in accuracy] == [2 * REPEATS, 4 * REPEATS]


def test_revisions_are_daily_at_most_but_never_forgotten(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext
) -> None:
    send(store, credit, predictions(START, p1=1, p2=1))
    runner.catch_up()
    send_labels(store, credit, labels(START + HOUR, p1=1), START + HOUR)
    runner.catch_up()
    assert labelled(engine, credit) == (REPEATS, 0)
    assert measured(engine, "accuracy") == []
    waiting = rows_of(
        engine, 1, "select job, lease_until > now() + interval '23 hours' from job_window"
        " where state = 'due' order by job",
    )  # fmt: skip
    assert waiting == [("checks-day", True), ("checks-month", True)]


def test_a_correction_with_the_same_time_wins_a_hundred_times_of_a_hundred(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext
) -> None:
    # pub-034: 0, then 1, both labelled at the same moment: the later arrival counts
    names = [f"p{i}" for i in range(100)]
    send(store, credit, [request(name, START, score=0.9) for name in names])
    first = [label(name, float(i % 2), START + HOUR) for i, name in enumerate(names)]
    second = [{**row, "value": 1.0 - row["value"]} for row in first[:-1]]
    send_labels(store, credit, first, START + HOUR)
    send_labels(store, credit, second, START + 2 * HOUR)
    eager.catch_up()
    # All turned round but the last: 50 of 100 were 1, among the 49 others and the last one.
    assert labelled(engine, credit) == (51, 49)


@pytest.mark.parametrize("order", [(0.0, 1.0), (1.0, 0.0)])
def test_the_last_of_a_body_wins_when_all_else_is_the_same(
    store: IntakeStore,
    engine: Engine,
    eager: Runner,
    credit: ModelContext,
    order: tuple[float, float],
) -> None:
    send(store, credit, [request("p", START, score=0.9)])
    rows = [label("p", value, START + HOUR) for value in order]
    send_labels(store, credit, rows, START + HOUR)
    eager.catch_up()
    assert labelled(engine, credit) == ((1, 0) if order[-1] else (0, 1))


@pytest.mark.parametrize("early", [True, False])
def test_the_later_observation_counts_in_whatever_order_they_arrive(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext, early: bool
) -> None:
    send(store, credit, [request("p", START)])
    old, new = label("p", 0.0, START + HOUR), label("p", 1.0, START + 2 * HOUR)
    for arrival, row in enumerate((old, new) if early else (new, old)):
        send_labels(store, credit, [row], START + DAY + arrival * HOUR)
        eager.catch_up()
    assert labelled(engine, credit) == (1, 0)


def test_a_label_that_names_no_time_for_an_id_with_two_requests_waits(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext
) -> None:
    send(store, credit, [request("p", START), request("p", START + 3 * HOUR)])
    send_labels(store, credit, [label("p", 1.0, START + 4 * HOUR)], START + 4 * HOUR)
    eager.catch_up()
    assert labelled(engine, credit) == (0, 0)
    assert orphans(engine) == [("p", 1.0, "ambiguous")]
    timed = label("p", 0.0, START + 4 * HOUR, event_time=START + 3 * HOUR)
    send_labels(store, credit, [timed], START + 5 * HOUR)
    eager.catch_up()
    assert labelled(engine, credit) == (0, 1)


def test_a_label_that_names_its_time_finds_that_request_only(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext
) -> None:
    send(store, credit, [request("p", START, score=0.9), request("p", START + HOUR, score=0.1)])
    wrong = label("p", 1.0, START + 4 * HOUR, event_time=START + 2 * HOUR)
    send_labels(store, credit, [wrong], START + 4 * HOUR)
    eager.catch_up()
    assert labelled(engine, credit) == (0, 0)
    assert [row.reason for row in orphans(engine)] == ["other_time"]
    right = label("p", 1.0, START + 4 * HOUR, event_time=START + HOUR, source="review")
    send_labels(store, credit, [right], START + 5 * HOUR)
    eager.catch_up()
    found = counts(engine, credit)
    assert (found.fn, found.tp) == (1, 0)


def test_labels_of_one_leg_never_touch_another(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext
) -> None:
    send(store, credit, [request("p", START)])
    send(store, credit, [request("p", START)], leg="shadow:next")
    send_labels(store, credit, [label("p", 1.0, START + HOUR)], START + HOUR)
    eager.catch_up()
    by_leg = {
        one.key.leg: int(binary_counts(one.part).positives.sum())
        for one in stored(engine, credit, PartKind.LABELS)
    }
    assert by_leg == {"live": 1, "shadow:next": 0}


def test_a_label_later_than_any_correction_waits_for_its_request_in_vain(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext
) -> None:
    # label.max_age is 7 days and correction_time 1 day: the search goes no further back
    send(store, credit, [request("p", START), request("q", START)])
    send_labels(store, credit, [label("p", 1.0, START + 7.5 * DAY)], START + 8 * DAY)
    send_labels(store, credit, [label("q", 1.0, START + 9 * DAY)], START + 9 * DAY)
    eager.catch_up()
    assert labelled(engine, credit) == (1, 0)
    assert [(row.request_id, row.reason) for row in orphans(engine)] == [("q", "no_request")]


def test_labels_stay_when_late_rows_make_their_window_new(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext
) -> None:
    rows = traffic(START, 2, 80)
    send(store, credit, rows)
    mine = [label(row["request_id"], 1.0, START + DAY) for row in rows[:100]]
    send_labels(store, credit, mine, START + DAY)
    eager.catch_up()
    send(store, credit, traffic(START, 1, 20, seed=9))
    eager.catch_up()
    assert labelled(engine, credit) == (100, 0)
    assert int(counts(engine, credit).n) == 180


def test_segments_get_their_labels(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext
) -> None:
    send(store, credit, traffic(START, 1, 120, seed=1))
    eager.catch_up()
    rows = traffic(START + HOUR, 1, 100, seed=2)
    send(store, credit, rows)
    known = [label(row["request_id"], float(row["score"] > 0.5), START + DAY) for row in rows]
    send_labels(store, credit, known, START + DAY)
    eager.catch_up()
    names = dict(rows_of(engine, 1, "select id, definition from segment"))
    found = {
        names[one.key.segment_id]["city"]: binary_counts(one.part)
        for one in stored(engine, credit, PartKind.LABELS, segments=list(names))
        if one.key.window_start == START + HOUR
    }
    for city in ("Bonn", "Köln", "Aachen"):
        mine = [row for row in rows if row["city"] == city]
        assert found[city].n == len(mine)
        assert found[city].tp == sum(row["score"] > 0.5 for row in mine)
        assert found[city].fp == 0


def test_a_label_joined_while_its_request_is_being_profiled_is_not_lost(
    store: IntakeStore,
    engine: Engine,
    eager: Runner,
    credit: ModelContext,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The label job holds the lock and lets the label wait; the profile job must see it after."""
    send(store, credit, [request("p", START)])
    send_labels(store, credit, [label("p", 1.0, START + HOUR)], START + HOUR)
    profiling = threading.Thread(target=lambda: eager.tick({"profile"}))
    real = join_labels_job.keep_orphans

    def keep_while_the_other_job_starts(*arguments: Any) -> None:
        profiling.start()
        time.sleep(1.0)  # long enough for the profile job to stand before the lock
        real(*arguments)

    monkeypatch.setattr(join_labels_job, "keep_orphans", keep_while_the_other_job_starts)
    eager.tick({"labels"})
    profiling.join()
    assert orphans(engine) == []
    assert labelled(engine, credit) == (1, 0)


def test_two_workers_join_the_same_labels_once(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext, database_url: str
) -> None:
    from tests.integration.jobs.test_exactly_once import run_together

    rows = traffic(START, 4, 60)
    send(store, credit, rows)
    for start in range(0, len(rows), 20):
        batch = [label(row["request_id"], 1.0, START + DAY) for row in rows[start : start + 20]]
        send_labels(store, credit, batch, START + DAY + start * timedelta(seconds=1))
    with another(eager, database_url, "worker-2") as second:
        assert run_together([eager, second], turns=3) == []
    assert labelled(engine, credit) == (240, 0)
    assert orphans(engine) == []
    assert problems(engine) == []


def test_a_failed_join_is_over_once_it_worked(
    store: IntakeStore,
    engine: Engine,
    eager: Runner,
    credit: ModelContext,
    clock: TestClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    send(store, credit, [request("p", START)])
    send_labels(store, credit, [label("p", 1.0, START + HOUR)], START + HOUR)
    eager.tick({"profile"})
    with monkeypatch.context() as broken:
        broken.setattr(join_labels_job, "read_blocks", lambda *_: 1 / 0)
        eager.tick({"labels"})
    assert [row.state for row in problems(engine) if row.job == "labels"] == ["failed"]
    clock.now += HOUR
    eager.tick({"labels"})
    assert labelled(engine, credit) == (0, 0)  # the pause after a failure holds

    with transaction(engine, 1, Role.WORKER) as connection:
        connection.execute(sa.text("update job_window set lease_until = now()"))
    eager.tick({"labels"})
    assert labelled(engine, credit) == (1, 0)
    failed = "select state, error from job_window where job = 'labels'"
    assert rows_of(engine, 1, failed) == [("done", None)]


def test_an_ambiguous_label_stays_so_when_a_late_row_makes_one_hour_new(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext
) -> None:
    send(store, credit, [request("p", START), request("p", START + 3 * HOUR)])
    send_labels(store, credit, [label("p", 1.0, START + 4 * HOUR)], START + 4 * HOUR)
    eager.catch_up()
    send(store, credit, [request("late", START + 3 * HOUR)])
    eager.catch_up()
    assert labelled(engine, credit) == (0, 0)
    assert orphans(engine) == [("p", 1.0, "ambiguous")]


@pytest.mark.parametrize("together", [True, False])
def test_a_label_before_two_requests_of_its_id_is_never_counted_twice(
    store: IntakeStore,
    engine: Engine,
    eager: Runner,
    credit: ModelContext,
    together: bool,
) -> None:
    send_labels(store, credit, [label("p", 1.0, START + 4 * HOUR)], START + 4 * HOUR)
    eager.catch_up()
    send(store, credit, [request("p", START)])
    if not together:
        eager.catch_up()
    send(store, credit, [request("p", START + 3 * HOUR)])
    eager.catch_up()
    # Known to both at once it is ambiguous; known to the first alone it is the first one's.
    assert labelled(engine, credit) == ((0, 0) if together else (1, 0))
    assert [row.reason for row in orphans(engine)] == (["ambiguous"] if together else [])


@pytest.mark.parametrize("desk_first", [True, False])
def test_the_most_trusted_source_counts_whatever_comes_later(
    store: IntakeStore, engine: Engine, eager: Runner, project_id: int, desk_first: bool
) -> None:
    declared = {"name": "default", "max_age": "7d", "correction_time": "1d",
                "sources": ["desk", "system"]}  # fmt: skip
    model = apply(engine, project_id, make_contract(label=declared))
    deployment(engine, model, model_version="1")
    send(store, model, [request(name, START, score=0.9) for name in ("p", "q", "r")])
    desk = [label(name, 1.0, START + HOUR, source="desk") for name in ("p", "q")]
    others = [
        label("p", 0.0, START + 5 * HOUR, source="system"),
        label("q", 0.0, START + 6 * HOUR, source="unheard-of"),
        label("r", 0.0, START + 2 * HOUR, source="unheard-of"),
        label("r", 1.0, START + 1 * HOUR, source="system"),
    ]
    for arrival, rows in enumerate((desk, others) if desk_first else (others, desk)):
        send_labels(store, model, rows, START + DAY + arrival * HOUR)
        eager.catch_up()
    assert labelled(engine, model) == (3, 0)
    # The trusted source may still change its mind.
    send_labels(store, model, [label("p", 0.0, START + 3 * HOUR, source="desk")], START + 2 * DAY)
    eager.catch_up()
    assert labelled(engine, model) == (2, 1)


@pytest.mark.parametrize("way", ["singly", "in bulk", "with the request"])
def test_labels_give_the_same_parts_however_they_come(
    store: IntakeStore, engine: Engine, eager: Runner, credit: ModelContext, way: str
) -> None:
    rows = [request(f"p{n}", START + n * timedelta(minutes=1), score=0.9) for n in range(20)]
    known = [label(f"p{n}", float(n % 2), START + DAY + n * HOUR) for n in range(20)]
    send(store, credit, rows)
    if way != "with the request":
        eager.catch_up()
    for batch in [[one] for one in known] if way == "singly" else [known]:
        send_labels(store, credit, batch, START + 3 * DAY)
    eager.catch_up()
    (one,) = stored(engine, credit, PartKind.LABELS)
    found = binary_counts(one.part)
    assert (found.tp, found.fp, found.n) == (10, 10, 20)
    assert int(found.delay_counts.sum()) == 20
    assert orphans(engine) == []
