"""Agreement of raters beyond chance, with limits from leaving out one item at a time. Pure.

Two ratings of an item are a pair. `kappa` (Cohen 1960; with squared weights for ratings, Cohen
1968), `alpha` (Krippendorff 2011; any number of raters, gaps allowed) and `ac1` (Gwet 2008;
categories only). Kappa and alpha fall towards 0 when nearly all items get the same answer, although
raters agree on nearly every one (Feinstein and Cicchetti 1990): then AC1 is the one to read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from monitor.checks.intervals import LEVEL, wilson_limits
from monitor.profiles.arrays import Floats

Matrix = np.ndarray[Any, np.dtype[np.float64]]
Statistic = Callable[[Matrix, Matrix], float | None]


@dataclass(frozen=True)
class Agreement:
    """A coefficient with its limits; n items with two ratings or more."""

    value: float
    low: float
    high: float
    n: int


def pair_table(first: Floats, second: Floats) -> tuple[Matrix, Floats]:
    """Pairs of ratings as a table float64[k, k] of counts, and the k values in order."""
    values, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
    table = np.zeros((len(values), len(values)))
    np.add.at(table, (codes[: len(first)], codes[len(first) :]), 1.0)
    return table, values


def distances(values: Floats, *, squared: bool) -> Matrix:
    """How far apart two answers are: squared difference for ratings, else 1 unless equal."""
    apart: Matrix = values[:, None] - values[None, :]
    return apart**2 if squared else (apart != 0).astype(np.float64)


def kappa(table: Matrix, apart: Matrix) -> float | None:
    """1 - observed disagreement / that of independent raters with the same habits.

    None where both raters give one and the same answer throughout: chance explains all.
    """
    n = table.sum()
    expected = float(table.sum(1) @ apart @ table.sum(0)) / n**2
    return None if expected <= 0 else 1 - float(np.sum(table * apart)) / float(n) / expected


def alpha_of_pairs(table: Matrix, apart: Matrix) -> float | None:
    """Krippendorff's alpha of items with two ratings each; None where all are the same."""
    return alpha(table + table.T, apart)


def alpha(coincidences: Matrix, apart: Matrix) -> float | None:
    """1 - (n - 1) Σ o δ / Σ n_c n_k δ over a coincidence table o of n ratings."""
    margins = coincidences.sum(0)
    expected = float(margins @ apart @ margins)
    if expected <= 0:
        return None
    return 1 - (float(margins.sum()) - 1) * float(np.sum(coincidences * apart)) / expected


def coincidence_table(ratings: Matrix) -> tuple[Matrix, Floats]:
    """Coincidences of ratings float64[items, raters], NaN where a rater gave none; the values."""
    there = ~np.isnan(ratings)
    values, codes = np.unique(ratings[there], return_inverse=True)
    counts = np.zeros((len(ratings), len(values)))
    np.add.at(counts, (np.nonzero(there)[0], codes), 1.0)
    counts = counts[counts.sum(1) > 1]
    scaled = counts / (counts.sum(1) - 1)[:, None]
    table: Matrix = scaled.T @ counts - np.diag(scaled.sum(0))
    return table, values


def ac1(table: Matrix, apart: Matrix) -> float | None:
    """Gwet's first-order coefficient: chance agreement Σ π(1 - π)/(k - 1); None with one answer."""
    n, k = float(table.sum()), len(table)
    if k < 2:
        return None
    agreed = 1 - float(np.sum(table * apart)) / n
    shares = (table.sum(0) + table.sum(1)) / (2 * n)
    chance = float(np.sum(shares * (1 - shares))) / (k - 1)
    return (agreed - chance) / (1 - chance)


def with_limits(table: Matrix, apart: Matrix, statistic: Statistic) -> Agreement | None:
    """The coefficient with limits, None where it is not defined.

    Jackknife over items (Efron and Stein 1981), taken on log(1 - coefficient) with t on n - 1 df:
    what is estimated is a ratio of disagreements, which is skewed where raters seldom differ.
    Where no pair differs, the upper Wilson limit of the share that would differ stands for it.
    """
    value, n = statistic(table, apart), int(table.sum())
    if value is None or n < 2:
        return None
    loss = 1 - value
    if loss <= 0:
        chance_loss = _loss_of_one(table, apart, statistic)
        missed = 1 - wilson_limits(n, n)[0]
        return Agreement(1.0, max(-1.0, 1 - missed * chance_loss), 1.0, n)
    spread = _jackknife_variance(table, apart, statistic)
    reach = float(special.stdtrit(n - 1, 0.5 + LEVEL / 2)) * spread**0.5 / loss
    low, high = 1 - loss * float(np.exp(reach)), 1 - loss * float(np.exp(-reach))
    return Agreement(value, max(-1.0, low), high, n)


def _jackknife_variance(table: Matrix, apart: Matrix, statistic: Statistic) -> float:
    n = table.sum()
    left_out, times = [], []
    for row, column in np.argwhere(table > 0):
        less = table.copy()
        less[row, column] -= 1
        found = statistic(less, apart)
        left_out.append(1.0 if found is None else found)
        times.append(table[row, column])
    values, weights = np.array(left_out), np.array(times)
    middle = float(np.sum(weights * values) / n)
    return float((n - 1) / n * np.sum(weights * (values - middle) ** 2))


def _loss_of_one(table: Matrix, apart: Matrix, statistic: Statistic) -> float:
    """1 - coefficient, were the raters independent: what one differing pair weighs, n times."""
    n = table.sum()
    apart_by_chance = np.outer(table.sum(1), table.sum(0)) / n
    found = statistic(apart_by_chance, apart)
    differing = float(np.sum(apart_by_chance * (apart > 0))) / n
    return (1 - found) / differing if found is not None and differing > 0 else 1.0
