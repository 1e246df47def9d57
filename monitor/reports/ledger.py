"""What was planned and how it ended: checks by outcome, job windows by state."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.engine import Connection, Engine

from monitor.reports.database import reading
from monitor.reports.measurements import IDENTITY, scale_of
from monitor.store.tables import job_window, measurement
from monitor.windows import Window

DAYS_TOLD = frozenset({"1h", "6h", "day"})
"""Longer windows leave days without a beginning of their own: that is no gap."""


@dataclass(frozen=True)
class CheckLine:
    """One check at one window length. `gap_days`: days in which no such window was judged."""

    check: str
    scale: str
    measured: int
    too_few: int
    failed: int
    gap_days: int | None

    @property
    def windows(self) -> int:
        """All judgements."""
        return self.measured + self.too_few + self.failed


@dataclass(frozen=True)
class JobLine:
    """The windows of one job in a span."""

    job: str
    planned: int
    done: int
    failures: int
    last: datetime | None

    @property
    def unfinished(self) -> int:
        """Planned and not done."""
        return self.planned - self.done


@dataclass(frozen=True)
class Ledger:
    """Everything of one model and one span."""

    days: int
    checks: tuple[CheckLine, ...]
    jobs: tuple[JobLine, ...]


def ledger(
    engine: Engine, project_id: int, model_id: int, window: Window, known_by: datetime
) -> Ledger:
    """The ledger as known at a moment."""
    with reading(engine, project_id) as connection:
        return read_ledger(connection, project_id, model_id, window, known_by)


def read_ledger(
    connection: Connection, project_id: int, model_id: int, window: Window, known_by: datetime
) -> Ledger:
    """The same inside an open transaction."""
    days = max(0, -(-(min(window.end, known_by) - window.start) // timedelta(days=1)))
    return Ledger(
        days,
        _checks(connection, project_id, model_id, window, known_by, days),
        _jobs(connection, project_id, model_id, window, known_by),
    )


def _checks(
    connection: Connection, project_id: int, model_id: int, window: Window, known_by: datetime,
    days: int,
) -> tuple[CheckLine, ...]:  # fmt: skip
    row = measurement.c
    newest = (
        sa.select(row.check_name, row.state, row.window_start, row.window_end)
        .ext(distinct_on(*IDENTITY))
        .where(row.project_id == project_id, row.model_id == model_id)
        .where(row.window_start >= window.start, row.window_start < window.end)
        .where(row.window_end > window.start, row.known_at <= known_by)
        .order_by(*IDENTITY, row.known_at.desc())
        .subquery("newest")
    )
    each = newest.c
    scale = scale_of(each.window_start, each.window_end).label("scale")
    day = sa.func.date_trunc("day", each.window_start)
    query = sa.select(
        each.check_name, scale, each.state, sa.func.count().label("n"),
        sa.func.array_agg(sa.distinct(day)).label("days"),
    ).group_by(each.check_name, scale, each.state)  # fmt: skip
    counts: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    seen: dict[tuple[str, str], set[datetime]] = defaultdict(set)
    for found in connection.execute(query):
        key = (found.check_name, str(found.scale))
        counts[key][found.state] += found.n
        seen[key] |= set(found.days)
    return tuple(
        CheckLine(
            check, length, n["measured"], n["too_few"], n["failed"],
            max(0, days - len(seen[check, length])) if length in DAYS_TOLD else None,
        )
        for (check, length), n in sorted(counts.items())
    )  # fmt: skip


def _jobs(
    connection: Connection, project_id: int, model_id: int, window: Window, known_by: datetime
) -> tuple[JobLine, ...]:
    row = job_window.c
    done = sa.and_(row.state == "done", row.finished_at <= known_by)
    query = (
        sa.select(
            row.job, sa.func.count().label("planned"), sa.func.count().filter(done).label("done"),
            sa.func.sum(row.failures).label("failures"),
            sa.func.max(row.finished_at).filter(done).label("last"),
        )
        .where(row.project_id == project_id, row.model_id == model_id)
        .where(row.window_start >= window.start, row.window_start < window.end)
        .where(row.started_at <= known_by)
        .group_by(row.job)
        .order_by(row.job)
    )  # fmt: skip
    return tuple(
        JobLine(r.job, r.planned, r.done, int(r.failures), r.last)
        for r in connection.execute(query)
    )
