"""Every window is done once, whoever works on it, and whatever dies in the middle."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine

from monitor.errors import LeaseLost
from monitor.jobs.run import Runner
from monitor.jobs.silent_days import SILENT_FOR
from monitor.profiles.part import PartKind
from monitor.store.engine import Role, transaction
from monitor.store.intake_store import IntakeStore
from monitor.store.job_windows import claim, due_windows, fail, finish, mark_due, release
from monitor.store.models import ModelContext
from monitor.windows import Grain
from tests.factories import START, TestClock, request, rows_of, send
from tests.integration.jobs.support import (
    DAY,
    HOUR,
    another,
    context_of,
    hours_of,
    problems,
    run_together,
    runs,
    stored,
    traffic,
)

DUPLICATE_MEASUREMENTS = """
select check_name, method, column_name, segment_id, leg, deployment_ids, window_start, window_end,
       baseline_id, count(*)
from measurement group by 1, 2, 3, 4, 5, 6, 7, 8, 9 having count(*) > 1
"""


def total(engine: Engine, model: ModelContext, kind: PartKind, grain: Grain = Grain.HOUR) -> int:
    return sum(one.n for one in stored(engine, model, kind, grain))


def test_two_workers_over_one_backlog_do_each_window_once(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext, database_url: str
) -> None:
    rows = traffic(START, 30, 25, deployments=(1, 2))
    for start in range(0, len(rows), 250):
        send(store, credit, rows[start : start + 250])
    with another(runner, database_url, "worker-2") as second:
        assert run_together([runner, second], turns=3) == []
    assert problems(engine) == []
    assert runs(engine, "profile") == dict.fromkeys(hours_of(rows), 1)
    assert runs(engine, "checks-hour") == dict.fromkeys(hours_of(rows), 1)
    assert set(runs(engine, "serving-profile").values()) == {1}
    for kind in (PartKind.COLUMNS, PartKind.SERVING, PartKind.LABELS):
        assert total(engine, credit, kind) == len(rows)
        assert total(engine, credit, kind, Grain.DAY) == len(rows)
    assert total(engine, credit, PartKind.SERVING, Grain.FIVE_MINUTES) == len(rows)
    assert rows_of(engine, 1, "select 1 from intake_mark") == []
    assert rows_of(engine, 1, DUPLICATE_MEASUREMENTS) == []


def test_workers_and_senders_at_the_same_time_lose_no_row(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext, database_url: str
) -> None:
    rows = traffic(START, 6, 100, deployments=(1, 2))
    random.Random(3).shuffle(rows)
    store.prepare_days({START.date()})
    done = threading.Event()

    def keep_sending() -> None:
        for start in range(0, len(rows), 20):
            send(store, credit, rows[start : start + 20])
        done.set()

    with another(runner, database_url, "worker-2") as second:
        sender = threading.Thread(target=keep_sending)
        sender.start()
        while not done.is_set():
            assert run_together([runner, second]) == []
        sender.join()
        assert run_together([runner, second]) == []
    assert problems(engine) == []
    assert total(engine, credit, PartKind.SERVING) == len(rows)
    assert total(engine, credit, PartKind.COLUMNS) == len(rows)
    assert total(engine, credit, PartKind.COLUMNS, Grain.DAY) == len(rows)
    assert total(engine, credit, PartKind.SERVING, Grain.FIVE_MINUTES) == len(rows)


def test_a_mark_that_arrives_while_the_job_runs_stays(
    store: IntakeStore,
    engine: Engine,
    runner: Runner,
    credit: ModelContext,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    send(store, credit, traffic(START, 1, 120))
    late = [request("late", START)]

    def gather_while_a_sender_sends(*arguments: Any) -> Any:
        send(store, credit, late)
        monkeypatch.undo()
        return real(*arguments)

    from monitor.jobs import profile_windows

    real = profile_windows._gather
    monkeypatch.setattr(profile_windows, "_gather", gather_while_a_sender_sends)
    runner.tick({"profile"})
    # The first run did not see the late row, so its mark made a second one.
    assert runs(engine, "profile") == {START: 2}
    assert total(engine, credit, PartKind.SERVING) == 121
    assert rows_of(engine, 1, "select 1 from intake_mark where grain = 3600") == []


def test_hours_after_a_pause_are_each_done_once(
    store: IntakeStore,
    engine: Engine,
    runner: Runner,
    credit: ModelContext,
    clock: TestClock,
    database_url: str,
) -> None:
    # pub-029: stopped 10:05, restarted 14:10, two processes start together
    start = datetime(2024, 5, 1, 9, tzinfo=UTC)
    send(store, credit, traffic(start, 1, 120))
    clock.now = start + timedelta(hours=1, minutes=10)
    runner.catch_up()
    assert runs(engine, "profile") == {start: 1}
    send(store, credit, traffic(start + HOUR, 4, 50, seed=1))
    clock.now = start + timedelta(hours=5, minutes=10)
    with another(runner, database_url, "worker-2") as second:
        assert run_together([runner, second]) == []
    assert runs(engine, "profile") == {start + i * HOUR: 1 for i in range(5)}
    workers = rows_of(engine, 1, "select count(*) from job_window where job = 'profile'")
    assert workers == [(5,)]


def test_a_clock_that_jumps_years_makes_few_windows(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext, clock: TestClock
) -> None:
    # pub-031: nine years are 4,734,720 minutes; windows come from marks, so none is made of them,
    # and a silent model's days are planned for a while only
    clock.now = datetime(2024, 5, 2, tzinfo=UTC)
    send(store, credit, traffic(START, 2, 60))
    runner.catch_up()
    clock.now = datetime(2033, 1, 1, tzinfo=UTC)
    began = time.monotonic()
    runner.catch_up()
    assert time.monotonic() - began < 5
    assert len(runs(engine, "checks-day")) == 1
    send(store, credit, traffic(datetime(2032, 12, 31, tzinfo=UTC), 1, 60, seed=1))
    runner.catch_up()
    # the first day, the days before the newest one, and that day itself, which waits for its end
    assert len(runs(engine, "checks-day")) == 1 + SILENT_FOR.days + 1
    assert len(runs(engine, "profile")) == 3


CRASHING_WORKER = """
import random, sys, time
from datetime import UTC, datetime
from monitor.jobs import profile_windows
from monitor.jobs.run import Runner
from monitor.jobs.silent_days import SILENT_FOR
from monitor.store.bulk import BulkConnections
from monitor.store.engine import Role, make_engine

def hang(*arguments):
    print("inside", flush=True)
    time.sleep(60)

profile_windows.delete_marks = hang
url = sys.stdin.readline().strip()
now = datetime(2024, 6, 2, tzinfo=UTC)
Runner(make_engine(url), BulkConnections(url, Role.WORKER), "doomed", "", lambda: now, {},
       random.Random(1)).tick({"profile"})
"""


def test_a_worker_killed_in_the_middle_costs_nothing_but_time(
    store: IntakeStore,
    engine: Engine,
    runner: Runner,
    credit: ModelContext,
    database_url: str,
    admin_url: str,
) -> None:
    send(store, credit, traffic(START, 2, 100))
    with subprocess.Popen(
        [sys.executable, "-c", CRASHING_WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as doomed:
        assert doomed.stdin is not None
        assert doomed.stdout is not None
        doomed.stdin.write(database_url.encode() + b"\n")
        doomed.stdin.flush()
        assert doomed.stdout.readline() == b"inside\n"
        # It holds the windows: nobody else takes them.
        assert runner.tick({"profile"}) == 0
        doomed.send_signal(signal.SIGKILL)
    assert runner.tick({"profile"}) == 0
    assert stored(engine, credit, PartKind.SERVING) == []
    held = "select state, worker, runs from job_window where job = 'profile'"
    assert rows_of(engine, 1, held) == [("running", "doomed", 0)] * 2
    with psycopg.connect(admin_url) as admin:
        admin.execute("update job_window set lease_until = now() - interval '1 second'")
    runner.catch_up()
    assert problems(engine) == []
    assert runs(engine, "profile") == {START: 1, START + HOUR: 1}
    assert total(engine, credit, PartKind.SERVING) == 200


def test_one_of_two_workers_gets_a_window(engine: Engine, credit: ModelContext) -> None:
    found = []
    barrier = threading.Barrier(4)

    def work(name: str) -> None:
        barrier.wait(10)
        with transaction(engine, 1, Role.WORKER) as connection:
            held = claim(connection, 1, credit.model_id, "job", [START, START + HOUR], name)
        found.append(held.starts)

    threads = [threading.Thread(target=work, args=(f"w{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(start for starts in found for start in starts) == [START, START + HOUR]


def test_a_worker_whose_lease_ran_out_writes_nothing(
    engine: Engine, credit: ModelContext, admin_url: str
) -> None:
    model = credit.model_id
    with transaction(engine, 1, Role.WORKER) as connection:
        slow = claim(connection, 1, model, "job", [START, START + HOUR], "slow")
    with psycopg.connect(admin_url) as admin:
        admin.execute("update job_window set lease_until = now()")
    with transaction(engine, 1, Role.WORKER) as connection:
        quick = claim(connection, 1, model, "job", [START], "quick")
    assert quick.fences[START] > slow.fences[START]
    written = "insert into segment (project_id, model_id, definition) values (1, :model, '{}')"

    def finish_slow() -> None:
        with transaction(engine, 1, Role.WORKER) as connection:
            connection.execute(sa.text(written), {"model": model})
            finish(connection, slow, {START: 1, START + HOUR: 1})

    with pytest.raises(LeaseLost, match="1 of 2"):
        finish_slow()
    assert rows_of(engine, 1, "select 1 from segment") == []
    with transaction(engine, 1, Role.WORKER) as connection:
        fail(connection, slow, "too late to say so")
    states = rows_of(engine, 1, "select worker, state from job_window order by window_start")
    assert states == [("quick", "running"), ("slow", "failed")]


def test_what_a_lost_claim_still_holds_is_free_at_once(
    engine: Engine, credit: ModelContext
) -> None:
    model = credit.model_id
    with transaction(engine, 1, Role.WORKER) as connection:
        held = claim(connection, 1, model, "job", [START, START + HOUR], "slow")
        mark_due(connection, 1, model, "job", [START])
    with pytest.raises(LeaseLost), transaction(engine, 1, Role.WORKER) as connection:
        finish(connection, held, {START: 1, START + HOUR: 1})
    with transaction(engine, 1, Role.WORKER) as connection:
        release(connection, held)
    with transaction(engine, 1, Role.WORKER) as connection:
        assert due_windows(connection, 1, model, "job", START + DAY, 10) == [START, START + HOUR]


def test_a_window_marked_while_it_runs_is_not_finished(
    engine: Engine, credit: ModelContext
) -> None:
    with transaction(engine, 1, Role.WORKER) as connection:
        held = claim(connection, 1, credit.model_id, "job", [START], "one")
    with transaction(engine, 1, Role.WORKER) as connection:
        mark_due(connection, 1, credit.model_id, "job", [START])
    with pytest.raises(LeaseLost), transaction(engine, 1, Role.WORKER) as connection:
        finish(connection, held, {START: 1})
    with transaction(engine, 1, Role.WORKER) as connection:
        assert due_windows(connection, 1, credit.model_id, "job", START + DAY, 10) == [START]


def test_a_failing_window_waits_longer_each_time_and_says_why(
    engine: Engine, credit: ModelContext, admin_url: str
) -> None:
    pauses = []
    for _ in range(4):
        with psycopg.connect(admin_url) as admin:
            admin.execute("update job_window set lease_until = now()")
        with transaction(engine, 1, Role.WORKER) as connection:
            held = claim(connection, 1, credit.model_id, "job", [START], "one")
        with transaction(engine, 1, Role.WORKER) as connection:
            fail(connection, held, "no such luck " * 100)
        wait = "select extract(epoch from lease_until - finished_at), error from job_window"
        seconds, error = rows_of(engine, 1, wait)[0]
        pauses.append(round(seconds))
        assert error.startswith("no such luck")
        assert len(error) == 500
    assert pauses == [30, 60, 120, 240]
    with transaction(engine, 1, Role.WORKER) as connection:
        assert due_windows(connection, 1, credit.model_id, "job", START + DAY, 10) == []


def test_a_pause_holds_a_finished_window_back_and_keeps_it_due(
    engine: Engine, credit: ModelContext, admin_url: str
) -> None:
    model = credit.model_id
    with transaction(engine, 1, Role.WORKER) as connection:
        finish(connection, claim(connection, 1, model, "job", [START], "one"), {START: 1})
    with transaction(engine, 1, Role.WORKER) as connection:
        mark_due(connection, 1, model, "job", [START], pause=DAY)
        assert due_windows(connection, 1, model, "job", START + DAY, 10) == []
    with psycopg.connect(admin_url) as admin:
        admin.execute("update job_window set lease_until = lease_until - interval '1 day'")
    with transaction(engine, 1, Role.WORKER) as connection:
        assert due_windows(connection, 1, model, "job", START + DAY, 10) == [START]


def test_a_job_that_fails_is_recorded_without_values_and_tried_again(
    store: IntakeStore,
    engine: Engine,
    runner: Runner,
    credit: ModelContext,
    admin_url: str,
) -> None:
    send(store, credit, traffic(START, 1, 120))
    with psycopg.connect(admin_url) as admin:
        admin.execute("alter table profile add constraint none check (n < 0)")
    runner.tick({"profile"})
    found = rows_of(engine, 1, "select state, failures, error from job_window")
    assert found == [("failed", 1, "CheckViolation (SQLSTATE 23514, constraint none)")]
    with psycopg.connect(admin_url) as admin:
        admin.execute("alter table profile drop constraint none")
        admin.execute("update job_window set lease_until = now()")
    runner.tick({"profile"})
    found = rows_of(engine, 1, "select state, runs, error from job_window where job = 'profile'")
    assert found == [("done", 1, None)]


def test_four_threads_of_one_process_share_the_work(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext, database_url: str
) -> None:
    rows = traffic(START, 8, 40)
    send(store, credit, rows)
    with ExitStack() as stack:
        others = [stack.enter_context(another(runner, database_url, f"w{i}")) for i in range(3)]
        assert run_together([runner, *others], turns=2) == []
    assert problems(engine) == []
    assert runs(engine, "profile") == dict.fromkeys(hours_of(rows), 1)
    assert context_of(runner, credit).revision_pause == DAY
