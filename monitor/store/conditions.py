"""What the tables say of the system itself: ages of data, windows not done, messages not taken.

Ages of data are measured by the caller's clock, which a replay sets. Leases, deliveries and intake
carry the database's own clock, and are measured by it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.profiles.part import PartKind
from monitor.records import LIVE_LEG
from monitor.store.alert_book import KnownAlerts
from monitor.store.alert_rows import alert_from_row
from monitor.store.profile_rows import WHOLE
from monitor.store.tables import (
    alert,
    delivery,
    deployment,
    intake_batch,
    intake_mark,
    job_window,
    model,
    profile,
    receiver_state,
    response_action,
)
from monitor.windows import Grain, Window

OPEN_STATES = ("pending", "firing", "recovering")
HOUR_SECONDS = 3600


@dataclass(frozen=True)
class OpenWindows:
    """Windows of one job that are not done: how many, the oldest, and one of the errors."""

    job: str
    count: int
    oldest: datetime
    error: str | None = None


@dataclass(frozen=True)
class Backlog:
    """Messages of one receiver: how many, and the age of the oldest in hours."""

    receiver: str
    count: int
    hours: float


def newest_request(connection: Connection, project_id: int, model_id: int) -> datetime | None:
    """End of the newest five minutes with a request on the live leg, profiled or not yet."""
    mark, grain = intake_mark.c, int(Grain.FIVE_MINUTES)
    waiting = connection.scalar(
        sa.select(sa.func.max(mark.window_start))
        .where(mark.project_id == project_id, mark.model_id == model_id)
        .where(mark.grain == grain, mark.leg == LIVE_LEG)
    )
    read = connection.scalar(
        sa.select(sa.func.max(profile.c.window_start)).where(
            *_live_serving(project_id, model_id, Grain.FIVE_MINUTES)
        )
    )
    known = [start for start in (waiting, read) if start is not None]
    return max(known) + Grain.FIVE_MINUTES.length if known else None


def first_served(connection: Connection, project_id: int, model_id: int) -> datetime | None:
    """Start of the first day with a request on the live leg."""
    found: datetime | None = connection.scalar(
        sa.select(sa.func.min(profile.c.window_start)).where(
            *_live_serving(project_id, model_id, Grain.DAY)
        )
    )
    return found


def newest_profiled(
    connection: Connection, project_id: int, model_id: int, kind: PartKind, binning_id: int
) -> datetime | None:
    """Start of the newest hour of the live leg that has a profile of this part."""
    found: datetime | None = connection.scalar(
        sa.select(sa.func.max(profile.c.window_start)).where(
            *_live(project_id, model_id, Grain.HOUR, kind, binning_id)
        )
    )
    return found


def failed_windows(connection: Connection, project_id: int, model_id: int) -> list[OpenWindows]:
    """Windows whose last run failed, by job."""
    row = job_window.c
    query = (
        sa.select(row.job, sa.func.count(), sa.func.min(row.window_start), sa.func.max(row.error))
        .where(row.project_id == project_id, row.model_id == model_id, row.state == "failed")
        .group_by(row.job)
    )
    return [OpenWindows(*found) for found in connection.execute(query)]


def overdue_windows(
    connection: Connection,
    project_id: int,
    model_id: int,
    closed: Mapping[str, datetime],
    usually_closed: datetime,
    grace: timedelta,
) -> list[OpenWindows]:
    """Closed windows that nobody has done for longer than `grace`, by job.

    `closed` gives the moment by job before which windows start that are closed; of jobs not named
    there it is `usually_closed`. A window waits from the moment on from which it may be taken.
    """
    row = job_window.c
    limit = sa.case(
        *((row.job == job, moment) for job, moment in closed.items()), else_=usually_closed
    )
    query = (
        sa.select(row.job, sa.func.count(), sa.func.min(row.window_start))
        .where(row.project_id == project_id, row.model_id == model_id, row.state != "done")
        .where(row.lease_until < sa.func.now() - grace, row.window_start < limit)
        .group_by(row.job)
    )
    return [OpenWindows(*found) for found in connection.execute(query)]


def unread_windows(
    connection: Connection, project_id: int, model_id: int, grain: Grain, ended: datetime
) -> tuple[int, datetime | None]:
    """Windows of a grain that ended by then and have requests nobody profiled: count and oldest."""
    mark = intake_mark.c
    found = connection.execute(
        sa.select(sa.func.count(mark.window_start.distinct()), sa.func.min(mark.window_start))
        .where(mark.project_id == project_id, mark.model_id == model_id)
        .where(mark.grain == int(grain), mark.window_start <= ended - grain.length)
    ).one()
    return int(found[0]), found[1]


def refused_records(
    connection: Connection, project_id: int, model_id: int, lately: timedelta
) -> tuple[int, int]:
    """Records of a model that came lately, and those of them that could not be stored."""
    row = intake_batch.c
    counts = (row.accepted, row.duplicate, row.conflict, row.rejected)
    total = sum(counts[1:], start=counts[0])
    found = connection.execute(
        sa.select(
            sa.func.coalesce(sa.func.sum(total), 0), sa.func.coalesce(sa.func.sum(row.rejected), 0)
        )
        .where(row.project_id == project_id, row.model_id == model_id)
        .where(row.received_at > sa.func.now() - lately)
    ).one()
    return int(found[0]), int(found[1])


def overflow_requests(
    connection: Connection, project_id: int, model_id: int, window: Window
) -> int:
    """Requests of the hours in a window whose version tags were one set too many."""
    overflow = (
        sa.select(deployment.c.id)
        .where(deployment.c.project_id == project_id, deployment.c.model_id == model_id)
        .where(deployment.c.overflow)
    )
    row = profile.c
    query = (
        sa.select(sa.func.coalesce(sa.func.sum(row.n), 0))
        .where(*_live_serving(project_id, model_id, Grain.HOUR))
        .where(row.window_start >= window.start, row.window_start < window.end)
        .where(row.deployment_id.in_(overflow))
    )
    return int(connection.scalar(query) or 0)


def undelivered(connection: Connection, project_id: int) -> list[Backlog]:
    """Messages that wait to be taken, by receiver; the age counts from when they became owed."""
    row = delivery.c
    age = sa.extract("epoch", sa.func.now() - sa.func.min(row.created_at)) / HOUR_SECONDS
    return _backlogs(connection, project_id, age, row.state == "waiting")


def dead_letters(connection: Connection, project_id: int, lately: timedelta) -> list[Backlog]:
    """Messages that were given up lately, by receiver; the age counts from the newest."""
    row = delivery.c
    age = sa.extract("epoch", sa.func.now() - sa.func.max(row.finished_at)) / HOUR_SECONDS
    lately_dead = sa.and_(row.state == "dead", row.finished_at > sa.func.now() - lately)
    return _backlogs(connection, project_id, age, lately_dead)


def disabled_receivers(connection: Connection, project_id: int) -> dict[str, str]:
    """Receivers that are sent nothing until a person enables them, with the reason."""
    row = receiver_state.c
    query = sa.select(row.receiver, row.reason).where(
        row.project_id == project_id, row.disabled_at.is_not(None)
    )
    return {found.receiver: found.reason or "" for found in connection.execute(query)}


def actions_without_outcome(
    connection: Connection, project_id: int, now: datetime
) -> dict[tuple[str, str], list[int]]:
    """Numbers of actions whose outcome should be there by now, by model and response.

    Actions of drills are left out: a rehearsal tells of them itself.
    """
    row = response_action.c
    query = (
        sa.select(row.model, row.response, row.id)
        .where(row.project_id == project_id, row.state == "requested", ~row.drill)
        .where(row.outcome_at.is_(None), row.outcome_due_at < now)
        .order_by(row.id)
    )
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for name, response, number in connection.execute(query):
        found[name, response].append(number)
    return found


def retired_models(connection: Connection, project_id: int) -> frozenset[int]:
    """Numbers of the models that are served no more."""
    query = sa.select(model.c.id).where(
        model.c.project_id == project_id, model.c.retired_at.is_not(None)
    )
    return frozenset(connection.scalars(query))


def condition_alerts(connection: Connection, project_id: int, check: str) -> KnownAlerts:
    """All alerts of a project on readings of this check, resolved ones included."""
    body_check = alert.c.body["labels"]["check"].astext
    return _alerts(connection, alert.c.project_id == project_id, body_check == check)


def alerts_of_rules(connection: Connection, project_id: int, rules: Collection[str]) -> KnownAlerts:
    """All alerts of these rules, resolved ones included."""
    if not rules:
        return KnownAlerts({}, {})
    return _alerts(connection, alert.c.project_id == project_id, alert.c.rule.in_(sorted(rules)))


def late_alerts(
    connection: Connection,
    project_id: int,
    now: datetime,
    waits: Mapping[str, timedelta],
    windows: int,
    at_least: timedelta,
    irregular: Collection[str],
) -> KnownAlerts:
    """Open alerts whose next window is overdue and that do not say so yet.

    `waits` holds the rules that name their own time to wait. Of the others it is so many windows of
    the alert's own length, and `at_least` this long; alerts on checks that are `irregular` are left
    out, as no window of theirs can be overdue.
    """
    last = alert.c.body["last_reading"]
    at, start = (
        sa.cast(last[name].astext, sa.DateTime(timezone=True)) for name in ("at", "window_start")
    )
    usual = sa.func.greatest(sa.extract("epoch", at - start) * windows, at_least.total_seconds())
    own = ((alert.c.rule == rule, wait.total_seconds()) for rule, wait in waits.items())
    wait = sa.case(*own, else_=usual) if waits else usual
    return _alerts(
        connection,
        alert.c.project_id == project_id,
        alert.c.state.in_(OPEN_STATES),
        alert.c.data_state != "late",
        sa.or_(
            sa.func.coalesce(alert.c.body["labels"]["check"].astext, "").not_in(list(irregular)),
            alert.c.rule.in_(list(waits)),
        ),
        sa.extract("epoch", sa.literal(now) - at) > wait,
    )


def _alerts(connection: Connection, *conditions: sa.ColumnElement[bool]) -> KnownAlerts:
    rows = list(connection.execute(sa.select(alert).where(*conditions)))
    return KnownAlerts(
        {row.fingerprint: alert_from_row(row) for row in rows},
        {row.fingerprint: row.id for row in rows},
    )


def _backlogs(
    connection: Connection,
    project_id: int,
    age: sa.ColumnElement[Any],
    which: sa.ColumnElement[bool],
) -> list[Backlog]:
    row = delivery.c
    query = (
        sa.select(row.receiver, sa.func.count(), age)
        .where(row.project_id == project_id, which)
        .group_by(row.receiver)
    )
    return [Backlog(name, n, float(hours)) for name, n, hours in connection.execute(query)]


def _live_serving(
    project_id: int, model_id: int, grain: Grain
) -> Collection[sa.ColumnElement[bool]]:
    return _live(project_id, model_id, grain, PartKind.SERVING, 0)


def _live(
    project_id: int, model_id: int, grain: Grain, kind: PartKind, binning_id: int
) -> Collection[sa.ColumnElement[bool]]:
    row = profile.c
    return (
        row.project_id == project_id,
        row.model_id == model_id,
        row.part == int(kind),
        row.grain == int(grain),
        row.segment_id == WHOLE,
        row.binning_id == binning_id,
        row.leg == LIVE_LEG,
    )
