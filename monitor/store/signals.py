"""Stored records of signals, the days that have requests, and sources that are reviewers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.store.bulk import BulkConnections, literal, read
from monitor.store.marks import LabelMark
from monitor.store.tables import label, prediction_block, review_draw
from monitor.windows import Window

_COLUMNS = "request_id, source, observed_at, arrived_at, event_time, leg, value, text, revision"


def signal_records(
    bulk: BulkConnections,
    project_id: int,
    model_id: int,
    name: str,
    observed: Window,
    without: Collection[str] = (),
) -> pa.Table:
    """Records of a signal that were observed in a window, but for those of some sources."""
    query = (
        f"select {_COLUMNS} from label where project_id = {int(project_id)}"
        f" and model_id = {int(model_id)} and label_name = {literal(name)}"
        f" and observed_at >= {literal(observed.start)} and observed_at < {literal(observed.end)}"
    )
    if without:
        query += f" and source not in ({', '.join(literal(one) for one in sorted(without))})"
    with bulk.transaction() as cursor:
        return read(cursor, query).read_all()


def was_ever_sent(
    connection: Connection, project_id: int, model_id: int, name: str, without: Collection[str]
) -> bool:
    """Whether any record of a signal is stored, but for those of some sources."""
    row = label.c
    query = sa.select(sa.literal(1)).where(
        row.project_id == project_id,
        row.model_id == model_id,
        row.label_name == name,
        row.source.not_in(list(without)),
    )
    return connection.scalar(query.limit(1)) is not None


def hours_with_requests(
    connection: Connection, project_id: int, model_id: int, window: Window | None
) -> list[datetime]:
    """Hours that have a prediction block, those that start in a window or all; oldest first."""
    row = prediction_block.c
    query = (
        sa.select(row.window_start)
        .distinct()
        .where(row.project_id == project_id, row.model_id == model_id)
        .order_by(row.window_start)
    )
    if window is not None:
        query = query.where(row.window_start >= window.start, row.window_start < window.end)
    return list(connection.scalars(query))


def observed_spans(
    connection: Connection,
    project_id: int,
    model_id: int,
    names: Sequence[str],
    marks: Sequence[LabelMark],
) -> dict[str, tuple[datetime, datetime]]:
    """First and last observation of each of these names among the batches of some marks."""
    if not marks or not names:
        return {}
    row = label.c
    arrivals = sorted({mark.arrived_at for mark in marks})
    query = (
        sa.select(row.label_name, sa.func.min(row.observed_at), sa.func.max(row.observed_at))
        .where(row.project_id == project_id, row.model_id == model_id)
        .where(row.label_name.in_(list(names)))
        .where(row.observed_at >= min(mark.first_observed_at for mark in marks))
        .where(row.observed_at <= max(mark.last_observed_at for mark in marks))
        .where(
            row.arrived_at == sa.any_(sa.literal(arrivals, sa.ARRAY(sa.DateTime(timezone=True))))
        )
        .group_by(row.label_name)
    )
    return {name: (first, last) for name, first, last in connection.execute(query)}


def reviewers(connection: Connection, project_id: int, model_id: int) -> dict[str, set[str]]:
    """Who was asked to rate which signal in a review: their ratings are weighed, not averaged."""
    row = review_draw.c
    query = sa.select(row.plan).where(row.project_id == project_id, row.model_id == model_id)
    found: dict[str, set[str]] = {}
    for plan in connection.scalars(query):
        for name in plan["signals"]:
            found.setdefault(name, set()).update(plan["raters"])
    return found
