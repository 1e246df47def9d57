"""What is still watched of a context column: whether its values are there, and whether they move.

Its level wanders by itself, so its distribution is no evidence. That it is missing more often than
ever, or that a day shows far fewer different cells than any healthy day did, is. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from monitor.checks.promise.column import ColumnHours
from monitor.profiles.arrays import Floats
from monitor.profiles.cells import CategoryCells

MISSING_SUFFIX = " (missing)"
LEAST_CELLS = 6
_PRESENT = CategoryCells(("present",))


def missing_indicator(column: ColumnHours) -> ColumnHours:
    """The column's presence as a column of its own: `NAME (missing)`, present or missing."""
    counts = np.zeros((len(column.counts), _PRESENT.n_cells), np.int64)
    counts[:, 0] = column.counts[:, :-1].sum(axis=1)
    counts[:, _PRESENT.missing] = column.counts[:, -1]
    name = f"{column.name}{MISSING_SUFFIX}"
    return ColumnHours(name, _PRESENT, counts, column.weight, column.segment)


def with_indicators(
    columns: Iterable[ColumnHours], known: Iterable[tuple[str, str]]
) -> Iterator[ColumnHours]:
    """The columns, and the missing indicators of those whose indicator is known by its key."""
    wanted = set(known)
    for column in columns:
        yield column
        if (column.segment, f"{column.name}{MISSING_SUFFIX}") in wanted:
            yield missing_indicator(column)


def cells_seen(observed: Floats) -> Floats:
    """How many cells hold a row, float64[r, k] -> float64[r]."""
    return np.asarray((observed > 0).sum(axis=1).astype(np.float64))


def least_cells_seen(observed: Floats, rows: Floats, usual: float) -> float:
    """The fewest cells that a healthy window showed; 0 when that is below 6 or nothing was seen.

    Windows with less than half the usual rows show fewer cells for that reason alone.
    """
    full = rows >= max(usual / 2, 1.0)
    if not full.any():
        return 0.0
    least = float(cells_seen(observed[full]).min())
    return least if least >= LEAST_CELLS else 0.0


def stuck_p(observed: Floats, least: Floats, usual: Floats) -> Floats:
    """1 for a window that moves, 0 for one with fewer than half the cells of any healthy window.

    `usual` float64[r] are the rows of a healthy window: with less than half of them a window shows
    fewer cells for that reason alone, and moves. Not a probability: no healthy window was near. In
    the first year that was tried no sound day of weather came so low.
    """
    judged = (least > 0) & (observed.sum(axis=1) >= usual / 2)
    return np.where(judged & (cells_seen(observed) < least / 2), 0.0, 1.0)
