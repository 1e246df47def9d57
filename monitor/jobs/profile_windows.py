"""The profile job: reads the raw rows of closed windows once and writes everything checks read.

One repeatable-read transaction reads marks and rows: both are of the same moment. Another one,
inside it, writes profiles, blocks, samples and day roll-ups, says which checks are due, demands its
fence and deletes exactly the marks that were read. It reads what is committed by then, so that the
other workers, who all the time change which windows are due, can't make it fail.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
from sqlalchemy.engine import Connection

from monitor.calendar import local_day, local_month
from monitor.jobs.base import JobContext, JobReport, run_claimed
from monitor.jobs.contrast_windows import LONG
from monitor.jobs.first_baseline import binning_for
from monitor.jobs.grouping import (
    WHOLE,
    GroupKey,
    Groups,
    group_rows,
    numbered_segments,
    segment_numbers,
)
from monitor.jobs.labels_of_blocks import BlockBuilder
from monitor.jobs.names import CHECKS_DAY, CHECKS_HOUR, CHECKS_MONTH, PROFILE, WATCH
from monitor.jobs.roll_up import roll_up_days
from monitor.jobs.samples import SampleBuilder
from monitor.profiles.build import build_parts
from monitor.profiles.part import Part, PartKind, merge
from monitor.profiles.rows import RequestRows
from monitor.profiles.serving import build_serving_parts
from monitor.store.baselines import StoredBinning
from monitor.store.engine import Role, transaction
from monitor.store.job_windows import Claim, done_windows, finish, mark_due, marked_windows
from monitor.store.locks import blocks_locked
from monitor.store.marks import delete_marks, read_marks
from monitor.store.profile_rows import (
    ProfileKey,
    StoredProfile,
    segment_number,
    segments,
    write_profiles,
)
from monitor.store.request_rows import expired_windows, request_chunks
from monitor.windows import Grain

log = logging.getLogger("inferwatch.jobs")
WINDOWS_AT_ONCE = 24 * 14
NO_BINNING = 0


@dataclass
class Gathered:
    """Parts of all groups seen so far, added up over the chunks of rows."""

    parts: dict[GroupKey, dict[PartKind, Part]] = field(default_factory=dict)
    rows: dict[datetime, int] = field(default_factory=dict)

    def add(self, keys: tuple[GroupKey, ...], built: list[dict[PartKind, Part]]) -> None:
        for key, parts in zip(keys, built, strict=True):
            held = self.parts.setdefault(key, {})
            for kind, part in parts.items():
                held[kind] = merge([held[kind], part]) if kind in held else part


def profile_due_windows(context: JobContext) -> JobReport:
    """Profile the closed hours that have unread marks, oldest first."""
    closed_before = context.now - context.contract.lateness.profiles
    with transaction(context.engine, context.project_id, Role.WORKER) as connection:
        starts = marked_windows(
            connection, context.project_id, context.model_id, int(Grain.HOUR), closed_before,
            WINDOWS_AT_ONCE,
        )  # fmt: skip
    return run_claimed(context, PROFILE, starts, _profile, done_too=True) if starts else JobReport()


def _profile(context: JobContext, held: Claim) -> None:
    project, model = context.project_id, context.model_id
    with (
        blocks_locked(context.engine, project, model),
        transaction(context.engine, project, Role.WORKER, snapshot=True) as reader,
        transaction(context.engine, project, Role.WORKER) as connection,
    ):
        marks = read_marks(reader, project, model, int(Grain.HOUR), held.starts)
        needed = without_expired(connection, context, sorted(marks.rows), Grain.HOUR)
        rows: dict[datetime, int] = {}
        if needed:
            binning = binning_for(connection, context)
            gathered = _gather(connection, reader, context, needed, binning)
            rows = {start: gathered.rows.get(start, 0) for start in needed}
            _say_what_is_due(connection, context, needed)
        delete_marks(connection, marks.ids)
        finish(connection, held, rows)


def without_expired(
    connection: Connection, context: JobContext, starts: list[datetime], grain: Grain
) -> list[datetime]:
    """Windows that can be counted again: not those whose rows retention has dropped."""
    expired = expired_windows(connection, context.project_id, context.model_id, starts, grain)
    if expired:
        log.warning(
            "late requests left out, the window's other requests have expired windows=%d oldest=%s",
            len(expired), min(expired).isoformat(),
        )  # fmt: skip
    return [start for start in starts if start not in expired]


def _gather(
    connection: Connection,
    reader: Connection,
    context: JobContext,
    starts: list[datetime],
    binning: StoredBinning | None,
) -> Gathered:
    project, model = context.project_id, context.model_id
    gathered = Gathered()
    blocks, samples = BlockBuilder(context), SampleBuilder(context)
    number_of = numbered_segments(
        segments(connection, project, model),
        lambda definition: segment_number(connection, project, model, definition),
    )
    with request_chunks(reader, context.bulk, project, model, starts, Grain.HOUR) as chunks:
        for table in chunks:
            rows = RequestRows.from_table(table, context.model.layout, context.contract)
            legs = _one_array(table, "leg")
            wide = segment_numbers(
                rows, context.contract, binning.binning if binning else None, number_of
            )
            groups = group_rows(rows, legs, wide, Grain.HOUR)
            gathered.add(groups.keys, _build(context, rows, groups, binning))
            whole = _whole_groups(groups)
            _count(gathered, groups, whole)
            blocks.add(rows, whole, groups.keys, wide)
            samples.add(rows, whole, groups.keys)
    found = _stored(context, gathered, binning)
    found += blocks.write(connection, starts, binning.binning if binning else None)
    samples.write(connection)
    write_profiles(connection, project, model, found)
    roll_up_days(connection, context, starts, sorted({one.key.kind for one in found}), found)
    return gathered


def _build(
    context: JobContext, rows: RequestRows, groups: Groups, binning: StoredBinning | None
) -> list[dict[PartKind, Part]]:
    contract, layout, n = context.contract, context.model.layout, len(groups.keys)
    if binning is None:
        serving = build_serving_parts(rows, contract, layout, groups.membership, n)
        return [{PartKind.SERVING: part} for part in serving]
    kinds = {PartKind.COLUMNS, PartKind.PAIRS, PartKind.SERVING}
    built = build_parts(rows, binning.binning, contract, layout, groups.membership, n, kinds)
    for key, parts in zip(groups.keys, built, strict=True):
        if key.segment_id != WHOLE:
            del parts[PartKind.PAIRS]  # correlation is watched for all requests together
    return built


def _stored(
    context: JobContext, gathered: Gathered, binning: StoredBinning | None
) -> list[StoredProfile]:
    found = []
    for key, parts in gathered.parts.items():
        for kind, part in parts.items():
            binned = kind in (PartKind.COLUMNS, PartKind.PAIRS) and binning is not None
            place = ProfileKey(
                deployment_id=key.deployment_id,
                leg=key.leg,
                segment_id=key.segment_id,
                binning_id=binning.id if binned and binning is not None else NO_BINNING,
                kind=kind,
                grain=Grain.HOUR,
                window_start=key.window_start,
            )
            n = _rows_of(parts)
            found.append(StoredProfile(place, context.model.contract_version, n, part))
    return found


def _rows_of(parts: Mapping[PartKind, Part]) -> int:
    return int(parts[PartKind.SERVING].dense["outcome"].sum())


def _whole_groups(groups: Groups) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The group of each row among those of all requests (the first segment key)."""
    return groups.membership[:, 0]


def _count(
    gathered: Gathered, groups: Groups, whole: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> None:
    counts = np.bincount(whole, minlength=len(groups.keys))
    for key, count in zip(groups.keys, counts.tolist(), strict=True):
        if key.segment_id == WHOLE:
            gathered.rows[key.window_start] = gathered.rows.get(key.window_start, 0) + count


def _say_what_is_due(connection: Connection, context: JobContext, starts: list[datetime]) -> None:
    project, model, zone = context.project_id, context.model_id, context.contract.time_zone
    # A contrast window reaches back a day: a late row concerns the hours after it as well.
    last = max(starts) + timedelta(hours=LONG - 1)
    following = done_windows(connection, project, model, CHECKS_HOUR, min(starts), last)
    for job, due in (
        (CHECKS_HOUR, [*starts, *following]),
        (WATCH, starts),
        (CHECKS_DAY, [local_day(start, zone).start for start in starts]),
        (CHECKS_MONTH, [local_month(start, zone).start for start in starts]),
    ):
        mark_due(connection, project, model, job, due)


def _one_array(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
