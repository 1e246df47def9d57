"""Stored profiles as counts by hour: what the promise judges and learns from.

All live deployments of a model count together. Segments are thin, so they are counted by the UTC
day: the whole day stands at its last hour, and only windows of a day and a week look at them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from sqlalchemy.engine import Connection

from monitor.checks.promise.column import ColumnHours
from monitor.checks.promise.hours import HOUR, Hours
from monitor.contract import Contract
from monitor.expected_days import expected_hours
from monitor.jobs.base import JobContext
from monitor.jobs.plans.base import is_watched
from monitor.jobs.readings import segment_text
from monitor.profiles.arrays import Integers
from monitor.profiles.binning import Binning
from monitor.profiles.columns import CELLS
from monitor.profiles.part import PartKind
from monitor.profiles.views import View, views_of
from monitor.records import LIVE_LEG
from monitor.store.baselines import StoredBinning
from monitor.store.profile_rows import StoredProfile, read_profiles, segments
from monitor.windows import Grain, Window

MIN_ROWS_A_DAY = 50
MAX_SEGMENTS = 60


@dataclass(frozen=True, eq=False)
class ModelHours:
    """Counts of a model's watched columns by hour, and requests by hour and deployment,
    int64[hours, deployments]."""

    hours: Hours
    columns: tuple[ColumnHours, ...]
    deployment_ids: tuple[int, ...]
    requests: Integers

    def part(self, start: int, stop: int) -> ModelHours:
        """Hours [start, stop)."""
        columns = tuple(replace(one, counts=one.counts[start:stop]) for one in self.columns)
        return ModelHours(
            self.hours.part(start, stop), columns, self.deployment_ids, self.requests[start:stop]
        )

    def serving(self, start: int, stop: int) -> tuple[int, ...]:
        """Deployments that served in hours [start, stop)."""
        there = np.flatnonzero(self.requests[max(start, 0) : stop].sum(axis=0))
        return tuple(self.deployment_ids[place] for place in there)


def load_hours(
    connection: Connection, context: JobContext, binning: StoredBinning, window: Window
) -> ModelHours:
    """Everything watched in a window of whole hours, from stored profiles."""
    project, model = context.project_id, context.model_id
    hours = hours_of(context.contract, window)
    views = watched_views(context.contract, binning.binning)
    stored = [
        one
        for one in read_profiles(
            connection, project, model, PartKind.COLUMNS, Grain.HOUR, window,
            binning_ids=(binning.id,),
        )
        if one.key.leg == LIVE_LEG
    ]  # fmt: skip
    places = [_hour_of(one.key.window_start, window) for one in stored]
    numbers = tuple(sorted({one.key.deployment_id for one in stored}))
    requests = np.zeros((hours.n, len(numbers)), np.int64)
    for one, place in zip(stored, places, strict=True):
        requests[place, numbers.index(one.key.deployment_id)] += one.n
    columns = _columns(views, binning.binning, stored, places, hours.n, "")
    columns += _segment_columns(connection, context, binning, window, views)
    return ModelHours(hours, tuple(columns), numbers, requests)


def hours_of(contract: Contract, window: Window) -> Hours:
    """The hours of a window in the contract's zone, without days expected to be different."""
    n = (window.end - window.start) // HOUR
    excluded = expected_hours(contract.alarms, contract.time_zone, window.start, n)
    return Hours(window.start, n, contract.time_zone, excluded)


def watched_views(contract: Contract, binning: Binning) -> list[View]:
    """The views that the promise is about, in contract order."""
    return [
        view
        for view in views_of(contract)
        if view.name in binning.views and is_watched(view.column)
    ]


def weights_of(views: Sequence[View]) -> dict[str, float]:
    """Weight of each view: its column's importance, shared by the views of that column."""
    shared: dict[str, int] = {}
    for view in views:
        shared[view.column.name] = shared.get(view.column.name, 0) + 1
    return {view.name: view.column.importance / shared[view.column.name] for view in views}


def _columns(
    views: Sequence[View],
    binning: Binning,
    stored: Sequence[StoredProfile],
    places: Sequence[int],
    n: int,
    segment: str,
) -> list[ColumnHours]:
    weights = weights_of(views)
    counts = {
        view.name: np.zeros((n, binning.views[view.name].n_cells), np.int64) for view in views
    }
    for one, place in zip(stored, places, strict=True):
        for name, held in counts.items():
            cells = one.part.dense.get(CELLS + name)
            if cells is not None:
                held[place] += cells
    return [
        ColumnHours(name, binning.views[name], held, weights[name], segment)
        for name, held in counts.items()
    ]


def _segment_columns(
    connection: Connection,
    context: JobContext,
    binning: StoredBinning,
    window: Window,
    views: Sequence[View],
) -> list[ColumnHours]:
    definitions = segments(connection, context.project_id, context.model_id)
    if not definitions or not context.contract.segment_keys():
        return []
    by_segment: dict[int, list[StoredProfile]] = {}
    for one in read_profiles(
        connection, context.project_id, context.model_id, PartKind.COLUMNS, Grain.DAY, window,
        segment_ids=list(definitions), binning_ids=(binning.id,),
    ):  # fmt: skip
        if one.key.leg == LIVE_LEG and one.key.window_start + Grain.DAY.length <= window.end:
            by_segment.setdefault(one.key.segment_id, []).append(one)
    n = (window.end - window.start) // HOUR
    found: list[ColumnHours] = []
    for number in _largest(by_segment, n):
        definition = definitions[number]
        mine = [view for view in views if view.column.name not in definition]
        stored = by_segment[number]
        places = [_hour_of(one.key.window_start, window) + 23 for one in stored]
        found += _columns(mine, binning.binning, stored, places, n, segment_text(definition))
    return found


def _largest(by_segment: Mapping[int, Sequence[StoredProfile]], n: int) -> list[int]:
    """The segments with traffic worth judging, the largest first and at most MAX_SEGMENTS."""
    days = max(n / 24, 1.0)
    traffic = {number: sum(one.n for one in stored) for number, stored in by_segment.items()}
    enough = [number for number, rows in traffic.items() if rows / days >= MIN_ROWS_A_DAY]
    return sorted(enough, key=lambda number: (-traffic[number], number))[:MAX_SEGMENTS]


def _hour_of(moment: datetime, window: Window) -> int:
    return (moment - window.start) // HOUR
