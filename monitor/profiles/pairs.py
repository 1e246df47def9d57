"""The pairs part of a profile: sums of products of cell scores, for correlation drift.

Names in the part: `pairs/sum` int64[p] and `pairs/n` int64[p]: for every pair of number views (a
view with itself included) the sum of score · score over rows that have both values, and how many
those are. The order is the upper triangle, row by row, of at most 100 number views of the binning.
Scores are rank-normal scores of the reference in units of 1/1024.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.binning import Binning
from monitor.profiles.cells import NumberCells
from monitor.profiles.columns import CELLS
from monitor.profiles.part import Part

PAIR_SUM, PAIR_N = "pairs/sum", "pairs/n"
MAX_PAIR_VIEWS = 100


@dataclass(frozen=True, eq=False)
class PairSums:
    """`sums` and `n` int64[v, v], symmetric, over `views`; sums are in units of 2⁻²⁰."""

    views: tuple[str, ...]
    sums: Integers
    n: Integers


def pair_views(binning: Binning) -> tuple[str, ...]:
    """The number views that take part, at most 100, in the binning's order.

    Where there are more, every column's first view goes before any column's second one, and so on:
    the projections of a long list of vectors push no other column out.
    """
    seen: Counter[str] = Counter()
    turns = []
    for place, view in enumerate(binning.number_views()):
        column = binning.column_of(view)
        turns.append((seen[column], place, view))
        seen[column] += 1
    kept = sorted(turns)[:MAX_PAIR_VIEWS]
    return tuple(view for _, _, view in sorted(kept, key=itemgetter(1)))


def pair_sums(part: Part, binning: Binning) -> PairSums:
    """The pair sums as full matrices; all zero when the part holds none."""
    views = pair_views(binning)
    upper = np.triu_indices(len(views))
    matrices = []
    for name in (PAIR_SUM, PAIR_N):
        matrix = np.zeros((len(views), len(views)), np.int64)
        matrix[upper] = part.dense.get(name, 0)
        matrices.append(matrix + np.triu(matrix, 1).T)
    return PairSums(views, matrices[0], matrices[1])


def score_means(columns: Part, binning: Binning) -> Floats:
    """Mean score of each of the pair views, float64[v], from the cell counts of the same profile.

    NaN for a view without any value or without counts: its correlations are not defined.
    """
    means = []
    for view in pair_views(binning):
        cells = binning.views[view]
        counts = columns.dense.get(CELLS + view)
        if not isinstance(cells, NumberCells) or counts is None:
            means.append(np.nan)
            continue
        rows = int(counts[:-1].sum())
        means.append(float(counts @ cells.scores()) / rows if rows else np.nan)
    return np.array(means, np.float64)
