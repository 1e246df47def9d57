"""The daily job: estimates of closed days, and the errors of days whose labels are in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.calendar import local_day
from monitor.checks.registry import CheckName, entry
from monitor.contract import Task
from monitor.jobs.base import JobContext, JobReport, run_claimed
from monitor.jobs.check_windows import save_measurements
from monitor.jobs.estimates.bench import Bench
from monitor.jobs.estimates.classification import binary, multiclass
from monitor.jobs.estimates.cohorts import Cohort, cohorts_of
from monitor.jobs.estimates.history import FINAL_COVERAGE, LabelHistory
from monitor.jobs.estimates.realise import errors_of_day
from monitor.jobs.estimates.regression import regression
from monitor.jobs.labels_of_blocks import label_reach
from monitor.jobs.names import CHECKS_DAY, ESTIMATE_ERRORS, ESTIMATES
from monitor.measurement import Measurement, Outcome, Subject
from monitor.profiles.predictions import classes_of
from monitor.store.engine import Role, transaction
from monitor.store.job_windows import Claim, due_windows, finish, mark_due, planned_windows
from monitor.store.tables import prediction_block
from monitor.windows import Window

DAYS_AT_ONCE = 7
LOOKED_CLOSELY = timedelta(days=3)
"""Reweighting asks a classifier, which takes a tenth of a second a day: only the newest days of a
backlog are worth it. A job that runs daily looks closely at every day."""
LOOK_BACK = timedelta(days=400)


def estimate_due_days(context: JobContext) -> JobReport:
    """Errors of matured days first, so that newer days know them; then a few closed days."""
    if not is_estimated(context):
        return JobReport()
    before = local_day(
        context.now - context.contract.lateness.profiles, context.contract.time_zone
    ).start
    with transaction(context.engine, context.project_id, Role.WORKER) as connection:
        _plan(connection, context, before)
        errors, days = (
            due_windows(connection, context.project_id, context.model_id, job, before, DAYS_AT_ONCE)
            for job in (ESTIMATE_ERRORS, ESTIMATES)
        )
    report = run_claimed(context, ESTIMATE_ERRORS, errors, _check) if errors else JobReport()
    return report + (run_claimed(context, ESTIMATES, days, _estimate) if days else JobReport())


def is_estimated(context: JobContext) -> bool:
    """Whether estimates apply: a declared label, and a task that has a method."""
    contract = context.contract
    if contract.label is None:
        return False
    if contract.task is Task.MULTICLASS:
        return bool(classes_of(contract))
    return contract.task in (Task.BINARY, Task.REGRESSION)


def _plan(connection: Connection, context: JobContext, before: datetime) -> None:
    """Make days due: estimates of days that are checked, errors of those whose labels are final."""
    project, model = context.project_id, context.model_id
    checked, estimated, compared = (
        planned_windows(connection, project, model, job)
        for job in (CHECKS_DAY, ESTIMATES, ESTIMATE_ERRORS)
    )
    lately = {day for day in checked if context.now - LOOK_BACK <= day < before}
    mark_due(connection, project, model, ESTIMATES, sorted(lately - estimated))
    waiting = sorted(estimated - compared)
    mark_due(connection, project, model, ESTIMATE_ERRORS, _matured(connection, context, waiting))


def _matured(
    connection: Connection, context: JobContext, waiting: list[datetime]
) -> list[datetime]:
    """Days whose labels are final: by age, or because 98 % of the requests have one."""
    zone, reach = context.contract.time_zone, label_reach(context)
    windows = [local_day(day, zone) for day in waiting]
    old = [one.start for one in windows if one.end + reach <= context.now]
    young = [one for one in windows if one.end + reach > context.now]
    if not young:
        return old
    row = prediction_block.c
    query = sa.select(row.window_start, sa.func.sum(row.n), sa.func.sum(row.labelled)).where(
        row.project_id == context.project_id, row.model_id == context.model_id,
        row.window_start >= young[0].start, row.window_start < young[-1].end,
    ).group_by(row.window_start)  # fmt: skip
    hours = [(at, int(n), int(labelled)) for at, n, labelled in connection.execute(query)]
    return old + [one.start for one in young if _is_covered(one, hours)]


def _is_covered(window: Window, hours: Iterable[tuple[datetime, int, int]]) -> bool:
    inside = [(n, labelled) for at, n, labelled in hours if window.start <= at < window.end]
    total = sum(n for n, _ in inside)
    return total > 0 and sum(labelled for _, labelled in inside) >= FINAL_COVERAGE * total


def _estimate(context: JobContext, held: Claim) -> None:
    close = context.now - context.contract.lateness.profiles - LOOKED_CLOSELY
    with transaction(context.engine, context.project_id, Role.WORKER, snapshot=True) as connection:
        bench = Bench(connection, context, LabelHistory(connection, context))
        found: list[Measurement] = []
        rows: dict[datetime, int] = {}
        for start in held.starts:
            window = local_day(start, context.contract.time_zone)
            cohorts = cohorts_of(connection, context, window)
            rows[start] = len(cohorts)
            for cohort in cohorts:
                outcomes = _outcomes(bench, cohort, look_closely=window.end > close)
                found += _measurements(context, cohort, outcomes)
        save_measurements(connection, context, found)
        finish(connection, held, rows)


def _outcomes(bench: Bench, cohort: Cohort, *, look_closely: bool) -> dict[str, Outcome]:
    errors = bench.errors(cohort)
    match bench.context.contract.task:
        case Task.BINARY:
            return binary(bench, cohort, errors, look_closely=look_closely)
        case Task.MULTICLASS:
            return multiclass(bench, cohort, errors)
        case _:
            return regression(bench, cohort, errors, look_closely=look_closely)


def _check(context: JobContext, held: Claim) -> None:
    with transaction(context.engine, context.project_id, Role.WORKER, snapshot=True) as connection:
        bench = Bench(connection, context, LabelHistory(connection, context))
        found: list[Measurement] = []
        rows: dict[datetime, int] = {}
        for start in held.starts:
            window = local_day(start, context.contract.time_zone)
            compared = list(errors_of_day(bench, window))
            rows[start] = len(compared)
            for cohort, outcomes in compared:
                found += _measurements(context, cohort, outcomes)
        save_measurements(connection, context, found)
        finish(connection, held, rows)


def _measurements(
    context: JobContext, cohort: Cohort, outcomes: Mapping[str, Outcome]
) -> list[Measurement]:
    found = []
    for method, outcome in outcomes.items():
        known = entry(CheckName.ESTIMATE, method)
        found.append(
            Measurement(
                check=known.check.value,
                method=known.method,
                method_version=known.version,
                subject=Subject(cohort.deployment_ids, cohort.leg),
                window=cohort.window,
                outcome=outcome,
                unit=known.unit,
                direction=known.direction,
                known_at=context.now,
            )
        )
    return found
