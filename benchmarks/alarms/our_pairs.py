"""Inferwatch's view of correlations on a stream: sums of score products by day, as profiles keep
them, judged by the product's own functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.alarms.binning import as_floats, hour_numbers
from benchmarks.alarms.ours import HOUR
from benchmarks.alarms.scene import FIRST, REFERENCE_DAYS, Counted
from monitor.checks.multivariate.correlations import PairWindows
from monitor.checks.multivariate.pairs import PairsBaseline, compare_pairs, fit_pairs
from monitor.checks.promise.budget import Budget
from monitor.checks.promise.firing import Firing
from monitor.measurement import TooFew
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.cells import NumberCells

TOGETHER = "(columns together)"
VIEW = "correlation"
DAYS_A_MONTH, DAY_HOURS = 30, 24


@dataclass(frozen=True)
class PairFiring:
    """A day whose correlations fired, and the two columns that changed most."""

    firing: Firing
    columns: tuple[str, str]


class PairWatch:
    """Correlations of the number columns of one stream, learned from its reference days."""

    def __init__(self, table: pa.Table, counted: Sequence[Counted], names: Sequence[str]) -> None:
        self._cells = {one.name: one.cells for one in counted if one.name in names}
        self._names = tuple(
            name for name, cells in self._cells.items() if isinstance(cells, NumberCells)
        )
        self._days = hour_numbers(table) // DAY_HOURS
        self._scores = {
            name: self._scored(name, table.column(name).combine_chunks()) for name in self._names
        }
        fitted = fit_pairs(self.windows(range(REFERENCE_DAYS)), np.arange(REFERENCE_DAYS) // 7)
        self._baseline: PairsBaseline | None = None if isinstance(fitted, TooFew) else fitted

    def windows(self, days: Sequence[int]) -> PairWindows:
        """Sums of the clean rows, a window a day."""
        return self._windows(self._scores, days)

    def firings(
        self, budget: Budget, replaced: Mapping[str, pa.Array] | None = None
    ) -> list[PairFiring]:
        """Test days that fire, with other values for some columns."""
        if self._baseline is None:
            return []
        scores = dict(self._scores)
        for name, values in (replaced or {}).items():
            if name in scores:
                scores[name] = self._scored(name, values)
        level = budget.pairs_level / DAYS_A_MONTH
        days = range(REFERENCE_DAYS, int(self._days.max()) + 1)
        judged = (self._judge(self._windows(scores, [day]), day, level) for day in days)
        return [one for one in judged if one is not None]

    def _judge(self, window: PairWindows, day: int, level: float) -> PairFiring | None:
        assert self._baseline is not None
        found = compare_pairs(self._baseline, window)
        if isinstance(found, TooFew) or not found.p_value < level or not found.changes:
            return None
        most = found.changes[0]
        end = FIRST + (day + 1) * DAY_HOURS * HOUR
        firing = Firing(
            TOGETHER, "", DAY_HOURS, VIEW, end, found.p_value, level, most.change, found.n
        )
        return PairFiring(firing, (most.first, most.second))

    def _scored(self, name: str, values: pa.Array) -> Floats:
        """Score of each row, float64[n]; NaN where missing."""
        cells = self._cells[name]
        assigned = cells.assign(as_floats(values))
        scores = cells.scores().astype(np.float64)  # type: ignore[union-attr]
        scores[-1] = np.nan
        return scores[assigned]

    def _windows(self, scores: Mapping[str, Floats], days: Sequence[int]) -> PairWindows:
        """One window a day."""
        upper = np.triu_indices(len(self._names))
        sums, n, means = [], [], []
        for day in days:
            first, beyond = np.searchsorted(self._days, (day, day + 1))
            rows = np.stack([scores[name][first:beyond] for name in self._names], axis=1)
            present = (~np.isnan(rows)).astype(np.float64)
            rows = np.nan_to_num(rows)
            sums.append((rows.T @ rows)[upper])
            both = present.T @ present
            n.append(both[upper])
            means.append(rows.sum(axis=0) / np.maximum(both.diagonal(), 1))
        return PairWindows(self._names, _whole(sums), _whole(n), np.array(means))


def _whole(values: Sequence[Floats]) -> Integers:
    """Sums of products of whole scores are whole, and far below 2**53."""
    return np.rint(np.array(values)).astype(np.int64)
