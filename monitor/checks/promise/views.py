"""Views of the same counts: each is blind where another sees. Pure.

For a window with counts c, expectation E, m rows and inflation f (see expect.py), shares q = E/m:
- omnibus: X2 = Σ (c - E)² / E over cells pooled until each expects 5 rows (Pearson 1900; Cochran
  1954), df = cells - 1;
- location: z² of Σ (c - E)·s with van der Waerden scores s centred under q, 1 df;
- spread: the same with s² centred and orthogonalised to s, 1 df;
- cell: the one cell whose counts are least likely, by the exact binomial tail;
- missing: the exact binomial tail of the missing cell by itself, as the z² that has it, 1 df. It
  has a wobble of its own, because whether values are there and what they are vary apart.
All are divided by f. Location and spread look at values only.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from scipy import special

from monitor.checks.promise.column import Layouts
from monitor.checks.promise.expect import TINY, WindowRows
from monitor.profiles.arrays import Floats, Integers

MIN_ROWS = 20
MIN_EXPECTED = 5.0
ROWS_AT_ONCE = 4_000
SMALLEST_P = 1e-300
SMALLEST_TAIL = 1e-250
"""The incomplete beta function is 0 for tails not far below."""
BIG_EFFECT = 0.25
MIN_EXCESS, BIG_EXCESS = 5.0, 20.0


class View(IntEnum):
    """The views; the number is their place in arrays."""

    OMNIBUS = 0
    LOCATION = 1
    SPREAD = 2
    CELL = 3
    MISSING = 4

    @property
    def word(self) -> str:
        """As people read it."""
        return self.name.lower()


N_VIEWS = len(View)
GAUSSIAN_VIEWS = (View.OMNIBUS, View.LOCATION, View.SPREAD, View.MISSING)


@dataclass(frozen=True, eq=False)
class Statistics:
    """`statistic`, `degrees`, `effective_rows` float64[views, r]; NaN statistic where a view can't
    look: fewer than 20 rows, one pooled cell, no order. The cell view's statistic is found later,
    as it needs the column's wobble; 0 stands where it can look."""

    statistic: Floats
    degrees: Floats
    effective_rows: Floats


def statistics(windows: WindowRows, layouts: Layouts) -> Statistics:
    """The statistics of all windows."""
    starts = range(0, len(windows), ROWS_AT_ONCE)
    parts = [_statistics(windows.part(at, at + ROWS_AT_ONCE), layouts) for at in starts]
    if not parts:
        empty = np.zeros((N_VIEWS, 0))
        return Statistics(empty, empty, empty)
    return Statistics(
        np.concatenate([one.statistic for one in parts], axis=1),
        np.concatenate([one.degrees for one in parts], axis=1),
        np.concatenate([one.effective_rows for one in parts], axis=1),
    )


def _statistics(windows: WindowRows, layouts: Layouts) -> Statistics:
    enough = windows.valid & (windows.rows >= MIN_ROWS)
    x2, groups = pooled_chi_square(windows.observed, windows.expected)
    looks = enough & (groups >= 2)
    location, spread, data_rows = _scored(windows, layouts)
    ordered = enough & (data_rows >= MIN_ROWS)
    found = np.full((N_VIEWS, len(windows)), np.nan)
    found[View.OMNIBUS, looks] = (x2 / windows.inflation)[looks]
    found[View.LOCATION, ordered] = location[ordered]
    found[View.SPREAD, ordered] = spread[ordered]
    found[View.CELL, enough] = 0.0
    found[View.MISSING, enough] = _missing(windows, layouts)[enough]
    degrees = np.ones((N_VIEWS, len(windows)))
    degrees[View.OMNIBUS] = np.maximum(groups - 1, 1)
    rows = windows.rows
    effective = np.stack([rows, data_rows, data_rows, rows, rows]) / windows.inflation
    return Statistics(found, degrees, effective)


def pooled_chi_square(observed: Floats, expected: Floats) -> tuple[Floats, Floats]:
    """X2 and number of pooled cells of each row, float64[r, k] twice -> float64[r] twice.

    Neighbours are pooled until a group expects 5 rows; a rest joins the last full group. The
    pooling looks at the expectation only.
    """
    r, k = expected.shape
    held_e, held_o = np.zeros(r), np.zeros(r)
    last_e, last_o = np.zeros(r), np.zeros(r)
    total, groups = np.zeros(r), np.zeros(r)
    for cell in range(k):
        held_e += expected[:, cell]
        held_o += observed[:, cell]
        full = held_e >= MIN_EXPECTED
        total += np.where(full & (last_e > 0), _term(last_o, last_e), 0.0)
        last_e, last_o = np.where(full, held_e, last_e), np.where(full, held_o, last_o)
        groups += full
        held_e[full] = 0.0
        held_o[full] = 0.0
    last_e, last_o = last_e + held_e, last_o + held_o
    return total + np.where(last_e > 0, _term(last_o, last_e), 0.0), groups


def _term(observed: Floats, expected: Floats) -> Floats:
    return np.asarray((observed - expected) ** 2 / np.maximum(expected, TINY))


def _scored(windows: WindowRows, layouts: Layouts) -> tuple[Floats, Floats, Floats]:
    """Location and spread statistics, NaN without an order, and rows with a value."""
    data = layouts.data[windows.column]
    scores = layouts.scores[windows.column]
    observed = np.where(data, windows.observed, 0.0)
    rows = observed.sum(axis=1)
    shares = np.where(data, windows.expected, 0.0)
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), TINY)
    moved = observed - shares * rows[:, None]
    first = np.where(data, scores - _mean(shares, scores), 0.0)
    variance = (shares * first**2).sum(axis=1)
    second = np.where(data, first**2 - variance[:, None], 0.0)
    slope = (shares * second * first).sum(axis=1) / np.maximum(variance, 1e-12)
    second = second - slope[:, None] * first
    wide = rows * windows.inflation
    return (
        _squared(moved, first, variance, wide),
        _squared(moved, second, (shares * second**2).sum(axis=1), wide),
        np.where(layouts.has_scores[windows.column], rows, 0.0),
    )


def _missing(windows: WindowRows, layouts: Layouts) -> Floats:
    """z² of the missing cell's smaller binomial tail; 0 for a count in the middle.

    Where the tail is too small to be a float it is the binomial deviance, within 1.5 % of z² that
    far out: a wobble divides it, so it has to go on growing with the rows.
    """
    place, cell = np.arange(len(windows)), layouts.missing[windows.column]
    m = np.maximum(windows.rows, 1.0)
    share = np.clip(windows.expected[place, cell] / m, 1e-12, 1 - 1e-12)
    count, rows = windows.observed[place, cell] / windows.inflation, m / windows.inflation
    tail = _binomial_tail(count, rows, share)
    z2 = special.ndtri(np.clip(tail, SMALLEST_P, 0.5)) ** 2
    far = 2 * rows * _divergence(count / rows, share)
    return np.asarray(np.where(tail < SMALLEST_TAIL, far, z2))


def _divergence(seen: Floats, share: Floats) -> Floats:
    """Kullback and Leibler's divergence of two shares of one cell, in nats a row."""
    rest = 1 - seen
    return np.asarray(special.xlogy(seen, seen / share) + special.xlogy(rest, rest / (1 - share)))


def missing_effect(windows: WindowRows, layouts: Layouts) -> Floats:
    """(q̂ - q)·ln(q̂/q) of the missing cell in PSI units, float64[r].

    0 while fewer than 5 rows differ from what is expected, and held at 0.25 while fewer than 20 do:
    one missing value where there never was one is a large effect on paper only.
    """
    place, cell = np.arange(len(windows)), layouts.missing[windows.column]
    m = np.maximum(windows.rows, 1.0)
    expected, count = windows.expected[place, cell], windows.observed[place, cell]
    q = np.clip(expected / m, 1e-12, 1 - 1e-12)
    smoothed = (count + 0.5 * q) / (m + 0.5)
    effect = (smoothed - q) * np.log(smoothed / q)
    rows = np.abs(count - expected)
    held = np.where(rows < BIG_EXCESS, np.minimum(effect, BIG_EFFECT), effect)
    return np.asarray(np.where(rows < MIN_EXCESS, 0.0, held))


def _mean(shares: Floats, values: Floats) -> Floats:
    return np.asarray((shares * values).sum(axis=1, keepdims=True))


def _squared(moved: Floats, scores: Floats, variance: Floats, wide: Floats) -> Floats:
    z2 = (moved * scores).sum(axis=1) ** 2 / np.maximum(wide * variance, 1e-12)
    return np.asarray(np.where(variance > 1e-4, z2, np.nan))


@dataclass(frozen=True, eq=False)
class LargestCell:
    """The least likely cell of each window: `surprise` = -ln p (Bonferroni over cells and sides),
    `cell` its place in pooling order, `effect` (q̂ - q)·ln(q̂/q) in PSI units, `excess` rows."""

    surprise: Floats
    cell: Integers
    effect: Floats
    excess: Floats


def largest_cell(windows: WindowRows, layouts: Layouts, wobble: Floats) -> LargestCell:
    """The cell view; `wobble` float64[r] is τ in PSI units a degree of freedom.

    Counts are scaled down by f·(1 + n_eff·τ). The cell with the largest binomial deviance is
    looked at; its exact tail (Clopper and Pearson 1934, by the incomplete beta function) times
    twice the number of cells bounds the p-value, whichever cell that is.
    """
    m = np.maximum(windows.rows, 1.0)
    shrink = 1 / (windows.inflation + windows.rows * wobble)
    q = np.clip(windows.expected / m[:, None], 1e-12, 1 - 1e-12)
    cell = _divergence(windows.observed / m[:, None], q).argmax(axis=1)
    place = np.arange(len(cell))
    q, count = q[place, cell], windows.observed[place, cell]
    tail = _binomial_tail(count * shrink, m * shrink, q)
    sides = 2.0 * layouts.n_cells[windows.column]
    smoothed = (count + 0.5 * q) / (m + 0.5)
    return LargestCell(
        surprise=-np.log(np.clip(sides * tail, SMALLEST_P, 1.0)),
        cell=cell,
        effect=(smoothed - q) * np.log(smoothed / q),
        excess=np.abs(count - windows.expected[place, cell]),
    )


def _binomial_tail(count: Floats, rows: Floats, share: Floats) -> Floats:
    """The smaller tail P(X >= count) or P(X <= count), X binomial; counts may be fractions."""
    upper = np.where(
        count > 0,
        special.betainc(np.maximum(count, TINY), np.maximum(rows - count + 1, TINY), share),
        1.0,
    )
    lower = np.where(
        count < rows,
        special.betaincc(count + 1, np.maximum(rows - count, TINY), share),
        1.0,
    )
    return np.asarray(np.minimum(upper, lower))


def surprise_of(statistic: Floats, degrees: Floats) -> Floats:
    """-ln of the chi-square tail, also where the tail itself is below the smallest float."""
    x = np.maximum(statistic, 0.0)
    tail = special.chdtrc(degrees, x)
    half, beyond = degrees / 2, np.maximum(x / 2, 1.0)
    # Leading term of the incomplete gamma function, as good as exact that far out.
    far = beyond - (half - 1) * np.log(beyond) + special.gammaln(half)
    return np.asarray(np.where(tail > SMALLEST_P, -np.log(np.maximum(tail, SMALLEST_P)), far))
