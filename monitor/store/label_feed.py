"""What the table of labels says of its feed, by its key: no label is read that need not be."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.store.tables import label
from monitor.windows import Window


def newest_label(
    connection: Connection, project_id: int, model_id: int, label_name: str, before: datetime
) -> datetime | None:
    """When the newest label observed before a moment was observed: one look at the index."""
    row = label.c
    query = (
        sa.select(row.observed_at)
        .where(row.project_id == project_id, row.model_id == model_id)
        .where(row.label_name == label_name, row.observed_at < before)
        .order_by(row.observed_at.desc())
        .limit(1)
    )
    found: datetime | None = connection.scalar(query)
    return found


def labels_observed(
    connection: Connection,
    project_id: int,
    model_id: int,
    label_name: str,
    leg: str,
    window: Window,
) -> int:
    """Requests of a leg with a label observed in the window, corrections included."""
    row = label.c
    query = (
        sa.select(sa.func.count(row.request_id.distinct()))
        .where(row.project_id == project_id, row.model_id == model_id)
        .where(row.label_name == label_name, row.leg == leg)
        .where(row.observed_at >= window.start, row.observed_at < window.end)
    )
    return int(connection.scalar(query) or 0)
