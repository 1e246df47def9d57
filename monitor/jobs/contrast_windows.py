"""Contrasts: each deployment against the others served in the same hours.

Every closed hour ends windows of 6 h; every sixth hour ends one of 24 h as well: the longer window
sees smaller differences, the shorter one finds large ones sooner.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy.engine import Connection

from monitor.checks.contrast import contrast_counts
from monitor.checks.registry import CheckName
from monitor.intake.legs import is_replay
from monitor.jobs.base import JobContext
from monitor.jobs.plans.base import PlanInputs, Yardsticks, is_watched
from monitor.measurement import Measured, Measurement, Outcome
from monitor.profiles.cells import ViewCells
from monitor.profiles.columns import CELLS
from monitor.profiles.part import PartKind
from monitor.profiles.views import views_of
from monitor.store.baselines import current_binning
from monitor.store.profile_rows import read_profiles
from monitor.windows import Grain, Window

SHORT, LONG = 6, 24
LONG_EVERY = 6
APART_EXCESS, APART_P_LOG10 = 0.02, -6.0
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


def contrasts_of_hours(
    connection: Connection, context: JobContext, yardsticks: Yardsticks, starts: list[datetime]
) -> Iterator[Measurement]:
    """Contrasts of all windows that end with one of these hours."""
    hours = list(_load(connection, context, starts))
    for start in starts:
        for counts in hours:
            for window in windows_ending(start + Grain.HOUR.length):
                yield from _contrasts(context, yardsticks, counts, window)


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
    for leg in sorted({one.key.leg for one in stored if not is_replay(one.key.leg)}):
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
    places = np.flatnonzero(served).tolist()
    for view in views_of(context.contract):
        if view.name not in binning.views or not is_watched(view.column):
            continue
        counts, cells = hours.counts[view.name][span], binning.views[view.name]
        for place, outcome in outcomes_of(cells, counts, places, hours.deployment_ids).items():
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
            yield inputs.measurement(CheckName.CONTRAST, "within_hours", outcome, column=view.name)


def outcomes_of(
    cells: ViewCells, counts: Counts, places: Sequence[int], deployment_ids: Sequence[int]
) -> dict[int, Outcome]:
    """The contrast of each place of `counts` int64[hours, deployments, n_cells] with the others.

    A deployment that plainly stands apart would make the sound ones look apart from "the others"
    too. While three or more are left, the one that stands out most is therefore left out of what
    the rest are held against; `left_out` in their detail names it. Two can't tell who is wrong.
    """
    rest = list(places)
    left_out: list[int] = []
    found: dict[int, Outcome] = {}
    while True:
        together = counts[:, rest].sum(axis=1)
        held = {
            place: contrast_counts(cells, counts[:, place], together - counts[:, place])
            for place in rest
        }
        found |= {place: _noting(outcome, left_out) for place, outcome in held.items()}
        apart = [place for place in rest if stands_apart(held[place])]
        if len(rest) < 3 or not apart:
            return found
        worst = min(apart, key=lambda place: held[place].detail["p_log10"])
        rest.remove(worst)
        left_out.append(deployment_ids[worst])


def stands_apart(outcome: Outcome) -> bool:
    """Whether a contrast is beyond doubt: p below 10⁻⁶ and more than 0.02 PSI units."""
    return (
        isinstance(outcome, Measured)
        and outcome.value > APART_EXCESS
        and outcome.detail["p_log10"] < APART_P_LOG10
    )


def _noting(outcome: Outcome, left_out: Sequence[int]) -> Outcome:
    return replace(outcome, detail={**outcome.detail, "left_out": list(left_out)})
