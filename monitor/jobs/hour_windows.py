"""The check job of hours: how the hour was served, and how its deployments compare."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy.engine import Connection

from monitor.jobs.base import JobContext, JobReport, run_claimed
from monitor.jobs.check_windows import (
    inputs_of,
    load_yardsticks,
    save_measurements,
)
from monitor.jobs.contrast_windows import contrasts_of_hours
from monitor.jobs.names import CHECKS_HOUR
from monitor.jobs.plans.base import Yardsticks
from monitor.jobs.plans.serving import serving
from monitor.measurement import Measurement
from monitor.profiles.part import PartKind
from monitor.store.engine import Role, transaction
from monitor.store.job_windows import Claim, due_windows, finish
from monitor.store.profile_rows import read_profiles
from monitor.windows import Grain, Window

WINDOWS_AT_ONCE = 24 * 7


def check_due_hours(context: JobContext) -> JobReport:
    """Check the closed hours that are due, oldest first."""
    starts = due_hours(context, CHECKS_HOUR, WINDOWS_AT_ONCE)
    return run_claimed(context, CHECKS_HOUR, starts, _check) if starts else JobReport()


def due_hours(context: JobContext, job: str, limit: int) -> list[datetime]:
    """Starts of the closed hours of a job that are due, oldest first."""
    moment = context.now - context.contract.lateness.profiles
    before = Window.holding(moment, Grain.HOUR).start
    project, model = context.project_id, context.model_id
    with transaction(context.engine, project, Role.WORKER) as connection:
        return due_windows(connection, project, model, job, before, limit)


def _check(context: JobContext, held: Claim) -> None:
    project, model = context.project_id, context.model_id
    with transaction(context.engine, project, Role.WORKER, snapshot=True) as connection:
        yardsticks = load_yardsticks(connection, project, model)
        found = [
            *_served(connection, context, yardsticks, held.starts),
            *contrasts_of_hours(connection, context, yardsticks, held.starts),
        ]
        save_measurements(connection, context, found)
        finish(connection, held, dict.fromkeys(held.starts, 0))


def _served(
    connection: Connection, context: JobContext, yardsticks: Yardsticks, starts: list[datetime]
) -> Iterator[Measurement]:
    span = Window(starts[0], starts[-1] + Grain.HOUR.length)
    stored = read_profiles(
        connection, context.project_id, context.model_id, PartKind.SERVING, Grain.HOUR, span
    )
    for start in starts:
        window = Window(start, start + Grain.HOUR.length)
        mine = [one for one in stored if one.key.window_start == start]
        for inputs in inputs_of(context, yardsticks, window, mine):
            yield from serving(inputs)
