"""Baselines of a model as a person picks them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.engine import Connection, Engine

from monitor.reports.database import reading
from monitor.store.tables import baseline, binning
from monitor.windows import Window


@dataclass(frozen=True)
class BaselineName:
    """A baseline as a person picks it."""

    id: int
    name: str
    version: int
    kind: str
    n: int
    window: Window | None
    created_at: datetime


def baselines(engine: Engine, project_id: int, model_id: int) -> tuple[BaselineName, ...]:
    """The newest version of each baseline; the first one is what a page shows unasked."""
    with reading(engine, project_id) as connection:
        rows = baseline_rows(connection, project_id, model_id)
        return tuple(baseline_name(row) for row in rows)


def baseline_rows(connection: Connection, project_id: int, model_id: int) -> list[Any]:
    """Rows of the table: binnings in use first, accepted production weeks before files."""
    newest = (
        sa.select(baseline, binning.c.retired)
        .join(binning, binning.c.id == baseline.c.binning_id)
        .ext(distinct_on(baseline.c.name))
        .where(baseline.c.project_id == project_id, baseline.c.model_id == model_id)
        .order_by(baseline.c.name, baseline.c.version.desc())
        .subquery()
    )
    query = sa.select(newest).order_by(
        newest.c.retired, newest.c.kind.desc(), newest.c.created_at.desc(), newest.c.id.desc()
    )
    return list(connection.execute(query))


def baseline_name(row: Any) -> BaselineName:
    """What a person needs to choose it."""
    known = row.window_start is not None and row.window_end is not None
    window = Window(row.window_start, row.window_end) if known else None
    return BaselineName(row.id, row.name, row.version, row.kind, row.n, window, row.created_at)
