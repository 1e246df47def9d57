"""Which correlations between views changed: one test over all pairs of a window. Pure.

Finds changes that leave every single column as it was. Knows sums of pairs, not rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from monitor.checks.multivariate.correlations import PairWindows, correlations
from monitor.checks.multivariate.wobble import Wobble, fit_wobble
from monitor.measurement import Measured, TooFew
from monitor.profiles.arrays import Floats, Integers

GATE = 0.1
MIN_ROWS = 30
MIN_WINDOWS = 8
SHOWN = 5


@dataclass(frozen=True, eq=False)
class PairsBaseline:
    """What healthy windows say about every pair that had enough of them.

    `first`, `second` int64[q] are places among `views`; `chosen` bool marks the pairs that are
    watched among all pairs of the views.
    """

    views: tuple[str, ...]
    chosen: Integers
    first: Integers
    second: Integers
    wobble: Wobble


@dataclass(frozen=True)
class PairChange:
    """One pair: correlation of the normal scores then and now, and its own p-value."""

    first: str
    second: str
    r_then: float
    r_now: float
    p_value: float

    @property
    def change(self) -> float:
        """|r now - r then|, 0 to 2."""
        return abs(self.r_now - self.r_then)


@dataclass(frozen=True)
class PairsVerdict:
    """`p_value` of the family of `n_pairs` pairs in a window of `n` rows.

    Only pairs whose correlation moved by `gate` or more count in it; 1 where none did. `changes`
    are the pairs that changed most, the smallest p-value first.
    """

    p_value: float
    n: int
    n_pairs: int
    gate: float
    changes: tuple[PairChange, ...]

    def outcome(self) -> Measured:
        """How far the pair that changed most moved, with the p-value and the pairs as detail."""
        return Measured(self.changes[0].change, self.n, detail=self._detail())

    def _detail(self) -> Mapping[str, Any]:
        pairs = [
            {
                "views": [each.first, each.second],
                "r_then": each.r_then,
                "r_now": each.r_now,
                "p_value": each.p_value,
            }
            for each in self.changes
        ]
        return {
            "p_value": self.p_value,
            "pairs": pairs,
            "n_pairs": self.n_pairs,
            "smallest_change": self.gate,
        }


def fit_pairs(windows: PairWindows, weeks: Integers) -> PairsBaseline | TooFew:
    """Fit on the accepted windows of a baseline (24 hours or 7 days each), in order of time.

    `weeks` int64[w] numbers the week of each. A pair takes part with 8 windows of at least 30 rows,
    in two weeks or more; TooFew when none does.
    """
    found = correlations(windows)
    usable = np.isfinite(found.r) & (found.n >= MIN_ROWS)
    spread = np.array([len(np.unique(weeks[column])) for column in usable.T], np.int64)
    enough = (usable.sum(axis=0) >= MIN_WINDOWS) & (spread >= 2)
    chosen = np.flatnonzero(enough)
    if not len(chosen):
        most = int(usable.sum(axis=0).max(initial=0))
        return TooFew(most, MIN_WINDOWS, "baseline windows of a pair of views")
    values, noise = _fisher(found.r[:, chosen], found.n[:, chosen], usable[:, chosen])
    wobble = fit_wobble(values, noise, weeks)
    return PairsBaseline(windows.views, chosen, found.first[chosen], found.second[chosen], wobble)


def compare_pairs(
    baseline: PairsBaseline, window: PairWindows, gate: float = GATE
) -> PairsVerdict | TooFew:
    """Compare one window (w = 1) of the baseline's length and views with the baseline.

    z = artanh(r) with sampling variance 1/(n - 3) (Fisher 1921). The squared distance from the
    baseline's centre over its predictive variance, sampling plus wobble, is F(1, degrees); one
    Bonferroni line over all pairs that could be compared. `gate` 0.1 is the smallest change of r
    that is worth a person's attention: about what explains 1 % of one variable by the other.
    Not for windows of other lengths than the fit's: the wobble of a day is not that of a week.
    """
    if window.views != baseline.views:
        raise AssertionError("a window is compared over the views of its baseline")
    found = correlations(window)
    r, n = found.r[0, baseline.chosen], found.n[0, baseline.chosen]
    usable = np.isfinite(r) & (n >= MIN_ROWS)
    if not usable.any():
        return TooFew(int(n.max(initial=0)), MIN_ROWS, "rows with both values of a pair of views")
    p_values = np.ones(len(r))
    values, noise = _fisher(r, n, usable)
    distance = values - baseline.wobble.centre
    variance = baseline.wobble.variance(np.where(usable, noise, 1.0))
    tail = 2 * special.stdtr(baseline.wobble.degrees, -np.abs(distance) / np.sqrt(variance))
    p_values[usable] = tail[usable]
    then = np.tanh(baseline.wobble.centre)
    large = usable & (np.abs(r - then) >= gate)
    n_pairs = int(usable.sum())
    smallest = float(p_values[large].min(initial=1.0))
    ranked = np.lexsort((-np.abs(r - then), p_values, ~large, ~usable))[: min(SHOWN, n_pairs)]
    changes = tuple(_change(baseline, int(k), then, r, p_values) for k in ranked)
    return PairsVerdict(min(1.0, n_pairs * smallest), int(n.max()), n_pairs, gate, changes)


def _fisher(r: Floats, n: Floats, usable: np.ndarray[Any, Any]) -> tuple[Floats, Floats]:
    """artanh(r) and its sampling variance, 0 and infinite where it can't be used."""
    values = np.arctanh(np.where(usable, r, 0.0))
    return values, np.where(usable, 1 / np.where(usable, n - 3, 1.0), np.inf)


def _change(
    baseline: PairsBaseline, pair: int, then: Floats, now: Floats, p_values: Floats
) -> PairChange:
    return PairChange(
        baseline.views[baseline.first[pair]],
        baseline.views[baseline.second[pair]],
        float(then[pair]),
        float(now[pair]),
        float(p_values[pair]),
    )
