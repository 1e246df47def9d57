"""Requests are stored once, whatever is sent again, and nothing is lost or doubled."""

from __future__ import annotations

import random
import threading
from collections import Counter
from datetime import UTC, date, datetime, timedelta

import psycopg
import pytest
from sqlalchemy.engine import Engine

from monitor.deployment import Tags
from monitor.records import Rejection, RejectionReason, ViolationExample, ViolationReason
from monitor.store import partitions
from monitor.store.engine import make_engine
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from monitor.store.requests import ACCEPTED, CONFLICT, DUPLICATE, StoredRows
from tests.factories import START, request, request_batch, rows_of, send

HOUR = timedelta(hours=1)


def counts(stored: StoredRows) -> tuple[int, int, int]:
    """Accepted, duplicate, conflict."""
    return stored.count(ACCEPTED), stored.count(DUPLICATE), stored.count(CONFLICT)


def numbered(first: int, last: int) -> list[dict]:
    return [
        request(f"r{i}", START + timedelta(seconds=i), age=float(i)) for i in range(first, last)
    ]


def test_an_id_twice_in_one_batch_is_stored_once(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    # pub-032: r1, r2, r1 again
    batch = [
        request("r1", START, score=0.2),
        request("r2", START, score=0.7),
        request("r1", START, score=0.2),
    ]
    assert counts(send(store, credit, batch)) == (2, 1, 0)
    assert counts(send(store, credit, batch)) == (0, 3, 0)
    found = rows_of(engine, 1, "select request_id, numbers[2] from request_log order by 1")
    assert found == [("r1", 0.2), ("r2", 0.7)]


def test_every_row_is_told_what_became_of_it(store: IntakeStore, credit: ModelContext) -> None:
    send(store, credit, [request("a", START), request("b", START)])
    stored = send(
        store,
        credit,
        [
            request("new", START),
            request("a", START),
            request("b", START, age=41.0),
            request("new", START, age=1.0),
            request("other", START),
        ],
    )
    assert stored.codes is not None
    assert stored.codes.tolist() == [ACCEPTED, DUPLICATE, CONFLICT, CONFLICT, ACCEPTED]


def test_the_first_of_a_key_is_kept_and_never_changed(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    send(store, credit, [request("a", START, age=1.0)])
    assert counts(send(store, credit, [request("a", START, age=2.0)])) == (0, 0, 1)
    assert rows_of(engine, 1, "select numbers[1] from request_log") == [(1.0,)]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({}, DUPLICATE),
        ({"age": None}, CONFLICT),
        ({"age": float("nan")}, CONFLICT),
        ({"city": None}, CONFLICT),
        ({"city": "bonn"}, CONFLICT),
        ({"outcome": 4}, CONFLICT),
        ({"outcome_reason": "x"}, CONFLICT),
        ({"violations": (("age", ViolationReason.NULL),)}, CONFLICT),
        ({"deployment": 7}, CONFLICT),
    ],
)
def test_what_counts_as_the_same_content(
    store: IntakeStore, credit: ModelContext, change: dict, code: int
) -> None:
    send(store, credit, [request("a", START)], received_at=START)
    again = send(store, credit, [request("a", START, **change)], received_at=START + HOUR)
    assert again.codes is not None
    assert again.codes.tolist() == [code]


def test_a_row_of_nothing_but_nulls_is_its_own_duplicate(
    store: IntakeStore, credit: ModelContext
) -> None:
    empty = request("a", START, age=None, city=None, score=float("nan"), ms=None)
    assert counts(send(store, credit, [empty])) == (1, 0, 0)
    assert counts(send(store, credit, [empty])) == (0, 1, 0)


def test_the_same_id_at_another_time_or_on_another_leg_is_another_request(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    send(store, credit, [request("a", START)])
    later = [request("a", START + timedelta(microseconds=1))]
    assert counts(send(store, credit, later)) == (1, 0, 0)
    assert counts(send(store, credit, [request("a", START)], leg="shadow:next")) == (1, 0, 0)
    assert len(rows_of(engine, 1, "select 1 from request_log where request_id = 'a'")) == 3


@pytest.mark.parametrize("name", ["it's", 'q"', "\\", "%s", "ключ 🜁", "a\nb", "{}", "NULL", ""])
def test_odd_characters_come_back_as_they_were(
    store: IntakeStore, engine: Engine, credit: ModelContext, name: str
) -> None:
    row = request(f"id {name}", START, city=name)
    for _ in range(2):  # straight and by staging
        send(store, credit, [row])
    found = rows_of(engine, 1, "select request_id, texts from request_log")
    assert found == [(f"id {name}", [name])]


def test_a_missing_partition_is_made_and_a_dropped_one_again(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    assert store.missing_days({date(2024, 5, 1), date(1995, 2, 3)}) == {
        date(2024, 5, 1),
        date(1995, 2, 3),
    }
    send(store, credit, [request("a", START), request("b", datetime(1995, 2, 3, 1, tzinfo=UTC))])
    assert partitions.drop_request_days(engine, date(2024, 5, 2)) == [
        date(1995, 2, 3),
        date(2024, 5, 1),
    ]
    # The store believes in the partition it saw; the write finds out and mends it.
    batch = request_batch(credit, [request("c", START)])
    assert counts(store.store_requests(batch)) == (1, 0, 0)
    assert rows_of(engine, 1, "select request_id from request_log") == [("c",)]


@pytest.mark.parametrize("moment", ["2024-05-01T00:00:00.000000", "2024-05-01T23:59:59.999999"])
def test_both_ends_of_a_day_have_a_place(
    store: IntakeStore, engine: Engine, credit: ModelContext, moment: str
) -> None:
    at = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    assert counts(send(store, credit, [request("a", at)])) == (1, 0, 0)
    assert rows_of(engine, 1, "select event_time, tableoid::regclass::text from request_log") == [
        (at, "request_log_20240501")
    ]


def test_marks_name_exactly_the_windows_of_accepted_rows(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    first = [request("a", START), request("b", START + timedelta(minutes=4))]
    send(store, credit, first)
    second = [*first, request("c", START + timedelta(minutes=65)), request("d", START)]
    send(store, credit, second)
    send(store, credit, first)
    found = rows_of(engine, 1, "select grain, window_start, n from intake_mark order by id")
    assert found == [
        (300, START, 2),
        (3600, START, 2),
        (300, START, 1),
        (300, START + timedelta(minutes=65), 1),
        (3600, START, 1),
        (3600, START + HOUR, 1),
    ]


def test_events_before_1970_are_marked_in_their_own_window(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    at = datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    send(store, credit, [request("a", at)])
    found = rows_of(engine, 1, "select grain, window_start from intake_mark order by grain")
    assert found == [
        (300, datetime(1969, 12, 31, 23, 55, tzinfo=UTC)),
        (3600, datetime(1969, 12, 31, 23, tzinfo=UTC)),
    ]


def test_counts_rejections_and_examples_stand_beside_the_rows(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    rejected = (
        Rejection(2, RejectionReason.MISSING_ID, "it's without an id", None, '{"a": "\\u0000"}'),
        Rejection(5, RejectionReason.BAD_TIME, "no time", "r5", "x" * 100),
    )
    example = ViolationExample("agé", ViolationReason.WRONG_TYPE, "'o%'")
    broken = request("a", START, age=None, violations=(("age", ViolationReason.WRONG_TYPE),))
    for _ in range(2):
        send(
            store,
            credit,
            [broken, request("b", START)],
            rejections=rejected,
            examples=(example,),
        )
    found = rows_of(
        engine, 1, "select kind, accepted, duplicate, conflict, rejected, violations"
        " from intake_batch order by id",
    )  # fmt: skip
    assert found == [("requests", 2, 0, 0, 2, 1), ("requests", 0, 2, 0, 2, 1)]
    kept = rows_of(
        engine, 1, "select place, reason, message, request_id from rejection order by id"
    )
    assert kept[:2] == [
        (2, "missing_id", "it's without an id", None),
        (5, "bad_time", "no time", "r5"),
    ]


def test_a_batch_that_fails_leaves_no_mark_count_or_rejection(
    store: IntakeStore, engine: Engine, credit: ModelContext, admin_url: str
) -> None:
    store.prepare_days({START.date()})
    with psycopg.connect(admin_url) as admin:
        admin.execute("alter table request_log add constraint no_bonn check (texts[1] <> 'Bonn')")
    rejected = (Rejection(1, RejectionReason.MISSING_ID, "no id"),)
    batch = request_batch(credit, [request("a", START)], rejections=rejected)
    with pytest.raises(Exception, match="23514"):
        store.store_requests(batch)
    for table in ("request_log", "intake_mark", "intake_batch", "rejection"):
        assert rows_of(engine, 1, f"select 1 from {table}") == []


def test_a_body_of_which_nothing_could_be_stored_is_counted_too(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    rejected = tuple(Rejection(i, RejectionReason.MISSING_ID, "no id") for i in range(3))
    store.keep_rejections(credit.project_id, credit.model_id, "requests", START, rejected)
    found = rows_of(engine, 1, "select kind, received_at, accepted, rejected from intake_batch")
    assert found == [("requests", START, 0, 3)]
    assert len(rows_of(engine, 1, "select 1 from rejection")) == 3


def test_overlapping_batches_of_many_senders_lose_and_double_nothing(
    database_url: str, engine: Engine, credit: ModelContext
) -> None:
    senders, size, ids = 6, 40, 150
    store = IntakeStore(database_url, make_engine(database_url))
    store.prepare_days({START.date()})
    totals: Counter[int] = Counter()
    failures: list[BaseException] = []
    lock = threading.Lock()

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(15):
            rows = rng.sample(numbered(0, ids), size)
            try:
                stored = store.store_requests(request_batch(credit, rows))
            except BaseException as error:  # noqa: BLE001 -- shown by the assertion below
                failures.append(error)
                return
            with lock:
                totals.update(
                    {code: stored.count(code) for code in (ACCEPTED, DUPLICATE, CONFLICT)}
                )

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(senders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()
    assert failures == []
    assert totals[CONFLICT] == 0
    assert totals[ACCEPTED] + totals[DUPLICATE] == senders * 15 * size
    stored_ids = rows_of(engine, 1, "select count(*), count(distinct request_id) from request_log")
    assert stored_ids == [(totals[ACCEPTED], totals[ACCEPTED])]
    marked = rows_of(engine, 1, "select sum(n) from intake_mark where grain = 3600")
    counted = rows_of(engine, 1, "select sum(accepted), sum(duplicate) from intake_batch")
    assert marked == [(totals[ACCEPTED],)]
    assert counted == [(totals[ACCEPTED], totals[DUPLICATE])]


def test_tags_of_a_batch_become_deployments(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    tags = (Tags.of({"model_version": "1"}), Tags.of({"runtime": "onnx", "precision": "int8"}))
    rows = [
        request("a", START, deployment=-1),
        request("b", START, deployment=-2),
        request("c", START, deployment=1),
    ]
    send(store, credit, rows, tags=tags)
    found = dict(rows_of(engine, 1, "select request_id, deployment_id from request_log"))
    assert found["a"] == found["c"] == 1
    known = dict(rows_of(engine, 1, "select id, tags from deployment"))
    assert known[found["b"]] == {"runtime": "onnx", "precision": "int8"}


def test_partitions_ahead_cover_the_time_that_intake_accepts(engine: Engine) -> None:
    now = datetime(2024, 5, 10, 23, 59, tzinfo=UTC)
    made = partitions.prepare_ahead(engine, now)
    tables = "select relname from pg_class where relkind = 'r' and relname ~ '^request_log_'"
    days = {row[0] for row in rows_of(engine, None, tables)}
    assert "request_log_20240405" in days
    assert "request_log_20240524" in days
    assert made == len(days) + 2  # and the label months April and May
    assert partitions.prepare_ahead(engine, now) == 0


def test_many_senders_that_need_the_same_new_partition_all_get_it(
    database_url: str, credit: ModelContext
) -> None:
    store = IntakeStore(database_url, make_engine(database_url))
    failures: list[BaseException] = []
    barrier = threading.Barrier(4)

    def work(sender: int) -> None:
        barrier.wait(10)
        for day in range(8):
            try:
                send(store, credit, [request(f"s{sender}", START + timedelta(days=day))])
            except BaseException as error:  # noqa: BLE001 -- shown by the assertion below
                failures.append(error)

    threads = [threading.Thread(target=work, args=(sender,)) for sender in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()
    assert failures == []
