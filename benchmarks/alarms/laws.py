"""What a column's values are like hour by hour: values to draw, or the share of each cell.

Both come from the same law, so a world's rows and its counts are the same world. Knows no check.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from scipy.special import ndtr, ndtri

from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.cells import MAX_TOP, CategoryCells, NumberCells, ViewCells
from monitor.profiles.fitting import fit_number_cells

SAMPLE_ROWS = 20_000


class Law(Protocol):
    """The distribution of one column in each hour."""

    def draw(self, rng: np.random.Generator, hours: Integers) -> pa.Array:
        """One value for each row, given the number of its hour, int64[n]."""

    def fit(self, rng: np.random.Generator, volumes: Integers) -> ViewCells:
        """Cells from rows of the reference hours, whose row counts are int64[n_reference]."""

    def shares(self, cells: ViewCells) -> Floats:
        """Probability of each cell in each hour, float64[n_hours, n_cells]."""


class Numbers(Protocol):
    """A law of numbers. NaN is missing."""

    def values(self, rng: np.random.Generator, hours: Integers) -> Floats:
        """One value for each row, float64[n]."""

    def below(self, edges: Floats) -> Floats:
        """P(present and < edge) by hour, float64[n_hours, n_edges]."""

    def present(self) -> Floats:
        """P(not missing) by hour, float64[n_hours]."""


@dataclass(frozen=True, eq=False)
class Normal:
    """Normal values; `mean` float64[n_hours]."""

    mean: Floats
    sd: float = 1.0

    def values(self, rng: np.random.Generator, hours: Integers) -> Floats:
        """See Numbers."""
        return self.mean[hours] + self.sd * rng.standard_normal(len(hours))

    def below(self, edges: Floats) -> Floats:
        """See Numbers."""
        return np.asarray(ndtr((edges[None, :] - self.mean[:, None]) / self.sd))

    def present(self) -> Floats:
        """See Numbers."""
        return np.ones(len(self.mean))


@dataclass(frozen=True, eq=False)
class Lognormal:
    """The exponential of a normal law."""

    log: Normal

    def values(self, rng: np.random.Generator, hours: Integers) -> Floats:
        """See Numbers."""
        return np.exp(self.log.values(rng, hours))

    def below(self, edges: Floats) -> Floats:
        """See Numbers."""
        positive = edges > 0
        below = np.zeros((len(self.log.mean), len(edges)))
        below[:, positive] = self.log.below(np.log(edges[positive]))
        return below

    def present(self) -> Floats:
        """See Numbers."""
        return self.log.present()


@dataclass(frozen=True, eq=False)
class Mixed:
    """In hour h a row follows `second` with probability `weight[h]`, otherwise `first`."""

    weight: Floats
    first: Numbers
    second: Numbers

    def values(self, rng: np.random.Generator, hours: Integers) -> Floats:
        """See Numbers."""
        chosen = rng.random(len(hours)) < self.weight[hours]
        return np.where(chosen, self.second.values(rng, hours), self.first.values(rng, hours))

    def below(self, edges: Floats) -> Floats:
        """See Numbers."""
        weight = self.weight[:, None]
        return (1 - weight) * self.first.below(edges) + weight * self.second.below(edges)

    def present(self) -> Floats:
        """See Numbers."""
        return (1 - self.weight) * self.first.present() + self.weight * self.second.present()


@dataclass(frozen=True, eq=False)
class Constant:
    """Always the same value; NaN: always missing."""

    value: float
    n_hours: int

    def values(self, rng: np.random.Generator, hours: Integers) -> Floats:  # noqa: ARG002
        """See Numbers."""
        return np.full(len(hours), self.value)

    def below(self, edges: Floats) -> Floats:
        """See Numbers."""
        return np.tile((self.value < edges).astype(np.float64), (self.n_hours, 1))

    def present(self) -> Floats:
        """See Numbers."""
        return np.full(self.n_hours, 0.0 if np.isnan(self.value) else 1.0)


def with_missing(numbers: Numbers, share: Floats) -> Mixed:
    """The same numbers, missing with probability share[h]."""
    return Mixed(share, numbers, Constant(np.nan, len(share)))


def with_zeros(numbers: Numbers, share: Floats) -> Mixed:
    """The same numbers, 0 with probability share[h]."""
    return Mixed(share, numbers, Constant(0.0, len(share)))


@dataclass(frozen=True, eq=False)
class NumberLaw:
    """A column of numbers."""

    numbers: Numbers

    def draw(self, rng: np.random.Generator, hours: Integers) -> pa.Array:
        """See Law."""
        return pa.array(self.numbers.values(rng, hours), from_pandas=True)

    def fit(self, rng: np.random.Generator, volumes: Integers) -> NumberCells:
        """See Law."""
        hours = rng.choice(len(volumes), SAMPLE_ROWS, p=volumes / volumes.sum())
        return fit_number_cells(self.numbers.values(rng, hours))

    def shares(self, cells: ViewCells) -> Floats:
        """See Law."""
        below = self.numbers.below(np.asarray(cells.edges))  # type: ignore[union-attr]
        present = self.numbers.present()[:, None]
        nothing = np.zeros_like(present)
        shares = np.diff(np.concatenate((nothing, below, present, nothing + 1), axis=1), axis=1)
        return _whole(shares)


@dataclass(frozen=True, eq=False)
class CategoryLaw:
    """A column of words; `words_shares` float64[n_hours, n_words] sums to 1 in each hour."""

    words: Sequence[str]
    words_shares: Floats

    def draw(self, rng: np.random.Generator, hours: Integers) -> pa.Array:
        """See Law."""
        chosen = np.empty(len(hours), np.int32)
        order = np.argsort(hours, kind="stable")
        starts = np.flatnonzero(np.diff(hours[order], prepend=-1))
        for rows in np.split(order, starts[1:]):
            if len(rows):
                climbing = np.cumsum(self.words_shares[hours[rows[0]]])
                place = np.searchsorted(climbing, rng.random(len(rows)) * climbing[-1], "right")
                chosen[rows] = np.minimum(place, len(self.words) - 1)
        return pa.DictionaryArray.from_arrays(chosen, pa.array(self.words)).cast(pa.string())

    def fit(self, rng: np.random.Generator, volumes: Integers) -> CategoryCells:
        """See Law."""
        mean = volumes @ self.words_shares[: len(volumes)]
        seen = rng.multinomial(int(volumes.sum()), mean / mean.sum())
        ranked = [place for place in np.argsort(-seen, kind="stable") if seen[place]]
        words = [self.words[place] for place in ranked]
        return CategoryCells(tuple(words[:MAX_TOP]), tuple(sorted(words[MAX_TOP:])))

    def shares(self, cells: ViewCells) -> Floats:
        """See Law."""
        places = cells.cells_of(self.words)  # type: ignore[union-attr]
        shares = np.zeros((len(self.words_shares), cells.n_cells))
        for cell in np.unique(places):
            shares[:, cell] = self.words_shares[:, places == cell].sum(axis=1)
        return _whole(shares)


def cut_into_words(words: Sequence[str], usual: Floats, normal: Normal) -> CategoryLaw:
    """Words by cutting a normal law where a standard normal one would give the usual shares."""
    cuts = np.quantile(np.sort(normal.mean), 0.5) + normal.sd * _normal_quantiles(usual)
    below = normal.below(cuts)
    edges = np.zeros((len(below), 1)), below, np.ones((len(below), 1))
    return CategoryLaw(words, _whole(np.diff(np.concatenate(edges, axis=1), axis=1)))


def zipf(n: int, exponent: float = 1.0) -> Floats:
    """Shares of n words by rank, float64[n]."""
    shares = np.arange(1, n + 1, dtype=np.float64) ** -exponent
    return shares / shares.sum()


def _normal_quantiles(shares: Floats) -> Floats:
    return np.asarray(ndtri(np.cumsum(shares)[:-1]))


def _whole(shares: Floats) -> Floats:
    shares = np.clip(shares, 0.0, 1.0)
    return shares / shares.sum(axis=1, keepdims=True)
