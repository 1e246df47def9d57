"""The way from counts by hour to firings: what jobs, backtests and benchmarks all call. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from monitor.checks.promise.baseline import SeasonalBaseline
from monitor.checks.promise.budget import Budget
from monitor.checks.promise.column import ColumnHours
from monitor.checks.promise.firing import Firing, firings_of
from monitor.checks.promise.hours import Hours
from monitor.checks.promise.indicators import with_indicators
from monitor.checks.promise.scales import MONDAY
from monitor.checks.promise.score import ScaleScores, score
from monitor.profiles.arrays import Floats

LOOK_BACK = 2
"""Hours before the first judged one that the rule "twice in three hours" looks at."""


@dataclass(frozen=True, eq=False)
class Watched:
    """`scores` by scale, `levels` float64[columns, scales], and the firings in order of time."""

    scores: tuple[ScaleScores, ...]
    levels: Floats
    firings: tuple[Firing, ...]


def watch(
    baseline: SeasonalBaseline,
    columns: Sequence[ColumnHours],
    hours: Hours,
    budget: Budget | None = None,
    *,
    since: int = 0,
    origin: int = MONDAY,
) -> Watched:
    """Judge every window that ends after hour `since` of these hours (0: all that fit in).

    Windows are counted from `origin` (`Scale.ends_within`).
    """
    levels = (budget or Budget()).levels(baseline)
    columns = list(with_indicators(columns, baseline.place))
    scores = score(baseline, columns, hours, max(0, since - LOOK_BACK), origin)
    found = [
        firing
        for place, of_scale in enumerate(scores)
        for firing in firings_of(baseline, of_scale, levels[:, place], hours, since)
    ]
    return Watched(scores, levels, tuple(sorted(found, key=lambda f: (f.end, f.segment, f.column))))
