"""What is known about quality at a moment, in one sentence: drift and quality are kept apart."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.calendar import local_month
from monitor.checks.registry import CheckName
from monitor.contract import Contract, Task
from monitor.jobs.base import JobContext
from monitor.records import LIVE_LEG
from monitor.store.tables import measurement

_METHODS = {
    Task.BINARY: ("auc", "AUC"),
    Task.MULTICLASS: ("macro_f1", "macro F1"),
    Task.REGRESSION: ("mae", "mean absolute error"),
    Task.RANKING: ("ndcg_10", "NDCG at 10"),
}


def quality_sentence(connection: Connection, context: JobContext, at: datetime) -> str:
    """The newest quality of a whole window that ended by then, with its interval and n."""
    known = quality_known(
        connection, context.project_id, context.model_id, context.contract, at, context.now
    )
    if known is None:
        return "Nothing is known yet about quality at that time: no labelled window had ended."
    return f"Quality known at that time: {known}; it says nothing about the rows of this incident."


def quality_known(
    connection: Connection,
    project_id: int,
    model_id: int,
    contract: Contract,
    at: datetime,
    now: datetime,
) -> str | None:
    """`AUC 0.712 (0.701 to 0.723) for requests of March 2026, n = 1,234`; None before any."""
    method, word = _METHODS[contract.task]
    row = measurement.c
    query = (
        sa.select(row.value, row.low, row.high, row.n, row.window_start, row.window_end)
        .where(row.project_id == project_id, row.model_id == model_id)
        .where(row.check_name == CheckName.QUALITY.value, row.method == method)
        .where(row.segment_id == 0, row.leg == LIVE_LEG, row.state == "measured")
        .where(row.window_end <= at, row.known_at <= max(now, at))
        .order_by(
            row.window_end.desc(), sa.func.cardinality(row.deployment_ids).desc(),
            row.window_start, row.known_at.desc(),
        )
        .limit(1)
    )  # fmt: skip
    found = connection.execute(query).one_or_none()
    if found is None:
        return None
    limits = "" if found.low is None else f" ({found.low:.3f} to {found.high:.3f})"
    month = local_month(found.window_start, contract.time_zone)
    whole_month = month.start == found.window_start and month.end == found.window_end
    span = f"{found.window_start:%B %Y}" if whole_month else f"{found.window_end:%Y-%m-%d}"
    return f"{word} {found.value:.3f}{limits} for requests of {span}, n = {found.n:,}"
