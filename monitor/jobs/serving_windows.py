"""The serving job: outcomes and timings of closed five-minute windows, a minute after their end."""

from __future__ import annotations

from datetime import datetime

import numpy as np
from sqlalchemy.engine import Connection

from monitor.jobs.base import JobContext, JobReport, run_claimed
from monitor.jobs.five_minutes import judge_five_minutes
from monitor.jobs.grouping import GroupKey, group_rows
from monitor.jobs.names import SERVING
from monitor.jobs.profile_windows import without_expired
from monitor.profiles.part import Part, PartKind, merge
from monitor.profiles.rows import RequestRows
from monitor.profiles.serving import build_serving_parts
from monitor.store.engine import Role, transaction
from monitor.store.job_windows import Claim, finish, marked_windows
from monitor.store.marks import delete_marks, read_marks
from monitor.store.profile_rows import ProfileKey, StoredProfile, write_profiles
from monitor.store.request_rows import request_chunks
from monitor.windows import Grain

WINDOWS_AT_ONCE = 12 * 24 * 14


def serve_due_windows(context: JobContext) -> JobReport:
    """Profile the serving side of closed five-minute windows with unread marks, oldest first."""
    closed_before = context.now - context.contract.lateness.serving
    with transaction(context.engine, context.project_id, Role.WORKER) as connection:
        starts = marked_windows(
            connection, context.project_id, context.model_id, int(Grain.FIVE_MINUTES),
            closed_before, WINDOWS_AT_ONCE,
        )  # fmt: skip
    return run_claimed(context, SERVING, starts, _profile, done_too=True) if starts else JobReport()


def _profile(context: JobContext, held: Claim) -> None:
    project, model, grain = context.project_id, context.model_id, int(Grain.FIVE_MINUTES)
    with transaction(context.engine, project, Role.WORKER, snapshot=True) as connection:
        marks = read_marks(connection, project, model, grain, held.starts)
        needed = without_expired(connection, context, sorted(marks.rows), Grain.FIVE_MINUTES)
        parts = _gather(connection, context, needed)
        write_profiles(connection, project, model, _stored(context, parts))
        judge_five_minutes(connection, context, needed)
        delete_marks(connection, marks.ids)
        finish(connection, held, {start: marks.rows[start] for start in needed})


def _gather(
    connection: Connection, context: JobContext, starts: list[datetime]
) -> dict[GroupKey, Part]:
    gathered: dict[GroupKey, Part] = {}
    if not starts:
        return gathered
    with request_chunks(
        connection, context.bulk, context.project_id, context.model_id, starts, Grain.FIVE_MINUTES
    ) as chunks:
        for table in chunks:
            rows = RequestRows.from_table(table, context.model.layout, context.contract)
            legs = table.column("leg").combine_chunks()
            none = np.zeros((len(rows), 0), np.int64)
            groups = group_rows(rows, legs, none, Grain.FIVE_MINUTES)
            built = build_serving_parts(
                rows, context.contract, context.model.layout, groups.membership, len(groups.keys)
            )
            for key, part in zip(groups.keys, built, strict=True):
                gathered[key] = merge([gathered[key], part]) if key in gathered else part
    return gathered


def _stored(context: JobContext, parts: dict[GroupKey, Part]) -> list[StoredProfile]:
    found = []
    for key, part in parts.items():
        place = ProfileKey(
            deployment_id=key.deployment_id,
            leg=key.leg,
            segment_id=key.segment_id,
            binning_id=0,
            kind=PartKind.SERVING,
            grain=Grain.FIVE_MINUTES,
            window_start=key.window_start,
        )
        n = int(part.dense["outcome"].sum())
        found.append(StoredProfile(place, context.model.contract_version, n, part))
    return found
