"""What stored rows know around alerts, read when somebody is told of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.engine import Connection

from alerts.model import AlertState
from monitor.profiles.part import PartKind
from monitor.records import LIVE_LEG
from monitor.store.profile_rows import WHOLE
from monitor.store.tables import alert_transition, measurement, model, profile, response_action
from monitor.windows import Grain, Window

_NOT_FIRING = (AlertState.OK.value, AlertState.PENDING.value, AlertState.RESOLVED.value)
_ALIKE = 0.2
"""Windows whose lengths differ by less than this share are of one scale: months, days of DST."""


@dataclass(frozen=True)
class Series:
    """One measurement as it recurs, window after window; None limits nothing."""

    check: str
    method: str
    leg: str
    column: str | None = None
    segment_id: int = WHOLE
    deployment_ids: tuple[int, ...] = ()
    baseline_ids: tuple[int, ...] = ()


@dataclass(frozen=True)
class LastAction:
    """The newest action of an alert's episode, as people read of it."""

    action: str
    state: str
    dry_run: bool
    reason: str | None
    outcome: str | None
    requested_by: str


def times_fired(
    connection: Connection, project_id: int, alert_ids: Collection[int], since: datetime
) -> dict[int, list[datetime]]:
    """When alerts began to fire after `since`, in the time of the data, by their numbers."""
    row = alert_transition.c
    query = sa.select(row.alert_id, row.at).where(
        row.project_id == project_id,
        row.alert_id.in_(sorted(alert_ids)),
        row.to_state == AlertState.FIRING.value,
        row.from_state.in_(_NOT_FIRING),
        row.at > since,
    )
    found: dict[int, list[datetime]] = {}
    for number, at in connection.execute(query):
        found.setdefault(number, []).append(at)
    return found


def last_actions(
    connection: Connection, project_id: int, alert_ids: Collection[int]
) -> dict[tuple[int, int], LastAction]:
    """The newest action of each (alert number, episode)."""
    row = response_action.c
    query = (
        sa.select(response_action)
        .ext(distinct_on(row.alert_id, row.episode))
        .where(row.project_id == project_id, row.alert_id.in_(sorted(alert_ids)), ~row.drill)
        .order_by(row.alert_id, row.episode, row.id.desc())
    )
    return {
        (each.alert_id, each.episode): LastAction(
            each.action, each.state, each.dry_run, each.reason, each.outcome, each.requested_by
        )
        for each in connection.execute(query)
    }


def model_numbers(connection: Connection, project_id: int) -> dict[str, int]:
    """The numbers of all models, by name."""
    query = sa.select(model.c.name, model.c.id).where(model.c.project_id == project_id)
    return {row.name: row.id for row in connection.execute(query)}


def data_until(connection: Connection, project_id: int, model_id: int) -> datetime | None:
    """The end of the newest hour with live requests that was profiled."""
    newest: datetime | None = connection.scalar(
        sa.select(sa.func.max(profile.c.window_start)).where(*_hours(project_id, model_id))
    )
    return None if newest is None else newest + Grain.HOUR.length


def requests_by_hour(
    connection: Connection, project_id: int, model_id: int, window: Window
) -> dict[int, dict[datetime, int]]:
    """Live requests of each deployment, by the start of the hour."""
    row = profile.c
    query = (
        sa.select(row.deployment_id, row.window_start, sa.func.sum(row.n))
        .where(*_hours(project_id, model_id))
        .where(row.window_start >= window.start, row.window_start < window.end)
        .group_by(row.deployment_id, row.window_start)
    )
    found: dict[int, dict[datetime, int]] = {}
    for number, start, n in connection.execute(query):
        found.setdefault(number, {})[start] = int(n)
    return found


def earlier_values(
    connection: Connection,
    project_id: int,
    model_id: int,
    series: Series,
    window: Window,
    length: timedelta,
) -> list[float]:
    """The measured values of windows of this length that lie in `window`, oldest first.

    Of each window the newest revision, of the widest set of deployments where none is asked for.
    """
    row = measurement.c
    span = row.window_end - row.window_start
    conditions = [
        row.project_id == project_id,
        row.model_id == model_id,
        row.check_name == series.check,
        row.method == series.method,
        row.leg == series.leg,
        row.segment_id == series.segment_id,
        row.state == "measured",
        row.window_start >= window.start,
        row.window_end <= window.end,
        span > length * (1 - _ALIKE),
        span < length * (1 + _ALIKE),
    ]
    if series.column is not None:
        conditions.append(row.column_name == series.column)
    if series.deployment_ids:
        conditions.append(row.deployment_ids == list(series.deployment_ids))
    if series.baseline_ids:
        conditions.append(row.baseline_id.in_(series.baseline_ids))
    query = (
        sa.select(row.value)
        .ext(distinct_on(row.window_end))
        .where(*conditions)
        .order_by(
            row.window_end, sa.func.cardinality(row.deployment_ids).desc(), row.known_at.desc()
        )
    )
    return [float(value) for value in connection.scalars(query)]


def _hours(project_id: int, model_id: int) -> tuple[sa.ColumnElement[bool], ...]:
    row = profile.c
    return (
        row.project_id == project_id,
        row.model_id == model_id,
        row.part == int(PartKind.SERVING),
        row.grain == int(Grain.HOUR),
        row.segment_id == WHOLE,
        row.binning_id == 0,
        row.leg == LIVE_LEG,
    )
