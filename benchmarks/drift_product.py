"""The product's way from stored rows to measurements, through the functions that the jobs use."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import adbc_driver_postgresql.dbapi as adbc
import numpy as np
import pyarrow as pa

from benchmarks.data import event_times, request_ids
from benchmarks.database import Workspace
from benchmarks.processes import cpu_seconds, family, postgres_process
from benchmarks.stored_rows import store_rows, with_envelope
from benchmarks.timing import Run
from monitor.jobs.base import JobReport
from monitor.jobs.check_windows import load_yardsticks
from monitor.jobs.grouping import WHOLE, group_rows
from monitor.jobs.names import CHECKS_DAY, PROFILE
from monitor.jobs.plans.base import PlanInputs, Yardsticks
from monitor.jobs.plans.columns import drift
from monitor.jobs.profile_windows import Gathered
from monitor.jobs.run import Runner
from monitor.jobs.set_baseline import baseline_from_file
from monitor.measurement import Measured, Measurement
from monitor.profiles.build import build_parts
from monitor.profiles.part import Part, PartKind, merge
from monitor.profiles.rows import RequestRows
from monitor.records import LIVE_LEG, REQUEST_SCHEMA
from monitor.store.bulk import BulkConnections
from monitor.store.engine import Role, transaction
from monitor.store.marks import remark_all
from monitor.store.models import ModelContext
from monitor.store.request_rows import request_chunks
from monitor.windows import Grain, Window

DAY_SECONDS = 86_400
STORED_AT_ONCE = 20_000
READ_COLUMNS = ", ".join(
    name for name in REQUEST_SCHEMA.names if name not in ("project_id", "model_id")
)


@dataclass(frozen=True)
class StoredDay:
    """A day of stored rows and a baseline for them."""

    place: Workspace
    model: ModelContext
    window: Window
    rows: int

    @property
    def hours(self) -> list[datetime]:
        """The starts of its hours."""
        return [window.start for window in self.window.split(Grain.HOUR)]


def store_day(
    place: Workspace,
    reference: pa.Table,
    current: pa.Table,
    day: datetime,
    tell: Callable[[int], None],
) -> StoredDay:
    """Set the reference as baseline and store the current rows, spread over the day."""
    baseline_from_file(
        place.engine, place.project_id, place.model, reference, name="reference", by="benchmarks"
    )
    n = current.num_rows
    times = event_times(n, day, DAY_SECONDS)
    sent = with_envelope(current, request_ids(n, seed=2), times, place.deployment_id)
    store_rows(place, sent, STORED_AT_ONCE, tell)
    place.settle("request_log")
    return StoredDay(place, place.model, Window(day, day + Grain.DAY.length), n)


def read_only(stored: StoredDay, columns: str = READ_COLUMNS) -> Run:
    """Read the rows of the day through ADBC and do nothing with them: the limit of any reader."""
    window, place = stored.window, stored.place
    query = (
        f"select {columns} from request_log where project_id = {place.project_id}"
        f" and model_id = {stored.model.model_id} and event_time >= '{window.start.isoformat()}'"
        f" and event_time < '{window.end.isoformat()}'"
    )
    with adbc.connect(place.url) as connection, connection.cursor() as cursor:
        watch = Watch(stored)
        cursor.execute(query)
        rows = sum(batch.num_rows for batch in cursor.fetch_record_batch())
        return watch.stopped(rows)


class Watch:
    """Wall and CPU seconds from now on, Postgres included where it runs on this machine."""

    def __init__(self, stored: StoredDay) -> None:
        self._stored = stored
        self._postgres = postgres_process(stored.place.url)
        self._cpu = self._used()
        self._started = time.perf_counter()

    def stopped(self, rows: int) -> Run:
        """The run that ends now; it must have seen every stored row."""
        seconds = time.perf_counter() - self._started
        if rows != self._stored.rows:
            raise AssertionError(f"{rows} rows were read of {self._stored.rows} stored")
        return Run(seconds, rows, {"cpu_seconds": self._used() - self._cpu})

    def _used(self) -> float:
        server = cpu_seconds(family(self._postgres)) if self._postgres else 0.0
        return server + time.process_time()


class Product:
    """Measures drift of the stored day; connections stay open between runs, as in a worker."""

    def __init__(self, stored: StoredDay) -> None:
        self._stored = stored
        self._bulk = BulkConnections(stored.place.url, Role.WORKER)
        self._held: list[pa.Table] = []
        self.measurements: list[Measurement] = []

    def drift(self) -> Run:
        """Rows to measurements: read, column counts by hour, merge, every drift method.

        What the profile job and the day's checks do for drift; the parts that serve other checks
        (serving, blocks for labels, samples, pairs) and the writing are left out.
        """
        watch = Watch(self._stored)
        with self._snapshot() as (yardsticks, chunks):
            gathered = self._counted(chunks, yardsticks)
        return watch.stopped(self._measured(gathered, yardsticks))

    def drift_from_memory(self) -> Run:
        """The same from rows that are in memory already, as the peers have them."""
        with self._snapshot() as (yardsticks, chunks):
            self._held = self._held or list(chunks)
        watch = Watch(self._stored)
        gathered = self._counted(self._held, yardsticks)
        return watch.stopped(self._measured(gathered, yardsticks))

    @contextmanager
    def _snapshot(self) -> Iterator[tuple[Yardsticks, Iterator[pa.Table]]]:
        stored, project = self._stored, self._stored.place.project_id
        model = stored.model.model_id
        with transaction(stored.place.engine, project, Role.WORKER, snapshot=True) as connection:
            yardsticks = load_yardsticks(connection, project, model)
            with request_chunks(
                connection, self._bulk, project, model, stored.hours, Grain.HOUR
            ) as chunks:
                yield yardsticks, chunks

    def _counted(self, chunks: Iterable[pa.Table], yardsticks: Yardsticks) -> Gathered:
        gathered = Gathered()
        for table in chunks:
            _count(gathered, table, self._stored.model, yardsticks)
        return gathered

    def _measured(self, gathered: Gathered, yardsticks: Yardsticks) -> int:
        """Make the measurements; how many rows they are of."""
        inputs = _inputs(self._stored, yardsticks, gathered)
        self.measurements = list(drift(inputs))
        return next(counts.n for _, counts in inputs.views())

    def whole_jobs(self) -> Run:
        """The profile job and the day's check job as they run in the worker, everything included.

        Beside drift: serving parts, prediction blocks, samples, pairs, the roll-up of the day, all
        other checks, alert rules, and writing all of it.
        """
        stored = self._stored
        project = stored.place.project_id
        with transaction(stored.place.engine, project, Role.WORKER) as connection:
            # The first time the marks that intake left are there; later they are made anew.
            remark_all(connection, project, stored.model.model_id, int(Grain.HOUR))
        done: list[JobReport] = []
        watch = Watch(stored)
        _runner(stored, self._bulk).tick(
            {PROFILE, CHECKS_DAY}, lambda _, report: done.append(report)
        )
        run = watch.stopped(stored.rows)
        windows = sum(report.done for report in done)
        # The day of the rows, and days after it on which nothing was sent.
        if any(report.failed for report in done) or windows < len(stored.hours) + 1:
            raise AssertionError(f"the jobs did {windows} windows: {done}")
        return run

    def close(self) -> None:
        """Close the connections."""
        self._bulk.close()


def measured_columns(found: Sequence[Measurement]) -> int:
    """How many columns have a measured drift."""
    return len({one.subject.column for one in found if isinstance(one.outcome, Measured)})


def _count(
    gathered: Gathered, table: pa.Table, model: ModelContext, yardsticks: Yardsticks
) -> None:
    rows = RequestRows.from_table(table, model.layout, model.contract)
    legs = table.column("leg").combine_chunks()
    groups = group_rows(rows, legs, np.zeros((len(rows), 0), np.int64), Grain.HOUR)
    if yardsticks.binning is None:
        raise AssertionError("the baseline made a binning")
    built = build_parts(
        rows, yardsticks.binning, model.contract, model.layout, groups.membership,
        len(groups.keys), {PartKind.COLUMNS},
    )  # fmt: skip
    gathered.add(groups.keys, built)


def _inputs(stored: StoredDay, yardsticks: Yardsticks, gathered: Gathered) -> PlanInputs:
    parts: list[Part] = [held[PartKind.COLUMNS] for held in gathered.parts.values()]
    return PlanInputs(
        contract=stored.model.contract,
        yardsticks=yardsticks,
        window=stored.window,
        leg=LIVE_LEG,
        deployment_ids=(stored.place.deployment_id,),
        segment_id=WHOLE,
        parts={PartKind.COLUMNS: merge(parts)},
        known_at=stored.window.end,
    )


def _runner(stored: StoredDay, bulk: BulkConnections) -> Runner:
    return Runner(
        engine=stored.place.engine,
        bulk=bulk,
        worker="benchmarks",
        public_url="http://127.0.0.1",
        clock=lambda: datetime.now(UTC),
        environment={},
        rng=random.Random(1),
    )
