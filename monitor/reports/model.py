"""One model over time: traffic, the newest outcomes with details, and what happened meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import pandas as pd
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from monitor.checks.registry import CheckName
from monitor.measurement import MeasurementState
from monitor.records import LIVE_LEG
from monitor.reports.database import reading
from monitor.reports.measurements import (
    Filter,
    MeasurementRow,
    newest_windows,
    read_measurements,
)
from monitor.reports.profile_cover import COUNTED_PARTS, counted_rows, hours_in, live_all
from monitor.reports.series import deployment_titles
from monitor.store.tables import alert, incident, prediction_block, profile
from monitor.windows import Grain, Window

HOURS_UNTIL = timedelta(days=3)


@dataclass(frozen=True, eq=False)
class Traffic:
    """Requests over time. `frame` has `at`, `deployment`, `n`; `bucket` is hour or day."""

    frame: pd.DataFrame
    bucket: str
    requests: int
    predictions: int
    labelled: int


@dataclass(frozen=True)
class Mark:
    """Something that happened: a deployment or drift incident that began, an alert that fired."""

    at: datetime
    kind: str
    text: str


APART_FROM_TRAFFIC = (CheckName.GOLDEN.value, CheckName.LABEL_FEED.value)
"""Checks whose newest window says nothing of when requests came: a golden set may be replayed years
later, and a feed of labels is looked at every day though neither requests nor labels come any more.
"""


def newest_moment(engine: Engine, project_id: int, model_id: int) -> datetime | None:
    """The end of the newest profiled hour, or of the newest measured window; None without any."""
    profiled = sa.select(sa.func.max(profile.c.window_start)).where(
        profile.c.project_id == project_id,
        profile.c.model_id == model_id,
        profile.c.part.in_(COUNTED_PARTS),
        profile.c.grain == int(Grain.HOUR),
        *live_all(),
    )
    ends = newest_windows(project_id)
    measured = sa.select(sa.func.max(ends.c.window_end)).where(
        ends.c.model_id == model_id, ends.c.check_name.not_in(APART_FROM_TRAFFIC)
    )
    with reading(engine, project_id) as connection:
        hour = connection.scalar(profiled)
        window_end = connection.scalar(measured)
    found = [hour + Grain.HOUR.length] if hour is not None else []
    return max([*found, *([window_end] if window_end is not None else [])], default=None)


def traffic(
    engine: Engine,
    project_id: int,
    model_id: int,
    window: Window,
    zone_name: str,
    deployment_id: int | None = None,
) -> Traffic:
    """Requests by hour (up to three days) or by day of the viewer's zone, and label coverage.

    With a deployment, of its requests alone.
    """
    bucket = "hour" if window.end - window.start <= HOURS_UNTIL else "day"
    counted = counted_rows(project_id, (model_id,), hours_in(window))
    at = sa.func.date_trunc(bucket, counted.c.window_start, zone_name).label("at")
    query = (
        sa.select(at, counted.c.deployment_id, sa.func.sum(counted.c.n).label("n"))
        .group_by(at, counted.c.deployment_id)
        .order_by(at, counted.c.deployment_id)
    )
    if deployment_id is not None:
        query = query.where(counted.c.deployment_id == deployment_id)
    with reading(engine, project_id) as connection:
        titles = deployment_titles(connection, project_id, model_id)
        rows = [
            (row.at, titles.get(row.deployment_id, f"deployment {row.deployment_id}"), int(row.n))
            for row in connection.execute(query)
        ]
        predictions, labelled = _labelled(connection, project_id, model_id, window, deployment_id)
    frame = pd.DataFrame.from_records(rows, columns=["at", "deployment", "n"])
    return Traffic(frame, bucket, int(frame["n"].sum()), predictions, labelled)


def marks(
    engine: Engine, project_id: int, model_name: str, model_id: int, window: Window
) -> tuple[Mark, ...]:
    """Deployments and drift incidents that began, and alerts that fired, oldest first."""
    with reading(engine, project_id) as connection:
        found = [
            *_began(connection, project_id, model_id, window),
            *_opened(connection, project_id, model_id, window),
            *_fired(connection, project_id, model_name, window),
        ]
    return tuple(sorted(found, key=lambda mark: mark.at))


def newest_with_detail(
    engine: Engine, project_id: int, model_id: int, window: Window, wanted: Filter
) -> tuple[MeasurementRow, ...]:
    """The newest window's outcomes of one method, one a deployment set, details included."""
    with reading(engine, project_id) as connection:
        rows = read_measurements(connection, project_id, model_id, window, wanted, limit=500)
    newest: dict[tuple[int, ...], MeasurementRow] = {}
    for row in rows:  # newest window first; a measured one is worth more than one with too few
        kept = newest.get(row.deployment_ids)
        measured = row.state is MeasurementState.MEASURED
        if kept is None or (measured and kept.state is not MeasurementState.MEASURED):
            newest[row.deployment_ids] = row
    return tuple(newest.values())


def _labelled(
    connection: Connection,
    project_id: int,
    model_id: int,
    window: Window,
    deployment_id: int | None,
) -> tuple[int, int]:
    start = prediction_block.c.window_start
    query = sa.select(
        sa.func.coalesce(sa.func.sum(prediction_block.c.n), 0),
        sa.func.coalesce(sa.func.sum(prediction_block.c.labelled), 0),
    ).where(
        prediction_block.c.project_id == project_id,
        prediction_block.c.model_id == model_id,
        prediction_block.c.leg == LIVE_LEG,
        start >= window.start,
        start < window.end,
    )
    if deployment_id is not None:
        query = query.where(prediction_block.c.deployment_id == deployment_id)
    row = connection.execute(query).one()
    return int(row[0]), int(row[1])


def _began(connection: Connection, project_id: int, model_id: int, window: Window) -> list[Mark]:
    """By the first hour with requests of each deployment, not by when it was registered."""
    counted = counted_rows(project_id, (model_id,), profile.c.grain == int(Grain.HOUR))
    began = sa.func.min(counted.c.window_start).label("began")
    query = sa.select(counted.c.deployment_id, began).group_by(counted.c.deployment_id)
    titles = deployment_titles(connection, project_id, model_id)
    return [
        Mark(row.began, "deployment", titles.get(row.deployment_id, str(row.deployment_id)))
        for row in connection.execute(query)
        if row.began in window
    ]


def _opened(connection: Connection, project_id: int, model_id: int, window: Window) -> list[Mark]:
    query = (
        sa.select(incident.c.opened_at, incident.c.id, incident.c.leading_column)
        .where(
            incident.c.project_id == project_id,
            incident.c.model_id == model_id,
            incident.c.leg == LIVE_LEG,
            incident.c.opened_at >= window.start,
            incident.c.opened_at < window.end,
        )
        .order_by(incident.c.opened_at.desc())
        .limit(50)
    )
    return [
        Mark(row.opened_at, "incident", f"incident {row.id}, led by {row.leading_column}")
        for row in connection.execute(query)
    ]


def _fired(connection: Connection, project_id: int, model_name: str, window: Window) -> list[Mark]:
    query = (
        sa.select(alert.c.fired_at, alert.c.rule, alert.c.severity)
        .where(
            alert.c.project_id == project_id,
            alert.c.model == model_name,
            alert.c.fired_at >= window.start,
            alert.c.fired_at < window.end,
        )
        .order_by(alert.c.fired_at.desc())
        .limit(50)
    )
    return [
        Mark(row.fired_at, "alert", f"{row.rule} ({row.severity})")
        for row in connection.execute(query)
    ]
