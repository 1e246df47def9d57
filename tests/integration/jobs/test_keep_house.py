"""Retention drops rows and keeps what was counted; housekeeping never stands in intake's way."""

from __future__ import annotations

import logging
import time
from datetime import UTC, date, datetime, timedelta
from typing import Any

import psycopg
import pytest
from sqlalchemy.engine import Engine

from monitor.intake.parts import RequestPart
from monitor.jobs.keep_house import (
    beat,
    drop_expired_labels,
    drop_expired_requests,
    forget_marks_of_parts,
    forget_samples,
    give_up_orphans,
)
from monitor.jobs.run import Runner
from monitor.profiles.part import PartKind
from monitor.scheduler import Worker, guarded
from monitor.store import partitions
from monitor.store.engine import Role, transaction
from monitor.store.intake_parts import TakenParts, add_parts, finish_parts
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from monitor.windows import Grain
from tests.factories import START, label, label_batch, request, rows_of, send
from tests.integration.jobs.support import DAY, HOUR, problems, stored, traffic

AFTER = START + 185 * DAY  # retention.requests is 184 days unless the contract says otherwise


def test_expired_days_go_and_their_profiles_stay(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext
) -> None:
    send(store, credit, traffic(START, 2, 60))
    send(store, credit, traffic(START + DAY, 2, 60, seed=1))
    runner.catch_up()
    before = [(one.key, one.n) for one in stored(engine, credit, PartKind.COLUMNS)]
    assert drop_expired_requests(engine, [credit], START + 184 * DAY) == []
    assert drop_expired_requests(engine, [credit], AFTER) == [START]
    days = rows_of(engine, 1, "select distinct date_trunc('day', event_time) from request_log")
    assert days == [(START + DAY,)]
    assert [(one.key, one.n) for one in stored(engine, credit, PartKind.COLUMNS)] == before
    measured = rows_of(engine, 1, "select count(*) from measurement")[0].count
    assert measured > 0
    assert runner.catch_up() == 0


def test_a_late_row_of_an_expired_window_does_not_take_the_place_of_its_profile(
    store: IntakeStore,
    engine: Engine,
    runner: Runner,
    credit: ModelContext,
    caplog: pytest.LogCaptureFixture,
) -> None:
    send(store, credit, traffic(START, 2, 60))
    runner.catch_up()
    drop_expired_requests(engine, [credit], AFTER)
    late = [request("late", START), request("elsewhere", START + 5 * HOUR)]
    send(store, credit, late)
    with caplog.at_level(logging.WARNING):
        runner.catch_up()
    for kind in (PartKind.COLUMNS, PartKind.SERVING, PartKind.LABELS):
        found = {one.key.window_start: one.n for one in stored(engine, credit, kind)}
        assert found == {START: 60, START + HOUR: 60, START + 5 * HOUR: 1}
    days = stored(engine, credit, PartKind.COLUMNS, Grain.DAY)
    assert sum(one.n for one in days) == 121
    five = stored(engine, credit, PartKind.SERVING, Grain.FIVE_MINUTES)
    assert sum(one.n for one in five) == 121
    assert "expired" in caplog.text
    assert problems(engine) == []
    assert rows_of(engine, 1, "select 1 from intake_mark") == []


def test_a_hanging_reader_stops_no_sender_and_the_day_goes_later(
    store: IntakeStore, engine: Engine, credit: ModelContext, admin_url: str
) -> None:
    send(store, credit, [request("old", START), request("new", START + DAY)])
    with psycopg.connect(admin_url) as reader:
        reader.execute("select count(*) from request_log").fetchone()
        assert partitions.drop_request_days(engine, date(2024, 5, 2)) == []
        began = time.monotonic()
        send(store, credit, [request("newer", START + DAY)])
        send(store, credit, [request("another day", START + 5 * DAY)])
        assert time.monotonic() - began < 1.5
        # Once more while it hangs: nothing breaks, nothing is half done for good.
        assert partitions.drop_request_days(engine, date(2024, 5, 2)) == []
    assert partitions.drop_request_days(engine, date(2024, 5, 2)) == [date(2024, 5, 1)]
    kept = rows_of(engine, 1, "select request_id from request_log order by 1")
    assert kept == [("another day",), ("new",), ("newer",)]
    tables = "select count(*) from pg_class where relname = 'request_log_20240501'"
    assert rows_of(engine, 1, tables) == [(0,)]
    # The day can come back, for a sender who may write into it.
    send(store, credit, [request("old", START)])


def test_what_a_killed_housekeeper_left_detached_is_dropped(
    store: IntakeStore, engine: Engine, credit: ModelContext, admin_url: str
) -> None:
    send(store, credit, [request("a", START), request("b", START + DAY)])
    with psycopg.connect(admin_url, autocommit=True) as admin:
        admin.execute("alter table request_log detach partition request_log_20240501 concurrently")
    assert partitions.drop_request_days(engine, date(2024, 5, 3)) == [
        date(2024, 5, 1),
        date(2024, 5, 2),
    ]


def test_labels_and_samples_expire_too(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext
) -> None:
    send(store, credit, traffic(START, 1, 120))
    rows = [label("a", 1.0, START - DAY), label("b", 1.0, START)]
    store.store_labels(label_batch(credit, rows))
    runner.catch_up()
    now = datetime(2025, 5, 1, 12, tzinfo=UTC)  # retention.labels is 365 days
    assert drop_expired_labels(engine, [credit], now) == [datetime(2024, 4, 1, tzinfo=UTC)]
    assert rows_of(engine, 1, "select request_id from label") == [("b",)]
    with transaction(engine, 1, Role.WORKER) as connection:
        assert forget_samples(connection, credit, START + 184 * DAY) == 0
        assert forget_samples(connection, credit, AFTER) == 1
    assert rows_of(engine, 1, "select 1 from sample") == []


def test_without_a_model_nothing_is_dropped(
    store: IntakeStore, engine: Engine, credit: ModelContext
) -> None:
    send(store, credit, [request("a", START)])
    assert drop_expired_requests(engine, [], AFTER) == []
    assert drop_expired_labels(engine, [], AFTER) == []
    assert len(rows_of(engine, 1, "select 1 from request_log")) == 1


def test_labels_that_waited_too_long_and_marks_of_parts_are_given_up(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext
) -> None:
    store.store_labels(label_batch(credit, [label("nobody", 1.0, START)], arrived_at=START))
    runner.catch_up()
    with transaction(engine, 1, Role.WORKER) as connection:
        assert give_up_orphans(connection, credit, START + 8 * DAY) == 0
        assert give_up_orphans(connection, credit, START + 8 * DAY + HOUR) == 1
    parts = [
        RequestPart("pair", key, "request", b"{}", START, START) for key in ("finished", "waiting")
    ]
    with transaction(engine, 1, Role.INGEST) as connection:
        assert add_parts(connection, 1, parts) == 2
        finish_parts(connection, 1, TakenParts("pair", {"finished": parts[:1]}))
    with transaction(engine, 1, Role.WORKER) as connection:
        assert forget_marks_of_parts(connection, START + DAY) == 0
        assert forget_marks_of_parts(connection, START + DAY + HOUR) == 1
    assert rows_of(engine, 1, "select group_key from intake_part") == [("waiting",)]


def test_heartbeats_of_the_dead_are_forgotten(engine: Engine) -> None:
    beat(engine, "one", "worker", START, START)
    beat(engine, "two", "worker", START, START + 12 * HOUR)
    beat(engine, "one", "worker", START, START + 13 * HOUR)
    beats = "select worker, beat_at from heartbeat order by 1"
    assert rows_of(engine, None, beats) == [("one", START + 13 * HOUR), ("two", START + 12 * HOUR)]
    beat(engine, "one", "worker", START, START + 37 * HOUR)
    assert [row.worker for row in rows_of(engine, None, beats)] == ["one"]


def test_every_tick_of_a_worker_does_its_work(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext
) -> None:
    send(store, credit, traffic(START, 1, 120))
    worker = Worker(engine, runner, START)
    jobs = {job.id: job for job in worker.scheduler().get_jobs()}
    ticks = (
        *(
            "beat",
            "jobs",
            "conditions",
            "notify",
            "deliver",
            "switch",
            "restate",
            "scrape",
            "audit",
            "reports",
        ),
        "house",
    )
    assert set(jobs) == set(ticks)
    assert all(job.coalesce and job.max_instances == 1 for job in jobs.values())
    for name in ticks:
        jobs[name].func()
    assert rows_of(engine, 1, "select count(*) from heartbeat") == [(1,)]
    assert len(stored(engine, credit, PartKind.SERVING)) == 1
    # The rows of 2024 are past their retention today; partitions ahead were made.
    assert rows_of(engine, 1, "select count(*) from request_log") == [(0,)]
    with transaction(engine, None, Role.WORKER) as connection:
        days = partitions.request_days(connection)
    assert datetime.now(UTC).date() + timedelta(days=14) in days


def test_an_outage_is_one_line_in_the_log_of_a_tick(
    runner: Runner, caplog: pytest.LogCaptureFixture
) -> None:
    from dataclasses import replace

    from monitor.store.engine import make_engine

    gone: Any = replace(runner, engine=make_engine("postgresql://a:secret@127.0.0.1:9/x"))
    with caplog.at_level(logging.WARNING):
        guarded("jobs", Worker(gone.engine, gone, START).run_jobs)()
    assert [record.name for record in caplog.records] == ["inferwatch.scheduler"]
    assert "secret" not in caplog.text
