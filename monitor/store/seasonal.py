"""Seasonal baselines, one a week: the yardstick of the drift alarms, never rewritten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.engine import Connection

from monitor.checks.promise.baseline import VERSION, SeasonalBaseline
from monitor.checks.promise.codec import baseline_from_bytes, baseline_to_bytes
from monitor.store.tables import profile, seasonal_baseline
from monitor.windows import Grain


@dataclass(frozen=True)
class StoredSeasonal:
    """The baseline that judged a week; None with fewer than 4 weeks of history. `weeks` are the
    starts of those learned from, or of those there are when they are too few; `summary` says for
    people what was learned."""

    week_start: datetime
    binning_id: int
    baseline: SeasonalBaseline | None
    weeks: tuple[datetime, ...]
    summary: Mapping[str, Any]


def seasonal_of_week(
    connection: Connection,
    project_id: int,
    model_id: int,
    leg: str,
    week_start: datetime,
    binning_id: int,
) -> StoredSeasonal | None:
    """The baseline made for a week on this binning by this version of the method."""
    row = seasonal_baseline.c
    query = sa.select(seasonal_baseline).where(
        row.project_id == project_id,
        row.model_id == model_id,
        row.leg == leg,
        row.week_start == week_start,
        row.binning_id == binning_id,
        row.version == VERSION,
    )
    found = connection.execute(query).one_or_none()
    return None if found is None else _stored(found)


def learned_weeks(
    connection: Connection, project_id: int, model_id: int, leg: str, binning_id: int
) -> set[datetime]:
    """Starts of the weeks that have a baseline on this binning by this version of the method."""
    row = seasonal_baseline.c
    query = sa.select(row.week_start).where(
        row.project_id == project_id,
        row.model_id == model_id,
        row.leg == leg,
        row.binning_id == binning_id,
        row.version == VERSION,
    )
    return set(connection.scalars(query))


def newest_seasonal(
    connection: Connection,
    project_id: int,
    model_id: int,
    leg: str,
    before: datetime | None = None,
) -> StoredSeasonal | None:
    """The baseline of the newest week that this version of the method made, of those that began
    before a moment."""
    row = seasonal_baseline.c
    query = (
        sa.select(seasonal_baseline)
        .where(
            row.project_id == project_id,
            row.model_id == model_id,
            row.leg == leg,
            row.version == VERSION,
        )
        .order_by(row.week_start.desc())
        .limit(1)
    )
    if before is not None:
        query = query.where(row.week_start < before)
    found = connection.execute(query).one_or_none()
    return None if found is None else _stored(found)


def save_seasonal(
    connection: Connection, project_id: int, model_id: int, leg: str, made: StoredSeasonal
) -> None:
    """Store a week's baseline; another one of the same week (other binning, method) is replaced."""
    values = {
        "binning_id": made.binning_id,
        "version": VERSION,
        "weeks": [week.isoformat() for week in made.weeks],
        "summary": dict(made.summary),
        "body": None if made.baseline is None else baseline_to_bytes(made.baseline),
    }
    statement = insert(seasonal_baseline).values(
        project_id=project_id, model_id=model_id, leg=leg, week_start=made.week_start, **values
    )
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["project_id", "model_id", "leg", "week_start"], set_=values
        )
    )


def first_profiled_hour(
    connection: Connection, project_id: int, model_id: int, leg: str, binning_id: int
) -> datetime | None:
    """Start of the oldest day of this leg with profiles on this binning."""
    row = profile.c
    found: datetime | None = connection.scalar(
        sa.select(sa.func.min(row.window_start)).where(
            row.project_id == project_id,
            row.model_id == model_id,
            row.leg == leg,
            row.binning_id == binning_id,
            row.grain == int(Grain.DAY),
            row.segment_id == 0,
        )
    )
    return found


def _stored(row: Any) -> StoredSeasonal:
    return StoredSeasonal(
        week_start=row.week_start,
        binning_id=row.binning_id,
        baseline=None if row.body is None else baseline_from_bytes(bytes(row.body)),
        weeks=tuple(datetime.fromisoformat(week) for week in row.weeks),
        summary=row.summary,
    )
