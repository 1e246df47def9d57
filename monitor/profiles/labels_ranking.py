"""What a labels part says about a ranking model. Pure.

Sparse table `rank`: key (rank of the relevant item, 0 when it is not in the list, 4097 without a
label; delay bucket; entity group); value rows. Per-query measures of one relevant item follow from
the rank alone: reciprocal rank 1/r, hit at k when r <= k, discounted gain 1/log2(1 + r).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.profiles.arrays import Flags, Integers
from monitor.profiles.delays import DELAY_BUCKETS
from monitor.profiles.labels import ENTITY_GROUPS
from monitor.profiles.part import Part

RANK = "rank"
_MOST = 4096
_UNLABELLED = _MOST + 1
_SHAPE = (_MOST + 2, DELAY_BUCKETS, ENTITY_GROUPS)


@dataclass(frozen=True, eq=False)
class RankCounts:
    """`ranks` int64[r + 1]: labelled queries by rank, 0 = not in the list; `by_group`
    int64[20, r + 1]; `delay_counts` int64[32]; unlabelled queries and all queries.
    """

    ranks: Integers
    by_group: Integers
    delay_counts: Integers
    unlabelled: int
    n: int


def pack_rank(ranks: Integers, labelled: Flags, delay: Integers, group: Integers) -> Integers:
    """Keys of the table `rank`."""
    cell = np.where(labelled, ranks, _UNLABELLED)
    return np.ravel_multi_index((cell, delay, group), _SHAPE).astype(np.int64)


def rank_counts(part: Part, size: int) -> RankCounts:
    """Ranks 0..size of a labels part, or as far as its ranks go; all zero when it holds none."""
    nothing = (np.zeros(0, np.int64), np.zeros((0, 1), np.int64))
    keys, values = part.sparse.get(RANK, nothing)
    rank, delay, group = np.unravel_index(keys, _SHAPE)
    labelled = rank != _UNLABELLED
    size = max(size, int(rank[labelled].max(initial=0)))
    by_group = np.zeros((ENTITY_GROUPS, size + 1), np.int64)
    np.add.at(by_group, (group[labelled], rank[labelled]), values[labelled, 0])
    delays = np.zeros(DELAY_BUCKETS, np.int64)
    np.add.at(delays, delay[labelled], values[labelled, 0])
    return RankCounts(
        ranks=by_group.sum(axis=0),
        by_group=by_group,
        delay_counts=delays,
        unlabelled=int(values[~labelled, 0].sum()),
        n=int(values[:, 0].sum()),
    )
