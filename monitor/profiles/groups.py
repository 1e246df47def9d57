"""Which rows of a tile belong to which profile, and sums per profile. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from monitor.profiles.arrays import AnyArray, CellNumbers, Floats, Integers, numbered


@dataclass(frozen=True, eq=False)
class TileGroups:
    """`ids` int64[g]: the groups that occur; `local` int64[m]: place in `ids` of each chosen row.

    `chosen` int64[m] are the rows that belong to any group; None stands for all of them.
    `local` is None when all chosen rows belong to one group.
    """

    ids: Integers
    local: Integers | None
    chosen: Integers | None

    @classmethod
    def of(cls, groups: Integers) -> TileGroups:
        """From a group number a row; a negative number leaves the row out."""
        chosen = None
        if len(groups) and groups.min() < 0:
            chosen = np.flatnonzero(groups >= 0)
            groups = groups[chosen]
        if len(groups) == 0:
            return cls(np.zeros(0, np.int64), None, chosen)
        if groups[0] == groups[-1] and groups.min() == groups.max():
            return cls(groups[:1].astype(np.int64), None, chosen)
        ids, local = numbered(groups)
        return cls(ids, local, chosen)

    def _pick(self, values: AnyArray) -> AnyArray:
        return values if self.chosen is None else values[self.chosen]

    def histogram(self, cells: CellNumbers, n_cells: int) -> Integers:
        """Rows per group and cell, int64[g, n_cells]."""
        if len(self.ids) == 0:
            return np.zeros((0, n_cells), np.int64)
        picked = self._pick(cells)
        if self.local is not None:
            picked = self.local * n_cells + picked
        counts = np.bincount(picked, minlength=len(self.ids) * n_cells)
        return counts.reshape(-1, n_cells)

    def totals(self, values: Floats) -> Integers:
        """Sum per group of integer-valued numbers whose total stays below 2^53, int64[g]: exact."""
        picked = self._pick(values)
        if self.local is None:
            return np.full(len(self.ids), picked.sum()).astype(np.int64)
        return np.bincount(self.local, picked, len(self.ids)).astype(np.int64)

    def members(self) -> Iterator[tuple[int, Integers | None]]:
        """Each group with its rows; None stands for all rows of the tile."""
        if self.local is None:
            for group in self.ids:
                yield int(group), self.chosen
            return
        order = np.argsort(self.local, kind="stable")
        bounds = np.searchsorted(self.local[order], np.arange(len(self.ids) + 1))
        rows = order if self.chosen is None else self.chosen[order]
        for place, group in enumerate(self.ids):
            yield int(group), rows[bounds[place] : bounds[place + 1]]


def membership(groups: AnyArray, n_rows: int) -> Integers:
    """Groups as int64[n, k]: a row belongs to up to k groups at once."""
    wide = np.asarray(groups, np.int64)
    if wide.ndim == 1:
        wide = wide[:, None]
    if wide.ndim != 2 or len(wide) != n_rows:
        raise AssertionError(f"groups have shape {np.shape(groups)} for {n_rows} rows")
    return wide
