"""Joining late labels and re-measuring, through the jobs; what they wrote is looked at afterwards.

Reading, which it is compared with: the raw request rows of the touched windows, read from Postgres
through ADBC and dropped.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import adbc_driver_postgresql.dbapi as adbc
import psycopg

from benchmarks.database import Workspace
from benchmarks.drift_product import READ_COLUMNS
from benchmarks.label_material import Month
from benchmarks.processes import MemoryWatch, cpu_seconds, family, postgres_process
from benchmarks.timing import Run
from monitor.jobs.base import JobReport
from monitor.jobs.names import CHECKS_DAY, CHECKS_MONTH, LABELS, PROFILE
from monitor.jobs.run import Runner
from monitor.store.bulk import BulkConnections
from monitor.store.engine import Role, transaction
from monitor.store.profile_rows import read_blocks
from monitor.windows import Window

REJOIN, READ, READ_BLOCKS = "join and re-measure", "read requests", "read blocks"
CHECKS = (CHECKS_DAY, CHECKS_MONTH)
_STAGES = {LABELS: "join_seconds", CHECKS_DAY: "days_seconds", CHECKS_MONTH: "months_seconds"}
_KEPT = ("prediction_block", "profile", "job_window", "label_mark", "label_orphan", "measurement")


@contextmanager
def worker(place: Workspace) -> Iterator[Runner]:
    """The jobs as a worker runs them; measurements are revised as soon as labels come."""
    bulk = BulkConnections(place.url, Role.WORKER)
    try:
        yield Runner(
            engine=place.engine,
            bulk=bulk,
            worker="benchmarks",
            public_url="http://127.0.0.1",
            clock=lambda: datetime.now(UTC),
            environment={},
            rng=random.Random(1),
            revision_pause=timedelta(0),
        )
    finally:
        bulk.close()


def profile_and_measure(runner: Runner, tell: Callable[[int], None]) -> None:
    """What the jobs do when the requests come, a month before their labels."""
    run_jobs(runner, [PROFILE], lambda report: tell(report.done))
    run_jobs(runner, CHECKS)


def run_jobs(
    runner: Runner, jobs: Collection[str], tell: Callable[[JobReport], None] = lambda _: None
) -> None:
    """Run jobs until nothing is due. AssertionError when one fails."""

    def heard(job: str, report: JobReport) -> None:
        if report.failed:
            raise AssertionError(f"{job} failed in {report.failed} windows; look at job_window")
        tell(report)

    runner.catch_up(set(jobs), heard)


def rejoin(place: Workspace, runner: Runner, labels: int) -> Run:
    """Join all waiting labels, then run every check that is due for it."""
    watch, stages, used = MemoryWatch(), {}, _cpu(place)
    for job, name in _STAGES.items():
        started = time.perf_counter()
        run_jobs(runner, [job])
        stages[name] = time.perf_counter() - started
    spent = {"cpu_seconds": _cpu(place) - used, "peak_mb": watch.peak()}
    return Run(sum(stages.values()), labels, {**stages, **spent})


def _cpu(place: Workspace) -> float:
    """CPU seconds so far, Postgres included where it runs on this machine."""
    postgres = postgres_process(place.url)
    return time.process_time() + (cpu_seconds(family(postgres)) if postgres else 0.0)


def read_requests(place: Workspace, month: Month) -> Run:
    """Read the raw requests of the labelled days through ADBC and do nothing with them."""
    query = (
        f"select {READ_COLUMNS} from request_log where project_id = {place.project_id}"
        f" and model_id = {place.model.model_id} and event_time >= '{month.first.isoformat()}'"
        f" and event_time < '{month.end.isoformat()}'"
    )
    with adbc.connect(place.url) as connection, connection.cursor() as cursor:
        started, used = time.perf_counter(), _cpu(place)
        cursor.execute(query)
        rows = sum(batch.num_rows for batch in cursor.fetch_record_batch())
        seconds = time.perf_counter() - started
        spent = _cpu(place) - used
    if rows != month.labelled:
        raise AssertionError(f"{rows} rows were read of {month.labelled}")
    return Run(seconds, rows, {"cpu_seconds": spent})


def read_all_blocks(place: Workspace, month: Month) -> Run:
    """Read and unpack the prediction blocks of the labelled days."""
    with transaction(place.engine, place.project_id, Role.WORKER) as connection:
        started = time.perf_counter()
        window = Window(month.first, month.end)
        found = read_blocks(connection, place.project_id, place.model.model_id, window)
        seconds = time.perf_counter() - started
    return Run(seconds, sum(len(block) for _, block in found), {"blocks": float(len(found))})


@contextmanager
def owner(place: Workspace) -> Iterator[psycopg.Connection]:
    """A connection that sees the benchmark's project."""
    with psycopg.connect(place.url) as connection:
        connection.execute("select set_config('app.project', %s, false)", (str(place.project_id),))
        yield connection


class Snapshot:
    """What the label job and the checks change, as it was, so that they can run once more."""

    def __init__(self, place: Workspace) -> None:
        self._place = place
        with owner(place) as connection:
            for table in _KEPT:
                connection.execute(f"create table kept_{table} as table {table}")

    def restore(self) -> None:
        """Put it all back."""
        with owner(self._place) as connection:
            for table in _KEPT:
                columns = _columns(connection, table)
                connection.execute(f"truncate {table}")
                connection.execute(
                    f"insert into {table} ({columns}) overriding system value"
                    f" select {columns} from kept_{table}"
                )
        self._place.settle(*_KEPT)


def _columns(connection: psycopg.Connection, table: str) -> str:
    rows = connection.execute(
        "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0"
        " and not attisdropped order by attnum",
        (table,),
    )
    return ", ".join(f'"{row[0]}"' for row in rows)
