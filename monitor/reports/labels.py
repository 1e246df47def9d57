"""Labels of a model: how soon they come, how mature its cohorts are, what waits.

With `known_by` everything but the waiting labels is told as it was known then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from monitor.checks.maturity.delay_curve import LOWER_HOURS, UPPER_HOURS, DelayCurve
from monitor.contract import Contract, Task
from monitor.profiles.predictions import classes_of
from monitor.records import LIVE_LEG
from monitor.reports.database import reading
from monitor.reports.measurements import Filter, MeasurementRow, read_measurements
from monitor.store.delay_curves import StoredCurve, read_curves
from monitor.store.tables import contract, label_orphan
from monitor.windows import Window

ALL_CLASSES = "all requests"
NO_CLASS = "no predicted class"
ORPHAN_WORDS = {
    "no_request": "no request with this id has come",
    "other_time": "the request with this id has another event time",
    "ambiguous": "the id stands for several requests and the label names no time",
    "unusable_value": "the value is of no use for the task",
}


@dataclass(frozen=True)
class CurvePoint:
    """The share of requests with a label by an age, with its pointwise 95 % limits."""

    hours: float
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class CurveFacts:
    """A delay curve in figures. `settled`: the plateau is the share that ever gets a label."""

    title: str
    n: int
    median_hours: float | None
    ninety_hours: float | None
    plateau: float
    plateau_low: float
    plateau_high: float
    settled: bool
    known_at: datetime
    points: tuple[CurvePoint, ...]


@dataclass(frozen=True)
class CohortFacts:
    """Coverage and maturity of the requests of a day. `state` is empty where none was told."""

    window: Window
    n: int
    coverage: float | None
    low: float | None
    high: float | None
    state: str
    expected_share: float | None
    age_hours: float | None
    known_at: datetime

    @property
    def is_judged(self) -> bool:
        """Whether rules look at the quality of it."""
        return self.state in ("provisional", "final")


@dataclass(frozen=True)
class FeedDay:
    """Silence and arrivals of the label feed on a day."""

    window: Window
    silence_hours: float | None
    newest_label: str | None
    ratio: float | None
    low: float | None
    high: float | None
    observed: int | None
    expected: float | None


@dataclass(frozen=True)
class OrphanFacts:
    """Labels that wait for one reason, and since when the oldest does."""

    reason: str
    words: str
    n: int
    oldest_arrival: datetime


@dataclass(frozen=True)
class LabelReport:
    """All of it; `name` is None when the contract declares no label."""

    name: str | None
    feedback: str
    max_age: timedelta | None
    correction_time: timedelta | None
    newest_label: datetime | None
    curves: tuple[CurveFacts, ...]
    cohorts: tuple[CohortFacts, ...]
    feed: tuple[FeedDay, ...]
    orphans: tuple[OrphanFacts, ...]


def label_report(
    engine: Engine,
    project_id: int,
    model_id: int,
    window: Window,
    known_by: datetime | None = None,
    leg: str = LIVE_LEG,
) -> LabelReport:
    """What is known of the labels of requests in a range."""
    with reading(engine, project_id) as connection:
        declared = _contract(connection, project_id, model_id)
        if declared is None or declared.label is None:
            return LabelReport(None, "", None, None, None, (), (), (), ())
        stored = read_curves(connection, project_id, model_id, known_by, segment_id=0)
        titles = _titles(declared)
        curves = {key.predicted: one for key, one in sorted(stored.items()) if key.leg == leg}
        cohorts = _cohorts(connection, project_id, model_id, window, leg, known_by)
        feed = _feed(connection, project_id, model_id, window, known_by) if leg == LIVE_LEG else ()
        orphans = _orphans(connection, project_id, model_id, declared.label.name, leg)
    return LabelReport(
        name=declared.label.name,
        feedback=declared.label.feedback.value,
        max_age=declared.label.max_age,
        correction_time=declared.label.correction_time,
        newest_label=_newest_label(curves.values(), feed),
        curves=tuple(_curve_facts(titles.get(n, str(n)), one) for n, one in curves.items()),
        cohorts=cohorts,
        feed=feed,
        orphans=orphans,
    )


def _contract(connection: Connection, project_id: int, model_id: int) -> Contract | None:
    body = connection.scalar(
        sa.select(contract.c.body)
        .where(contract.c.project_id == project_id, contract.c.model_id == model_id)
        .order_by(contract.c.version.desc())
        .limit(1)
    )
    return Contract.model_validate(body) if body is not None else None


def _titles(declared: Contract) -> dict[int, str]:
    """Names of predicted classes; -1 is every request."""
    if declared.task is Task.BINARY:
        return {-1: ALL_CLASSES, 0: "predicted negative", 1: "predicted positive"}
    names = {n: f"predicted {name}" for n, name in enumerate(classes_of(declared))}
    return {-1: ALL_CLASSES, **names}


def _curve_facts(title: str, stored: StoredCurve) -> CurveFacts:
    curve = stored.curve
    low, high = curve.limits(curve.follow_up_hours)
    return CurveFacts(
        title=title,
        n=curve.n,
        median_hours=curve.median_hours,
        ninety_hours=curve.ninety_hours,
        plateau=curve.plateau,
        plateau_low=low,
        plateau_high=high,
        settled=curve.settled,
        known_at=stored.known_at,
        points=_points(curve),
    )


def _points(curve: DelayCurve) -> tuple[CurvePoint, ...]:
    """The curve at the borders of its buckets, three times between, and at its end."""
    steps = [low + (high - low) * part for low, high in zip(LOWER_HOURS, UPPER_HOURS, strict=True)
             for part in (0.0, 1 / 3, 2 / 3)]  # fmt: skip
    ages = [age for age in steps if age < curve.follow_up_hours] + [curve.follow_up_hours]
    return tuple(
        CurvePoint(float(age), curve.known_by(age), *curve.limits(age)) for age in np.unique(ages)
    )


def _cohorts(
    connection: Connection,
    project_id: int,
    model_id: int,
    window: Window,
    leg: str,
    known_by: datetime | None,
) -> tuple[CohortFacts, ...]:
    wanted = Filter(("quality",), ("label_coverage",), scale="day", leg=leg, known_by=known_by)
    widest: dict[Window, MeasurementRow] = {}
    for one in read_measurements(connection, project_id, model_id, window, wanted):
        before = widest.get(one.window)
        if before is None or len(one.deployment_ids) > len(before.deployment_ids):
            widest[one.window] = one
    rows = sorted(widest.values(), key=lambda one: one.window.start, reverse=True)
    return tuple(
        CohortFacts(
            window=one.window,
            n=one.n,
            coverage=one.value,
            low=one.low,
            high=one.high,
            state=str(one.detail.get("maturity", "")),
            expected_share=_number(one.detail, "expected_share"),
            age_hours=_number(one.detail, "age_hours"),
            known_at=one.known_at,
        )
        for one in rows
    )


def _feed(
    connection: Connection,
    project_id: int,
    model_id: int,
    window: Window,
    known_by: datetime | None,
) -> tuple[FeedDay, ...]:
    wanted = Filter(("label_feed",), known_by=known_by)
    days: dict[Window, dict[str, MeasurementRow]] = {}
    for one in read_measurements(connection, project_id, model_id, window, wanted):
        days.setdefault(one.window, {}).setdefault(one.method, one)
    found = []
    for day, rows in sorted(days.items(), key=lambda item: item[0].start, reverse=True):
        quiet, ratio = rows.get("silence"), rows.get("arrival_ratio")
        newest = quiet.detail.get("newest_label") if quiet is not None else None
        expected = _number(ratio.detail, "expected") if ratio is not None else None
        observed = _number(ratio.detail, "observed") if ratio is not None else None
        found.append(
            FeedDay(
                window=day,
                silence_hours=quiet.value if quiet is not None else None,
                newest_label=str(newest) if newest else None,
                ratio=ratio.value if ratio is not None else None,
                low=ratio.low if ratio is not None else None,
                high=ratio.high if ratio is not None else None,
                observed=None if observed is None else int(observed),
                expected=expected,
            )
        )
    return tuple(found)


def _orphans(
    connection: Connection, project_id: int, model_id: int, label_name: str, leg: str
) -> tuple[OrphanFacts, ...]:
    row = label_orphan.c
    query = (
        sa.select(row.reason, sa.func.count().label("n"), sa.func.min(row.arrived_at).label("old"))
        .where(row.project_id == project_id, row.model_id == model_id)
        .where(row.label_name == label_name, row.leg == leg)
        .group_by(row.reason)
        .order_by(sa.func.count().desc(), row.reason)
    )
    return tuple(
        OrphanFacts(one.reason, ORPHAN_WORDS.get(one.reason, one.reason), one.n, one.old)
        for one in connection.execute(query)
    )


def _newest_label(curves: Iterable[StoredCurve], feed: tuple[FeedDay, ...]) -> datetime | None:
    known = [one.newest_label for one in curves]
    known += [datetime.fromisoformat(day.newest_label) for day in feed if day.newest_label]
    return max(known) if known else None


def _number(detail: Mapping[str, Any], name: str) -> float | None:
    value = detail.get(name)
    return float(value) if isinstance(value, int | float) else None
