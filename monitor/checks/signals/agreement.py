"""Agreement of raters beyond chance, with limits that hold for rare answers too. Pure.

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

from monitor.checks.intervals import LEVEL
from monitor.profiles.arrays import Floats

Matrix = np.ndarray[Any, np.dtype[np.float64]]
Statistic = Callable[[Matrix, Matrix], Matrix]

DRAWS, MOST_NUMBERS = 2_000, 4_000_000


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


def kappa(tables: Matrix, apart: Matrix) -> Matrix:
    """1 - observed disagreement / that of independent raters with the same habits.

    Of one table float64[k, k] or of many, float64[..., k, k]. NaN where both raters give one and
    the same answer throughout: chance explains all.
    """
    n = tables.sum((-2, -1))
    rows, columns = tables.sum(-1), tables.sum(-2)
    expected = np.einsum("...i,ij,...j->...", rows, apart, columns) / n**2
    return _beyond_chance(np.sum(tables * apart, (-2, -1)) / n, expected)


def alpha_of_pairs(tables: Matrix, apart: Matrix) -> Matrix:
    """Krippendorff's alpha of items with two ratings each; NaN where all are the same."""
    return alpha(tables + np.swapaxes(tables, -2, -1), apart)


def alpha(coincidences: Matrix, apart: Matrix) -> Matrix:
    """1 - (n - 1) Σ o δ / Σ n_c n_k δ over a coincidence table o of n ratings."""
    margins = coincidences.sum(-2)
    expected = np.einsum("...i,ij,...j->...", margins, apart, margins)
    observed = (margins.sum(-1) - 1) * np.sum(coincidences * apart, (-2, -1))
    return _beyond_chance(observed, expected)


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


def ac1(tables: Matrix, apart: Matrix) -> Matrix:
    """Gwet's first-order coefficient: chance agreement Σ π(1 - π)/(k - 1); NaN with one answer."""
    n, k = tables.sum((-2, -1)), tables.shape[-1]
    agreed = 1 - np.sum(tables * apart, (-2, -1)) / n
    shares = (tables.sum(-1) + tables.sum(-2)) / (2 * n[..., None])
    chance = np.sum(shares * (1 - shares), -1) / max(k - 1, 1)
    return _beyond_chance(1 - agreed, np.where(k > 1, 1 - chance, 0.0))


def with_limits(
    table: Matrix, apart: Matrix, statistic: Statistic, rng: np.random.Generator
) -> Agreement | None:
    """The coefficient with limits, None where it is not defined.

    Quantiles of the coefficient over Dirichlet draws of the table, with half an item in each cell
    of a two-by-two table (Jeffreys 1946), one item spread evenly over a larger one (Perks 1947).
    Resampling and the delta method break where a rare answer
    coincides on few items or on none, or where no two answers differ; this does not (coverage is
    tested at 30 items and more, with answers as rare as 1 in 30).
    """
    value, n = float(statistic(table, apart)), int(table.sum())
    if not np.isfinite(value):
        return None
    draws = max(DRAWS // 8, min(DRAWS, MOST_NUMBERS // table.size))
    prior = (2 if len(table) == 2 else 1) / table.size
    drawn = rng.standard_gamma(table.ravel() + prior, (draws, table.size))
    drawn *= n / drawn.sum(1, keepdims=True)
    found = statistic(drawn.reshape(draws, *table.shape), apart)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(found[np.isfinite(found)], [tail, 1 - tail])
    return Agreement(value, min(float(low), value), max(float(high), value), n)


def _beyond_chance(observed: Matrix, expected: Matrix) -> Matrix:
    defined = expected > 0
    found: Matrix = np.where(defined, 1 - observed / np.where(defined, expected, 1.0), np.nan)
    return found
