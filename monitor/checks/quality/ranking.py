"""Quality of ranked lists from the rank of the one relevant item of each query."""

from __future__ import annotations

from typing import Any

import numpy as np

from monitor.checks.clustering import share_limits, signed_mean_limits
from monitor.checks.coverage import label_coverage
from monitor.checks.gates import Floor, measured_above
from monitor.measurement import Outcome
from monitor.profiles.arrays import Floats
from monitor.profiles.labels_ranking import RankCounts

MIN_QUERIES = 50
MIN_FOUND = 5
DEPTH = 10
RANKING_METHODS = ("ndcg_10", "mrr", "recall_1", "recall_10")
_NO_CONSTANT = (
    "ranks are kept, not items: how often each item was the right one, and so what one order for"
    " all queries would reach, is not known"
)


def gains(size: int, depth: int) -> Floats:
    """Discounted gain of each rank 0..size, float64[size + 1]: 1/log2(1 + r) down to `depth`.

    0 below it and outside the list. With one relevant item the ideal gain is 1, so it is the NDCG
    of the query (Järvelin and Kekäläinen 2002).
    """
    ranks = np.arange(size + 1)
    inside = (ranks >= 1) & (ranks <= depth)
    return np.where(inside, 1 / np.log2(1 + np.maximum(ranks, 1)), 0.0)


def reciprocal_ranks(size: int) -> Floats:
    """1/r of each rank 0..size, float64[size + 1]; 0 for an item that is not in the list."""
    ranks = np.arange(size + 1)
    return np.where(ranks >= 1, 1 / np.maximum(ranks, 1), 0.0)


def ranking_quality(counts: RankCounts) -> dict[str, Outcome]:
    """ndcg_10, mrr, recall_1, recall_10 (all shares, 1 is best) and label_coverage.

    Of labelled queries; an item outside the list counts 0. recall_k: share of queries with the item
    among the first k, Wilson limits; the others: mean over queries with limits by entity groups
    where wider. Printed from 50 queries on, of which five found their item. With several relevant
    items a query it is not the usual NDCG: only one is known here.
    """
    size = len(counts.ranks) - 1
    return {
        "ndcg_10": _mean(counts, gains(size, DEPTH), {"k": DEPTH}, DEPTH),
        "mrr": _mean(counts, reciprocal_ranks(size), {}, size),
        "recall_1": _recall(counts, 1),
        "recall_10": _recall(counts, DEPTH),
        "label_coverage": label_coverage(counts.n - counts.unlabelled, counts.n),
    }


def _floors(counts: RankCounts, depth: int) -> tuple[Floor, ...]:
    found = int(counts.ranks[1 : depth + 1].sum())
    what = f"queries with their item among the first {depth}"
    return (
        Floor(int(counts.ranks.sum()), MIN_QUERIES, "labelled queries"),
        Floor(found, MIN_FOUND, what),
    )


def _detail(counts: RankCounts) -> dict[str, Any]:
    return {"listed": len(counts.ranks) - 1, "best_constant_unknown": _NO_CONSTANT}


def _mean(counts: RankCounts, worth: Floats, told: dict[str, Any], depth: int) -> Outcome:
    n, floors = int(counts.ranks.sum()), _floors(counts, depth)
    detail = _detail(counts) | told
    if n == 0:
        return measured_above(floors, None, 0, None, detail, "labelled queries")
    value = float(counts.ranks @ worth) / n
    variance = max(0.0, float(counts.ranks @ worth**2) / n - value**2) / max(1, n - 1)
    sums, rows = counts.by_group @ worth, counts.by_group.sum(axis=1)
    limits = signed_mean_limits(value, sums, rows, variance)
    both = (max(0.0, limits.low), min(1.0, limits.high))
    return measured_above(floors, value, n, both, detail | limits.as_detail())


def _recall(counts: RankCounts, k: int) -> Outcome:
    n, floors = int(counts.ranks.sum()), _floors(counts, k)
    detail = _detail(counts) | {"k": k}
    if n == 0:
        return measured_above(floors, None, 0, None, detail, "labelled queries")
    hits = counts.by_group[:, 1 : k + 1].sum(axis=1)
    limits = share_limits(hits, counts.by_group.sum(axis=1))
    return measured_above(floors, int(hits.sum()) / n, n, limits.both, detail | limits.as_detail())
