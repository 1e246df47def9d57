"""The label job: late labels join the prediction blocks; touched windows get new labels parts.

Raw request rows are never read. A label whose request is not there, or that names no time while
its request id occurs at several, waits as an orphan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from sqlalchemy.engine import Connection

from monitor.calendar import local_day, local_month
from monitor.jobs.base import JobContext, JobReport, run_claimed
from monitor.jobs.labels_of_blocks import label_span, labels_profiles
from monitor.jobs.names import CHECKS_DAY, CHECKS_MONTH, LABELS
from monitor.jobs.roll_up import roll_up_days
from monitor.profiles.block import PredictionBlock
from monitor.profiles.label_arrays import NO_TIME, LabelArrays
from monitor.profiles.label_join import UnmatchedReason, join_labels
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

BATCHES_AT_ONCE = 100
Integers = np.ndarray[Any, np.dtype[np.int64]]
Blocks = list[tuple[BlockKey, PredictionBlock]]


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
    changed, matched, reasons = _join_blocks(blocks, labels, legs)
    _save(connection, context, changed)
    waiting = np.flatnonzero(~matched)
    keep_orphans(
        connection,
        context.model,
        table.take(pa.array(waiting)),
        labels.keys[waiting].tolist(),
        [reasons.get(place, UnmatchedReason.NO_REQUEST).value for place in waiting.tolist()],
    )


def _join_blocks(
    blocks: Blocks, labels: LabelArrays, legs: np.ndarray[Any, Any]
) -> tuple[Blocks, np.ndarray[Any, np.dtype[np.bool_]], dict[int, UnmatchedReason]]:
    """Blocks that labels changed, which labels found their request, and why others did not."""
    label_of, block_of = _candidates(blocks, labels, legs)
    matched = np.zeros(len(labels), bool)
    places, times = np.unique(label_of, return_counts=True)
    several = places[(times > 1) & (labels.event_time[places] == NO_TIME)]
    reasons = dict.fromkeys(several.tolist(), UnmatchedReason.AMBIGUOUS)
    usable = ~np.isin(label_of, several)
    label_of, block_of = label_of[usable], block_of[usable]
    changed: Blocks = []
    for number, mine in _by_block(block_of, label_of):
        key, block = blocks[number]
        wanted = np.unique(mine)
        result = join_labels(block, labels.take(wanted))
        matched[wanted[result.matched]] = True
        missed = wanted[result.unmatched.places].tolist()
        reasons.update(zip(missed, result.unmatched.reasons, strict=True))
        if result.block is not block:
            changed.append((key, result.block))
    return changed, matched, reasons


def _by_block(block_of: Integers, label_of: Integers) -> Iterator[tuple[int, Integers]]:
    """Each block that some label may belong to, with the places of those labels."""
    order = np.argsort(block_of, kind="stable")
    touched, starts = np.unique(block_of[order], return_index=True)
    if len(touched):
        yield from zip(touched.tolist(), np.split(label_of[order], starts[1:]), strict=True)


def _candidates(
    blocks: Blocks, labels: LabelArrays, legs: np.ndarray[Any, Any]
) -> tuple[Integers, Integers]:
    """Pairs (label, block) that share a request id and a leg, one a row of the block."""
    if not blocks:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    keys = np.concatenate([block.keys for _, block in blocks])
    owner = np.repeat(np.arange(len(blocks)), [len(block) for _, block in blocks])
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    by_key = np.argsort(labels.keys, kind="stable")
    first, last = np.empty(len(labels), np.int64), np.empty(len(labels), np.int64)
    first[by_key] = np.searchsorted(ordered, labels.keys[by_key], "left")
    last[by_key] = np.searchsorted(ordered, labels.keys[by_key], "right")
    counts = last - first
    label_of = np.repeat(np.arange(len(labels)), counts)
    within = np.arange(len(label_of)) - np.repeat(np.cumsum(counts) - counts, counts)
    block_of = owner[order[np.repeat(first, counts) + within]]
    block_legs = np.array([key.leg for key, _ in blocks])
    same = legs[label_of] == block_legs[block_of]
    return label_of[same], block_of[same]


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
        mark_due(connection, project, model, job, starts, pause=pause)
