"""Correlations of all pairs of views, from the mergeable sums that profiles keep. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.cells import SCORE_UNIT

LARGEST = 0.999


@dataclass(frozen=True, eq=False)
class PairWindows:
    """The pairs parts of w windows.

    `sums` and `n` int64[w, p], p = v(v + 1)/2: the arrays of a profile's pairs part over the views
    `views`, upper triangle row by row, a view with itself included. `means` float64[w, v] are the
    mean scores of each view in each window (`profiles.pairs.score_means`), in units of a score of
    1024; without them they are taken as 0, which they are in the reference.
    """

    views: tuple[str, ...]
    sums: Integers
    n: Integers
    means: Floats | None = None

    def __post_init__(self) -> None:
        size = len(self.views)
        wanted = (len(self.sums), size * (size + 1) // 2)
        if self.sums.shape != wanted or self.n.shape != wanted:
            raise AssertionError(
                f"{size} views have sums and n of shape {wanted}, not {self.sums.shape} and"
                f" {self.n.shape}"
            )
        if self.means is not None and self.means.shape != (len(self.sums), size):
            raise AssertionError(f"means have the shape {(len(self.sums), size)}")

    def of(self, chosen: tuple[str, ...]) -> PairWindows:
        """The same windows over fewer views (the watched ones); unknown names are left out."""
        kept = np.array([view in chosen for view in self.views], np.bool_)
        first, second = np.triu_indices(len(self.views))
        both = kept[first] & kept[second]
        names = tuple(view for view in self.views if view in chosen)
        means = None if self.means is None else self.means[:, kept]
        return PairWindows(names, self.sums[:, both], self.n[:, both], means)


@dataclass(frozen=True, eq=False)
class Correlations:
    """r float64[w, q] of the q = v(v - 1)/2 pairs in w windows, and rows that have both, n.

    NaN where there is none. `first` and `second` int64[q] are places among the views.
    """

    r: Floats
    n: Floats
    first: Integers
    second: Integers


def correlations(windows: PairWindows) -> Correlations:
    """Pearson's r of the rank-normal scores: normal-scores correlation, from sums alone.

    r = (S_ij/n_ij - m_i m_j) / sqrt((S_ii/n_ii - m_i²)(S_jj/n_jj - m_j²)). It is exact where every
    row has both values. Where some lack one, the moments of a single view come from all rows that
    have it, not only from those that have both: an approximation that is right when values are
    missing at random, and off when a value's absence goes with its size. Without means, a location
    shift of both views looks like correlation. r is drawn in to ±0.999; it is missing where a view
    does not vary. Cells are coarse, so r is a little smaller than that of the values (a vigintile
    keeps 99 % of a score's variance).
    """
    size = len(windows.views)
    upper_first, upper_second = np.triu_indices(size)
    diagonal = upper_first == upper_second
    with np.errstate(invalid="ignore", divide="ignore"):
        moments = windows.sums / windows.n / SCORE_UNIT**2
    if windows.means is not None:
        means = windows.means / SCORE_UNIT
        moments -= means[:, upper_first] * means[:, upper_second]
    variances = np.where(moments[:, diagonal] > 1e-9, moments[:, diagonal], np.nan)
    first, second = upper_first[~diagonal], upper_second[~diagonal]
    r = moments[:, ~diagonal] / np.sqrt(variances[:, first] * variances[:, second])
    n = windows.n[:, ~diagonal].astype(np.float64)
    return Correlations(np.clip(r, -LARGEST, LARGEST), n, first, second)
