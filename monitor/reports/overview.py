"""What the first page says: counts of bad news, blind spots among them, and a strip of models."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.engine import Connection, Engine

from monitor.reports.alerts import FIRING_STATES, OPEN_STATES
from monitor.reports.database import reading
from monitor.reports.measurements import IDENTITY, newest_windows
from monitor.reports.model_activity import Activity, activities
from monitor.reports.models import label_age
from monitor.reports.promise import read_promise
from monitor.reports.promise_state import PromiseState
from monitor.store.tables import alert, contract, job_window, measurement, model, tag_conflict
from monitor.windows import Window

STALE_AFTER = timedelta(hours=24)
DAYS_SHOWN = 30


class BlindSpotKind(StrEnum):
    """Why something about a model can't be seen."""

    NO_REQUESTS = "no_requests"
    STALE = "stale"
    NO_LABELS = "no_labels"
    JOBS_FAILED = "jobs_failed"
    CHECKS_FAILED = "checks_failed"
    TAGS_CONTRADICT = "tags_contradict"
    NO_PROMISE = "no_promise"


@dataclass(frozen=True)
class BlindSpot:
    """Something that can't be seen, since when, and what to do about it."""

    model: str
    kind: BlindSpotKind
    what: str
    remedy: str
    since: datetime | None = None


@dataclass(frozen=True)
class ModelLine:
    """One model of the strip."""

    name: str
    owner: str
    risk_tier: str
    activity: Activity
    promise: PromiseState
    has_label: bool
    firing: int
    pending: int
    blind_spots: tuple[BlindSpot, ...]


@dataclass(frozen=True)
class AlertCounts:
    """Open alerts: firing ones by severity, pending ones, and how many firing ones are taken on."""

    page: int = 0
    ticket: int = 0
    notice: int = 0
    pending: int = 0
    acknowledged: int = 0


@dataclass(frozen=True)
class Overview:
    """The first page. Models with the worst news come first."""

    counts: AlertCounts
    models: tuple[ModelLine, ...]
    blind_spots: tuple[BlindSpot, ...]
    now: datetime


def overview(
    engine: Engine,
    project_id: int,
    now: datetime,
    days: int = DAYS_SHOWN,
    window: Window | None = None,
) -> Overview:
    """Read the first page of a project as of `now`.

    Traffic and label coverage are of the newest `days` that each model has requests of, or of a
    window; all else is of now.
    """
    with reading(engine, project_id) as connection:
        counts, by_model = _alerts(connection, project_id)
        models = _models(connection, project_id)
        seen = activities(connection, project_id, days, window)
        promises = {
            row.id: read_promise(connection, project_id, row.id, now).state for row in models
        }
        jobs = _failed_jobs(connection, project_id, now)
        checks = _failed_checks(connection, project_id)
        contradicted = _contradicted(connection, project_id, now)
    lines = [
        _line(
            row,
            seen.get(row.id, Activity()),
            promises[row.id],
            by_model,
            [
                *_promise_spots(row.name, promises[row.id]),
                *_work_spots(row.name, jobs.get(row.id), checks.get(row.id, 0)),
                *_tag_spots(row.name, contradicted.get(row.id)),
            ],
            now,
        )
        for row in models
    ]
    lines.sort(key=lambda line: (-line.firing, -len(line.blind_spots), -line.pending, line.name))
    spots = tuple(spot for line in lines for spot in line.blind_spots)
    return Overview(counts, tuple(lines), spots, now)


def _line(
    row: Any,
    activity: Activity,
    promise: PromiseState,
    by_model: Counter[tuple[str, str]],
    more: list[BlindSpot],
    now: datetime,
) -> ModelLine:
    age = label_age(row.body or {})
    spots = [
        *_data_spots(row.name, activity, now),
        *(_label_spots(row.name, activity, age, now) if age is not None else ()),
        *more,
    ]
    return ModelLine(
        name=row.name,
        owner=row.owner,
        risk_tier=row.risk_tier,
        activity=activity,
        promise=promise,
        has_label=age is not None,
        firing=by_model[row.name, "firing"],
        pending=by_model[row.name, "pending"],
        blind_spots=tuple(spots),
    )


def _data_spots(name: str, activity: Activity, now: datetime) -> list[BlindSpot]:
    last = activity.last_requests
    if last is None:
        what, remedy = "no request was ever received", "send requests to POST /v1/requests"
        return [BlindSpot(name, BlindSpotKind.NO_REQUESTS, what, remedy)]
    if now - last > STALE_AFTER:
        remedy = "check that the producer still sends and that its key is valid"
        return [BlindSpot(name, BlindSpotKind.STALE, "no fresh requests", remedy, last)]
    return []


def _label_spots(name: str, activity: Activity, age: timedelta, now: datetime) -> list[BlindSpot]:
    last = activity.last_labels
    if last is None and activity.last_requests is not None:
        what, remedy = "no label was ever received", "send labels to POST /v1/labels"
        return [BlindSpot(name, BlindSpotKind.NO_LABELS, what, remedy)]
    if last is not None and now - last > age:
        remedy = "quality can't be measured: check the program that sends labels"
        return [BlindSpot(name, BlindSpotKind.NO_LABELS, "no fresh labels", remedy, last)]
    return []


def _work_spots(name: str, failed: tuple[int, datetime] | None, checks: int) -> list[BlindSpot]:
    spots = []
    if failed is not None:
        count, since = failed
        what = f"{count} job {'window' if count == 1 else 'windows'} failed or lost"
        remedy = "read the error under System health; the job is tried again by itself"
        spots.append(BlindSpot(name, BlindSpotKind.JOBS_FAILED, what, remedy, since))
    if checks:
        what = f"{checks} {'check' if checks == 1 else 'checks'} failed on the newest window"
        remedy = "open the model and read the reasons under All measurements"
        spots.append(BlindSpot(name, BlindSpotKind.CHECKS_FAILED, what, remedy))
    return spots


def _promise_spots(name: str, state: PromiseState) -> list[BlindSpot]:
    if state is not PromiseState.NOT_AVAILABLE:
        return []
    what = "nothing is promised about false drift alarms"
    remedy = "open the model and read under Drift why not, and for which columns"
    return [BlindSpot(name, BlindSpotKind.NO_PROMISE, what, remedy)]


def _tag_spots(name: str, found: tuple[int, datetime] | None) -> list[BlindSpot]:
    if found is None:
        return []
    count, since = found
    tags = "version tag is" if count == 1 else "version tags are"
    what = f"{count} {tags} told in two ways"
    remedy = f"read `inferwatch deployments conflicts {name}` and mend whoever is wrong"
    return [BlindSpot(name, BlindSpotKind.TAGS_CONTRADICT, what, remedy, since)]


def _alerts(
    connection: Connection, project_id: int
) -> tuple[AlertCounts, Counter[tuple[str, str]]]:
    taken = alert.c.acknowledged_at.is_not(None)
    query = (
        sa.select(alert.c.model, alert.c.state, alert.c.severity, taken, sa.func.count())
        .where(alert.c.project_id == project_id, alert.c.state.in_(OPEN_STATES))
        .group_by(alert.c.model, alert.c.state, alert.c.severity, taken)
    )
    by_model: Counter[tuple[str, str]] = Counter()
    total: Counter[str] = Counter()
    for name, state, severity, acknowledged, count in connection.execute(query):
        firing = state in FIRING_STATES
        by_model[name, "firing" if firing else "pending"] += count
        total[severity if firing else "pending"] += count
        if acknowledged and firing:
            total["acknowledged"] += count
    known = ("page", "ticket", "notice", "pending", "acknowledged")
    return AlertCounts(**{name: total[name] for name in known}), by_model


def _models(connection: Connection, project_id: int) -> list[Any]:
    newest = (
        sa.select(contract.c.model_id, contract.c.body)
        .ext(distinct_on(contract.c.model_id))
        .where(contract.c.project_id == project_id)
        .order_by(contract.c.model_id, contract.c.version.desc())
        .subquery()
    )
    query = (
        sa.select(model.c.id, model.c.name, model.c.owner, model.c.risk_tier, newest.c.body)
        .outerjoin(newest, newest.c.model_id == model.c.id)
        .where(model.c.project_id == project_id)
    )
    return list(connection.execute(query))


def _failed_jobs(
    connection: Connection, project_id: int, now: datetime
) -> dict[int, tuple[int, datetime]]:
    """By model: windows that failed or whose worker let the lease run out, and the oldest."""
    lost = sa.and_(job_window.c.state == "running", job_window.c.lease_until < now)
    query = (
        sa.select(job_window.c.model_id, sa.func.count(), sa.func.min(job_window.c.window_start))
        .where(
            job_window.c.project_id == project_id,
            job_window.c.state != "done",
            sa.or_(job_window.c.state == "failed", lost),
        )
        .group_by(job_window.c.model_id)
    )
    return {row[0]: (row[1], row[2]) for row in connection.execute(query)}


def _contradicted(
    connection: Connection, project_id: int, now: datetime
) -> dict[int, tuple[int, datetime]]:
    """By model: tags that sources contradicted each other on lately, and since when."""
    tags = sa.func.count(sa.distinct(tag_conflict.c.tag))
    query = (
        sa.select(tag_conflict.c.model_id, tags, sa.func.min(tag_conflict.c.first_at))
        .where(tag_conflict.c.project_id == project_id, tag_conflict.c.last_at > now - STALE_AFTER)
        .group_by(tag_conflict.c.model_id)
    )
    return {row[0]: (row[1], row[2]) for row in connection.execute(query)}


def _failed_checks(connection: Connection, project_id: int) -> dict[int, int]:
    """By model: measurements that failed in the newest window of their check."""
    newest = newest_windows(project_id)
    same = sa.and_(
        newest.c.model_id == measurement.c.model_id,
        newest.c.check_name == measurement.c.check_name,
        newest.c.window_end == measurement.c.window_end,
    )
    revisions = (
        sa.select(measurement.c.model_id, measurement.c.state)
        .ext(distinct_on(measurement.c.model_id, *IDENTITY))
        .join(newest, same)
        .where(measurement.c.project_id == project_id)
        .order_by(measurement.c.model_id, *IDENTITY, measurement.c.known_at.desc())
        .subquery()
    )
    query = (
        sa.select(revisions.c.model_id, sa.func.count())
        .where(revisions.c.state == "failed")
        .group_by(revisions.c.model_id)
    )
    return {row[0]: row[1] for row in connection.execute(query)}
