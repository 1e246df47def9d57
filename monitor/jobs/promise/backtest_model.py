"""The backtest of a model: what its alarms would have done in weeks that pass for healthy.

Weeks touched by an incident that nobody has cleared are left out and counted, because a week that
was left out for alarming can't speak for the promise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.calendar import local_week
from monitor.checks.promise.backtest import WATCHED_P, Backtest, leave_one_week_out
from monitor.checks.promise.baseline import MIN_WEEKS
from monitor.checks.promise.budget import Budget
from monitor.checks.promise.hours import HOUR, WEEK_HOURS
from monitor.checks.promise.incidents import Incident
from monitor.errors import UnknownSubject
from monitor.jobs.base import JobContext
from monitor.jobs.promise.learn import LOOK_BACK_WEEKS, rejected_weeks
from monitor.jobs.promise.series import ModelHours, load_hours
from monitor.jobs.promise.watch_hours import budget_of
from monitor.profiles.arrays import Integers
from monitor.profiles.part import PartKind
from monitor.records import LIVE_LEG
from monitor.store.backtests import save_backtest
from monitor.store.baselines import StoredBinning, current_binning
from monitor.store.engine import Role, transaction
from monitor.store.incidents import read_incidents
from monitor.store.profile_rows import WHOLE
from monitor.store.seasonal import first_profiled_hour
from monitor.store.tables import profile
from monitor.windows import Grain, Window

FEWEST_WEEKS = MIN_WEEKS + 1
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class _Healthy:
    """The hours looked at, the weeks among them to test, and how many were left out."""

    seen: ModelHours
    weeks: Integers
    left_out: int
    budget: Budget


def backtest_model(
    context: JobContext, *, weeks: int = LOOK_BACK_WEEKS, progress: Progress | None = None
) -> dict[str, Any]:
    """Judge each healthy week of the last `weeks` by the others; stored beside the newest baseline
    and given back as JSON.

    Raises UnknownSubject when fewer than 5 healthy weeks are there, or no hour was judged yet.
    """
    with transaction(context.engine, context.project_id, Role.WORKER) as connection:
        found = _healthy(connection, context, weeks)
    if len(found.weeks) < FEWEST_WEEKS:
        out = f" ({found.left_out} left out for incidents)" if found.left_out else ""
        raise UnknownSubject(
            f"{context.contract.model} has {len(found.weeks)} healthy whole weeks{out};"
            f" a backtest needs {FEWEST_WEEKS}: wait for history, or judge its incidents"
        )
    seen = found.seen
    done = leave_one_week_out(
        seen.columns, seen.hours, found.weeks, found.budget, progress=progress
    )
    kept = _as_json(found, done, context.now)
    with transaction(context.engine, context.project_id, Role.WORKER) as connection:
        if not save_backtest(connection, context.project_id, context.model_id, LIVE_LEG, kept):
            raise UnknownSubject(
                f"no hour of {context.contract.model} was judged yet, so there is no baseline to"
                " keep the backtest with: wait for the worker"
            )
    return kept


def _healthy(connection: Connection, context: JobContext, weeks: int) -> _Healthy:
    project, model = context.project_id, context.model_id
    binning = current_binning(connection, project, model)
    span = None if binning is None else _whole_weeks(connection, context, binning, weeks)
    if binning is None or span is None:
        raise UnknownSubject(
            f"{context.contract.model} has no profiled week yet;"
            f" a backtest needs {FEWEST_WEEKS} healthy ones"
        )
    seen = load_hours(connection, context, binning, span)
    stored = read_incidents(connection, project, model, leg=LIVE_LEG)
    names = {column.name for column in seen.columns}
    names |= {name for one in stored for name in one.incident.columns}
    bad = {w for name in names for w in rejected_weeks(name, stored, seen.hours).tolist()}
    served = _weeks_with_rows(seen)
    healthy = [week for week in range(seen.hours.n_weeks) if served[week] and week not in bad]
    left_out = sum(1 for week in bad if 0 <= week < seen.hours.n_weeks)
    budget = budget_of(connection, context, context.now, len(seen.deployment_ids) > 1)
    return _Healthy(seen, np.array(healthy, np.int64), left_out, budget)


def _whole_weeks(
    connection: Connection, context: JobContext, binning: StoredBinning, weeks: int
) -> Window | None:
    """The last whole weeks of the contract's zone, at most so many; None without any."""
    project, model = context.project_id, context.model_id
    first = first_profiled_hour(connection, project, model, LIVE_LEG, binning.id)
    newest = _newest_hour(connection, context, binning)
    if first is None or newest is None:
        return None
    end = local_week(newest, context.contract.time_zone).start
    whole = min(weeks, (end - first) // (WEEK_HOURS * HOUR))
    return Window(end - whole * WEEK_HOURS * HOUR, end) if whole > 0 else None


def _newest_hour(
    connection: Connection, context: JobContext, binning: StoredBinning
) -> datetime | None:
    row = profile.c
    found: datetime | None = connection.scalar(
        sa.select(sa.func.max(row.window_start)).where(
            row.project_id == context.project_id,
            row.model_id == context.model_id,
            row.part == int(PartKind.COLUMNS),
            row.grain == int(Grain.HOUR),
            row.segment_id == WHOLE,
            row.binning_id == binning.id,
            row.leg == LIVE_LEG,
        )
    )
    return None if found is None else found + HOUR


def _weeks_with_rows(seen: ModelHours) -> list[bool]:
    n = seen.hours.n_weeks
    rows = seen.requests[: n * WEEK_HOURS].sum(axis=1).reshape(n, WEEK_HOURS).sum(axis=1)
    return [bool(count) for count in rows > 0]


def _as_json(found: _Healthy, done: Backtest, now: datetime) -> dict[str, Any]:
    hours = found.seen.hours
    return {
        "at": now.isoformat(),
        "promise": found.budget.promise,
        "governor": found.budget.governor,
        "weeks": [hours.end_of(week * WEEK_HOURS - 1).isoformat() for week in found.weeks.tolist()],
        "left_out": found.left_out,
        "days": done.days,
        "incidents": [_incident(one) for one in done.incidents],
        "upper": done.upper,
        "a_month": done.a_month,
        "p_values": done.p_values,
        "below": dict(zip(_levels(WATCHED_P), done.below, strict=True)),
    }


def _incident(one: Incident) -> dict[str, Any]:
    strongest = one.columns[one.leading].strongest
    return {
        "opened": one.opened.isoformat(),
        "last": one.last.isoformat(),
        "leading": one.leading,
        "columns": sorted(one.columns),
        "view": strongest.view,
        "window_hours": strongest.scale,
        "p_value": strongest.p_value,
        "level": strongest.level,
        "effect": strongest.effect,
    }


def _levels(values: Sequence[float]) -> list[str]:
    return [f"{value:g}" for value in values]
