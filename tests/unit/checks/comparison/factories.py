"""Cells of two sides, made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from scipy import sparse

from monitor.checks.comparison.cells import Cells, Metric, RateTable, ValueTable
from monitor.measurement import Direction

MONDAY = datetime(2024, 1, 1, tzinfo=UTC)
SHARE = Metric("accuracy", "share", Direction.LOWER_IS_WORSE, "labelled requests")
MEAN = Metric("mean", "ms", Direction.HIGHER_IS_WORSE, "requests with a value", "total_ms")


def cells(
    slot: Sequence[int],
    part: Sequence[int],
    requests: np.ndarray,
    *,
    rates: Sequence[RateTable] = (),
    values: Sequence[ValueTable] = (),
) -> Cells:
    """Cells whose slots are hours from Monday on."""
    slots = tuple(MONDAY + timedelta(hours=hour) for hour in range(max(slot, default=-1) + 1))
    names = tuple(f"slice {number}" for number in range(max(part, default=-1) + 1))
    total = requests.sum(axis=0).tolist()
    return Cells(
        slots=slots,
        slices=names,
        slot=np.asarray(slot, np.int64),
        slice=np.asarray(part, np.int64),
        context=np.zeros(len(slot), np.int64),
        requests=requests,
        rates=tuple(rates),
        values=tuple(values),
        labelled=((total[0], total[0]), (total[1], total[1])),
    )


def value_table(
    rows: Sequence[tuple[Sequence[float], Sequence[float]]],
    quantiles: tuple[float, ...] = (),
    metric: Metric = MEAN,
) -> ValueTable:
    """A table from the raw values of each cell: (values of a, values of b) a cell."""
    every = np.unique(np.concatenate([np.asarray(side, float) for cell in rows for side in cell]))
    counts, sums = [], np.zeros((len(rows), 2))
    for side in (0, 1):
        dense = np.zeros((len(rows), len(every)))
        for place, cell in enumerate(rows):
            mine = np.asarray(cell[side], float)
            np.add.at(dense[place], np.searchsorted(every, mine), 1)
            sums[place, side] = mine.sum()
        counts.append(sparse.csr_array(dense))
    return ValueTable(metric, every, (counts[0], counts[1]), sums, quantiles)
