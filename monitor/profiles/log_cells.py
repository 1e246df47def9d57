"""Logarithmic cells of measured values: keys of values, and tables of many groups at once. Pure.

A key is the value's float bits without the low 46: sign, exponent and six bits of the mantissa. A
cell is at most 1/64 of its value wide. Its values are the row count and the sum of the next 30
bits, from which the sum of the column comes back within 2⁻³⁶ of itself. The idea is DDSketch's
(Masson, Rim and Lee, 2019) with cells that never collapse, so that merging is exact.
"""

from __future__ import annotations

import numpy as np

from monitor.profiles.arrays import Floats, Integers, totals_by_key

CELL_BITS = 46
REST_BITS = 30
_SIGN_STEP = 2 ** (63 - CELL_BITS)
_SMALLEST = 2.0**-1000


def log_keys(values: Floats) -> tuple[Integers, Integers]:
    """Cell key and the next 30 bits of finite values; zero and anything below 2⁻¹⁰⁰⁰ has key 0."""
    plain = np.where(np.abs(values) < _SMALLEST, 0.0, values)
    bits = np.ascontiguousarray(plain).view(np.int64)
    rest = (bits >> (CELL_BITS - REST_BITS)) & (2**REST_BITS - 1)
    return bits >> CELL_BITS, rest


def log_tables(values: Floats, members: Integers, n_groups: int) -> list[tuple[Integers, Integers]]:
    """The table of each group: keys int64[k] and (rows, sum of the rest) int64[k, 2]."""
    keys, rest = log_keys(values)
    low = int(keys.min()) if len(keys) else 0
    span = int(keys.max()) - low + 1 if len(keys) else 1
    grouped, totals = totals_by_key(members * span + (keys - low), (rest,))
    bounds = np.searchsorted(grouped, np.arange(n_groups + 1) * span)
    cells = grouped % span + low
    return [
        (cells[bounds[g] : bounds[g + 1]], totals[bounds[g] : bounds[g + 1]])
        for g in range(n_groups)
    ]


def cell_bounds(keys: Integers) -> tuple[Floats, Floats]:
    """Smallest absolute value of each cell, and that of the next cell away from zero."""
    size = np.where(keys < 0, keys + _SIGN_STEP, keys)
    low = (size << CELL_BITS).view(np.float64)
    high = np.minimum(((size + 1) << CELL_BITS).view(np.float64), np.finfo(np.float64).max)
    return low, high
