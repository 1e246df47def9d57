"""From counts by hour to p-values of every window, column and view. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from monitor.checks.promise.baseline import (
    Calibration,
    ColumnClass,
    SeasonalBaseline,
    SeasonalColumn,
)
from monitor.checks.promise.column import ColumnHours
from monitor.checks.promise.expect import Cut, WindowRows, windows_of
from monitor.checks.promise.hours import Hours
from monitor.checks.promise.indicators import stuck_p
from monitor.checks.promise.regular import regular_scores
from monitor.checks.promise.scales import HOURLY, MONDAY, SCALES, WEEKLY
from monitor.checks.promise.tail import p_on_curve
from monitor.checks.promise.views import (
    N_VIEWS,
    LargestCell,
    Statistics,
    View,
    largest_cell,
    missing_effect,
    statistics,
    surprise_of,
)
from monitor.profiles.arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class ScaleScores:
    """All windows of one scale: `ends` int64[w] (hours from the first, exclusive); the rest is
    float64[columns, views, w], NaN where nothing was tested: `p_value`, `effect` in PSI units,
    `effective_rows`; `rows` and `excess` of the largest cell float64[columns, w], `cell`
    int64[columns, w] its place in pooling order.
    """

    scale: int
    ends: Integers
    p_value: Floats
    effect: Floats
    statistic: Floats
    degrees: Floats
    effective_rows: Floats
    rows: Floats
    excess: Floats
    cell: Integers

    @classmethod
    def empty(cls, scale: int, ends: Integers, n_columns: int) -> ScaleScores:
        """Nothing tested yet."""
        wide = (n_columns, N_VIEWS, len(ends))

        def blank() -> Floats:
            return np.full(wide, np.nan)

        flat = (n_columns, len(ends))
        return cls(scale, ends, blank(), blank(), blank(), blank(), blank(),
                   np.zeros(flat), np.zeros(flat), np.zeros(flat, np.int64))  # fmt: skip


def score(
    baseline: SeasonalBaseline,
    columns: Sequence[ColumnHours],
    hours: Hours,
    since: int = 0,
    origin: int = MONDAY,
) -> tuple[ScaleScores, ...]:
    """Scores by scale of all windows that end after hour `since` of these hours.

    Windows are counted from `origin` (`Scale.ends_within`). Columns that the baseline does not know
    are not judged.
    """
    known = {one.key: one for one in columns if one.key in baseline.place}
    counts = {
        baseline.place[key]: _ordered(baseline.columns[baseline.place[key]], one)
        for key, one in known.items()
    }
    return tuple(
        _score_scale(
            baseline,
            counts,
            hours,
            place,
            rule.ends_within(hours.epoch_hour, since, hours.n, origin),
        )
        for place, rule in enumerate(SCALES)
    )


def _ordered(column: SeasonalColumn, seen: ColumnHours) -> Floats:
    if seen.counts.shape[1] != len(column.layout.order):
        raise AssertionError(f"{column.name}: counted on other cells than its baseline")
    return seen.counts[:, column.layout.order].astype(np.float64)


def _score_scale(
    baseline: SeasonalBaseline, counts: Mapping[int, Floats], hours: Hours, scale: int,
    ends: Integers,
) -> ScaleScores:  # fmt: skip
    rule = SCALES[scale]
    found = ScaleScores.empty(scale, ends, len(baseline.columns))
    if not len(ends):
        return found
    places = [p for p in counts if baseline.views[p, scale] > 0]
    plain = [p for p in places if baseline.columns[p].column_class is not ColumnClass.CALENDAR]
    if plain:
        windows = _windows(baseline, counts, hours, Cut(rule.length, ends), plain)
        _take_in(found, baseline, windows, np.array(plain), scale)
    if scale == HOURLY:
        for place in set(places) - set(plain):
            _take_in_regular(found, baseline.columns[place], counts[place], hours, place)
    return found


def _windows(
    baseline: SeasonalBaseline, counts: Mapping[int, Floats], hours: Hours, cut: Cut,
    places: Sequence[int],
) -> WindowRows:  # fmt: skip
    """Windows of all columns in one table; only the hours that they hold are looked at."""
    start = int(cut.ends[0] - cut.length)
    inside, near = hours.part(start, int(cut.ends[-1])), Cut(cut.length, cut.ends - start)
    parts = [
        windows_of(
            counts[place][start : start + inside.n], baseline.columns[place].shares,
            baseline.columns[place].totals,
            inside, baseline.columns[place].season, near, place,
        )
        for place in places
    ]  # fmt: skip
    return WindowRows.together(parts, baseline.layouts.width)


def _take_in(
    found: ScaleScores, baseline: SeasonalBaseline, windows: WindowRows, places: Integers,
    scale: int,
) -> None:  # fmt: skip
    table, column = baseline.calibrations, windows.column
    seen = statistics(windows, baseline.layouts)
    omnibus = (column, View.OMNIBUS, scale)
    cells = largest_cell(windows, baseline.layouts, table.tau[omnibus] * table.spread[omnibus])
    shape = (len(places), len(found.ends))
    found.rows[places] = windows.rows.reshape(shape)
    found.excess[places] = cells.excess.reshape(shape)
    found.cell[places] = cells.cell.reshape(shape)
    for view in View:
        p, effect = _p_values(baseline, view, scale, windows, seen, cells)
        tested = ~np.isnan(seen.statistic[view]) & (table.kind[column, view, scale] > 0)
        found.p_value[places, view] = np.where(tested, p, np.nan).reshape(shape)
        found.effect[places, view] = np.where(tested, effect, np.nan).reshape(shape)
        found.statistic[places, view] = np.where(tested, seen.statistic[view], np.nan).reshape(
            shape
        )
        found.degrees[places, view] = seen.degrees[view].reshape(shape)
        found.effective_rows[places, view] = seen.effective_rows[view].reshape(shape)


def _p_values(
    baseline: SeasonalBaseline,
    view: View,
    scale: int,
    windows: WindowRows,
    seen: Statistics,
    cells: LargestCell,
) -> tuple[Floats, Floats]:
    """p-values and effects of one view, float64[r] each; NaN statistics give p near 1."""
    column = windows.column
    table, at = baseline.calibrations, (column, view, scale)
    t, df, n = (np.nan_to_num(a[view]) for a in (seen.statistic, seen.degrees, seen.effective_rows))
    kind = table.kind[at]
    if view is View.CELL:
        surprise, effect = cells.surprise, cells.effect
        few = few_cell_p(surprise, baseline.layouts.n_cells[column], table.degrees[at])
    else:
        surprise = surprise_of(t / (1 + n * table.tau[at] * table.spread[at]), df)
        effect = (t - df) / np.maximum(n, 1e-9)
        if view is View.MISSING:
            effect = missing_effect(windows, baseline.layouts)
        few = few_windows_p(t / df, n, table.tau[at], table.ratio[at], table.degrees[at])
    sampling = np.exp(-surprise)
    stuck = _stuck(baseline, windows, np.where(kind == Calibration.STUCK, table.degrees[at], 0.0))
    curves = table.curves[:, view, scale]
    tail = p_on_curve(curves, column, surprise)
    floored = np.maximum(tail, sampling)
    few = np.maximum(few, sampling) if view is View.CELL or scale != WEEKLY else few
    p = np.select(
        [
            kind == Calibration.TAIL,
            kind == Calibration.TAIL_ALONE,
            kind == Calibration.FEW,
            kind == Calibration.STUCK,
        ],
        [floored, tail, few, stuck],
        default=1.0,
    )
    return p, effect


def _stuck(baseline: SeasonalBaseline, windows: WindowRows, least: Floats) -> Floats:
    if not least.any():
        return np.ones(len(windows))
    usual = np.array([one.rows_a_day for one in baseline.columns])[windows.column]
    return stuck_p(windows.observed, least, usual)


def few_windows_p(
    ratio_now: Floats, effective_rows: Floats, tau: Floats, ratio: Floats, degrees: Floats
) -> Floats:
    """F(1, windows + 8) tail of T/df over what healthy windows showed.

    The divisor is 1 + n_eff·τ where they wobble and mean(T/df) (at least 0.02) where rows repeat
    themselves every week and differ less than chance.
    """
    divisor = np.where(ratio >= 1, 1 + effective_rows * tau, np.maximum(ratio, 0.02))
    return np.asarray(special.fdtrc(1.0, np.maximum(degrees, 1.0), ratio_now / divisor))


def few_cell_p(surprise: Floats, n_cells: Integers, degrees: Floats) -> Floats:
    """The cell view's p-value when windows are few: its normal score read off Student's t."""
    sides = 2.0 * n_cells
    normal = special.ndtri(np.clip(np.exp(-surprise) / sides, 1e-300, 0.5))
    tail = special.stdtr(np.maximum(degrees, 1.0), normal)
    return np.asarray(np.minimum(1.0, sides * tail))


def _take_in_regular(
    found: ScaleScores, column: SeasonalColumn, counts: Floats, hours: Hours, place: int
) -> None:
    judged = regular_scores(column, counts, hours, found.ends)
    found.p_value[place, View.CELL] = judged.p_value
    found.effect[place, View.CELL] = judged.effect
    found.effective_rows[place, View.CELL] = judged.rows
    found.rows[place] = judged.rows
    found.excess[place] = judged.excess
    found.cell[place] = judged.cell
