"""Learns a seasonal baseline from healthy weeks. Pure; the only chance is a seeded resampling.

Every week is held against the others (leave-one-week-out), so that what is learned about healthy
differences is honest about weeks to come.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from monitor.checks.promise.baseline import (
    CALENDAR_SHARE,
    CONSTANT_SHARE,
    CONTEXT_WOBBLE,
    MIN_WEEKS,
    Calibration,
    Calibrations,
    ColumnClass,
    SeasonalBaseline,
    SeasonalColumn,
)
from monitor.checks.promise.column import CellOrder, ColumnHours, Layouts
from monitor.checks.promise.expect import (
    STRENGTHS,
    ChosenSeason,
    Cut,
    WindowRows,
    choose_season,
    shares_of,
    window_rows,
)
from monitor.checks.promise.hours import WEEK_HOURS, Hours, Season
from monitor.checks.promise.indicators import least_cells_seen, missing_indicator
from monitor.checks.promise.scales import (
    DAILY,
    HOURLY,
    N_SCALES,
    SCALES,
    SEGMENT_SCALES,
    SIX_HOURS,
)
from monitor.checks.promise.tail import (
    GRID,
    LEAST_SHAPE,
    TailFits,
    fit_tails,
    least_shape_of,
    resampled_weeks,
    tail_curve,
)
from monitor.checks.promise.views import (
    GAUSSIAN_VIEWS,
    N_VIEWS,
    View,
    largest_cell,
    statistics,
    surprise_of,
)
from monitor.checks.promise.wobble import Wobble, wobble_of
from monitor.profiles.arrays import Flags, Floats, Integers

MIN_WINDOWS = 40
FEWEST_WINDOWS = 4
PRIOR_WINDOWS = 8
MIN_INDEPENDENT = 20
SURE_COLUMNS = 5
MIN_MISSING = 20.0
FLOORED = (HOURLY, SIX_HOURS)
_TESTED = (ColumnClass.ROW,)
"""Segments of a calendar or context column say nothing that all its requests don't."""


@dataclass(frozen=True)
class FitOptions:
    """Switches that mutation tests turn off to prove that each part is needed."""

    seasons: tuple[Season, ...] = tuple(Season)
    use_wobble: bool = True
    seed: int = 0


@dataclass
class _Learning:
    """One column on the way: what its held-out windows showed, by scale."""

    column: SeasonalColumn
    wobbles: dict[tuple[View, int], Wobble] = field(default_factory=dict)
    tails: dict[tuple[View, int], TailFits] = field(default_factory=dict)
    least_cells: float = 0.0


def fit_seasonal(
    columns: Sequence[ColumnHours],
    hours: Hours,
    *,
    accepted: Mapping[tuple[str, str], Integers] | None = None,
    options: FitOptions | None = None,
) -> SeasonalBaseline:
    """The seasonal baseline of columns from whole weeks of `hours`.

    `accepted[key]` int64[k] names the weeks (from 0) that a column may be learned from; all without
    it. Weeks without a row of the column are left out. Segments are learned for the day and the
    week only and moderated among themselves. A column with fewer than 4 weeks left is withheld.
    """
    options = options or FitOptions()
    whole = [one for one in columns if not one.segment]
    weeks = accepted or {}
    fitted = [_fit_group(whole, hours, weeks, options)] if whole else []
    rows = {one.name for part in fitted for one in part.columns if one.column_class in _TESTED}
    inside = [one for one in columns if one.segment and (one.name in rows or not whole)]
    if inside:
        fitted.append(_fit_group(inside, hours, weeks, options))
    if not fitted:
        raise AssertionError("there is no column to learn")
    return together([*fitted, *_indicators(fitted[0], whole, hours, weeks, options)])


def _indicators(
    fitted: SeasonalBaseline,
    columns: Sequence[ColumnHours],
    hours: Hours,
    accepted: Mapping[tuple[str, str], Integers],
    options: FitOptions,
) -> list[SeasonalBaseline]:
    """The missing indicators of context columns, learned from the same weeks."""
    by_key = {column.key: column for column in columns}
    context = [one.key for one in fitted.columns if one.column_class is ColumnClass.CONTEXT]
    sources = [by_key[key] for key in context if key in by_key]
    if not sources:
        return []
    made = [missing_indicator(source) for source in sources]
    weeks = {
        one.key: accepted[source.key]
        for one, source in zip(made, sources, strict=True)
        if source.key in accepted
    }
    return [_fit_group(made, hours, weeks, options)]


def together(parts: Sequence[SeasonalBaseline]) -> SeasonalBaseline:
    """Several baselines as one."""
    if len(parts) == 1:
        return parts[0]
    tables = [one.calibrations for one in parts]
    joined = Calibrations(
        *(
            np.concatenate([getattr(table, name) for table in tables])
            for name in ("kind", "tau", "spread", "ratio", "degrees", "curves")
        )
    )
    return SeasonalBaseline(tuple(c for one in parts for c in one.columns), joined)


def _fit_group(
    columns: Sequence[ColumnHours],
    hours: Hours,
    accepted: Mapping[tuple[str, str], Integers],
    options: FitOptions,
) -> SeasonalBaseline:
    every = np.arange(hours.n_weeks)
    learned = [
        _learn(column, hours, accepted.get(column.key, every), options) for column in columns
    ]
    table = _calibrated(learned)
    return SeasonalBaseline(_with_reasons(learned, table), table)


def _learn(column: ColumnHours, hours: Hours, weeks: Integers, options: FitOptions) -> _Learning:
    learning_weeks = np.asarray(weeks, np.int64)
    counts = column.counts[: hours.n_weeks * WEEK_HOURS].astype(np.float64)
    counts[hours.without[: len(counts)]] = 0.0
    by_week = counts.reshape(hours.n_weeks, WEEK_HOURS, column.cells.n_cells)[learning_weeks]
    # A week before the column existed teaches nothing, and resamples that draw it would be empty.
    held = by_week.any(axis=(1, 2))
    learning_weeks, by_week = learning_weeks[held], by_week[held]
    layout = CellOrder.of(column.is_number, by_week.sum(axis=(0, 1)).astype(np.int64))
    by_week = np.ascontiguousarray(by_week[:, :, layout.order])
    slots = {
        season: _by_week(hours.slots(season), hours, learning_weeks) for season in options.seasons
    }
    if len(learning_weeks) < MIN_WEEKS:
        pooled = ChosenSeason(Season.NONE, STRENGTHS[0], by_week.sum(axis=1)[:, None, :])
        return _Learning(_described(column, pooled, layout, learning_weeks))
    chosen = choose_season(by_week, slots)
    learning = _Learning(_described(column, chosen, layout, learning_weeks))
    if learning.column.column_class is not ColumnClass.CALENDAR:
        excluded = _by_week(hours.without, hours, learning_weeks)
        held_out = _HeldOut(by_week, chosen, slots[chosen.season], excluded)
        _hold_out(learning, held_out, options)
    return learning


def _by_week(values: Integers | Flags, hours: Hours, weeks: Integers) -> Integers:
    whole = np.asarray(values, np.int64)[: hours.n_weeks * WEEK_HOURS]
    return whole.reshape(-1, WEEK_HOURS)[weeks]


def _described(
    column: ColumnHours, chosen: ChosenSeason, layout: CellOrder, weeks: Integers
) -> SeasonalColumn:
    totals = chosen.by_week.sum(axis=0)
    return SeasonalColumn(
        column.name, column.segment, column.weight, chosen.season, layout, chosen.strength, totals,
        ColumnClass.CALENDAR if _is_calendar(totals) else ColumnClass.ROW,
        tuple(int(week) for week in weeks),
    )  # fmt: skip


def _is_calendar(totals: Floats) -> bool:
    """The slot fixes the value, and not because there is only one value."""
    n = float(totals.sum())
    if n == 0:
        return False
    by_slot = float(totals.max(axis=1).sum()) / n
    pooled = float(totals.sum(axis=0).max()) / n
    return by_slot >= CALENDAR_SHARE and pooled <= CONSTANT_SHARE


@dataclass(frozen=True, eq=False)
class _HeldOut:
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


def _hold_out(learning: _Learning, weeks: _HeldOut, options: FitOptions) -> None:
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
    learning: _Learning,
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


def _calibrated(learned: Sequence[_Learning]) -> Calibrations:
    shape = (len(learned), N_VIEWS, N_SCALES)
    table = Calibrations(
        kind=np.zeros(shape, np.int64),
        tau=np.zeros(shape),
        spread=np.ones(shape),
        ratio=np.ones(shape),
        degrees=np.zeros(shape),
        curves=np.zeros((*shape, len(GRID))),
    )
    for view in View:
        for scale in range(N_SCALES):
            _fill(table, learned, view, scale)
    for place, one in enumerate(learned):
        if one.column.column_class is ColumnClass.CALENDAR:
            table.kind[place, View.CELL, HOURLY] = Calibration.REGULAR
    return table


def _fill(table: Calibrations, learned: Sequence[_Learning], view: View, scale: int) -> None:
    """One view at one scale of all columns: what columns share is moderated here."""
    wobbles = {p: one.wobbles[view, scale] for p, one in enumerate(learned)
               if (view, scale) in one.wobbles}  # fmt: skip
    tails = {p: one.tails[view, scale] for p, one in enumerate(learned)
             if (view, scale) in one.tails}  # fmt: skip
    for place, wobble in wobbles.items():
        at = (place, view, scale)
        table.tau[at], table.spread[at], table.ratio[at] = wobble.tau, wobble.spread, wobble.ratio
        table.degrees[at] = wobble.n_independent
    if tails:
        common = np.mean([one.shape for one in tails.values()], axis=0)
        for place, fits in tails.items():
            floored = scale in FLOORED or view is View.CELL or learned[place].column.segment
            sure = scale in FLOORED and len(tails) >= SURE_COLUMNS
            least = least_shape_of(common) if sure else LEAST_SHAPE
            kind = Calibration.TAIL if floored else Calibration.TAIL_ALONE
            table.kind[place, view, scale] = kind
            table.curves[place, view, scale] = tail_curve(fits, common, least)
    few = [place for place in wobbles if place not in tails]
    if few:
        _moderate(table, wobbles, few, view, scale)


def _moderate(
    table: Calibrations, wobbles: Mapping[int, Wobble], few: Sequence[int], view: View, scale: int
) -> None:
    """Few windows say little about a column's wobble: draw it to the columns' median, which counts
    as 8 windows (empirical Bayes moderation, Smyth 2004)."""
    tau = float(np.median([wobbles[place].tau for place in few]))
    ratio = float(np.median([wobbles[place].ratio for place in few]))
    for place in few:
        n, at = wobbles[place].n_windows, (place, view, scale)
        table.kind[at] = Calibration.FEW
        table.tau[at] = (n * wobbles[place].tau + PRIOR_WINDOWS * tau) / (n + PRIOR_WINDOWS)
        table.ratio[at] = (n * wobbles[place].ratio + PRIOR_WINDOWS * ratio) / (n + PRIOR_WINDOWS)
        table.degrees[at] = n + PRIOR_WINDOWS
        table.spread[at] = 1.0


def _with_reasons(learned: Sequence[_Learning], table: Calibrations) -> tuple[SeasonalColumn, ...]:
    """Classes that need the wobble, scales that can't be judged, and why a promise is withheld."""
    columns = []
    for place, one in enumerate(learned):
        column = one.column
        if column.column_class is ColumnClass.ROW:
            column = _class_by_wobble(column, place, table)
            if column.column_class is ColumnClass.CONTEXT and one.least_cells:
                at = (place, View.CELL, DAILY)
                table.kind[at], table.degrees[at] = Calibration.STUCK, one.least_cells
        reason = _withheld(column, place, table)
        columns.append(replace(column, withheld=reason))
    return tuple(columns)


def _class_by_wobble(column: SeasonalColumn, place: int, table: Calibrations) -> SeasonalColumn:
    wanders = table.tau[place, View.OMNIBUS] >= CONTEXT_WOBBLE
    table.kind[place][:, wanders] = Calibration.NONE
    if wanders[DAILY]:
        table.kind[place] = Calibration.NONE
        return replace(column, column_class=ColumnClass.CONTEXT)
    hourly = table.degrees[place, View.OMNIBUS, HOURLY]
    if 0 < hourly < MIN_INDEPENDENT:
        table.kind[place][:, list(FLOORED)] = Calibration.NONE
    return column


def _withheld(column: SeasonalColumn, place: int, table: Calibrations) -> str:
    if len(column.weeks) < MIN_WEEKS:
        return f"{len(column.weeks)} healthy weeks, {MIN_WEEKS} needed"
    if column.column_class is ColumnClass.CONTEXT:
        tau = table.tau[place, View.OMNIBUS, DAILY]
        return f"its level wanders by itself (wobble {tau:.2g} PSI a degree of freedom a day)"
    if not (table.kind[place] > 0).any():
        return "too few rows in any window"
    if not column.segment and column.column_class is ColumnClass.ROW:
        hourly = table.degrees[place, View.OMNIBUS, HOURLY]
        if 0 < hourly < MIN_INDEPENDENT:
            return f"its hours depend on each other ({hourly:.0f} count as independent); days only"
    return ""
