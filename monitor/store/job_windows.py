"""What must run is a row: (job, model, window), claimed with a lease and a fencing number.

Two schedulers, a kill or a week off lead to each window being done once: a claim is one statement,
and finishing demands the fence of the claim. A window marked due again while it runs makes its
finish fail, so nothing newer is ever covered up by something older.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import Insert, insert
from sqlalchemy.engine import Connection

from monitor.errors import LeaseLost
from monitor.store.tables import intake_mark, job_window

LEASE = timedelta(minutes=5)
MAX_ERROR_LENGTH = 500
RETRY_AFTER = timedelta(seconds=30)


@dataclass(frozen=True)
class Claim:
    """Windows of one job and model held by one worker, each with its fencing number."""

    project_id: int
    model_id: int
    job: str
    fences: Mapping[datetime, int]

    @property
    def starts(self) -> list[datetime]:
        return sorted(self.fences)


def marked_windows(
    connection: Connection,
    project_id: int,
    model_id: int,
    grain: int,
    closed_before: datetime,
    limit: int,
) -> list[datetime]:
    """Starts of windows with unread marks that ended before this moment, oldest first."""
    mark = intake_mark.c
    query = (
        sa.select(mark.window_start)
        .where(mark.project_id == project_id, mark.model_id == model_id, mark.grain == grain)
        .where(mark.window_start <= closed_before - timedelta(seconds=grain))
        .group_by(mark.window_start)
        .order_by(mark.window_start)
        .limit(limit)
    )
    return list(connection.scalars(query))


def due_windows(
    connection: Connection, project_id: int, model_id: int, job: str, before: datetime, limit: int
) -> list[datetime]:
    """Starts of windows that wait, failed, or were left by a dead worker; oldest first."""
    row = job_window.c
    waiting = sa.and_(row.state != "done", row.lease_until <= sa.func.now())
    query = (
        sa.select(row.window_start)
        .where(row.project_id == project_id, row.model_id == model_id, row.job == job, waiting)
        .where(row.window_start < before)
        .order_by(row.window_start)
        .limit(limit)
    )
    return list(connection.scalars(query))


def unfinished_windows(
    connection: Connection, project_id: int, model_id: int, job: str
) -> list[datetime]:
    """Starts of windows that are not done, whether they run, wait or failed; oldest first."""
    row = job_window.c
    query = (
        sa.select(row.window_start)
        .where(row.project_id == project_id, row.model_id == model_id, row.job == job)
        .where(row.state != "done")
        .order_by(row.window_start)
    )
    return list(connection.scalars(query))


def planned_windows(
    connection: Connection, project_id: int, model_id: int, job: str
) -> set[datetime]:
    """Starts of all windows of a job, whatever their state."""
    row = job_window.c
    query = sa.select(row.window_start).where(
        row.project_id == project_id, row.model_id == model_id, row.job == job
    )
    return set(connection.scalars(query))


def done_windows(
    connection: Connection,
    project_id: int,
    model_id: int,
    job: str,
    after: datetime,
    until: datetime,
) -> list[datetime]:
    """Starts of a job's done windows in (after, until]."""
    row = job_window.c
    query = (
        sa.select(row.window_start)
        .where(row.project_id == project_id, row.model_id == model_id, row.job == job)
        .where(row.state == "done", row.window_start > after, row.window_start <= until)
    )
    return list(connection.scalars(query))


def mark_due(
    connection: Connection,
    project_id: int,
    model_id: int,
    job: str,
    starts: Sequence[datetime],
    *,
    pause: timedelta = timedelta(0),
    only_labels: bool = False,
) -> None:
    """Say that windows must be (re)done; a run in progress will lose its fence.

    A window done before waits until `pause` after it was done; it stays due all the while.
    `only_labels`: the window's requests are those that it was done with (`relabelled_windows`).
    """
    if not starts:
        return
    statement = _rows(project_id, model_id, job, starts)
    earliest = sa.func.greatest(
        sa.func.now(), sa.func.coalesce(job_window.c.finished_at + pause, sa.func.now())
    )
    changes = {"state": "due", "fence": statement.excluded.fence, "lease_until": earliest}
    if not only_labels:
        changes["rows_read"] = sa.null()
    statement = statement.on_conflict_do_update(
        index_elements=["project_id", "model_id", "job", "window_start"], set_=changes
    )
    connection.execute(statement)


def relabelled_windows(connection: Connection, held: Claim) -> set[datetime]:
    """Windows of a claim of which nothing but labels changed since they were done.

    What a finished run read (`rows_read`) is forgotten when the requests of its window change.
    """
    row = job_window.c
    query = (
        sa.select(row.window_start)
        .where(
            row.project_id == held.project_id, row.model_id == held.model_id, row.job == held.job
        )
        .where(row.window_start.in_(held.starts), row.rows_read.is_not(None))
    )
    return set(connection.scalars(query))


def claim(
    connection: Connection,
    project_id: int,
    model_id: int,
    job: str,
    starts: Sequence[datetime],
    worker: str,
    *,
    done_too: bool = False,
) -> Claim:
    """Take those of the windows that nobody else holds; commit before working on them.

    `done_too` is for jobs whose work is told by marks: a window done before may have new ones.
    """
    if not starts:
        return Claim(project_id, model_id, job, {})
    running = {"state": "running", "worker": worker, "lease_until": sa.func.now() + LEASE}
    statement = _rows(project_id, model_id, job, starts, **running)
    new = statement.excluded
    statement = statement.on_conflict_do_update(
        index_elements=["project_id", "model_id", "job", "window_start"],
        set_={"state": "running", "fence": new.fence, "worker": new.worker, "error": None,
              "lease_until": new.lease_until, "started_at": new.started_at},
        where=sa.and_(
            sa.or_(job_window.c.state != "done", sa.literal(done_too)),
            sa.or_(job_window.c.state == "done", job_window.c.lease_until <= sa.func.now()),
        ),
    )  # fmt: skip
    taken = connection.execute(statement.returning(job_window.c.window_start, job_window.c.fence))
    return Claim(project_id, model_id, job, {row.window_start: row.fence for row in taken})


def finish(connection: Connection, held: Claim, rows_read: Mapping[datetime, int]) -> None:
    """Mark the windows done; raises LeaseLost, so that nothing commits, when one was taken away.

    A window left out of `rows_read` turned out to need no work and is not counted as a run.
    """
    worked = job_window.c.window_start.in_(list(rows_read)) if rows_read else sa.false()
    values = {
        "state": "done",
        "finished_at": sa.func.now(),
        "error": None,
        "runs": job_window.c.runs + sa.case((worked, 1), else_=0),
    }
    done = _update_held(connection, held, values, rows_read)
    if done != len(held.fences):
        lost = len(held.fences) - done
        raise LeaseLost(f"{held.job}: {lost} of {len(held.fences)} windows were taken over")


def fail(connection: Connection, held: Claim, error: str) -> None:
    """Record a failed run; the windows are tried again after a pause that doubles each time."""
    pause = RETRY_AFTER * sa.func.power(2, sa.func.least(job_window.c.failures, 7))
    values = {
        "state": "failed",
        "finished_at": sa.func.now(),
        "error": error[:MAX_ERROR_LENGTH],
        "failures": job_window.c.failures + 1,
        "lease_until": sa.func.now() + pause,
    }
    _update_held(connection, held, values)


def release(connection: Connection, held: Claim) -> None:
    """Give back what is still held, so that nobody waits for the lease to run out."""
    _update_held(connection, held, {"state": "due", "lease_until": sa.func.now()})


def _update_held(
    connection: Connection,
    held: Claim,
    values: Mapping[str, object],
    rows_read: Mapping[datetime, int] | None = None,
) -> int:
    """Change the rows still held; without `rows_read` what was read before stands."""
    starts, read = held.starts, rows_read or {}
    taken = (
        sa.func.unnest(
            sa.cast(starts, sa.ARRAY(sa.DateTime(timezone=True))),
            sa.cast([held.fences[start] for start in starts], sa.ARRAY(sa.BigInteger)),
            sa.cast([read.get(start, 0) for start in starts], sa.ARRAY(sa.BigInteger)),
        )
        .table_valued("start", "fence", "rows", name="taken")
        .render_derived()
    )
    row = job_window.c
    known = row.rows_read if rows_read is None else taken.c.rows
    statement = (
        sa.update(job_window)
        .values(**values, rows_read=known)
        .where(
            row.project_id == held.project_id, row.model_id == held.model_id, row.job == held.job
        )
        .where(
            row.window_start == taken.c.start, row.fence == taken.c.fence, row.state == "running"
        )
    )
    return connection.execute(statement).rowcount


def _rows(
    project_id: int, model_id: int, job: str, starts: Sequence[datetime], **values: object
) -> Insert:
    """An insert of one row a window, each with a fence of its own: due, unless told otherwise."""
    moments = sa.cast(sorted(set(starts)), sa.ARRAY(sa.DateTime(timezone=True)))
    window = sa.func.unnest(moments).column_valued("window_start")
    row: dict[str, Any] = {
        "project_id": sa.literal(project_id),
        "model_id": sa.literal(model_id),
        "job": sa.literal(job),
        "window_start": window,
        "state": sa.literal(values.get("state", "due")),
        "fence": sa.text("nextval('fence')"),
        "worker": sa.literal(values.get("worker", "")),
        "lease_until": values.get("lease_until", sa.func.now()),
    }
    return insert(job_window).from_select(list(row), sa.select(*row.values()))
