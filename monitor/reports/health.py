"""Whether Inferwatch itself works: intake, jobs, workers and messages owed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from monitor.reports.database import reading
from monitor.reports.paging import PAGE_SIZE, Page, fetch_page
from monitor.store.tables import delivery, heartbeat, intake_batch, job_window, model, rejection
from monitor.windows import Window

RECENT, LONGEST = timedelta(hours=24), timedelta(days=30)
WORKER_IS_LATE = timedelta(seconds=60)
WORKER_IS_GONE = timedelta(days=1)


@dataclass(frozen=True)
class IntakeHealth:
    """The newest batch of each kind, and what came in the last 24 hours (by arrival)."""

    last_requests: datetime | None
    last_labels: datetime | None
    accepted: int
    duplicate: int
    conflict: int
    rejected: int
    violations: int
    rejections: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class JobHealth:
    """One job: windows done in 24 hours and when the last one was, those that are not done.

    `overdue` windows run past their lease: a worker died. `last_finished` looks back 30 days.
    """

    job: str
    done: int = 0
    running: int = 0
    due: int = 0
    failed: int = 0
    overdue: int = 0
    last_finished: datetime | None = None


@dataclass(frozen=True)
class Worker:
    """A process that says it is alive."""

    name: str
    role: str
    beat_at: datetime
    is_late: bool


@dataclass(frozen=True)
class Outbox:
    """Messages owed: `late` ones are past their time, `dead` ones were given up in 7 days."""

    waiting: int
    late: int
    dead: int
    oldest_due: datetime | None
    last_sent: datetime | None


@dataclass(frozen=True)
class Health:
    """All four together, as of `now`."""

    intake: IntakeHealth
    jobs: tuple[JobHealth, ...]
    workers: tuple[Worker, ...]
    outbox: Outbox
    now: datetime


@dataclass(frozen=True)
class JobRun:
    """One window of one job."""

    model: str
    job: str
    window_start: datetime
    state: str
    worker: str
    runs: int
    failures: int
    rows_read: int | None
    finished_at: datetime | None
    error: str | None


@dataclass(frozen=True)
class JobRunFilter:
    """Which windows; empty means any."""

    states: tuple[str, ...] = ()
    job: str | None = None
    model: str | None = None


def health(engine: Engine, project_id: int, now: datetime) -> Health:
    """The state of the installation as far as this project sees it."""
    with reading(engine, project_id) as connection:
        return Health(
            intake=_intake(connection, project_id, now),
            jobs=_jobs(connection, project_id, now),
            workers=_workers(connection, now),
            outbox=_outbox(connection, project_id, now),
            now=now,
        )


def job_runs(
    engine: Engine, project_id: int, wanted: JobRunFilter, number: int, size: int = PAGE_SIZE
) -> Page[JobRun]:
    """One page of job windows, the newest first."""
    query = (
        sa.select(job_window, model.c.name.label("model_name"))
        .outerjoin(
            model,
            sa.and_(
                model.c.project_id == job_window.c.project_id, model.c.id == job_window.c.model_id
            ),
        )
        .where(job_window.c.project_id == project_id)
    )
    if wanted.states:
        query = query.where(job_window.c.state.in_(wanted.states))
    if wanted.job is not None:
        query = query.where(job_window.c.job == wanted.job)
    if wanted.model is not None:
        query = query.where(model.c.name == wanted.model)
    query = query.order_by(
        job_window.c.window_start.desc(), job_window.c.job, job_window.c.model_id
    )
    with reading(engine, project_id) as connection:
        return fetch_page(connection, query, number, _job_run, size)


def rejections(
    engine: Engine, project_id: int, window: Window, model_id: int | None = None
) -> tuple[tuple[str, int], ...]:
    """Rejected records that arrived in the window, by reason, the most frequent first."""
    with reading(engine, project_id) as connection:
        return _rejections(connection, project_id, window, model_id)


def _intake(connection: Connection, project_id: int, now: datetime) -> IntakeHealth:
    arrived = (
        sa.select(intake_batch.c.kind, sa.func.max(intake_batch.c.received_at))
        .where(intake_batch.c.project_id == project_id)
        .group_by(intake_batch.c.kind)
    )
    newest = {row[0]: row[1] for row in connection.execute(arrived)}
    names = ("accepted", "duplicate", "conflict", "rejected", "violations")
    sums = [sa.func.coalesce(sa.func.sum(intake_batch.c[name]), 0) for name in names]
    counts = connection.execute(
        sa.select(*sums).where(
            intake_batch.c.project_id == project_id, intake_batch.c.received_at > now - RECENT
        )
    ).one()
    day = Window(now - RECENT, now + timedelta(seconds=1))
    return IntakeHealth(
        last_requests=newest.get("requests"),
        last_labels=newest.get("labels"),
        **dict(zip(names, (int(count) for count in counts), strict=True)),
        rejections=_rejections(connection, project_id, day, None),
    )


def _rejections(
    connection: Connection, project_id: int, window: Window, model_id: int | None
) -> tuple[tuple[str, int], ...]:
    count = sa.func.count()
    query = sa.select(rejection.c.reason, count).where(
        rejection.c.project_id == project_id,
        rejection.c.received_at >= window.start,
        rejection.c.received_at < window.end,
    )
    if model_id is not None:
        query = query.where(rejection.c.model_id == model_id)
    query = query.group_by(rejection.c.reason).order_by(count.desc(), rejection.c.reason)
    return tuple((row[0], int(row[1])) for row in connection.execute(query))


def _jobs(connection: Connection, project_id: int, now: datetime) -> tuple[JobHealth, ...]:
    row, counted = job_window.c, sa.func.count
    lost = sa.and_(row.state == "running", row.lease_until < now)
    finished = (
        sa.select(
            row.job, counted().filter(row.finished_at > now - RECENT), sa.func.max(row.finished_at)
        )
        .where(row.project_id == project_id, row.state == "done", row.finished_at > now - LONGEST)
        .group_by(row.job)
    )
    waiting = (
        sa.select(
            row.job,
            *(counted().filter(row.state == name) for name in ("running", "due", "failed")),
            counted().filter(lost),
        )
        .where(row.project_id == project_id, row.state != "done")
        .group_by(row.job)
    )
    found: dict[str, dict[str, Any]] = {}
    for name, n, last in connection.execute(finished):
        found[name] = {"done": n, "last_finished": last}
    for name, running, due, failed, overdue in connection.execute(waiting):
        counts = {"running": running, "due": due, "failed": failed, "overdue": overdue}
        found[name] = found.get(name, {}) | counts
    return tuple(JobHealth(name, **found[name]) for name in sorted(found))


def _workers(connection: Connection, now: datetime) -> tuple[Worker, ...]:
    query = (
        sa.select(heartbeat)
        .where(heartbeat.c.beat_at > now - WORKER_IS_GONE)
        .order_by(heartbeat.c.role, heartbeat.c.worker)
    )
    return tuple(
        Worker(row.worker, row.role, row.beat_at, row.beat_at < now - WORKER_IS_LATE)
        for row in connection.execute(query)
    )


def _outbox(connection: Connection, project_id: int, now: datetime) -> Outbox:
    waiting = delivery.c.state == "waiting"
    late = sa.and_(waiting, delivery.c.due_at < now - timedelta(minutes=5))
    dead = sa.and_(delivery.c.state == "dead", delivery.c.created_at > now - timedelta(days=7))
    row = connection.execute(
        sa.select(
            sa.func.count().filter(waiting),
            sa.func.count().filter(late),
            sa.func.count().filter(dead),
            sa.func.min(delivery.c.due_at).filter(waiting),
            sa.func.max(delivery.c.finished_at).filter(delivery.c.state == "sent"),
        ).where(delivery.c.project_id == project_id)
    ).one()
    return Outbox(*row)


def _job_run(row: Any) -> JobRun:
    return JobRun(
        model=row.model_name or f"model {row.model_id}",
        job=row.job,
        window_start=row.window_start,
        state=row.state,
        worker=row.worker,
        runs=row.runs,
        failures=row.failures,
        rows_read=row.rows_read,
        finished_at=row.finished_at,
        error=row.error,
    )
