"""Holds every week of a column against its others: wobble and tails by scale and view. Pure.

Leave-one-week-out, so that what is learned about healthy differences is honest about weeks to come.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from monitor.checks.promise.baseline import SeasonalColumn
from monitor.checks.promise.column import Layouts
from monitor.checks.promise.expect import ChosenSeason, Cut, WindowRows, shares_of, window_rows
from monitor.checks.promise.hours import WEEK_HOURS, Season
from monitor.checks.promise.indicators import least_cells_seen
from monitor.checks.promise.scales import DAILY, N_SCALES, SCALES, SEGMENT_SCALES
from monitor.checks.promise.tail import TailFits, fit_tails, resampled_weeks
from monitor.checks.promise.views import (
    GAUSSIAN_VIEWS,
    View,
    largest_cell,
    statistics,
    surprise_of,
)
from monitor.checks.promise.wobble import Wobble, wobble_of
from monitor.profiles.arrays import Flags, Floats, Integers

MIN_WINDOWS = 40
FEWEST_WINDOWS = 4
MIN_MISSING = 20.0


@dataclass(frozen=True)
class FitOptions:
    """Switches that mutation tests turn off to prove that each part is needed."""

    seasons: tuple[Season, ...] = tuple(Season)
    use_wobble: bool = True
    seed: int = 0


@dataclass
class Learning:
    """One column on the way: what its held-out windows showed, by scale."""

    column: SeasonalColumn
    wobbles: dict[tuple[View, int], Wobble] = field(default_factory=dict)
    tails: dict[tuple[View, int], TailFits] = field(default_factory=dict)
    least_cells: float = 0.0


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Weeks of one column: counts [weeks, 168, k], slots and exclusions [weeks, 168]."""

    counts: Floats
    chosen: ChosenSeason
    slots: Integers
    excluded: Integers

    def windows(self, scale: int) -> tuple[WindowRows, Integers, Flags]:
        """Windows of each week against the others; their week; which do not overlap."""
        rule = SCALES[scale]
        cut = Cut(rule.length, np.arange(rule.length, WEEK_HOURS + 1, rule.stride))
        parts = []
        totals, season = self.chosen.by_week, self.chosen.season
        others = totals.sum(axis=0) - totals
        shares = shares_of(others, season, self.chosen.strength)
        for week, counts in enumerate(self.counts):
            expected = counts.sum(axis=1)[:, None] * shares[week][self.slots[week]]
            parts.append(
                window_rows(
                    counts, expected, others[week].sum(axis=1), self.slots[week],
                    self.excluded[week].astype(bool), season, cut, 0,
                )
            )  # fmt: skip
        week_of = np.repeat(np.arange(len(self.counts)), len(cut.ends))
        apart = np.tile(cut.ends % rule.length == 0, len(self.counts))
        return WindowRows.together(parts, self.counts.shape[2]), week_of, apart


def hold_out(learning: Learning, weeks: HeldOut, options: FitOptions) -> None:
    """Fill in wobble and tails of every scale that this column is judged by."""
    layouts = Layouts.of([learning.column.layout])
    rng = np.random.default_rng(options.seed)
    draws = resampled_weeks(len(weeks.counts), rng)
    scales = SEGMENT_SCALES if learning.column.segment else range(N_SCALES)
    for scale in scales:
        windows, week_of, apart = weeks.windows(scale)
        found = statistics(windows, layouts)
        if scale == DAILY:
            usual = np.median(windows.rows)
            learning.least_cells = least_cells_seen(windows.observed, windows.rows, usual)
        for view in GAUSSIAN_VIEWS:
            seen = ~np.isnan(found.statistic[view])
            chosen = seen & apart
            if chosen.sum() < FEWEST_WINDOWS or not _looks(view, learning.column):
                continue
            t, df, n = (a[view] for a in (found.statistic, found.degrees, found.effective_rows))
            wobble = wobble_of(t[chosen], df[chosen], n[chosen])
            if not options.use_wobble:
                wobble = replace(wobble, tau=0.0)
            learning.wobbles[view, scale] = wobble
            if chosen.sum() >= MIN_WINDOWS:
                surprise = surprise_of(t[seen] / (1 + n[seen] * wobble.tau), df[seen])
                learning.tails[view, scale] = fit_tails(surprise, week_of[seen], draws)
        seen = ~np.isnan(found.statistic[View.CELL])
        if (seen & apart).sum() >= FEWEST_WINDOWS:
            _hold_out_cells(learning, scale, windows, layouts, seen, apart, week_of, draws)


def _looks(view: View, column: SeasonalColumn) -> bool:
    """A column that is never missing leaves new missing values to the cell view."""
    missing = float(column.totals[:, column.layout.missing].sum())
    return view is not View.MISSING or missing >= MIN_MISSING


def _hold_out_cells(
    learning: Learning,
    scale: int,
    windows: WindowRows,
    layouts: Layouts,
    seen: Flags,
    apart: Flags,
    week_of: Integers,
    draws: Integers,
) -> None:
    """The cell view borrows the wobble of all cells together: one cell is too little to tell."""
    n_apart = int((seen & apart).sum())
    common = learning.wobbles.get((View.OMNIBUS, scale))
    wobble = common or Wobble(0.0, 1.0, 1.0, n_apart, float(n_apart))
    learning.wobbles[View.CELL, scale] = wobble
    if n_apart >= MIN_WINDOWS:
        cells = largest_cell(windows, layouts, np.full(len(windows), wobble.tau))
        learning.tails[View.CELL, scale] = fit_tails(cells.surprise[seen], week_of[seen], draws)
