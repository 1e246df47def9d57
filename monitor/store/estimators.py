"""What estimates without labels rest on: written once a week and method, never changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.store.measurements import finite
from monitor.store.quality_tables import estimator
from monitor.windows import Window

FOR_WEEK = "for_week"
SAMPLED = "sampled"
"""The method whose body names requests by their hash, with score and label."""


@dataclass(frozen=True)
class StoredEstimator:
    """Fitted on the labelled requests of `window` for the cohorts of the week that begins at
    `for_week`; `n` labels. `summary` is for people, `body` for the method."""

    leg: str
    method: str
    version: int
    window: Window
    for_week: datetime
    known_at: datetime
    n: int
    summary: Mapping[str, Any]
    body: bytes


def estimator_of_week(
    connection: Connection,
    project_id: int,
    model_id: int,
    leg: str,
    method: str,
    version: int,
    week: datetime,
) -> StoredEstimator | None:
    """The estimator for a week's cohorts; None when none was fitted yet."""
    row = estimator.c
    query = (
        sa.select(estimator)
        .where(row.project_id == project_id, row.model_id == model_id, row.leg == leg)
        .where(row.method == method, row.version == version)
        .where(row.summary[FOR_WEEK].astext == week.isoformat())
        .order_by(row.known_at.desc())
        .limit(1)
    )
    found = connection.execute(query).one_or_none()
    return None if found is None else _stored(found)


def save_estimator(
    connection: Connection, project_id: int, model_id: int, made: StoredEstimator
) -> None:
    """Store an estimator. Those of one leg and method are known one after the other: one made at
    the same moment as another, or before, is known a microsecond later."""
    row = estimator.c
    newest = connection.scalar(
        sa.select(sa.func.max(row.known_at)).where(
            row.project_id == project_id,
            row.model_id == model_id,
            row.leg == made.leg,
            row.method == made.method,
        )
    )
    later = made.known_at if newest is None else newest + timedelta(microseconds=1)
    connection.execute(
        sa.insert(estimator).values(
            project_id=project_id,
            model_id=model_id,
            leg=made.leg,
            method=made.method,
            version=made.version,
            window_start=made.window.start,
            window_end=made.window.end,
            known_at=max(made.known_at, later),
            n=made.n,
            summary=finite({**made.summary, FOR_WEEK: made.for_week.isoformat()}),
            body=made.body,
        )
    )


def forget_sampled(connection: Connection, project_id: int, model_id: int, before: datetime) -> int:
    """Empty the bodies that name single requests, of windows that ended before; how many."""
    row = estimator.c
    return connection.execute(
        sa.update(estimator)
        .where(row.project_id == project_id, row.model_id == model_id)
        .where(row.method == SAMPLED, row.window_end < before)
        .where(sa.func.octet_length(row.body) > 0)
        .values(body=b"")
    ).rowcount


def newest_estimators(
    connection: Connection, project_id: int, model_id: int, known_by: datetime | None = None
) -> list[StoredEstimator]:
    """The newest of each leg and method, as known at a moment; without bodies."""
    row = estimator.c
    columns = [column for column in row if column.name != "body"]
    query = (
        sa.select(*columns, sa.literal(b"", sa.LargeBinary).label("body"))
        .distinct(row.leg, row.method)
        .where(row.project_id == project_id, row.model_id == model_id)
        .order_by(row.leg, row.method, row.known_at.desc())
    )
    if known_by is not None:
        query = query.where(row.known_at <= known_by)
    return [_stored(found) for found in connection.execute(query)]


def _stored(row: Any) -> StoredEstimator:
    return StoredEstimator(
        leg=row.leg,
        method=row.method,
        version=row.version,
        window=Window(row.window_start, row.window_end),
        for_week=datetime.fromisoformat(row.summary[FOR_WEEK]),
        known_at=row.known_at,
        n=row.n,
        summary=row.summary,
        body=bytes(row.body),
    )
