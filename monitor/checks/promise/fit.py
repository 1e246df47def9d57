"""Learns a seasonal baseline from healthy weeks. Pure; the only chance is a seeded resampling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from monitor.checks.promise.baseline import (
    CALENDAR_SHARE,
    CONSTANT_SHARE,
    MIN_WEEKS,
    Calibrations,
    ColumnClass,
    SeasonalBaseline,
    SeasonalColumn,
)
from monitor.checks.promise.calibrate import calibrated, with_reasons
from monitor.checks.promise.column import CellOrder, ColumnHours
from monitor.checks.promise.expect import STRENGTHS, ChosenSeason, choose_season
from monitor.checks.promise.held_out import FitOptions, HeldOut, Learning, hold_out
from monitor.checks.promise.hours import WEEK_HOURS, Hours, Season
from monitor.checks.promise.indicators import missing_indicator
from monitor.profiles.arrays import Flags, Floats, Integers

__all__ = ("FitOptions", "fit_seasonal", "together")

_TESTED = (ColumnClass.ROW,)
"""Segments of a calendar or context column say nothing that all its requests don't."""


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
    table = calibrated(learned)
    return SeasonalBaseline(with_reasons(learned, table), table)


def _learn(column: ColumnHours, hours: Hours, weeks: Integers, options: FitOptions) -> Learning:
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
        return Learning(_described(column, pooled, layout, learning_weeks))
    chosen = choose_season(by_week, slots)
    learning = Learning(_described(column, chosen, layout, learning_weeks))
    if learning.column.column_class is not ColumnClass.CALENDAR:
        excluded = _by_week(hours.without, hours, learning_weeks)
        held_out = HeldOut(by_week, chosen, slots[chosen.season], excluded)
        hold_out(learning, held_out, options)
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
