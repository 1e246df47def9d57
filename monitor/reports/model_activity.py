"""Traffic, freshness, label coverage and newest deployment of every model, at one read."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.engine import Connection

from monitor.records import LIVE_LEG
from monitor.reports.profile_cover import COUNTED_PARTS, counted_rows, live_all
from monitor.reports.time_range import MAX_DAYS
from monitor.store.tables import deployment, intake_batch, prediction_block, profile
from monitor.windows import Grain, Window


@dataclass(frozen=True)
class Activity:
    """What one model did in its newest days.

    `daily` counts requests by UTC day, oldest first, days without any as 0; `last_requests` and
    `last_labels` say when the newest batches arrived; `newest_event` is how far the requests' own
    time goes; `predictions` and `labelled` count what can have a label and what has one.
    """

    daily: tuple[tuple[datetime, int], ...] = ()
    last_requests: datetime | None = None
    last_labels: datetime | None = None
    newest_event: datetime | None = None
    predictions: int = 0
    labelled: int = 0
    deployment: str | None = None
    deployed_at: datetime | None = None

    @property
    def requests(self) -> int:
        """All requests of the days shown."""
        return sum(count for _, count in self.daily)

    @property
    def label_coverage(self) -> float | None:
        """Share of predictions that have a label, None without predictions."""
        return self.labelled / self.predictions if self.predictions else None


@dataclass
class _Facts:
    counts: dict[datetime, int] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Shown:
    """Which days count: the newest of each model, or those of a window."""

    newest: sa.Subquery
    days: int
    window: Window | None

    def holds(self, start: sa.ColumnElement[datetime]) -> sa.ColumnElement[bool]:
        if self.window is not None:
            return sa.and_(start >= self.window.start, start < self.window.end)
        return start >= self.newest.c.newest - timedelta(days=self.days - 1)


def activities(
    connection: Connection, project_id: int, days: int, window: Window | None = None
) -> dict[int, Activity]:
    """By model: the newest `days` UTC days it has requests of, or the UTC days in a window."""
    facts: defaultdict[int, _Facts] = defaultdict(_Facts)
    shown = _Shown(_newest_days(project_id), days, window)
    _read_traffic(connection, project_id, shown, facts)
    _read_arrivals(connection, project_id, facts)
    _read_newest_hour(connection, project_id, facts)
    _read_labels(connection, project_id, shown, facts)
    _read_deployments(connection, project_id, facts)
    days = MAX_DAYS if window is not None else days
    return {
        model_id: Activity(daily=_filled(each, days), **each.fields)
        for model_id, each in facts.items()
    }


def _newest_days(project_id: int) -> sa.Subquery:
    return (
        sa.select(profile.c.model_id, sa.func.max(profile.c.window_start).label("newest"))
        .where(
            profile.c.project_id == project_id,
            profile.c.part.in_(COUNTED_PARTS),
            profile.c.grain == int(Grain.DAY),
            *live_all(),
        )
        .group_by(profile.c.model_id)
        .subquery("newest_days")
    )


def _read_traffic(
    connection: Connection, project_id: int, shown: _Shown, facts: defaultdict[int, _Facts]
) -> None:
    counted = counted_rows(project_id, None, profile.c.grain == int(Grain.DAY))
    newest = shown.newest
    query = (
        sa.select(counted.c.model_id, counted.c.window_start, sa.func.sum(counted.c.n))
        .join(newest, newest.c.model_id == counted.c.model_id)
        .where(shown.holds(counted.c.window_start))
        .group_by(counted.c.model_id, counted.c.window_start)
    )
    for model_id, day, count in connection.execute(query):
        facts[model_id].counts[day] = int(count)


def _read_arrivals(
    connection: Connection, project_id: int, facts: defaultdict[int, _Facts]
) -> None:
    query = (
        sa.select(
            intake_batch.c.model_id,
            intake_batch.c.kind,
            sa.func.max(intake_batch.c.received_at),
        )
        .where(intake_batch.c.project_id == project_id, intake_batch.c.accepted > 0)
        .group_by(intake_batch.c.model_id, intake_batch.c.kind)
    )
    for model_id, kind, received_at in connection.execute(query):
        facts[model_id].fields[f"last_{kind}"] = received_at


def _read_newest_hour(
    connection: Connection, project_id: int, facts: defaultdict[int, _Facts]
) -> None:
    newest = _newest_days(project_id)
    hours = (  # a look at the end of each model's index, not all hours of all models
        sa.select(sa.func.max(profile.c.window_start).label("hour"))
        .where(
            profile.c.project_id == project_id,
            profile.c.model_id == newest.c.model_id,
            profile.c.part.in_(COUNTED_PARTS),
            profile.c.grain == int(Grain.HOUR),
            profile.c.window_start >= newest.c.newest,
            *live_all(),
        )
        .lateral("hours")
    )
    query = (
        sa.select(newest.c.model_id, hours.c.hour)
        .join(hours, sa.true())
        .where(hours.c.hour.is_not(None))
    )
    for model_id, hour in connection.execute(query):
        facts[model_id].fields["newest_event"] = hour + Grain.HOUR.length


def _read_labels(
    connection: Connection, project_id: int, shown: _Shown, facts: defaultdict[int, _Facts]
) -> None:
    newest = shown.newest
    query = (
        sa.select(
            prediction_block.c.model_id,
            sa.func.sum(prediction_block.c.n),
            sa.func.sum(prediction_block.c.labelled),
        )
        .join(newest, newest.c.model_id == prediction_block.c.model_id)
        .where(
            prediction_block.c.project_id == project_id,
            prediction_block.c.leg == LIVE_LEG,
            shown.holds(prediction_block.c.window_start),
        )
        .group_by(prediction_block.c.model_id)
    )
    for model_id, predictions, labelled in connection.execute(query):
        facts[model_id].fields |= {"predictions": int(predictions), "labelled": int(labelled)}


def _read_deployments(
    connection: Connection, project_id: int, facts: defaultdict[int, _Facts]
) -> None:
    """The deployment whose requests began last."""
    began = sa.func.min(profile.c.window_start).label("began")
    seen = (
        sa.select(profile.c.model_id, profile.c.deployment_id, began)
        .where(
            profile.c.project_id == project_id,
            profile.c.part.in_(COUNTED_PARTS),
            profile.c.grain == int(Grain.DAY),
            *live_all(),
        )
        .group_by(profile.c.model_id, profile.c.deployment_id)
        .subquery()
    )
    query = (
        sa.select(seen.c.model_id, deployment.c.id, deployment.c.name, seen.c.began)
        .join(deployment, deployment.c.id == seen.c.deployment_id)
        .ext(distinct_on(seen.c.model_id))
        .order_by(seen.c.model_id, seen.c.began.desc(), deployment.c.id.desc())
    )
    for model_id, number, name, began_at in connection.execute(query):
        title = name or f"deployment {number}"
        facts[model_id].fields |= {"deployment": title, "deployed_at": began_at}


def _filled(facts: _Facts, days: int) -> tuple[tuple[datetime, int], ...]:
    """Every day from the first with requests on, at most `days`; a day without any counts 0."""
    if not facts.counts:
        return ()
    first = min(facts.counts)
    last = max(facts.counts)
    length = min(days, (last - first).days + 1)
    all_days = (last - timedelta(days=back) for back in range(length - 1, -1, -1))
    return tuple((day, facts.counts.get(day, 0)) for day in all_days)
