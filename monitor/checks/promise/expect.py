"""What a seasonal baseline expects of a window: counts by cell, and how sure it is of them. Pure.

A slot's shares are its own baseline counts drawn towards a prior of a·k rows (k cells):
shares(slot) = (counts + a·k·prior) / (rows + a·k). For slots of day and hour the prior is the
product of the hour's and the day's shares over the pooled ones: what an hour and a day do apart
from each other needs a few dozen numbers, where slots by themselves need thousands. Else it is the
pooled shares. A window expects the shares of its hours weighted by the rows it has in each; because
those shares were estimated themselves, statistics of the window are divided by 1 + m/V with
V = m² / Σ_slot (m_slot² / n_slot).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.checks.promise.hours import WEEK_HOURS, Hours, Season
from monitor.profiles.arrays import Flags, Floats, Integers

TINY = 1e-9
DAY_HOURS = 24
STRENGTHS = (0.5, 8.0, 64.0)
PRODUCTS = (Season.DAY_TYPE_HOUR, Season.HOUR_OF_WEEK)
LEAST_GAIN = 1.0
"""A richer choice must make the weeks e times as likely: how much is added to empty cells differs
between seasons, and alone must not give a constant column a season."""


@dataclass(frozen=True, eq=False)
class WindowRows:
    """Windows to be judged, one a row: `observed`, `expected` float64[r, k] counts by cell in
    pooling order, `rows` float64[r] their totals, `inflation` float64[r] = 1 + m/V, `column`
    int64[r] the place of their column, `valid` bool[r] false where an excluded hour is inside.
    """

    observed: Floats
    expected: Floats
    rows: Floats
    inflation: Floats
    column: Integers
    valid: Flags

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, start: int, stop: int) -> WindowRows:
        """Rows [start, stop)."""
        cut = slice(start, stop)
        return WindowRows(
            self.observed[cut],
            self.expected[cut],
            self.rows[cut],
            self.inflation[cut],
            self.column[cut],
            self.valid[cut],
        )

    @classmethod
    def together(cls, parts: list[WindowRows], width: int) -> WindowRows:
        """Windows of several columns in one table, cells padded to `width`."""
        return cls(
            np.concatenate([_padded(one.observed, width) for one in parts]),
            np.concatenate([_padded(one.expected, width) for one in parts]),
            np.concatenate([one.rows for one in parts]),
            np.concatenate([one.inflation for one in parts]),
            np.concatenate([one.column for one in parts]),
            np.concatenate([one.valid for one in parts]),
        )


def _padded(cells: Floats, width: int) -> Floats:
    missing = width - cells.shape[1]
    return cells if not missing else np.pad(cells, ((0, 0), (0, missing)))


def shares_of(totals: Floats, season: Season, strength: float) -> Floats:
    """Shares of each slot: float64[..., slots, k] -> the same; the prior counts strength·k rows."""
    weight = strength * totals.shape[-1]
    rows = totals.sum(axis=-1, keepdims=True)
    return np.asarray((totals + weight * _prior(totals, season)) / (rows + weight))


def _prior(totals: Floats, season: Season) -> Floats:
    """Pooled shares, or hour x day / pooled for slots of both, normalised."""
    pooled = _drawn(totals.sum(axis=-2, keepdims=True), None)
    if season not in PRODUCTS:
        return pooled
    *leading, slots, k = totals.shape
    by_day = totals.reshape(*leading, slots // DAY_HOURS, DAY_HOURS, k)
    middle = pooled[..., None, :]
    hour = _drawn(by_day.sum(axis=-3, keepdims=True), middle)
    day = _drawn(by_day.sum(axis=-2, keepdims=True), middle)
    product = hour * day / middle
    product = product / product.sum(axis=-1, keepdims=True)
    return np.asarray(product.reshape(totals.shape))


def _drawn(counts: Floats, towards: Floats | None) -> Floats:
    """Shares of counts with half a row a cell added, spread evenly or as `towards` is."""
    k = counts.shape[-1]
    rows = counts.sum(axis=-1, keepdims=True)
    added = 1 / k if towards is None else towards
    return np.asarray((counts + 0.5 * k * added) / (rows + 0.5 * k))


def slot_totals(counts: Floats, slots: Integers, n_slots: int) -> Floats:
    """Counts by slot: float64[hours, k], int64[hours] -> float64[n_slots, k]."""
    if n_slots == 1:
        return np.asarray(counts.sum(axis=0, keepdims=True))
    member = np.zeros((n_slots, len(slots)))
    member[slots, np.arange(len(slots))] = 1.0
    return np.asarray(member @ counts)


@dataclass(frozen=True, eq=False)
class ChosenSeason:
    """A season, how strongly its slots are drawn to their prior, and counts by week and slot,
    float64[weeks, slots, k]."""

    season: Season
    strength: float
    by_week: Floats


def choose_season(weeks: Floats, slots: dict[Season, Integers]) -> ChosenSeason:
    """The season and strength under which each week is most likely given the others.

    `weeks` float64[n, 168, k] counts; `slots[season]` int64[n, 168]. Leave-one-week-out
    log-likelihood Σ counts · ln(shares without that week); a richer one must gain 1 over
    the best so far.
    """
    best: tuple[float, ChosenSeason] | None = None
    for season, of_hour in slots.items():
        by_week = np.stack(
            [slot_totals(weeks[w], of_hour[w], season.n_slots) for w in range(len(weeks))]
        )
        others = by_week.sum(axis=0) - by_week
        for strength in STRENGTHS if season in PRODUCTS else STRENGTHS[:1]:
            shares = shares_of(others, season, strength)
            likelihood = float(np.sum(by_week * np.log(np.maximum(shares, 1e-300))))
            if best is None or likelihood > best[0] + LEAST_GAIN:
                best = likelihood, ChosenSeason(season, strength, by_week)
    if best is None:
        raise AssertionError("there is no season to choose from")
    return best[1]


@dataclass(frozen=True)
class Cut:
    """Which windows of a run of hours: `length` hours each, ending before the hours `ends`."""

    length: int
    ends: Integers


def windows_of(
    counts: Floats, shares: Floats, totals: Floats, hours: Hours, season: Season, cut: Cut,
    column: int = 0,
) -> WindowRows:  # fmt: skip
    """The windows of one column against its baseline's shares and totals, float64[slots, k] each;
    counts float64[h, k]."""
    slots = hours.slots(season)
    expected = counts.sum(axis=1)[:, None] * shares[slots]
    return window_rows(counts, expected, totals.sum(axis=1), slots, hours.without, season, cut,
                       column)  # fmt: skip


def window_rows(
    counts: Floats,
    expected: Floats,
    slot_rows: Floats,
    slots: Integers,
    excluded: Flags,
    season: Season,
    cut: Cut,
    column: int,
) -> WindowRows:
    """Hours added up to windows; `slot_rows` float64[slots] are the baseline's rows by slot."""
    by_hour = counts.sum(axis=1)
    rows = _sums(by_hour, cut)
    noise = _baseline_noise(by_hour, rows, slot_rows, slots, season, cut)
    return WindowRows(
        observed=_sums(counts, cut),
        expected=_sums(expected, cut),
        rows=rows,
        inflation=1 + noise / np.maximum(rows, TINY),
        column=np.full(len(cut.ends), column, np.int64),
        valid=_sums(excluded.astype(np.float64), cut) == 0,
    )


def _sums(values: Floats, cut: Cut) -> Floats:
    if cut.length == 1:
        return np.asarray(values[cut.ends - 1])
    running = np.zeros((len(values) + 1, *values.shape[1:]))
    np.cumsum(values, axis=0, out=running[1:])
    # Differences of running sums leave rounding dust where there is nothing.
    return np.asarray(np.maximum(running[cut.ends] - running[cut.ends - cut.length], 0.0))


def _baseline_noise(
    by_hour: Floats, rows: Floats, slot_rows: Floats, slots: Integers, season: Season, cut: Cut
) -> Floats:
    """Σ_slot m_slot² / n_slot of each window: how much the baseline's own noise weighs."""
    known = np.maximum(slot_rows, 1.0)
    if season is Season.NONE:
        return np.asarray(rows**2 / known[0])
    if cut.length <= 24 or (season is Season.HOUR_OF_WEEK and cut.length <= WEEK_HOURS):
        return _sums(by_hour**2 / known[slots], cut)  # no slot comes twice within a window
    spread = np.zeros((len(by_hour), season.n_slots))
    spread[np.arange(len(by_hour)), slots] = by_hour
    return np.asarray((_sums(spread, cut) ** 2 / known).sum(axis=1))
