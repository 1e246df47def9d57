"""What was planned, what ran, what failed, what was too few: the run ledger of one model.

A run is one window of one job. Late and missing runs are bad news of their own: nothing failed, and
nothing was looked at either.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from monitor.checks.registry import CheckName
from monitor.reports.database import reading
from monitor.store.tables import intake_mark, job_window, measurement
from monitor.windows import Window

LATE_AFTER = timedelta(hours=1)
CHECKS = tuple(check.value for check in CheckName)


@dataclass(frozen=True)
class JobLine:
    """One job's windows that start in the days asked for. `late` ones are open past their lease."""

    job: str
    planned: int
    done: int
    failed: int
    waiting: int
    running: int
    late: int
    last_finished: datetime | None


@dataclass(frozen=True)
class FailedRun:
    """A window of a job that failed, with the reason as it was stored."""

    job: str
    window_start: datetime
    state: str
    failures: int
    error: str


@dataclass(frozen=True)
class CheckLine:
    """How one check's planned answers ended; the reasons are examples of their kind."""

    check: str
    measured: int
    too_few: int
    failed: int
    too_few_reason: str | None
    failed_reason: str | None

    @property
    def planned(self) -> int:
        """Every planned answer ends in one of the three."""
        return self.measured + self.too_few + self.failed


@dataclass(frozen=True)
class Missing:
    """Windows that hold requests and that no run has taken up since `LATE_AFTER`."""

    windows: int
    oldest: datetime | None


@dataclass(frozen=True)
class RunLedger:
    """All of it for one model and some days; `missing` is as of now, whatever the days."""

    jobs: tuple[JobLine, ...]
    failures: tuple[FailedRun, ...]
    checks: tuple[CheckLine, ...]
    missing: Missing

    @property
    def late(self) -> int:
        return sum(line.late for line in self.jobs)

    @property
    def failed(self) -> int:
        return sum(line.failed for line in self.jobs)


def run_ledger(
    engine: Engine, project_id: int, model_id: int, window: Window, now: datetime, shown: int = 20
) -> RunLedger:
    """Counts by job and check, the newest failures, and what no run has taken up."""
    with reading(engine, project_id) as connection:
        return RunLedger(
            jobs=_jobs(connection, project_id, model_id, window, now),
            failures=_failures(connection, project_id, model_id, window, shown),
            checks=_checks(connection, project_id, model_id, window),
            missing=_missing(connection, project_id, model_id, now),
        )


def _of_model(project_id: int, model_id: int, window: Window) -> tuple[sa.ColumnElement[bool], ...]:
    row = job_window.c
    return (
        row.project_id == project_id, row.model_id == model_id,
        row.window_start >= window.start, row.window_start < window.end,
    )  # fmt: skip


def _jobs(
    connection: Connection, project_id: int, model_id: int, window: Window, now: datetime
) -> tuple[JobLine, ...]:
    row, count = job_window.c, sa.func.count
    overdue = row.lease_until < now - LATE_AFTER
    query = (
        sa.select(
            row.job,
            count(),
            *(count().filter(row.state == state) for state in ("done", "failed", "due", "running")),
            count().filter(sa.and_(row.state.in_(("due", "running")), overdue)),
            sa.func.max(row.finished_at),
        )
        .where(*_of_model(project_id, model_id, window))
        .group_by(row.job)
        .order_by(row.job)
    )
    return tuple(JobLine(*found) for found in connection.execute(query))


def _failures(
    connection: Connection, project_id: int, model_id: int, window: Window, shown: int
) -> tuple[FailedRun, ...]:
    """Of windows that are not done; one that was done at a later try is no failure any more."""
    row = job_window.c
    query = (
        sa.select(row.job, row.window_start, row.state, row.failures, row.error)
        .where(*_of_model(project_id, model_id, window), row.state != "done")
        .where(sa.or_(row.state == "failed", row.error.is_not(None)))
        .order_by(row.window_start.desc(), row.job)
        .limit(shown)
    )
    return tuple(
        FailedRun(*found[:4], found.error or "no reason was stored")
        for found in connection.execute(query)
    )


def _checks(
    connection: Connection, project_id: int, model_id: int, window: Window
) -> tuple[CheckLine, ...]:
    """Naming all checks lets the index on check and window end be used."""
    row, count = measurement.c, sa.func.count
    states = ("measured", "too_few", "failed")
    query = (
        sa.select(
            row.check_name,
            *(count().filter(row.state == state) for state in states),
            *(sa.func.max(row.reason).filter(row.state == state) for state in states[1:]),
        )
        .where(row.project_id == project_id, row.model_id == model_id, row.check_name.in_(CHECKS))
        .where(row.window_end > window.start, row.window_end <= window.end)
        .group_by(row.check_name)
        .order_by(row.check_name)
    )
    return tuple(CheckLine(*found) for found in connection.execute(query))


def _missing(connection: Connection, project_id: int, model_id: int, now: datetime) -> Missing:
    mark = intake_mark.c
    end = mark.window_start + sa.func.make_interval(0, 0, 0, 0, 0, 0, mark.grain)
    open_windows = (
        sa.select(mark.grain, mark.window_start)
        .where(mark.project_id == project_id, mark.model_id == model_id, end < now - LATE_AFTER)
        .distinct()
        .subquery()
    )
    found = connection.execute(
        sa.select(sa.func.count(), sa.func.min(open_windows.c.window_start)).select_from(
            open_windows
        )
    ).one()
    return Missing(int(found[0]), found[1])
