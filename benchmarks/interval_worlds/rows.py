"""Makes the product's counts from plain rows, through its own packing."""

from __future__ import annotations

import numpy as np

from benchmarks.interval_worlds.base import GROUPS, Floats, Integers
from monitor.profiles.arrays import totals_by_key
from monitor.profiles.labels import (
    BINARY,
    SCORE_CELLS,
    UNIT,
    BinaryCounts,
    binary_counts,
    pack_binary,
)
from monitor.profiles.labels_multiclass import (
    CONFIDENCE,
    CONFUSION,
    ONE_VS_REST,
    pack_confusion,
    pack_one_vs_rest,
)
from monitor.profiles.labels_ranking import RANK, RankCounts, pack_rank, rank_counts
from monitor.profiles.labels_regression import ErrorSums, RegressionCounts
from monitor.profiles.part import Part


def score_cells_of(score: Floats) -> Integers:
    """The score cell of each row, int64[n]."""
    return np.minimum((score * SCORE_CELLS).astype(np.int64), SCORE_CELLS - 1)


def _sums(score: Floats, happened: Integers) -> list[Integers]:
    fixed = np.rint(score * UNIT).astype(np.int64)
    return [fixed, np.rint(score * score * UNIT).astype(np.int64), fixed * happened]


def binary_part(
    score: Floats, label: Integers, predicted: Integers, group: Integers | None = None
) -> Part:
    """Labelled rows of a binary model as a labels part."""
    at_once = np.zeros(len(score), np.int64)
    keys = pack_binary(
        predicted, score_cells_of(score), label, at_once, at_once if group is None else group
    )
    return Part({}, {BINARY: totals_by_key(keys, _sums(score, label))})


def binary_rows(
    score: Floats, label: Integers, predicted: Integers, group: Integers | None = None
) -> BinaryCounts:
    """Labelled rows of a binary model, counted."""
    return binary_counts(binary_part(score, label, predicted, group))


def class_part(scores: Floats, label: Integers, group: Integers) -> Part:
    """Labelled rows of a model with scores float64[n, c] of c classes; the largest is predicted."""
    at_once = np.zeros(len(label), np.int64)
    chosen, largest = scores.argmax(axis=1).astype(np.int64), scores.max(axis=1)
    right = (chosen == label).astype(np.int64)
    keys = pack_binary(np.ones_like(label), score_cells_of(largest), right, at_once, group)
    tables = {
        CONFUSION: totals_by_key(pack_confusion(chosen, label, at_once, group), []),
        CONFIDENCE: totals_by_key(keys, _sums(largest, right)),
    }
    for place in range(scores.shape[1]):
        own, is_it = scores[:, place], (label == place).astype(np.int64)
        keys = pack_one_vs_rest(score_cells_of(own), is_it, group)
        tables[f"{ONE_VS_REST}{place}"] = totals_by_key(keys, _sums(own, is_it))
    return Part({}, tables)


def regression_rows(label: Floats, predicted: Floats, group: Integers) -> RegressionCounts:
    """Labelled rows of a regression model."""
    members = [group == one for one in range(GROUPS)]
    nothing = np.zeros(0, np.int64)
    return RegressionCounts(
        _error_sums(label, predicted),
        tuple(_error_sums(label[m], predicted[m]) for m in members),
        (), nothing, nothing, 0, len(label),
    )  # fmt: skip


def _error_sums(label: Floats, predicted: Floats) -> ErrorSums:
    e = predicted - label
    spread = float(((label - label.mean()) ** 2).sum()) if len(e) else 0.0
    return ErrorSums(
        len(e), float(e.sum()), float(np.abs(e).sum()), float((e**2).sum()),
        float(label.sum()), spread, 0,
    )  # fmt: skip


def ranked_rows(ranks: Integers, listed: int, group: Integers) -> RankCounts:
    """Labelled queries by the rank of their item, 0 when it is not in the list."""
    keys = pack_rank(ranks, np.ones(len(ranks), bool), np.zeros(len(ranks), np.int64), group)
    return rank_counts(Part({}, {RANK: totals_by_key(keys, [])}), listed)
