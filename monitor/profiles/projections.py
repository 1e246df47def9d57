"""Fixed random directions, and the projections of vectors on them. Pure; knows no columns.

A vector of any length is watched by where it points: its cosines with a few directions that never
change (random projection: Johnson and Lindenstrauss 1984). The directions depend on the size alone,
so that profiles of every machine, version and model can be merged and compared. Everything is
integer arithmetic or a single correctly rounded operation, so the bytes are the same for any way
the rows are cut into chunks and whatever the machine's matrix product does.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from monitor.profiles.arrays import Floats

DIRECTION_SEED = 20_240_229
_DIRECTION_UNIT = 2.0**26
_COMPONENT_UNIT = 2.0**25
_UNIFORMS = 12


@lru_cache(maxsize=64)
def directions(size: int, n: int) -> Floats:
    """`n` directions of `size` components, float64[n, size]; whole numbers, in units of 2⁻²⁶.

    Each has length 1 but for that rounding. A component is the sum of twelve uniform 32-bit numbers
    less their mean (close to normal, so that no axis is preferred), divided by the length. The
    numbers are the raw output of Philox (Salmon and others 2011) with the key
    DIRECTION_SEED + size · 2⁶⁴: NumPy promises that stream for good, while the normal deviates of a
    Generator may change with its version.
    """
    stream = np.random.Philox(key=DIRECTION_SEED + (size << 64))
    raw = np.asarray(stream.random_raw(n * size * _UNIFORMS // 2), np.uint64)
    halves = np.stack(((raw >> np.uint64(32)), raw & np.uint64(0xFFFFFFFF))).astype(np.int64)
    sums = halves.reshape(2, n, size, _UNIFORMS // 2).sum(axis=(0, 3))
    # twice the sum less twice the mean is a whole number below 2^37
    components = (2 * sums - _UNIFORMS * (2**32 - 1)).astype(np.float64)
    scaled = components / lengths(components.T)[:, None] * _DIRECTION_UNIT
    found = np.asarray(np.rint(scaled), np.float64)
    found.setflags(write=False)
    return found


def lengths(vectors: Floats) -> Floats:
    """Euclidean length of each column, float64[size, n] -> float64[n]; NaN where one is missing.

    Scaled by the largest component, so that squares neither overflow nor vanish, and added up
    component by component: the sum of a column does not depend on its neighbours.
    """
    largest = _largest(vectors)
    safe = np.where(largest > 0, largest, 1.0)
    return np.asarray(np.where(np.isnan(largest), np.nan, safe * _scaled_lengths(vectors, safe)))


def projections(vectors: Floats, places: tuple[int, ...], n_directions: int) -> Floats:
    """Cosine of each column with chosen directions, float64[size, n] -> float64[len(places), n].

    `places` number the directions from 1. In [-1, 1] but for rounding; NaN where a component is
    missing and for the vector of zeros, which points nowhere.
    """
    largest = _largest(vectors)
    present = largest > 0
    safe = np.where(present, largest, 1.0)
    reach = np.where(present, _scaled_lengths(vectors, safe), 1.0)
    units = np.where(present, vectors / safe / reach, 0.0)
    np.rint(units * _COMPONENT_UNIT, out=units)
    chosen = directions(len(vectors), n_directions)[np.asarray(places) - 1]
    # whole numbers below 2^53 in any partial sum (Cauchy and Schwarz): every order is exact
    cosines = (chosen @ units) / (_DIRECTION_UNIT * _COMPONENT_UNIT)
    return np.asarray(np.where(present, cosines, np.nan))


def _largest(vectors: Floats) -> Floats:
    return np.asarray(np.max(np.abs(vectors), axis=0))


def _scaled_lengths(vectors: Floats, scale: Floats) -> Floats:
    total = np.zeros(vectors.shape[1])
    for component in vectors:
        scaled = component / scale
        scaled *= scaled
        total += scaled
    return np.sqrt(total)
