"""Marks that intake leaves: the one sign that a window has rows not yet profiled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.store.tables import intake_mark, label_mark


@dataclass(frozen=True)
class Marks:
    """Unread marks: their row numbers, and rows announced per window."""

    ids: tuple[int, ...]
    rows: dict[datetime, int]


def read_marks(
    connection: Connection, project_id: int, model_id: int, grain: int, starts: Sequence[datetime]
) -> Marks:
    """Unread marks of these windows, as this transaction's snapshot sees them."""
    mark = intake_mark.c
    query = (
        sa.select(mark.id, mark.window_start, mark.n)
        .where(mark.project_id == project_id, mark.model_id == model_id, mark.grain == grain)
        .where(mark.window_start.in_(starts))
    )
    ids: list[int] = []
    rows: dict[datetime, int] = {}
    for found in connection.execute(query):
        ids.append(found.id)
        rows[found.window_start] = rows.get(found.window_start, 0) + found.n
    return Marks(tuple(ids), rows)


def delete_marks(connection: Connection, ids: Sequence[int]) -> None:
    """Delete exactly these marks: one that came later stays and makes its window due again."""
    if ids:
        connection.execute(
            sa.delete(intake_mark).where(
                intake_mark.c.id == sa.any_(sa.literal(list(ids), sa.ARRAY(sa.BigInteger)))
            )
        )


def remark_all(connection: Connection, project_id: int, model_id: int, grain: int) -> int:
    """Make every window that was profiled due again (a binning is new); how many."""
    done = connection.execute(
        sa.text(
            "insert into intake_mark (project_id, model_id, leg, grain, window_start, n)"
            " select distinct project_id, model_id, leg, :grain, window_start, 0"
            " from prediction_block where project_id = :project and model_id = :model"
        ),
        {"grain": grain, "project": project_id, "model": model_id},
    )
    return done.rowcount


MOST_MARKS = 5_000


@dataclass(frozen=True)
class LabelMark:
    """A stored batch of labels that no prediction block knows yet."""

    id: int
    first_observed_at: datetime
    last_observed_at: datetime
    arrived_at: datetime
    n: int


def read_label_marks(
    connection: Connection, project_id: int, model_id: int, most_labels: int
) -> list[LabelMark]:
    """The oldest unread label batches: at least one, and no more than hold so many labels."""
    mark = label_mark.c
    until = sa.func.sum(mark.n).over(order_by=mark.id).label("until")
    named = (mark.id, mark.first_observed_at, mark.last_observed_at, mark.arrived_at, mark.n)
    oldest = (
        sa.select(*named, until)
        .where(mark.project_id == project_id, mark.model_id == model_id)
        .order_by(mark.id)
        .limit(MOST_MARKS)
        .subquery()
    )
    query = (
        sa.select(*(oldest.c[column.name] for column in named))
        .where(sa.or_(oldest.c.until <= most_labels, oldest.c.until == oldest.c.n))
        .order_by(oldest.c.id)
    )
    return [LabelMark(*row) for row in connection.execute(query)]


def delete_label_marks(connection: Connection, ids: Sequence[int]) -> None:
    """Delete label marks that were read."""
    if ids:
        chosen = sa.any_(sa.literal(list(ids), sa.ARRAY(sa.BigInteger)))
        connection.execute(sa.delete(label_mark).where(label_mark.c.id == chosen))
