"""The run ledger: what was planned, what ran and how it ended. Silence is told as missing."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on

from monitor.documents.material import Material
from monitor.documents.parts import Column, Drafting, Kind, Row, Section, Voice
from monitor.reports.measurements import IDENTITY, scale_of
from monitor.store.tables import job_window, measurement

CHECKS = (
    Column("check", "Check"), Column("scale", "Window"),
    Column("windows", "Windows judged", Kind.WHOLE), Column("measured", "Measured", Kind.WHOLE),
    Column("too_few", "Too few", Kind.WHOLE), Column("failed", "Failed", Kind.WHOLE),
    Column("days_without", "Days without outcome", Kind.WHOLE),
)  # fmt: skip
JOBS = (
    Column("job", "Job"), Column("planned", "Windows planned", Kind.WHOLE),
    Column("done", "Finished", Kind.WHOLE), Column("open", "Not finished", Kind.WHOLE),
    Column("failures", "Failed attempts", Kind.WHOLE), Column("last", "Last finished", Kind.MOMENT),
)  # fmt: skip


def section(material: Material) -> Section:
    """Checks by outcome, jobs by state."""
    draft = Drafting("runs", "Run ledger: planned and done")
    rows = _checks(material)
    days = _days(material)
    draft.say(
        f"The period has {days} days. A day without outcome is one in which no window of that"
        " length began that was judged."
    )
    if not rows:
        draft.say("No check ran in this period.", Voice.BAD)
    draft.table("checks", "Checks", CHECKS, [_ledger(row, days) for row in rows])
    jobs = _jobs(material)
    unfinished = sum(int(row[3]) for row in jobs)
    if unfinished:
        draft.say(f"{unfinished:,} windows of jobs were not finished.", Voice.BAD)
    draft.table("jobs", "Jobs", JOBS, jobs)
    return draft.done()


def _ledger(row: tuple[str, str, int, int, int, int, int], days: int) -> Row:
    """Longer windows than a day leave days without a beginning of their own: no gap."""
    gap = max(0, days - row[-1]) if row[1] == "day" or row[1] in ("1h", "6h") else None
    return (*row[:-1], gap)


def _days(material: Material) -> int:
    end = min(material.period.end, material.known_by)
    return max(0, -(-(end - material.period.start) // timedelta(days=1)))


def _checks(material: Material) -> list[tuple[str, str, int, int, int, int, int]]:
    row = measurement.c
    newest = (
        sa.select(row.check_name, row.state, row.window_start, row.window_end)
        .ext(distinct_on(*IDENTITY))
        .where(
            row.project_id == material.project_id,
            row.model_id == material.model_id,
            row.window_start >= material.period.start,
            row.window_start < material.period.end,
            row.known_at <= material.known_by,
        )
        .order_by(*IDENTITY, row.known_at.desc())
        .subquery("newest")
    )
    each = newest.c
    scale = scale_of(each.window_start, each.window_end).label("scale")
    query = sa.select(
        each.check_name, scale, each.state, sa.func.count().label("n"),
        sa.func.array_agg(sa.distinct(sa.func.date_trunc("day", each.window_start))).label("days"),
    ).group_by(each.check_name, scale, each.state)  # fmt: skip
    counts: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    days: dict[tuple[str, str], set[object]] = defaultdict(set)
    for found in material.connection.execute(query):
        key = (found.check_name, str(found.scale))
        counts[key][found.state] += found.n
        days[key] |= set(found.days)
    return [
        (
            check.replace("_", " "), length, sum(n.values()), n["measured"], n["too_few"],
            n["failed"], len(days[check, length]),
        )
        for (check, length), n in sorted(counts.items())
    ]  # fmt: skip


def _jobs(material: Material) -> list[tuple[str, int, int, int, int, datetime | None]]:
    row = job_window.c
    done = sa.and_(row.state == "done", row.finished_at <= material.known_by)
    query = (
        sa.select(
            row.job, sa.func.count().label("planned"),
            sa.func.count().filter(done).label("done"), sa.func.sum(row.failures).label("failures"),
            sa.func.max(row.finished_at).filter(done).label("last"),
        )
        .where(
            row.project_id == material.project_id,
            row.model_id == material.model_id,
            row.window_start >= material.period.start,
            row.window_start < material.period.end,
            row.started_at <= material.known_by,
        )
        .group_by(row.job)
        .order_by(row.job)
    )  # fmt: skip
    return [
        (r.job.replace("_", " "), r.planned, r.done, r.planned - r.done, int(r.failures), r.last)
        for r in material.connection.execute(query)
    ]
