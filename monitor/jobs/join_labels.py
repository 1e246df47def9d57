"""The label job: late labels join the prediction blocks; touched windows get new labels parts.

Raw request rows are never read. A label whose request is not there, or that names no time while
its request id occurs at several, waits as an orphan.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from sqlalchemy.engine import Connection

from monitor.calendar import local_day, local_month
from monitor.jobs.base import JobContext, JobReport, run_claimed
from monitor.jobs.labels_of_blocks import (
    Blocks,
    join_blocks,
    label_reach,
    label_span,
    labels_profiles,
)
from monitor.jobs.names import CHECKS_DAY, CHECKS_MONTH, LABELS
from monitor.jobs.roll_up import roll_up_days
from monitor.profiles.label_arrays import LabelArrays
from monitor.profiles.label_join import UnmatchedReason
from monitor.profiles.part import PartKind
from monitor.store.baselines import current_binning
from monitor.store.engine import Role, transaction
from monitor.store.job_windows import Claim, finish, mark_due, unfinished_windows
from monitor.store.label_rows import keep_orphans
from monitor.store.locks import blocks_locked
from monitor.store.marks import LabelMark, delete_label_marks, read_label_marks
from monitor.store.profile_rows import read_blocks, write_blocks, write_profiles
from monitor.store.request_rows import labels_of_batch
from monitor.windows import Grain, Window

BATCHES_AT_ONCE = 100


def join_waiting_labels(context: JobContext) -> JobReport:
    """Join the oldest stored label batches that no block knows yet."""
    if context.contract.label is None:
        return JobReport()
    with transaction(context.engine, context.project_id, Role.WORKER) as connection:
        marks = read_label_marks(connection, context.project_id, context.model_id, 1)
        left = unfinished_windows(connection, context.project_id, context.model_id, LABELS)
    if not marks and not left:
        return JobReport()
    # A run that failed or died is finished before the hour gets one of its own.
    starts = left or [Window.holding(context.now, Grain.HOUR).start]
    return run_claimed(context, LABELS, starts, _join, done_too=True)


def _join(context: JobContext, held: Claim) -> None:
    project, model = context.project_id, context.model_id
    with (
        blocks_locked(context.engine, project, model),
        transaction(context.engine, project, Role.WORKER) as connection,
    ):
        marks = read_label_marks(connection, project, model, BATCHES_AT_ONCE)
        table = _read(context, marks)
        if table.num_rows:
            _join_table(connection, context, table, marks)
        delete_label_marks(connection, [mark.id for mark in marks])
        finish(connection, held, {held.starts[-1]: table.num_rows} if marks else {})


def _read(context: JobContext, marks: Sequence[LabelMark]) -> pa.Table:
    label = context.contract.label
    if label is None or not marks:
        return pa.table({"request_id": pa.array([], pa.string())})
    spans = [(mark.first_observed_at, mark.last_observed_at, mark.arrived_at) for mark in marks]
    return labels_of_batch(context.bulk, context.project_id, context.model_id, label.name, spans)


def _join_table(
    connection: Connection, context: JobContext, table: pa.Table, marks: Sequence[LabelMark]
) -> None:
    labels = LabelArrays.from_table(table, context.contract, context.model.hash_key)
    legs = np.array(table.column("leg").to_pylist())
    span = label_span(
        context,
        min(mark.first_observed_at for mark in marks),
        max(mark.last_observed_at for mark in marks),
    )
    blocks = read_blocks(connection, context.project_id, context.model_id, span)
    changed, matched, reasons = join_blocks(blocks, labels, legs, label_reach(context))
    _save(connection, context, changed)
    waiting = np.flatnonzero(~matched)
    keep_orphans(
        connection,
        context.model,
        table.take(pa.array(waiting)),
        labels.keys[waiting].tolist(),
        [reasons.get(place, UnmatchedReason.NO_REQUEST).value for place in waiting.tolist()],
    )


def _save(connection: Connection, context: JobContext, changed: Blocks) -> None:
    if not changed:
        return
    project, model = context.project_id, context.model_id
    binning = current_binning(connection, project, model)
    write_blocks(connection, project, model, changed)
    found = labels_profiles(context, changed, binning.binning if binning else None)
    write_profiles(connection, project, model, found)
    hours = sorted({key.window_start for key, _ in changed})
    roll_up_days(connection, context, hours, [PartKind.LABELS])
    zone, pause = context.contract.time_zone, context.revision_pause
    for job, span in ((CHECKS_DAY, local_day), (CHECKS_MONTH, local_month)):
        starts = [span(hour, zone).start for hour in hours]
        mark_due(connection, project, model, job, starts, pause=pause, only_labels=True)
