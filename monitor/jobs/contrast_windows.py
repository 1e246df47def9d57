"""The hourly contrast job: each deployment against the others served in the same hours.

Every closed hour ends windows of 6 h; every sixth hour ends one of 24 h as well: the longer window
sees smaller differences, the shorter one finds large ones sooner.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy.engine import Connection

from monitor.checks.contrast import contrast_counts
from monitor.checks.registry import CheckName
from monitor.jobs.base import JobContext, JobReport, run_claimed
from monitor.jobs.check_windows import load_yardsticks, save_measurements
from monitor.jobs.names import CHECKS_HOUR
from monitor.jobs.plans.base import WATCHED_ROLES, PlanInputs, Yardsticks
from monitor.measurement import Measurement
from monitor.profiles.cells import ViewCells
from monitor.profiles.columns import CELLS
from monitor.profiles.part import PartKind
from monitor.profiles.views import views_of
from monitor.store.baselines import current_binning
from monitor.store.engine import Role, transaction
from monitor.store.job_windows import Claim, due_windows, finish
from monitor.store.profile_rows import read_profiles
from monitor.windows import Grain, Window

WINDOWS_AT_ONCE = 24 * 7
SHORT, LONG = 6, 24
LONG_EVERY = 6
Counts = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class HourCounts:
    """Counts of one leg: `counts[view]` int64[hours, deployments, n_cells]."""

    leg: str
    first: datetime
    deployment_ids: tuple[int, ...]
    counts: Mapping[str, Counts]

    def span(self, window: Window) -> slice:
        """The hours of a window, cut to those that are there."""
        hour = timedelta(hours=1)
        low, high = (window.start - self.first) // hour, (window.end - self.first) // hour
        return slice(max(low, 0), max(high, 0))


def contrast_due_windows(context: JobContext) -> JobReport:
    """Contrast deployments in the windows that end with closed hours that are due."""
    moment = context.now - context.contract.lateness.profiles
    before = Window.holding(moment, Grain.HOUR).start
    with transaction(context.engine, context.project_id, Role.WORKER) as connection:
        starts = due_windows(
            connection, context.project_id, context.model_id, CHECKS_HOUR, before, WINDOWS_AT_ONCE
        )
    return run_claimed(context, CHECKS_HOUR, starts, _check) if starts else JobReport()


def _check(context: JobContext, held: Claim) -> None:
    project, model = context.project_id, context.model_id
    with transaction(context.engine, project, Role.WORKER, snapshot=True) as connection:
        yardsticks = load_yardsticks(connection, project, model)
        hours = list(_load(connection, context, held.starts))
        found = [
            one
            for start in held.starts
            for counts in hours
            for window in windows_ending(start + Grain.HOUR.length)
            for one in _contrasts(context, yardsticks, counts, window)
        ]
        save_measurements(connection, context, found)
        finish(connection, held, dict.fromkeys(held.starts, 0))


def windows_ending(end: datetime) -> Iterator[Window]:
    """The contrast windows that end at this full hour."""
    yield Window(end - timedelta(hours=SHORT), end)
    if end.hour % LONG_EVERY == 0:
        yield Window(end - timedelta(hours=LONG), end)


def _load(
    connection: Connection, context: JobContext, starts: list[datetime]
) -> Iterator[HourCounts]:
    binning = current_binning(connection, context.project_id, context.model_id)
    if binning is None:
        return
    window = Window(starts[0] - timedelta(hours=LONG - 1), starts[-1] + Grain.HOUR.length)
    stored = read_profiles(
        connection, context.project_id, context.model_id, PartKind.COLUMNS, Grain.HOUR, window,
        binning_ids=(binning.id,),
    )  # fmt: skip
    n_hours = (window.end - window.start) // timedelta(hours=1)
    for leg in sorted({one.key.leg for one in stored}):
        mine = [one for one in stored if one.key.leg == leg]
        numbers = tuple(sorted({one.key.deployment_id for one in mine}))
        if len(numbers) < 2:
            continue
        counts = {
            view: np.zeros((n_hours, len(numbers), cells.n_cells), np.int64)
            for view, cells in binning.binning.views.items()
        }
        for one in mine:
            hour = (one.key.window_start - window.start) // timedelta(hours=1)
            place = numbers.index(one.key.deployment_id)
            for view, held in counts.items():
                cells = one.part.dense.get(CELLS + view)
                if cells is not None:
                    held[hour, place] = cells
        yield HourCounts(leg, window.start, numbers, counts)


def _contrasts(
    context: JobContext, yardsticks: Yardsticks, hours: HourCounts, window: Window
) -> Iterator[Measurement]:
    binning, span = yardsticks.binning, hours.span(window)
    if binning is None:
        return
    any_view = next(iter(hours.counts.values()))[span]
    served = any_view.sum(axis=(0, 2)) > 0
    if served.sum() < 2:
        return
    for place in np.flatnonzero(served).tolist():
        inputs = PlanInputs(
            contract=context.contract,
            yardsticks=yardsticks,
            window=window,
            leg=hours.leg,
            deployment_ids=(hours.deployment_ids[place],),
            segment_id=0,
            parts={},
            known_at=context.now,
        )
        for view in views_of(context.contract):
            if view.name in binning.views and view.column.role in WATCHED_ROLES:
                counts = hours.counts[view.name][span]
                outcome = _outcome(binning.views[view.name], counts, place)
                yield inputs.measurement(
                    CheckName.CONTRAST, "within_hours", outcome, column=view.name
                )


def _outcome(cells: ViewCells, counts: Counts, place: int) -> Any:
    own = counts[:, place]
    return contrast_counts(cells, own, counts.sum(axis=1) - own)
