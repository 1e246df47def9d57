"""Backtests of the promise: kept beside the newest seasonal baseline, in its summary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Connection

from monitor.store.tables import seasonal_baseline

KEY = "backtest"


def save_backtest(
    connection: Connection, project_id: int, model_id: int, leg: str, found: Mapping[str, Any]
) -> bool:
    """Put a backtest beside the newest baseline; False when there is none to put it beside."""
    row = seasonal_baseline.c
    newest = (
        sa.select(sa.func.max(row.week_start))
        .where(row.project_id == project_id, row.model_id == model_id, row.leg == leg)
        .scalar_subquery()
    )
    made = sa.func.jsonb_build_object(KEY, sa.cast(dict(found), JSONB))
    done = connection.execute(
        sa.update(seasonal_baseline)
        .where(row.project_id == project_id, row.model_id == model_id, row.leg == leg)
        .where(row.week_start == newest)
        .values(summary=row.summary.op("||")(made))
    )
    return done.rowcount == 1


def newest_backtest(
    connection: Connection, project_id: int, model_id: int, leg: str
) -> Mapping[str, Any] | None:
    """The backtest of the newest baseline that has one."""
    row = seasonal_baseline.c
    query = (
        sa.select(row.summary[KEY])
        .where(row.project_id == project_id, row.model_id == model_id, row.leg == leg)
        .where(row.summary.has_key(KEY))
        .order_by(row.week_start.desc())
        .limit(1)
    )
    found: Mapping[str, Any] | None = connection.scalar(query)
    return found
