"""Traffic for the jobs, and their results read back."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.engine import Engine

from monitor.jobs.base import JobContext
from monitor.jobs.run import Runner
from monitor.profiles.part import PartKind
from monitor.records import RequestOutcome, ViolationReason
from monitor.store.bulk import BulkConnections
from monitor.store.engine import Role, make_engine, transaction
from monitor.store.models import ModelContext
from monitor.store.profile_rows import StoredProfile, read_profiles
from monitor.windows import Grain, Window
from tests.factories import START, request, rows_of

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
CITIES = ("Bonn", "Köln", "Aachen", None)


def traffic(
    start: datetime,
    hours: int,
    per_hour: int,
    *,
    seed: int = 0,
    deployments: Sequence[int] = (1,),
    prefix: str = "r",
) -> list[dict[str, Any]]:
    """Requests spread over hours, with nulls, violations and every kind of outcome among them."""
    rng = random.Random(seed)
    rows = []
    for number in range(hours * per_hour):
        at = start + timedelta(hours=number // per_hour, seconds=rng.randrange(3600))
        age = None if rng.random() < 0.1 else round(rng.gauss(40, 10), 3)
        failed = rng.random() < 0.05
        rows.append(
            request(
                f"{prefix}{seed}-{number}",
                at,
                age=age,
                city=rng.choice(CITIES),
                score=round(rng.random(), 6),
                ms=round(rng.lognormvariate(2, 0.5), 3),
                deployment=rng.choice(list(deployments)),
                outcome=RequestOutcome.FAILED if failed else RequestOutcome.ANSWERED,
                outcome_reason="timeout" if failed else None,
                violations=(("age", ViolationReason.NULL),) if age is None else (),
            )
        )
    return rows


def stored(
    engine: Engine,
    context: ModelContext,
    kind: PartKind,
    grain: Grain = Grain.HOUR,
    *,
    segments: Sequence[int] | None = (0,),
    days: int = 40,
) -> list[StoredProfile]:
    """All profiles of a kind and grain from START on."""
    with transaction(engine, context.project_id, Role.WORKER) as connection:
        return read_profiles(
            connection, context.project_id, context.model_id, kind, grain,
            Window(START - DAY, START + days * DAY), segment_ids=segments,
        )  # fmt: skip


def runs(engine: Engine, job: str) -> dict[datetime, int]:
    """How often each window of a job was done."""
    query = "select window_start, runs from job_window where job = :job order by 1"
    return dict(rows_of(engine, 1, query, job=job))


def problems(engine: Engine) -> list[Any]:
    """Windows that failed, or are not done."""
    query = "select job, window_start, state, error from job_window"
    return rows_of(engine, 1, f"{query} where failures > 0 or state <> 'done'")


def context_of(runner: Runner, model: ModelContext, **changes: Any) -> JobContext:
    """The context that the runner would give a job on this model, with changes."""
    made = JobContext(
        engine=runner.engine,
        bulk=runner.bulk,
        project="default",
        model=model,
        worker=runner.worker,
        now=runner.clock(),
        public_url=runner.public_url,
    )
    return replace(made, **changes)


def hours_of(rows: Iterable[dict[str, Any]]) -> set[datetime]:
    """The hours that rows lie in."""
    return {row["event_time"].replace(minute=0, second=0, microsecond=0) for row in rows}


@contextmanager
def another(runner: Runner, database_url: str, worker: str) -> Iterator[Runner]:
    """A second runner on the same database, with connections of its own."""

    engine, bulk = make_engine(database_url), BulkConnections(database_url, Role.WORKER)
    try:
        yield replace(runner, engine=engine, bulk=bulk, worker=worker)
    finally:
        bulk.close()
        engine.dispose()


def run_together(runners: list[Runner], turns: int = 1) -> list[BaseException]:
    """Run every runner's backlog at the same time; what went wrong."""
    failures: list[BaseException] = []
    barrier = threading.Barrier(len(runners))

    def work(mine: Runner) -> None:
        barrier.wait(20)
        try:
            for _ in range(turns):
                mine.catch_up()
        except BaseException as error:  # noqa: BLE001 -- shown by the caller's assertion
            failures.append(error)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in runners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures
