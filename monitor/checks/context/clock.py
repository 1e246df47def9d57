"""Did the clock move? Compares counts with the expected hours one earlier and one later.

Knows expected shares by hour of the week and counts by hour. A changed time zone, daylight saving
time or a sender's clock moves all columns at once by one hour; real drift does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monitor.measurement import TooFew
from monitor.profiles.arrays import Floats, Integers

HOURS_OF_WEEK = 168
SHIFTS = (-1, 0, 1)
MIN_COLUMNS = 3
MIN_ROWS = 100
MIN_HOURS = 12
MARGIN = 0.005
MIN_Z = 3.0
_UNIFORM_PART = 1e-3


@dataclass(frozen=True, eq=False)
class ClockColumn:
    """`expected` float64[168, n_cells] shares by hour of week; `observed` int64[hours, n_cells]."""

    name: str
    expected: Floats
    observed: Integers


@dataclass(frozen=True)
class ColumnClock:
    """Mean log-likelihood of a row, in nats, with the slots `SHIFTS` = -1, 0, +1 hours away.

    `shift` is 0 unless another one wins by the margin. `gain`: nats a row over no shift of the best
    other shift; `z`: that gain over its standard error between hours.
    """

    name: str
    log_likelihoods: tuple[float, float, float]
    shift: int
    gain: float
    z: float
    n: int


@dataclass(frozen=True)
class ClockCheck:
    """`shift`: hours that the clock moved (0: it did not), by the columns in `agreeing`.

    -1: rows look like those of one hour earlier, so times of events are an hour too late now.
    """

    shift: int
    agreeing: tuple[str, ...]
    columns: tuple[ColumnClock, ...]

    @property
    def verdict(self) -> str:
        return "clock moved by one hour" if self.shift else "clock did not move"


def clock_check(
    columns: Sequence[ClockColumn], hour_of_week: Integers, *, margin: float = MARGIN
) -> ClockCheck | TooFew:
    """Whether 3 or more columns agree that a shift by one hour fits better than none.

    `hour_of_week` int64[hours] in 0..167 of each observed hour, in the baseline's zone. For a shift
    s the mean log-likelihood of a column is Σ n_hc ln q_(slot(h)+s, c) / Σ n_hc, the week being a
    circle. A shift wins in a column if it gains at least `margin` = 0.005 nats a row over no shift
    and, rows of an hour being dependent, its gain by hour g_h has Σg/sqrt(Σg²) >= 3. Expected
    shares are mixed with 0.1 % of equal shares, so an empty cell can't decide alone. Fewer than 3
    agreeing columns, or as many for the other shift: not moved.

    TooFew with fewer than 12 hours that have rows, or fewer than 3 columns of at least 100 rows.
    Give it columns that follow the hour of the day; flat ones gain nothing and never agree.
    """
    hours = int(np.any([column.observed.sum(axis=1) > 0 for column in columns], axis=0).sum())
    if hours < MIN_HOURS:
        return TooFew(hours, MIN_HOURS, "hours with rows")
    usable = [column for column in columns if column.observed.sum() >= MIN_ROWS]
    if len(usable) < MIN_COLUMNS:
        return TooFew(len(usable), MIN_COLUMNS, f"columns with at least {MIN_ROWS} rows")
    found = tuple(_column_clock(column, hour_of_week, margin) for column in usable)
    agreeing = {
        shift: tuple(column.name for column in found if column.shift == shift) for shift in (-1, 1)
    }
    best = max(agreeing, key=lambda shift: len(agreeing[shift]))
    if len(agreeing[best]) < MIN_COLUMNS or len(agreeing[best]) == len(agreeing[-best]):
        return ClockCheck(0, (), found)
    return ClockCheck(best, agreeing[best], found)


def _column_clock(column: ClockColumn, hour_of_week: Integers, margin: float) -> ColumnClock:
    logs = np.log(_smoothed(column.expected))
    n = int(column.observed.sum())
    by_hour = {
        shift: (column.observed * logs[(hour_of_week + shift) % HOURS_OF_WEEK]).sum(axis=1)
        for shift in SHIFTS
    }
    best = max((-1, 1), key=lambda shift: float(by_hour[shift].sum()))
    gains = by_hour[best] - by_hour[0]
    gain = float(gains.sum()) / n
    spread = float(np.sqrt(np.sum(gains**2)))
    z = float(gains.sum()) / spread if spread > 0 else 0.0
    earlier, same, later = (float(by_hour[shift].sum()) / n for shift in SHIFTS)
    shift = best if gain >= margin and z >= MIN_Z else 0
    return ColumnClock(column.name, (earlier, same, later), shift, gain, z, n)


def _smoothed(expected: Floats) -> Floats:
    """Expected shares without zeros; a slot without any share gets equal ones."""
    totals = expected.sum(axis=1, keepdims=True)
    equal = np.full_like(expected, 1 / expected.shape[1], dtype=np.float64)
    shares: Floats = np.divide(expected, totals, out=equal.copy(), where=totals > 0)
    return (1 - _UNIFORM_PART) * shares + _UNIFORM_PART * equal
