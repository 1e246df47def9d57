"""From what held-out weeks showed to calibrations, classes and reasons. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from monitor.checks.promise.baseline import (
    CONTEXT_WOBBLE,
    MIN_WEEKS,
    Calibration,
    Calibrations,
    ColumnClass,
    SeasonalColumn,
)
from monitor.checks.promise.held_out import Learning
from monitor.checks.promise.scales import DAILY, HOURLY, N_SCALES, SIX_HOURS
from monitor.checks.promise.tail import GRID, LEAST_SHAPE, least_shape_of, tail_curve
from monitor.checks.promise.views import N_VIEWS, View
from monitor.checks.promise.wobble import Wobble

PRIOR_WINDOWS = 8
MIN_INDEPENDENT = 20
SURE_COLUMNS = 5
FLOORED = (HOURLY, SIX_HOURS)


def calibrated(learned: Sequence[Learning]) -> Calibrations:
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


def _fill(table: Calibrations, learned: Sequence[Learning], view: View, scale: int) -> None:
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


def with_reasons(learned: Sequence[Learning], table: Calibrations) -> tuple[SeasonalColumn, ...]:
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
