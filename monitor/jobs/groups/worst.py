"""The group that does worst in a month whose labels are in: searched in labelled sampled rows.

A job of its own that follows the monthly checks: once the longest label delay has passed since the
month's end, and again whenever the month was measured again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from sqlalchemy.engine import Connection

from monitor.calendar import local_month
from monitor.checks.groups.worst import worst_group
from monitor.checks.registry import CheckName, entry
from monitor.checks.slice_counts import SliceColumn, coarse_column
from monitor.checks.slices import MAX_COLUMNS, SliceRows
from monitor.contract import Task
from monitor.jobs.base import JobContext, JobReport, run_claimed
from monitor.jobs.check_windows import save_measurements
from monitor.jobs.labelled_sample import JUDGED, LabelledSample, labelled_sample
from monitor.jobs.names import CHECKS_MONTH, WORST_GROUPS
from monitor.jobs.promise.sampled import cells_of, is_input
from monitor.measurement import Measurement, Outcome, Subject, TooFew
from monitor.profiles.arrays import Integers
from monitor.profiles.binning import Binning
from monitor.records import LIVE_LEG
from monitor.store.baselines import current_binning
from monitor.store.engine import Role, transaction
from monitor.store.following_windows import windows_to_follow
from monitor.store.job_windows import Claim, due_windows, finish, mark_due
from monitor.store.profile_rows import served_deployments
from monitor.windows import Window

METHOD = "worst_group"
MONTHS_AT_ONCE = 2


def search_due_months(context: JobContext) -> JobReport:
    """Search the months that are mature and were never searched, or measured since."""
    contract = context.contract
    if contract.label is None or contract.task not in JUDGED:
        return JobReport()
    project, model = context.project_id, context.model_id
    mature = local_month(context.now - contract.label.max_age, contract.time_zone).start
    with transaction(context.engine, project, Role.WORKER) as connection:
        behind = windows_to_follow(connection, project, model, WORST_GROUPS, CHECKS_MONTH, mature)
        mark_due(connection, project, model, WORST_GROUPS, behind)
        starts = due_windows(connection, project, model, WORST_GROUPS, mature, MONTHS_AT_ONCE)
    return run_claimed(context, WORST_GROUPS, starts, _search) if starts else JobReport()


def _search(context: JobContext, held: Claim) -> None:
    with transaction(context.engine, context.project_id, Role.WORKER, snapshot=True) as connection:
        found: list[Measurement] = []
        rows: dict[datetime, int] = {}
        for start in held.starts:
            window = local_month(start, context.contract.time_zone)
            measured = _measurements(connection, context, window)
            rows[start] = len(measured)
            found += measured
        save_measurements(connection, context, found)
        finish(connection, held, rows)


def _measurements(
    connection: Connection, context: JobContext, window: Window
) -> Sequence[Measurement]:
    """One measurement of everything that served the live leg; none when nothing did."""
    served = served_deployments(connection, context.project_id, context.model_id, window)
    if not served:
        return []
    known = entry(CheckName.GROUPS, METHOD)
    return [
        Measurement(
            check=known.check.value,
            method=known.method,
            method_version=known.version,
            subject=Subject(served, LIVE_LEG),
            window=window,
            outcome=_outcome(connection, context, window),
            unit="label" if context.contract.task is Task.REGRESSION else known.unit,
            direction=known.direction,
            known_at=context.now,
        )
    ]


def _outcome(connection: Connection, context: JobContext, window: Window) -> Outcome:
    binning = current_binning(connection, context.project_id, context.model_id)
    sample = labelled_sample(connection, context, window, LIVE_LEG)
    if binning is None or sample is None:
        return TooFew(0, 1, "baselines with sampled rows")
    columns, cells = _columns(context, binning.binning, sample)
    if not columns:
        return TooFew(0, 1, "columns to search")
    return worst_group(columns, SliceRows(cells, sample.entities, sample.loss))


def _columns(
    context: JobContext, binning: Binning, sample: LabelledSample
) -> tuple[list[SliceColumn], Integers]:
    """The inputs in coarse groups, and the cell numbers of the rows, int64[columns, n]."""
    inputs = [c for c in context.contract.columns if is_input(c, binning, [sample.table])]
    inputs = inputs[:MAX_COLUMNS]
    rows = [cells_of(sample.table[c.name], binning.views[c.name]) for c in inputs]
    columns = []
    for column, cells in zip(inputs, rows, strict=True):
        view = binning.views[column.name]
        counts = np.bincount(cells, minlength=view.n_cells).astype(np.int64)
        columns.append(coarse_column(column.name, view, counts))
    return columns, np.array(rows, np.int64).reshape(len(rows), len(sample))
