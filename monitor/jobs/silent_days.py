"""Days without a request are planned too: silence is measured, never left out.

A model that served lately gets a day check for every day that passes, with a request rate of zero
and everything else too few, so that rules can alert on it. After SILENT_FOR without any request it
counts as no longer in use and its days are planned no more.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy.engine import Connection

from monitor.calendar import local_day
from monitor.jobs.base import JobContext
from monitor.jobs.names import CHECKS_DAY
from monitor.store.job_windows import mark_due, planned_windows
from monitor.store.profile_rows import last_served, served_deployments
from monitor.windows import Window

SILENT_FOR = timedelta(days=35)
LATELY = timedelta(days=7)


def plan_silent_days(connection: Connection, context: JobContext, before: datetime) -> None:
    """Make days due that nobody planned, up to `before` and at most SILENT_FOR back from it."""
    project, model, zone = context.project_id, context.model_id, context.contract.time_zone
    planned = planned_windows(connection, project, model, CHECKS_DAY)
    served = last_served(connection, project, model)
    if not planned or served is None:
        return
    day = local_day(max(min(planned), before - SILENT_FOR), zone).start
    until, missing = min(before, served + SILENT_FOR), []
    while day < until:
        if day not in planned:
            missing.append(day)
        day = local_day(day, zone).end
    mark_due(connection, project, model, CHECKS_DAY, missing)


def silent_deployments(
    connection: Connection, context: JobContext, window: Window
) -> tuple[int, ...]:
    """Deployments that served on the live leg in the week before a window."""
    week = Window(window.start - LATELY, window.start)
    return served_deployments(connection, context.project_id, context.model_id, week)
