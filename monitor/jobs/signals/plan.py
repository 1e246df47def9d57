"""Which days are due: each new day, all days that grow older, and those that late records touch.

A day of requests is measured once a day until the longest `max_age` of its signals has passed,
because silence tells more each day; after that only when records of it arrive.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy.engine import Connection

from monitor.calendar import local_day
from monitor.jobs.base import JobContext
from monitor.jobs.names import SIGNALS, SIGNALS_PLAN
from monitor.store.job_windows import claim, finish, mark_due, planned_windows
from monitor.store.marks import LabelMark
from monitor.store.signals import hours_with_requests, observed_spans
from monitor.windows import Window

GRACE = timedelta(days=1)


def longest_age(context: JobContext) -> timedelta:
    """The longest time after a request in which any of the signals may come."""
    return max((signal.max_age for signal in context.contract.signals), default=timedelta(0))


def newest_end(context: JobContext) -> datetime:
    """Days that ended by then are closed."""
    return context.now - context.contract.lateness.profiles


def plan_days(connection: Connection, context: JobContext) -> None:
    """Make due: days that are new, and once a day those that still grow older.

    Days of any age that were never measured (a backfill) are looked for once a day, those within
    the longest age at every run.
    """
    project, model, zone = context.project_id, context.model_id, context.contract.time_zone
    today = local_day(newest_end(context), zone)
    horizon = today.start - longest_age(context) - GRACE
    planned = planned_windows(connection, project, model, SIGNALS)
    recent = days_of(connection, context, Window(horizon, today.start))
    held = claim(connection, project, model, SIGNALS_PLAN, [today.start], context.worker)
    if held.fences:
        every = days_of(connection, context, None)
        due = [day for day in every if day < today.start and (day >= horizon or day not in planned)]
        mark_due(connection, project, model, SIGNALS, due)
        finish(connection, held, {today.start: len(due)})
    else:
        new = [day for day in recent if day not in planned]
        mark_due(connection, project, model, SIGNALS, new)


def days_of(connection: Connection, context: JobContext, window: Window | None) -> list[datetime]:
    """Starts of the days that have requests, oldest first."""
    hours = hours_with_requests(connection, context.project_id, context.model_id, window)
    zone = context.contract.time_zone
    return sorted({local_day(hour, zone).start for hour in hours})


def mark_touched_days(
    connection: Connection, context: JobContext, marks: Sequence[LabelMark]
) -> None:
    """Make days due whose requests the signals in these batches may be about."""
    contract, zone = context.contract, context.contract.time_zone
    ages = {signal.name: signal.max_age for signal in contract.signals}
    spans = observed_spans(connection, context.project_id, context.model_id, list(ages), marks)
    if not spans:
        return
    first = min(start - ages[name] for name, (start, _) in spans.items())
    last = min(max(end for _, end in spans.values()), context.now)
    if first >= last:
        return
    reached = Window(local_day(first, zone).start, local_day(last, zone).end)
    days = days_of(connection, context, reached)
    mark_due(
        connection, context.project_id, context.model_id, SIGNALS, days,
        pause=context.revision_pause,
    )  # fmt: skip
