"""Array types of profiles, and integer tables added up by key. Knows no columns, no contract."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
CellNumbers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
AnyArray = npt.NDArray[Any]
_SMALL_SPAN = 1 << 16
_EXACT_IN_FLOATS = 2**53


def numbered(values: Integers) -> tuple[Integers, Integers]:
    """Sorted distinct values int64[k], and the place of each value among them, int64[n].

    What np.unique with return_inverse gives for one dimension, without sorting where the values
    lie close together: group numbers, hours and deployments do.
    """
    if len(values) == 0:
        return values, np.zeros(0, np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low >= max(_SMALL_SPAN, 4 * len(values)):
        distinct, places = np.unique(values, return_inverse=True)
        return distinct, places.astype(np.int64, copy=False)
    shifted = values - low
    present = np.zeros(high - low + 1, np.bool_)
    present[shifted] = True
    return np.flatnonzero(present) + low, (np.cumsum(present) - 1)[shifted]


def counts_at(shape: tuple[int, ...], index: tuple[Integers, ...], rows: Integers) -> Integers:
    """Rows by cell of a table, int64[shape]; exact below 2^53 rows, and quicker than np.add.at."""
    places = np.ravel_multi_index(index, shape)
    totals = np.bincount(places, rows, int(np.prod(shape)))
    return totals.astype(np.int64).reshape(shape)


def totals_by_key(keys: Integers, columns: Sequence[Integers]) -> tuple[Integers, Integers]:
    """Sorted unique keys int64[k] and, per key, the row count and the sum of each column.

    Returns (keys int64[k], values int64[k, 1 + len(columns)]). Everything is integer arithmetic,
    so the order of the rows never changes the result.
    """
    if len(keys) == 0:
        return keys[:0], np.zeros((0, 1 + len(columns)), np.int64)
    low, high = int(keys.min()), int(keys.max())
    close = high - low < max(_SMALL_SPAN, 4 * len(keys))
    if close and all(_adds_up_in_floats(column) for column in columns):
        return _totals_of_close_keys(keys - low, columns, low)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    values = np.empty((len(starts), 1 + len(columns)), np.int64)
    values[:, 0] = np.diff(np.append(starts, len(keys)))
    for place, column in enumerate(columns, start=1):
        values[:, place] = np.add.reduceat(column[order], starts)
    return ordered[starts], values


def _adds_up_in_floats(column: Integers) -> bool:
    """True when no sum of these integers can leave what a float64 holds exactly."""
    largest = max(abs(int(column.min())), abs(int(column.max())))
    return largest * len(column) < _EXACT_IN_FLOATS


def _totals_of_close_keys(
    shifted: Integers, columns: Sequence[Integers], low: int
) -> tuple[Integers, Integers]:
    counts = np.bincount(shifted)
    present = np.flatnonzero(counts)
    values = np.empty((len(present), 1 + len(columns)), np.int64)
    values[:, 0] = counts[present]
    for place, column in enumerate(columns, start=1):
        values[:, place] = np.bincount(shifted, column)[present].astype(np.int64)
    return present + low, values


def add_tables(
    tables: Sequence[tuple[Integers, Integers]],
) -> tuple[Integers, Integers]:
    """Add up sparse tables (keys[k], values[k, m]); keys of the result are sorted and unique."""
    if len(tables) == 1:
        return tables[0]
    keys = np.concatenate([table[0] for table in tables])
    values = np.concatenate([table[1] for table in tables])
    if len(keys) == 0:
        return keys, values
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    return ordered[starts], np.add.reduceat(values[order], starts, axis=0)
