"""Labels as stored: the same again is a duplicate, another is a new revision, the old one stays."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from sqlalchemy.engine import Engine

from monitor.records import Rejection, RejectionReason
from monitor.store.engine import make_engine
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from monitor.store.requests import ACCEPTED, DUPLICATE
from tests.factories import START, label, label_batch, rows_of

DAY = timedelta(days=1)
REVISIONS = "select request_id, revision, value from label order by request_id, revision"


def test_the_same_label_again_is_a_duplicate(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    batch = label_batch(credit, [label("a", 1.0, START), label("b", 0.0, START)])
    assert store.store_labels(batch).count(ACCEPTED) == 2
    again = label_batch(
        credit, [label("a", 1.0, START), label("b", 0.0, START)], arrived_at=START + DAY
    )
    assert store.store_labels(again).count(DUPLICATE) == 2
    assert rows_of(engine, 1, REVISIONS) == [("a", 0, 1.0), ("b", 0, 0.0)]


def test_a_correction_with_the_same_time_is_a_new_revision(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    for value in (0.0, 1.0, 1.0, 0.0):
        store.store_labels(label_batch(credit, [label("a", value, START)]))
    assert rows_of(engine, 1, REVISIONS) == [("a", 0, 0.0), ("a", 1, 1.0), ("a", 2, 0.0)]


def test_corrections_inside_one_batch_follow_its_order(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    rows = [label("a", 0.0, START), label("a", 1.0, START), label("a", 1.0, START)]
    stored = store.store_labels(label_batch(credit, rows))
    assert stored.codes is not None
    assert stored.codes.tolist() == [ACCEPTED, ACCEPTED, DUPLICATE]
    assert rows_of(engine, 1, REVISIONS) == [("a", 0, 0.0), ("a", 1, 1.0)]


def test_another_time_or_source_is_another_label(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    rows = [
        label("a", 0.0, START),
        label("a", 1.0, START + DAY),
        label("a", 1.0, START, source="review"),
    ]
    stored = store.store_labels(label_batch(credit, rows))
    assert stored.count(ACCEPTED) == 3
    assert [row[1] for row in rows_of(engine, 1, REVISIONS)] == [0, 0, 0]


def test_labels_of_several_months_find_their_partitions(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    rows = [label("a", 1.0, START - timedelta(microseconds=1)), label("b", 1.0, START)]
    assert store.store_labels(label_batch(credit, rows)).count(ACCEPTED) == 2
    found = rows_of(engine, 1, "select tableoid::regclass::text from label order by observed_at")
    assert found == [("label_202404",), ("label_202405",)]


def test_a_mark_spans_what_was_accepted(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    store.store_labels(label_batch(credit, [label("a", 1.0, START), label("b", 0.0, START + DAY)]))
    second = [label("a", 1.0, START), label("c", 0.0, START + 2 * DAY)]
    store.store_labels(label_batch(credit, second, arrived_at=START + 3 * DAY))
    store.store_labels(label_batch(credit, second, arrived_at=START + 4 * DAY))
    columns = "first_observed_at, last_observed_at, arrived_at, n"
    assert rows_of(engine, 1, f"select {columns} from label_mark order by id") == [
        (START, START + DAY, START, 2),
        (START + 2 * DAY, START + 2 * DAY, START + 3 * DAY, 1),
    ]


def test_counts_and_rejections_stand_beside_the_labels(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    rejected = (Rejection(1, RejectionReason.BAD_LABEL, "no number"),)
    store.store_labels(label_batch(credit, [label("a", 1.0, START)], rejections=rejected))
    found = rows_of(engine, 1, "select kind, accepted, duplicate, rejected from intake_batch")
    assert found == [("labels", 1, 0, 1)]
    assert rows_of(engine, 1, "select kind, place, reason from rejection") == [
        ("labels", 1, "bad_label")
    ]


def test_many_senders_that_correct_the_same_labels_lose_no_acknowledged_value(
    database_url: str, engine: Engine, credit: ModelContext
) -> None:
    store = IntakeStore(database_url, make_engine(database_url))
    failures: list[BaseException] = []
    accepted: list[tuple[str, float]] = []
    barrier = threading.Barrier(4)

    def work(seed: int) -> None:
        barrier.wait(10)
        for turn in range(12):
            value = float(seed * 100 + turn)
            names = [f"r{i}" for i in range(5)]
            rows = [label(name, value, START) for name in (names if seed % 2 else names[::-1])]
            try:
                stored = store.store_labels(label_batch(credit, rows))
            except BaseException as error:  # noqa: BLE001 -- shown by the assertion below
                failures.append(error)
                return
            assert stored.count(ACCEPTED) == 5
            accepted.extend((name, value) for name in names)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()
    assert failures == []
    found = [(name, value) for name, _, value in rows_of(engine, 1, REVISIONS)]
    assert sorted(found) == sorted(accepted)
    numbers = [number for name, number, _ in rows_of(engine, 1, REVISIONS) if name == "r0"]
    assert numbers == list(range(48))


@pytest.mark.parametrize("value", [0.0, -0.0, 1e308, 5e-324])
def test_values_come_back_exactly(
    store: IntakeStore, engine: Engine, credit: ModelContext, value: float
) -> None:
    store.store_labels(label_batch(credit, [label("a", value, START)]))
    assert rows_of(engine, 1, "select value from label") == [(value,)]
