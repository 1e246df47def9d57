"""The promise about a model's drift alarms as people read it: state, history, columns, backtest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.engine import Connection, Engine

from monitor.checks.promise.backtest import clean_days
from monitor.checks.promise.governor import governor_factor
from monitor.checks.promise.hours import HOUR, WEEK_HOURS, Hours
from monitor.contract import Alarms
from monitor.expected_days import expected_hours
from monitor.records import LIVE_LEG
from monitor.reports.database import reading
from monitor.reports.incidents import column_of
from monitor.reports.measurements import scale_of
from monitor.reports.profile_cover import COLUMNS_PART, live_all
from monitor.reports.promise_state import (
    BacktestFacts,
    History,
    PromiseState,
    backtest_from_json,
    promise_sentence,
    state_of,
    static_reference,
    waiting,
)
from monitor.store.backtests import newest_backtest
from monitor.store.incidents import StoredIncident, Verdict, read_incidents
from monitor.store.tables import baseline, contract, measurement, profile, seasonal_baseline
from monitor.windows import Grain, Window

CHECK, METHOD = "drift", "seasonal"
SCALES = ("1h", "6h", "day", "168h")
SHIFT = "smallest_visible_shift_sd"
LOOK_BACK = timedelta(days=35)
"""Holds a measured window of every scale, holidays or not."""


@dataclass(frozen=True)
class ColumnPromise:
    """What was learned of one column. `shifts` by scale: the smallest shift of the mean that the
    newest window would have shown with 90 % certainty, in baseline standard deviations."""

    name: str
    column_class: str
    season: str
    weeks: int
    n: int
    wobble_a_day: float | None
    withheld: str
    left_out: int
    decide: bool
    shifts: Mapping[str, float]


@dataclass(frozen=True)
class PromiseReport:
    """Everything told of a model's promise; `why` says in sentences what keeps it from more.

    `learned` is when the week that the newest baseline was made for begins, `weeks` are those it
    was learned from, `governor` is the factor on all levels.
    """

    promised: float
    state: PromiseState
    why: tuple[str, ...]
    history: History
    learned: datetime | None
    weeks: tuple[datetime, ...]
    columns: tuple[ColumnPromise, ...]
    segments: tuple[str, ...]
    governor: float
    told_false: int
    backtest: BacktestFacts | None

    @property
    def sentence(self) -> str:
        """The promise in words, beside the model's own history."""
        said = promise_sentence(self.promised, self.history)
        return said if self.learned is not None else f"What will be promised: {said}"

    @property
    def withheld(self) -> tuple[ColumnPromise, ...]:
        """Columns that the promise does not hold for."""
        return tuple(column for column in self.columns if column.withheld)

    @property
    def undecided(self) -> tuple[ColumnPromise, ...]:
        """Columns left out of learning for so long that a person has to decide."""
        return tuple(column for column in self.columns if column.decide)


def promise(engine: Engine, project_id: int, model_id: int, now: datetime) -> PromiseReport:
    """The promise of a model as of `now`."""
    with reading(engine, project_id) as connection:
        return read_promise(connection, project_id, model_id, now)


def read_promise(
    connection: Connection, project_id: int, model_id: int, now: datetime
) -> PromiseReport:
    """The same inside a transaction."""
    body = _contract(connection, project_id, model_id)
    alarms, zone = Alarms.model_validate(body.get("alarms") or {}), body.get("time_zone", "UTC")
    newest = _newest(connection, project_id, model_id)
    kept = newest_backtest(connection, project_id, model_id, LIVE_LEG)
    found = read_incidents(connection, project_id, model_id, leg=LIVE_LEG)
    history = _history(connection, project_id, model_id, found, alarms, zone)
    columns = _in_order(_columns(connection, project_id, model_id, newest), body)
    weeks = _weeks_waited(connection, project_id, model_id, newest)
    has_file = _has_file(connection, project_id, model_id)
    promised = alarms.false_incidents_a_month
    backtest = None if kept is None else backtest_from_json(kept)
    if newest is not None and newest.learned:
        withheld = {column.name: column.withheld for column in columns if column.withheld}
        state, why = state_of(promised, history, withheld, len(columns), backtest)
    else:
        state, why = static_reference() if weeks is None and has_file else waiting(weeks or 0)
    told = [one.verdict_at for one in found if one.verdict is Verdict.FALSE_ALARM]
    moments = [moment for moment in told if moment is not None]
    return PromiseReport(
        promised=promised,
        state=state,
        why=why,
        history=history,
        learned=newest.week_start if newest is not None and newest.learned else None,
        weeks=tuple(datetime.fromisoformat(week) for week in newest.weeks) if newest else (),
        columns=columns,
        segments=tuple(newest.summary.get("segments", ())) if newest else (),
        governor=governor_factor(moments, now, promised),
        told_false=len(moments),
        backtest=backtest,
    )


def _contract(connection: Connection, project_id: int, model_id: int) -> Mapping[str, Any]:
    """The newest contract as it is stored; empty when there is none."""
    body: Mapping[str, Any] | None = connection.scalar(
        sa.select(contract.c.body)
        .where(contract.c.project_id == project_id, contract.c.model_id == model_id)
        .order_by(contract.c.version.desc())
        .limit(1)
    )
    return body or {}


def _in_order(
    columns: Iterable[ColumnPromise], body: Mapping[str, Any]
) -> tuple[ColumnPromise, ...]:
    """In the contract's order; what stands for a column (its missing values) comes after it."""
    names = [str(column["name"]) for column in body.get("columns", ())]

    def place(one: ColumnPromise) -> tuple[int, int, str]:
        known = column_of(one.name, names)
        return (len(names) if known is None else names.index(known), len(one.name), one.name)

    return tuple(sorted(columns, key=place))


def _newest(connection: Connection, project_id: int, model_id: int) -> Any:
    """The newest baseline without its body: `learned` says whether there is one."""
    row = seasonal_baseline.c
    query = (
        sa.select(row.week_start, row.weeks, row.summary, row.body.is_not(None).label("learned"))
        .where(row.project_id == project_id, row.model_id == model_id, row.leg == LIVE_LEG)
        .order_by(row.week_start.desc())
        .limit(1)
    )
    return connection.execute(query).one_or_none()


def _history(
    connection: Connection,
    project_id: int,
    model_id: int,
    found: Iterable[StoredIncident],
    alarms: Alarms,
    zone: str,
) -> History:
    span = _judged(connection, project_id, model_id)
    if span is None:
        return History()
    mine = [one for one in found if one.incident.last > span.start]
    verdicts = [one.verdict for one in mine]
    real = [one.incident for one in mine if one.verdict in (Verdict.FAULT, Verdict.ADOPT)]
    without = expected_hours(alarms, zone, span.start, (span.end - span.start) // HOUR)
    without |= ~_served(connection, project_id, model_id, span)
    hours = Hours(span.start, len(without), zone, without)
    return History(
        days=clean_days(hours, real),
        told_false=verdicts.count(Verdict.FALSE_ALARM),
        unjudged=verdicts.count(None),
        explained=verdicts.count(Verdict.FAULT) + verdicts.count(Verdict.ADOPT),
    )


def _judged(connection: Connection, project_id: int, model_id: int) -> Window | None:
    """From the first week that had a baseline to the newest judged hour; None before that."""
    row = seasonal_baseline.c
    first = connection.scalar(
        sa.select(sa.func.min(row.week_start)).where(
            row.project_id == project_id, row.model_id == model_id, row.leg == LIVE_LEG,
            row.body.is_not(None),
        )
    )  # fmt: skip
    if first is None:
        return None
    newest = _newest_judged(connection, project_id, model_id)
    if newest is None or newest <= first:
        return None
    return Window(first, newest)


def _newest_judged(connection: Connection, project_id: int, model_id: int) -> datetime | None:
    """The end of the newest window of the promise's own method."""
    row = measurement.c
    found: datetime | None = connection.scalar(
        sa.select(row.window_end)
        .where(row.project_id == project_id, row.model_id == model_id)
        .where(row.check_name == CHECK, row.method == METHOD, row.leg == LIVE_LEG)
        .order_by(row.window_end.desc())
        .limit(1)
    )
    return found


def _served(connection: Connection, project_id: int, model_id: int, span: Window) -> Any:
    """Hours of UTC days with requests, bool[hours]; a silent day can't be a clean one."""
    row = profile.c
    query = (
        sa.select(row.window_start)
        .distinct()
        .where(row.project_id == project_id, row.model_id == model_id, row.part == COLUMNS_PART)
        .where(row.grain == int(Grain.DAY), *live_all())
        .where(row.window_start >= span.start - Grain.DAY.length, row.window_start < span.end)
    )
    found = np.zeros((span.end - span.start) // HOUR, bool)
    for start in connection.scalars(query):
        place = (start - span.start) // HOUR
        found[max(place, 0) : max(place + 24, 0)] = True
    return found


def _columns(
    connection: Connection, project_id: int, model_id: int, newest: Any
) -> tuple[ColumnPromise, ...]:
    told = newest.summary.get("columns", {}) if newest is not None else {}
    shifts = _shifts(connection, project_id, model_id) if told else {}
    return tuple(
        ColumnPromise(
            name=name,
            column_class=one["class"],
            season=one["season"],
            weeks=one["weeks"],
            n=one["n"],
            wobble_a_day=one["wobble_a_day"],
            withheld=one["withheld"],
            left_out=one["left_out"],
            decide=one["decide"],
            shifts=shifts.get(name, {}),
        )
        for name, one in told.items()
    )


def _shifts(connection: Connection, project_id: int, model_id: int) -> dict[str, dict[str, float]]:
    """By column and scale: what the newest measured window could have shown."""
    newest = _newest_judged(connection, project_id, model_id)
    if newest is None:
        return {}
    row = measurement.c
    scale = scale_of(row.window_start, row.window_end)
    query = (
        sa.select(
            row.column_name, scale.label("scale"), row.detail[SHIFT].as_float().label("shift")
        )
        .ext(distinct_on(row.column_name, scale))
        .where(row.project_id == project_id, row.model_id == model_id)
        .where(row.check_name == CHECK, row.method == METHOD, row.leg == LIVE_LEG)
        .where(row.window_end > newest - LOOK_BACK, row.state == "measured")
        .order_by(row.column_name, scale, row.window_end.desc(), row.known_at.desc())
    )
    found: dict[str, dict[str, float]] = {}
    for one in connection.execute(query):
        if one.shift is not None:
            found.setdefault(one.column_name, {})[one.scale] = one.shift
    return found


def _weeks_waited(
    connection: Connection, project_id: int, model_id: int, newest: Any
) -> int | None:
    """Whole weeks of history so far; None when no request was ever profiled."""
    row = profile.c
    first, last = connection.execute(
        sa.select(sa.func.min(row.window_start), sa.func.max(row.window_start))
        .where(row.project_id == project_id, row.model_id == model_id, row.part == COLUMNS_PART)
        .where(row.grain == int(Grain.DAY), *live_all())
    ).one()
    if first is None:
        return None
    if newest is not None and not newest.learned:
        return len(newest.weeks)
    return int((last + Grain.DAY.length - first) // (WEEK_HOURS * HOUR))


def _has_file(connection: Connection, project_id: int, model_id: int) -> bool:
    query = sa.select(baseline.c.id).where(
        baseline.c.project_id == project_id,
        baseline.c.model_id == model_id,
        baseline.c.kind == "file",
    )
    return connection.scalar(query.limit(1)) is not None
