"""A seasonal baseline, its measurements, incidents and a backtest for `dashboard_seed`.

Counts of 8 healthy weeks are drawn and learned from by the product's own functions; then a column
is shifted, and what the product's own watch fires is stored as an incident. The sentences of its
context are written here, hostile ones among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy.engine import Connection

from monitor.calendar import local_week
from monitor.checks.promise.budget import Budget
from monitor.checks.promise.column import ColumnHours
from monitor.checks.promise.firing import Firing
from monitor.checks.promise.hours import HOUR, WEEK_HOURS, Hours
from monitor.checks.promise.incidents import ColumnEpisode, Incident, incidents_of
from monitor.checks.promise.watch import watch
from monitor.checks.registry import CheckName
from monitor.jobs.base import JobContext
from monitor.jobs.promise.learn import learn_week
from monitor.jobs.promise.measure import measurement, seasonal_measurements
from monitor.jobs.promise.moved import moved_column
from monitor.jobs.promise.series import ModelHours
from monitor.measurement import Measured
from monitor.profiles.binning import Binning
from monitor.store.backtests import save_backtest
from monitor.store.incidents import StoredIncident, Verdict, add_incident, judge_incident
from monitor.store.measurements import write_measurements
from monitor.store.models import model_context
from monitor.store.seasonal import save_seasonal
from monitor.windows import Window

WEEKS = 8
JUDGED_HOURS = 96
SHIFTED_HOURS = 40
ROWS_AN_HOUR = 200
SHIFTED, LEFT_OUT, YOUNG = "distance", "x[0]", "price $ net $"
HOSTILE_SENTENCE = (
    "40 % of the change of the output is consistent with the changed mix of"
    " <img src=x onerror=alert(1)> **price** $x^2$ [l](javascript:alert(1)) (10 % to 70 %)."
)
SENTENCES = (
    "Deployment autumn*new differs from the others that served in the same hours in distance:"
    " consistent with a fault in that deployment.",
    HOSTILE_SENTENCE,
    "Nothing is known yet about quality at that time: no labelled window had ended.",
)


@dataclass(frozen=True)
class SeededPromise:
    """Numbers of the incidents: open and told, closed and judged by nobody, judged a fault."""

    open: int
    unjudged: int
    fault: int


def seed_promise(
    connection: Connection,
    project_id: int,
    model: tuple[int, str],
    binning: tuple[int, Binning],
    window: Window,
    deployment_ids: tuple[int, int],
    now: datetime,
) -> SeededPromise:
    """Fill the tables of the promise for one model whose data ends with `window`."""
    model_id, name = model
    binning_id, cells = binning
    rng = np.random.default_rng(7)
    week = local_week(window.end - HOUR, "UTC").start
    names = [view for view in cells.views if view != "note.length"]
    history = _hours(rng, cells, names, week - WEEKS * WEEK_HOURS * HOUR, WEEKS * WEEK_HOURS)
    past = _episode(LEFT_OUT, week - timedelta(days=52), week - timedelta(days=26), "location")
    unjudged = _closed(connection, project_id, model_id, past)
    learned = learn_week(history, [replace(past, id=unjudged)], week, binning_id)
    assert learned.baseline is not None
    for back in (3, 0):
        start = week - back * WEEK_HOURS * HOUR
        save_seasonal(connection, project_id, model_id, "live", replace(learned, week_start=start))
    n = WEEK_HOURS + JUDGED_HOURS
    seen = _hours(rng, cells, names, window.end - n * HOUR, n, deployment_ids)
    shifted = _shifted(seen)
    watched = watch(
        learned.baseline, shifted.columns, shifted.hours, Budget(), since=n - JUDGED_HOURS
    )
    ends = set(range(n - JUDGED_HOURS + 1, n + 1))
    context = JobContext(
        engine=connection.engine, bulk=None, project="", worker="seed", now=now, public_url="",
        model=model_context(connection, project_id, name, b""),
    )  # fmt: skip
    found = list(seasonal_measurements(context, shifted, learned.baseline, watched, ends))
    write_measurements(connection, project_id, model_id, found)
    firings = [one for one in watched.firings if one.column == SHIFTED]
    made = incidents_of([*firings, replace(firings[-1], deployment=deployment_ids[1])])[0]
    end = shifted.hours.end_of(n - 1)
    moved = [moved_column(learned.baseline, shifted, SHIFTED, end, 24)]
    number = _open(connection, project_id, model_id, made, moved, end)
    told = Measured(1.0, 4800, detail={"incident": str(number)})
    span = Window(end - HOUR, end)
    one = measurement(
        context, CheckName.INCIDENT, "open", told, span, (deployment_ids[1],), SHIFTED
    )
    write_measurements(connection, project_id, model_id, [one])
    brief = _episode("carrier", window.start + HOUR, window.start + 5 * HOUR, "cell")
    fault = _closed(connection, project_id, model_id, brief)
    judge_incident(
        connection, project_id, fault, Verdict.FAULT, "Grace <g@example.org>", "a *bad* join", now
    )
    save_backtest(connection, project_id, model_id, "live", BACKTEST)
    return SeededPromise(number, unjudged, fault)


BACKTEST: Mapping[str, Any] = {
    "at": "2026-11-01T10:00:00+00:00",
    "promise": 1.0,
    "governor": 1.0,
    "weeks": [f"2026-{month:02}-01T00:00:00+00:00" for month in range(2, 10)],
    "left_out": 2,
    "days": 56.0,
    "incidents": [{"opened": "2026-03-04T05:00:00+00:00", "leading": "price $ net $",
                   "columns": ["price $ net $", "wind"]}],
    "upper": 2.5413,
    "a_month": 0.5357,
    "p_values": 40_000,
    "below": {"0.01": 380, "0.001": 41},
}  # fmt: skip


def _hours(
    rng: np.random.Generator,
    cells: Binning,
    names: list[str],
    first: datetime,
    n: int,
    deployment_ids: tuple[int, ...] = (1,),
) -> ModelHours:
    """Hours of independent rows; YOUNG has rows in the newest 3 weeks only."""
    columns = []
    for name in names:
        views = cells.views[name]
        shares = np.linspace(2, 1, views.n_cells - 1)
        counts = np.zeros((n, views.n_cells), np.int64)
        counts[:, :-1] = rng.multinomial(ROWS_AN_HOUR, shares / shares.sum(), size=n)
        if name == YOUNG:
            counts[: max(0, n - 3 * WEEK_HOURS)] = 0
        columns.append(ColumnHours(name, views, counts))
    requests = np.full((n, len(deployment_ids)), ROWS_AN_HOUR // len(deployment_ids), np.int64)
    return ModelHours(Hours(first, n), tuple(columns), deployment_ids, requests)


def _shifted(seen: ModelHours) -> ModelHours:
    """The newest hours of one column rolled by three cells."""
    columns = []
    for column in seen.columns:
        counts = column.counts.copy()
        if column.name == SHIFTED:
            counts[-SHIFTED_HOURS:, :-1] = np.roll(counts[-SHIFTED_HOURS:, :-1], 3, axis=1)
        columns.append(replace(column, counts=counts))
    return replace(seen, columns=tuple(columns))


def _open(
    connection: Connection,
    project_id: int,
    model_id: int,
    made: Incident,
    moved: list[Any],
    end: datetime,
) -> int:
    context = {
        "sentences": [*(one["sentence"] for one in moved), *SENTENCES],
        "moved": moved,
        "known_at": end.isoformat(),
    }
    stored = StoredIncident(0, "live", True, made, made.leading, context, made.deployments)
    return add_incident(connection, project_id, model_id, stored).id


def _episode(column: str, first: datetime, last: datetime, view: str) -> StoredIncident:
    """An incident of one column that is over."""
    firing = Firing(column, "", 24, view, last, 1e-9, 1e-5, 0.3, 4800)
    until = last + timedelta(hours=72)
    part = ColumnEpisode(first, last, until, 9, firing, segments=("carrier=UA",))
    made = Incident(first, {column: part})
    return StoredIncident(0, "live", False, made, column, closed_at=until)


def _closed(connection: Connection, project_id: int, model_id: int, stored: StoredIncident) -> int:
    return add_incident(connection, project_id, model_id, stored).id
