"""Standardised means and percentiles of two sides, again and again over resampled time or rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from monitor.checks.comparison.cells import Cells, Strata, ValueTable
from monitor.checks.comparison.order import weighted_quantiles
from monitor.profiles.arrays import Floats, Integers

DRAWS = 1000
DRAWS_AT_ONCE = 50


@dataclass(frozen=True, eq=False)
class Shared:
    """The cells of one table on common support, C of them in `strata` strata, `clusters` slots.

    `n`, `sums` [C, 2]; `counts` one sparse [C, k] a side over `values` float64[k]; `incidence`
    sparse [C, strata].
    """

    stratum: Integers
    cluster: Integers
    clusters: int
    n: Integers
    sums: Floats
    counts: tuple[sparse.csr_array, sparse.csr_array]
    values: Floats
    quantiles: tuple[float, ...]
    incidence: sparse.csr_array

    @classmethod
    def of(cls, cells: Cells, table: ValueTable, strata: Strata) -> Shared:
        """What both sides have rows of."""
        n = table.n
        kept = strata.shared(n)[strata.of_cell] & (n.sum(axis=1) > 0)
        slots, cluster = np.unique(cells.slot[kept], return_inverse=True)
        held, stratum = np.unique(strata.of_cell[kept], return_inverse=True)
        places = (np.arange(len(stratum)), stratum.ravel())
        shape = (len(stratum), len(held))
        return cls(
            stratum=stratum.ravel().astype(np.int64),
            cluster=cluster.ravel().astype(np.int64),
            clusters=len(slots),
            n=n[kept],
            sums=table.sums[kept],
            counts=(table.counts[0][kept], table.counts[1][kept]),
            values=table.values,
            quantiles=table.quantiles,
            incidence=sparse.csr_array((np.ones(len(stratum)), places), shape=shape),
        )

    @property
    def rows(self) -> tuple[int, int]:
        """Rows of a and of b on common support."""
        return int(self.n[:, 0].sum()), int(self.n[:, 1].sum())

    def point(self) -> Floats:
        """The standardised mean and percentiles of both sides, float64[1 + quantiles, 2]."""
        found: Floats = self._of_weights(np.ones((1, len(self.n))))[0]
        return found

    def by_time(self, rng: np.random.Generator) -> Floats:
        """DRAWS bootstrap values float64[DRAWS, 1 + quantiles, 2], slots of time resampled."""
        share = np.full(self.clusters, 1 / self.clusters)
        statistics = self._by_cluster() if self._nested() else self._of_times
        found = []
        for _ in range(0, DRAWS, DRAWS_AT_ONCE):
            times = rng.multinomial(self.clusters, share, DRAWS_AT_ONCE).astype(np.float64)
            found.append(statistics(times))
        return _defined(np.concatenate(found))

    def _nested(self) -> bool:
        """True when every stratum lies in one slot of time: then no draw changes its weights."""
        pairs = np.unique(self.stratum * self.clusters + self.cluster)
        return len(pairs) == self.incidence.shape[1]

    def _of_times(self, times: Floats) -> Floats:
        return self._of_weights(times[:, self.cluster])

    def _by_cluster(self) -> Callable[[Floats], Floats]:
        """The statistics of draws from what each slot of time adds up to, which is much less."""
        rows = [self._by_stratum(self.n[None, :, side].astype(np.float64)) for side in (0, 1)]
        places = (np.arange(len(self.cluster)), self.cluster)
        into = sparse.csr_array(
            (np.ones(len(self.cluster)), places), shape=(len(self.cluster), self.clusters)
        )
        held = []
        for side, ratio in enumerate(_to_pooled(rows[0], rows[1])):
            scale = ratio[0, self.stratum]
            weighted = into.T @ (self.counts[side] * scale[:, None])
            held.append((into.T @ (scale * self.sums[:, side]), weighted.toarray()))

        def statistics(times: Floats) -> Floats:
            found = np.empty((len(times), 1 + len(self.quantiles), 2))
            for side, (sums, counts) in enumerate(held):
                weights = times @ counts
                with np.errstate(invalid="ignore"):
                    found[:, 0, side] = (times @ sums) / weights.sum(axis=1)
                self._add_quantiles(found[:, 1:, side], weights)
            return found

        return statistics

    def by_row(self, rng: np.random.Generator) -> Floats:
        """The same with single rows resampled (Poisson counts), which takes them as independent."""
        units = [_Units.of(side, self.stratum, self.incidence.shape[1]) for side in self.counts]
        found = [self._of_units(units, rng) for _ in range(0, DRAWS, DRAWS_AT_ONCE)]
        return _defined(np.concatenate(found))

    def _of_weights(self, times: Floats) -> Floats:
        """Statistics with cell c counted `times[d, c]` times, [d, 1 + quantiles, 2]."""
        rows = [self._by_stratum(times * self.n[:, side]) for side in (0, 1)]
        scale = [ratio[:, self.stratum] * times for ratio in _to_pooled(rows[0], rows[1])]
        found = np.empty((len(times), 1 + len(self.quantiles), 2))
        for side in (0, 1):
            with np.errstate(invalid="ignore"):
                total = scale[side] @ self.n[:, side]
                found[:, 0, side] = (scale[side] @ self.sums[:, side]) / total
            self._add_quantiles(found[:, 1:, side], (self.counts[side].T @ scale[side].T).T)
        return found

    def _of_units(self, units: Sequence[_Units], rng: np.random.Generator) -> Floats:
        drawn = [rng.poisson(each.rows, (DRAWS_AT_ONCE, len(each.rows))) for each in units]
        rows = [(each.to_stratum.T @ times.T).T for each, times in zip(units, drawn, strict=True)]
        found = np.empty((DRAWS_AT_ONCE, 1 + len(self.quantiles), 2))
        for side, ratio in enumerate(_to_pooled(rows[0], rows[1])):
            scale = drawn[side] * ratio[:, units[side].stratum]
            weights = (units[side].to_value.T @ scale.T).T
            with np.errstate(invalid="ignore"):
                found[:, 0, side] = (weights @ self.values) / weights.sum(axis=1)
            self._add_quantiles(found[:, 1:, side], weights)
        return found

    def _by_stratum(self, rows: Floats) -> Floats:
        found: Floats = (self.incidence.T @ rows.T).T
        return found

    def _add_quantiles(self, into: Floats, weights: Floats) -> None:
        for place, quantile in enumerate(self.quantiles):
            into[:, place] = weighted_quantiles(self.values, weights, quantile)


@dataclass(frozen=True, eq=False)
class _Units:
    """Rows of one side that share cell and value, float64[u], with their stratum int64[u].

    `to_stratum` [u, strata] and `to_value` [u, k] say where each belongs.
    """

    rows: Floats
    stratum: Integers
    to_stratum: sparse.csr_array
    to_value: sparse.csr_array

    @classmethod
    def of(cls, counts: sparse.csr_array, stratum: Integers, strata: int) -> _Units:
        """The filled entries of a table."""
        entries = sparse.coo_array(counts)
        mine = stratum[entries.row]
        ones, places = np.ones(len(mine)), np.arange(len(mine))
        return cls(
            rows=np.asarray(entries.data, np.float64),
            stratum=mine,
            to_stratum=sparse.csr_array((ones, (places, mine)), shape=(len(mine), strata)),
            to_value=sparse.csr_array(
                (ones, (places, entries.col)), shape=(len(mine), counts.shape[1])
            ),
        )


def _defined(drawn: Floats) -> Floats:
    """Draws in which both sides had rows left."""
    there = np.isfinite(drawn[:, 0]).all(axis=1)
    kept: Floats = drawn[there]
    return kept


def _to_pooled(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Per stratum, by how much a row of each side weighs; 0 where one side has none left."""
    both = (a > 0) & (b > 0)
    pooled = np.where(both, a + b, 0.0)
    return pooled / np.maximum(a, 1e-300), pooled / np.maximum(b, 1e-300)
