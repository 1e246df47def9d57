"""Inferwatch as a contestant: the product's own way from counts to incidents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from benchmarks.alarms.scene import FIRST, REFERENCE_HOURS, Counted
from monitor.checks.promise.baseline import SeasonalBaseline
from monitor.checks.promise.budget import Budget
from monitor.checks.promise.column import ColumnHours
from monitor.checks.promise.firing import Firing
from monitor.checks.promise.fit import fit_seasonal
from monitor.checks.promise.hours import Hours
from monitor.checks.promise.incidents import Incident, incidents_of, open_hours
from monitor.checks.promise.scales import SCALES
from monitor.checks.promise.score import ScaleScores
from monitor.checks.promise.watch import Watched, watch

NAME = "Inferwatch"
HOUR = timedelta(hours=1)
LEVELS = (0.01, 0.001)


@dataclass(frozen=True, eq=False)
class Learned:
    """A baseline and the hours it was learned from."""

    baseline: SeasonalBaseline
    first: datetime
    reference_hours: int

    @property
    def share_available(self) -> float:
        """Share of columns for which the promise holds."""
        return float(np.mean([column.available for column in self.baseline.columns]))

    def watch(self, counted: Sequence[Counted], budget: Budget) -> Watched:
        """Judge the hours after the reference; any of the learned columns may be left out."""
        hours = Hours(self.first, len(counted[0].counts))
        columns = as_columns(counted)
        return watch(self.baseline, columns, hours, budget, since=self.reference_hours)

    def ends(self, firings: Iterable[Firing]) -> list[tuple[str, float]]:
        """Column and end of each firing, in hours from the start."""
        return [(one.column, (one.end - self.first) / HOUR) for one in firings]


def learn(
    counted: Sequence[Counted], reference_hours: int = REFERENCE_HOURS, first: datetime = FIRST
) -> Learned:
    """Learn from the first `reference_hours` hours."""
    columns = [ColumnHours(one.name, one.cells, one.counts[:reference_hours]) for one in counted]
    baseline = fit_seasonal(columns, Hours(first, reference_hours))
    return Learned(baseline, first, reference_hours)


def as_columns(counted: Sequence[Counted]) -> tuple[ColumnHours, ...]:
    """Counts as the engine takes them."""
    return tuple(ColumnHours(one.name, one.cells, one.counts) for one in counted)


def own_incidents(watched: Watched) -> tuple[Incident, ...]:
    """Incidents by the product's rule."""
    return incidents_of(watched.firings)


def own_open_hours(incidents: Sequence[Incident], until: datetime) -> float:
    """Hours with an open incident by the product's rule."""
    return open_hours(incidents, until)


def exceedances(watched: Watched) -> dict[str, tuple[int, ...]]:
    """By scale: p-values of windows that don't overlap, and how many lie below 1 % and 0.1 %."""
    return {SCALES[one.scale].word: _exceedances(one) for one in watched.scores}


def _exceedances(scores: ScaleScores) -> tuple[int, ...]:
    apart = scores.ends % SCALES[scores.scale].length == 0
    p_values = scores.p_value[:, :, apart]
    p_values = p_values[~np.isnan(p_values)]
    return (len(p_values), *(int((p_values < level).sum()) for level in LEVELS))
