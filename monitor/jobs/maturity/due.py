"""Which days and months became more mature since they were measured: they are due again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.engine import Connection

from monitor.calendar import local_day
from monitor.checks.maturity.cohort import MaturityState
from monitor.checks.registry import CheckName
from monitor.jobs.base import JobContext
from monitor.jobs.grouping import WHOLE
from monitor.jobs.maturity.known import LabelDelays, Piece, maturity_of, strata_of
from monitor.jobs.maturity.pieces import Subject
from monitor.jobs.names import CHECKS_DAY, CHECKS_MONTH
from monitor.store.job_windows import mark_due
from monitor.store.tables import measurement
from monitor.windows import Window

LONGEST = timedelta(days=32)


def mark_matured(
    connection: Connection,
    context: JobContext,
    pieces: Mapping[Subject, list[Piece]],
    delays: LabelDelays,
    since: datetime,
) -> int:
    """Make windows due whose maturity differs from what was told with their quality; how many."""
    due: dict[str, set[datetime]] = {CHECKS_DAY: set(), CHECKS_MONTH: set()}
    for told in _unfinished(connection, context, since):
        window = Window(told.window_start, told.window_end)
        state = _state_now(context, pieces, delays, told, window)
        if state is not None and state.value != told.detail.get("maturity"):
            zone = context.contract.time_zone
            job = CHECKS_DAY if local_day(window.start, zone) == window else CHECKS_MONTH
            due[job].add(window.start)
    for job, starts in due.items():
        mark_due(
            connection, context.project_id, context.model_id, job, sorted(starts), only_labels=True
        )
    return sum(len(starts) for starts in due.values())


def _state_now(
    context: JobContext,
    pieces: Mapping[Subject, list[Piece]],
    delays: LabelDelays,
    told: Any,
    window: Window,
) -> MaturityState | None:
    mine = [
        piece
        for number in told.deployment_ids
        for piece in pieces.get((told.leg, WHOLE, number), ())
        if piece.window.start in window
    ]
    if not mine:
        return None
    strata = strata_of(mine, delays, told.leg, WHOLE)
    return maturity_of(strata, window, delays, context.contract, context.now).state


def _unfinished(connection: Connection, context: JobContext, since: datetime) -> list[Any]:
    """The newest revision of the coverage of every window that was not final."""
    row = measurement.c
    identity = (row.leg, row.deployment_ids, row.window_start, row.window_end)
    newest = (
        sa.select(*identity, row.detail)
        .ext(distinct_on(*identity))
        .where(row.project_id == context.project_id, row.model_id == context.model_id)
        .where(row.check_name == CheckName.QUALITY.value, row.method == "label_coverage")
        .where(row.segment_id == WHOLE, row.window_end > since)
        .where(row.window_end - row.window_start <= LONGEST)
        .order_by(*identity, row.known_at.desc())
        .subquery("newest")
    )
    final = newest.c.detail["maturity"].astext == MaturityState.FINAL.value
    return list(
        connection.execute(sa.select(newest).where(sa.func.coalesce(final, False).is_(False)))
    )
