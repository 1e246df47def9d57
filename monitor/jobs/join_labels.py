"""The label job: late labels join the prediction blocks; touched windows get new labels parts.

Raw request rows are never read. A label whose request is not there, or that names no time while
its request id occurs at several, waits as an orphan. Blocks are read twice, a day at a time: first
to find which labels have a request where, then to join the days that labels touch. In memory are
the labels of one run (LABELS_AT_ONCE, about 200 bytes each), the pairs found and a day of blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
import pyarrow as pa
from sqlalchemy.engine import Connection

from monitor.calendar import local_day, local_month
from monitor.jobs.base import JobContext, JobReport, run_claimed
from monitor.jobs.label_join import Blocks, LabelJoin, Pairs
from monitor.jobs.labels_of_blocks import label_reach, label_span, labels_profiles
from monitor.jobs.names import CHECKS_DAY, CHECKS_MONTH, LABELS
from monitor.jobs.roll_up import roll_up_days
from monitor.jobs.signals.plan import mark_touched_days
from monitor.profiles.binning import Binning
from monitor.profiles.label_arrays import LabelArrays
from monitor.profiles.label_join import UnmatchedReason
from monitor.profiles.part import PartKind
from monitor.store.baselines import current_binning
from monitor.store.engine import Role, transaction
from monitor.store.job_windows import Claim, finish, mark_due, unfinished_windows
from monitor.store.label_rows import keep_orphans
from monitor.store.locks import blocks_locked
from monitor.store.marks import LabelMark, delete_label_marks, read_label_marks
from monitor.store.profile_rows import BlockKey, read_blocks, write_blocks, write_profiles
from monitor.store.request_rows import labels_of_batch
from monitor.windows import Grain, Window

LABELS_AT_ONCE = 1_000_000
WAITING_AT_ONCE = 50_000


def join_waiting_labels(context: JobContext) -> JobReport:
    """Join the oldest stored label batches that no block knows yet."""
    if context.contract.label is None and not context.contract.signals:
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
        marks = read_label_marks(connection, project, model, LABELS_AT_ONCE)
        table = _read(context, marks)
        if table.num_rows:
            _join_table(connection, context, table, marks)
        mark_touched_days(connection, context, marks)
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
    legs = table.column("leg").combine_chunks()
    joining = LabelJoin(labels, legs, label_reach(context))
    first = min(mark.first_observed_at for mark in marks)
    last = max(mark.last_observed_at for mark in marks)
    span = label_span(context, first, last)
    hours: list[datetime] = []
    days = [(day, joining.look(_blocks(connection, context, day))) for day in _days(span)]
    binning = current_binning(connection, context.project_id, context.model_id)
    for day, pairs in days:
        if len(pairs):
            hours += _join_day(
                connection, context, joining, day, pairs, binning.binning if binning else None
            )
    _say_what_is_due(connection, context, hours)
    _let_wait(connection, context, table, labels, joining)


def _days(span: Window) -> list[Window]:
    """The UTC days in which the hours of a span lie."""
    return list(span.split(Grain.DAY))


def _blocks(connection: Connection, context: JobContext, day: Window) -> Blocks:
    return read_blocks(connection, context.project_id, context.model_id, day)


def _join_day(
    connection: Connection,
    context: JobContext,
    joining: LabelJoin,
    day: Window,
    pairs: Pairs,
    binning: Binning | None,
) -> list[datetime]:
    """Join and save one day; the hours that changed."""
    blocks = _blocks(connection, context, day)
    changed = dict(joining.join(blocks, pairs))
    if not changed:
        return []
    project, model = context.project_id, context.model_id
    write_blocks(connection, project, model, changed.items())
    hours = sorted({key.window_start for key in changed})
    # The roll-up adds up whole hours, so their blocks without a new label are counted as well.
    whole = {key: changed.get(key, block) for key, block in blocks if key.window_start in hours}
    found = labels_profiles(context, whole.items(), binning)
    mine = [
        one
        for one in found
        if BlockKey(one.key.window_start, one.key.deployment_id, one.key.leg) in changed
    ]
    write_profiles(connection, project, model, mine)
    roll_up_days(connection, context, hours, [PartKind.LABELS], found)
    return hours


def _say_what_is_due(
    connection: Connection, context: JobContext, hours: Sequence[datetime]
) -> None:
    zone, pause = context.contract.time_zone, context.revision_pause
    for job, span in ((CHECKS_DAY, local_day), (CHECKS_MONTH, local_month)):
        starts = sorted({span(hour, zone).start for hour in hours})
        mark_due(
            connection, context.project_id, context.model_id, job, starts,
            pause=pause, only_labels=True,
        )  # fmt: skip


def _let_wait(
    connection: Connection,
    context: JobContext,
    table: pa.Table,
    labels: LabelArrays,
    joining: LabelJoin,
) -> None:
    waiting = np.flatnonzero(~joining.matched)
    for start in range(0, len(waiting), WAITING_AT_ONCE):
        some = waiting[start : start + WAITING_AT_ONCE]
        reasons = [joining.reasons.get(one, UnmatchedReason.NO_REQUEST) for one in some.tolist()]
        keep_orphans(
            connection,
            context.model,
            table.take(pa.array(some)),
            labels.keys[some].tolist(),
            [reason.value for reason in reasons],
        )
