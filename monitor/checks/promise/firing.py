"""When a p-value becomes a firing: level, effect size, rows, and twice in three hours. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from monitor.checks.promise.baseline import ColumnClass, SeasonalBaseline
from monitor.checks.promise.hours import Hours
from monitor.checks.promise.scales import HOURLY, SCALES
from monitor.checks.promise.score import ScaleScores
from monitor.checks.promise.views import BIG_EFFECT, BIG_EXCESS, MIN_EXCESS, View
from monitor.profiles.arrays import Flags, Floats

GATES = (0.02, 0.01, 0.01, 0.01, 0.01)
"""Least effect in PSI units by view: smaller changes are nobody's business, however sure."""
REGULAR_EXCESS = 1.0


@dataclass(frozen=True)
class Firing:
    """One window of one column that fired. `view` is a word (omnibus, location, spread, cell,
    contrast, correlation, classifier); `deployment` the one a contrast names."""

    column: str
    segment: str
    scale: int
    view: str
    end: datetime
    p_value: float
    level: float
    effect: float
    n: int
    deployment: int | None = None
    cell: str = ""


@dataclass(frozen=True, eq=False)
class Hits:
    """Flags by column and window, bool[columns, w]: `hit` in any view, `fired`; `best` int64: the
    view with the smallest p-value over its level's neighbours."""

    hit: Flags
    fired: Flags
    best: np.ndarray[tuple[int, int], np.dtype[np.int64]]


def hits_of(baseline: SeasonalBaseline, scores: ScaleScores, levels: Floats) -> Hits:
    """Which windows hit, and which of those fire; `levels` float64[columns] of this scale.

    A window of an hour fires when it or one of the two before hit as well, or when the effect
    alone is beyond 0.25 PSI units (with 20 rows too many in the largest cell, if that is the view).
    """
    regular = np.array([c.column_class is ColumnClass.CALENDAR for c in baseline.columns])
    gates = np.tile(np.array(GATES)[None, :, None], (len(regular), 1, 1))
    least = np.where(regular, REGULAR_EXCESS, MIN_EXCESS)[:, None]
    with np.errstate(invalid="ignore"):
        hit = (scores.p_value < levels[:, None, None]) & (scores.effect > gates)
        big = hit & (scores.effect > BIG_EFFECT)
    hit[:, View.CELL] &= scores.excess >= least
    big[:, View.CELL] &= scores.excess >= np.where(regular[:, None], least, BIG_EXCESS)
    hit[regular, View.CELL] &= scores.excess[regular] >= REGULAR_EXCESS
    any_hit = np.asarray(hit.any(axis=1))
    fired = any_hit
    if scores.scale == HOURLY:
        fired = np.asarray(big.any(axis=1) | (any_hit & _again(any_hit)))
    ranked = np.where(hit, scores.p_value, np.inf)
    return Hits(any_hit, fired, ranked.argmin(axis=1))


def _again(hit: Flags) -> Flags:
    """Whether one of the two windows before hit as well."""
    before = np.zeros_like(hit)
    before[:, 1:] |= hit[:, :-1]
    before[:, 2:] |= hit[:, :-2]
    return before


def firings_of(
    baseline: SeasonalBaseline, scores: ScaleScores, levels: Floats, hours: Hours, since: int
) -> list[Firing]:
    """The firings of one scale whose windows end after hour `since`."""
    hits = hits_of(baseline, scores, levels)
    found = []
    for column, window in zip(*np.nonzero(hits.fired & (scores.ends > since)), strict=True):
        known, view = baseline.columns[column], View(int(hits.best[column, window]))
        found.append(
            Firing(
                column=known.name,
                segment=known.segment,
                scale=SCALES[scores.scale].length,
                view=view.word,
                end=hours.end_of(int(scores.ends[window]) - 1),
                p_value=float(scores.p_value[column, view, window]),
                level=float(levels[column]),
                effect=float(scores.effect[column, view, window]),
                n=int(scores.rows[column, window]),
            )
        )
    return found
