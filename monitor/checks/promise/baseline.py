"""What is learned from healthy weeks: one seasonal baseline of all watched columns. Pure values.

Arrays are indexed by column, view and scale in this order; `Calibration` says how a statistic of
that place becomes a p-value.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cached_property

import numpy as np

from monitor.checks.promise.column import CellOrder, Layouts
from monitor.checks.promise.expect import shares_of
from monitor.checks.promise.hours import Season
from monitor.profiles.arrays import Floats, Integers

VERSION = 2
"""Rises whenever any statistical choice of the promise changes."""
MIN_WEEKS = 4
GOOD_WEEKS = 8
CONTEXT_WOBBLE = 0.02
CALENDAR_SHARE, CONSTANT_SHARE = 0.98, 0.90


class ColumnClass(StrEnum):
    """What kind of column the healthy weeks show.

    row: one row tells little about the next, so distributions can be tested. context: an outside
    state that all rows of a time share (weather, a price): a day holds few independent values, so
    its level is watched and not tested. calendar: the hour fixes the value (weekday, hour of day):
    rows are held against the value their hour should have.
    """

    ROW = "row"
    CONTEXT = "context"
    CALENDAR = "calendar"


class Calibration(IntEnum):
    """How a statistic becomes a p-value."""

    NONE = 0  # not tested
    TAIL = 1  # fitted tail, with the nominal tail as a floor: 1 h, 6 h, cells, segments
    TAIL_ALONE = 2  # fitted tail
    FEW = 3  # fewer than 40 windows: F(1, windows + 8) with moderated wobble
    REGULAR = 4  # calendar columns: binomial tail of rows with another value
    STUCK = 5  # context columns: far fewer cells seen in a day than in any healthy one


@dataclass(frozen=True, eq=False)
class SeasonalColumn:
    """One column's healthy weeks: `totals` float64[slots, k] in pooling order, the season, and why
    the promise does not hold for it (`withheld`, empty when it does)."""

    name: str
    segment: str
    weight: float
    season: Season
    layout: CellOrder
    strength: float
    totals: Floats
    column_class: ColumnClass
    weeks: tuple[int, ...]
    withheld: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Segment and column."""
        return self.segment, self.name

    @cached_property
    def shares(self) -> Floats:
        """Expected shares of each slot, float64[slots, k]."""
        return shares_of(self.totals, self.season, self.strength)

    @property
    def available(self) -> bool:
        """Whether the promise holds for this column."""
        return not self.withheld

    @property
    def n(self) -> int:
        """Baseline rows."""
        return int(self.totals.sum())

    @property
    def rows_a_day(self) -> float:
        """Baseline rows of a day on average."""
        return self.n / max(7 * len(self.weeks), 1)


@dataclass(frozen=True, eq=False)
class Calibrations:
    """Numbers by column, view and scale, [columns, views, scales] each; `curves` of ln p
    float64[columns, views, scales, grid] where a tail was fitted.

    `tau` is the wobble as applied (moderated where windows are few), `spread` lifts it to its
    upper limit, `ratio` = mean(T/df), `degrees` the windows that count as independent.
    """

    kind: Integers
    tau: Floats
    spread: Floats
    ratio: Floats
    degrees: Floats
    curves: Floats


@dataclass(frozen=True, eq=False)
class SeasonalBaseline:
    """All watched columns with their calibrations, in one order."""

    columns: tuple[SeasonalColumn, ...]
    calibrations: Calibrations

    @cached_property
    def layouts(self) -> Layouts:
        """Cell layouts of the columns."""
        return Layouts.of([one.layout for one in self.columns])

    @cached_property
    def place(self) -> dict[tuple[str, str], int]:
        """Place of each (segment, column)."""
        return {one.key: place for place, one in enumerate(self.columns)}

    @cached_property
    def views(self) -> Integers:
        """How many views each column is tested by at each scale, int64[columns, scales]."""
        return np.asarray((self.calibrations.kind > 0).sum(axis=1))

    @property
    def withheld(self) -> dict[str, str]:
        """Columns without the promise and why; segments are left out."""
        return {one.name: one.withheld for one in self.columns if one.withheld and not one.segment}


def carried_over(made: SeasonalBaseline, before: SeasonalBaseline) -> SeasonalBaseline:
    """`made`, with what `before` knew of columns that have too few healthy weeks now.

    A column whose incidents nobody judges would else lose its yardstick and fall silent.
    """
    columns, places = list(made.columns), []
    for place, one in enumerate(made.columns):
        known = before.place.get(one.key)
        if len(one.weeks) >= MIN_WEEKS or known is None or not before.columns[known].available:
            continue
        columns[place] = before.columns[known]
        places.append((place, known))
    if not places:
        return made
    new, old = (list(each) for each in zip(*places, strict=True))
    tables = {}
    for name in ("kind", "tau", "spread", "ratio", "degrees", "curves"):
        table = getattr(made.calibrations, name).copy()
        table[new] = getattr(before.calibrations, name)[old]
        tables[name] = table
    return SeasonalBaseline(tuple(columns), Calibrations(**tables))
