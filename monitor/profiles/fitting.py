"""Chooses cells from reference values: by rank, fine in the tails, single values apart. Pure.

Current data never takes part; the same reference gives the same cells in any row order.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.cells import (
    MAX_KNOWN,
    MAX_TOP,
    CategoryCells,
    NumberCells,
    NumberKind,
    rank_normal_scores,
)

FEW_VALUES = 20
SPECIAL_SHARE = 0.02
MAX_SPECIAL = 45
TAIL_LOW, TAIL_HIGH = 0.001, 0.999
_RANKS = np.array([TAIL_LOW, 0.01, *np.arange(1, 20) / 20, 0.99, TAIL_HIGH])
_LARGEST_SCALE = 1e300
_WHOLE_SCALE = 65_536


def fit_number_cells(values: Floats, kind: NumberKind = NumberKind.NUMBER) -> NumberCells:
    """Cells for a number-like view from its reference values; NaN and infinities are left out.

    With at most 20 distinct values each gets a cell of its own. Otherwise the edges are the
    vigintiles, the 0.1, 1, 99 and 99.9 % points, the minimum and just above the maximum of the
    values that are not special; a special value holds more than 2 % of the rows (at most 45 are
    kept) and gets a cell of its own. Percentage points are values of the reference (inverse of the
    empirical distribution function; Hyndman and Fan 1996, definition 1). Without any value the one
    edge is 0.
    The centre is the median, the scale the standard deviation after drawing values in to the 0.1
    and 99.9 % points (winsorising, Tukey 1962), so that a stray sentinel does not coarsen the sums.
    For whole numbers it is rounded up to a power of two: their sums are then exact.
    """
    finite = np.sort(values[np.isfinite(values)]) + 0.0
    if kind is NumberKind.BOOLEAN:
        edges = _apart(np.array([0.0, 1.0]))
    elif len(finite) == 0:
        edges = np.zeros(1)
    else:
        edges = _edges(finite)
    centre, scale, spread = _place_and_scale(finite)
    counts = np.diff(np.searchsorted(finite, edges), prepend=0, append=len(finite))
    return NumberCells(
        tuple(map(float, edges)), centre, scale, spread, rank_normal_scores(counts), kind
    )


def fit_category_cells(values: pa.Array) -> CategoryCells:
    """Cells for a category view from its reference values; nulls are left out.

    The 50 most frequent values have a cell each (ties by the text itself); the next 10,000 are
    known; `complete` says whether those were all.
    """
    counted = pc.value_counts(values.drop_null())
    texts = counted.field("values").to_pylist()
    counts = counted.field("counts").to_pylist()
    ranked = [text for _, text in sorted(zip((-c for c in counts), texts, strict=True))]
    known = ranked[MAX_TOP : MAX_TOP + MAX_KNOWN]
    return CategoryCells(
        tuple(ranked[:MAX_TOP]), tuple(sorted(known)), len(ranked) <= MAX_TOP + MAX_KNOWN
    )


def _edges(ordered: Floats) -> Floats:
    distinct, counts = np.unique(ordered, return_counts=True)
    if len(distinct) <= FEW_VALUES:
        return _apart(distinct)
    special = _special_values(distinct, counts, len(ordered))
    rest = ordered[~np.isin(ordered, special)]
    edges = [_apart(special), _above(ordered[-1:]), ordered[:1]]
    if len(rest):
        edges.append(np.quantile(rest, _RANKS, method="inverted_cdf"))
    together = np.unique(np.concatenate(edges))
    return together[np.isfinite(together)]


def _special_values(distinct: Floats, counts: Integers, n: int) -> Floats:
    frequent = np.flatnonzero(counts > SPECIAL_SHARE * n)
    ranked = frequent[np.argsort(-counts[frequent], kind="stable")]
    return np.sort(distinct[ranked[:MAX_SPECIAL]])


def _apart(values: Floats) -> Floats:
    """Edges that give each value a cell of its own."""
    both = np.unique(np.concatenate((values, _above(values))))
    return both[np.isfinite(both)]


def _above(values: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return np.nextafter(values, np.inf)


def _place_and_scale(ordered: Floats) -> tuple[float, float, float]:
    """Centre, scale and the plain sample standard deviation of sorted values."""
    if len(ordered) == 0:
        return 0.0, 1.0, 0.0
    low, centre, high = np.quantile(ordered, [TAIL_LOW, 0.5, TAIL_HIGH], method="inverted_cdf")
    spread = _sample_sd(ordered)
    drawn_in = _sample_sd(np.clip(ordered, low, high))
    scale = drawn_in or spread or abs(float(centre)) or 1.0
    if scale <= _WHOLE_SCALE and bool((ordered == np.rint(ordered)).all()):
        # a power of two up to 65,536 makes every whole number a whole number of fixed-point units
        scale = 2.0 ** max(0, math.ceil(math.log2(scale)))
    return float(centre), scale, spread


def _sample_sd(ordered: Floats) -> float:
    """Sample standard deviation of sorted values, without overflow; 0 for fewer than two."""
    if len(ordered) < 2 or ordered[0] == ordered[-1]:
        return 0.0
    largest = max(abs(float(ordered[0])), abs(float(ordered[-1])))
    scaled = ordered / largest
    sd = float(np.std(scaled, ddof=1))
    return min(sd * min(largest, _LARGEST_SCALE), _LARGEST_SCALE)
