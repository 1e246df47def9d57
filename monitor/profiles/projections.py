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
_BLOCK_NUMBERS = 2**16


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
    """Euclidean length of each column, float64[size, n] -> float64[n]; NaN where one is missing."""
    return lengths_and_cosines(vectors, (), 0)[0]


def lengths_and_cosines(
    vectors: Floats, places: tuple[int, ...], n_directions: int
) -> tuple[Floats, Floats]:
    """Length of each column and its cosine with chosen directions: float64[n], float64[k, n].

    `places` number the directions from 1. A cosine lies in [-1, 1] but for rounding to 2⁻²⁵. Both
    are NaN where a component is missing; the vector of zeros points nowhere and has no cosine.
    """
    size, n = vectors.shape
    chosen = directions(size, n_directions)[np.asarray(places) - 1] if places else None
    found, cosines = np.empty(n), np.empty((len(places), n))
    # blocks that stay in the cache: a whole reference file would not even fit into memory twice
    step = max(1, _BLOCK_NUMBERS // size)
    for start in range(0, n, step):
        block = slice(start, start + step)
        found[block], cosines[:, block] = _of_block(vectors[:, block], chosen)
    return found, cosines


def _of_block(vectors: Floats, chosen: Floats | None) -> tuple[Floats, Floats]:
    """Scaled by the largest component, so that squares neither overflow nor vanish."""
    largest = np.max(np.abs(vectors), axis=0)
    present = largest > 0
    safe = np.where(present, largest, 1.0)
    scaled = vectors / safe
    reach = np.sqrt(_column_sums(scaled * scaled))
    found = np.where(np.isnan(largest), np.nan, safe * reach)
    if chosen is None:
        return found, np.empty((0, len(found)))
    scaled /= np.where(present, reach, 1.0)
    scaled[:, ~present] = 0.0
    scaled *= _COMPONENT_UNIT
    np.rint(scaled, out=scaled)
    # whole numbers below 2^53 in any partial sum (Cauchy and Schwarz): every order is exact
    cosines = (chosen @ scaled) / (_DIRECTION_UNIT * _COMPONENT_UNIT)
    return found, np.where(present, cosines, np.nan)


def _column_sums(terms: Floats) -> Floats:
    """Sums of the columns, folded in half again and again; `terms` is used up.

    Every step adds element by element, so the sum of a column does not depend on its neighbours.
    """
    while len(terms) > 1:
        half, odd = divmod(len(terms), 2)
        folded = terms[:half]
        folded += terms[half : 2 * half]
        if odd:
            folded[0] += terms[-1]
        terms = folded
    return np.asarray(terms[0])
