"""What a labels part says about a multi-class model. Pure.

Sparse tables: `confusion`: key (predicted class + 1, label class + 1, delay bucket, entity group),
where 0 stands for unknown and unlabelled; value rows. `one_vs_rest/{class}`, for the first 100
classes: key (score cell, 0 another class / 1 this class / 2 unlabelled, entity group); values rows,
sum of s, s², s · y in units of 2⁻³⁰. `confidence`: packed like the binary table, with the largest
score as score and "the prediction was right" as label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.delays import DELAY_BUCKETS
from monitor.profiles.labels import ENTITY_GROUPS, SCORE_CELLS, UNIT
from monitor.profiles.part import Part

CONFUSION, ONE_VS_REST, CONFIDENCE = "confusion", "one_vs_rest/", "confidence"
_MOST_CLASSES = 4098
_CONFUSION_SHAPE = (_MOST_CLASSES, _MOST_CLASSES, DELAY_BUCKETS, ENTITY_GROUPS)
_REST_SHAPE = (SCORE_CELLS + 1, 3, ENTITY_GROUPS)


@dataclass(frozen=True, eq=False)
class ConfusionCounts:
    """`matrix` int64[c, c] = [predicted, label] of labelled rows with a known prediction;
    `by_group` the same per entity group, int64[20, c, c]; `unlabelled` int64[c] by predicted class;
    `without_class` rows whose prediction is unknown; `delay_counts` int64[32] of labelled rows.
    """

    matrix: Integers
    by_group: Integers
    unlabelled: Integers
    without_class: int
    delay_counts: Integers
    n: int


@dataclass(frozen=True, eq=False)
class OneVsRestCounts:
    """Per score cell, int64[512], of one class: `positives` (of it), `negatives`, `unlabelled`;
    over labelled rows, float64[512]: sums of s, s² and s · y; per entity group int64[20, 512].
    """

    positives: Integers
    negatives: Integers
    unlabelled: Integers
    score_sums: Floats
    score_square_sums: Floats
    score_label_sums: Floats
    positives_by_group: Integers
    negatives_by_group: Integers


def pack_confusion(
    predicted: Integers, label: Integers, delay: Integers, group: Integers
) -> Integers:
    """Keys of `confusion`; -1 is unknown or unlabelled."""
    index = (predicted + 1, label + 1, delay, group)
    return np.ravel_multi_index(index, _CONFUSION_SHAPE).astype(np.int64)


def pack_one_vs_rest(cell: Integers, state: Integers, group: Integers) -> Integers:
    """Keys of `one_vs_rest/{class}`."""
    return np.ravel_multi_index((cell, state, group), _REST_SHAPE).astype(np.int64)


def confusion_counts(part: Part, n_classes: int) -> ConfusionCounts:
    """The confusion of a labels part; all zero when the part holds none."""
    keys, values = part.sparse.get(CONFUSION, _nothing(1))
    predicted, label, delay, group = np.unravel_index(keys, _CONFUSION_SHAPE)
    table = np.zeros((ENTITY_GROUPS, n_classes + 1, n_classes + 1), np.int64)
    np.add.at(table, (group, predicted, label), values[:, 0])
    delays = np.zeros(DELAY_BUCKETS, np.int64)
    labelled = label > 0
    np.add.at(delays, delay[labelled], values[labelled, 0])
    by_group = table[:, 1:, 1:]
    return ConfusionCounts(
        matrix=by_group.sum(axis=0),
        by_group=by_group,
        unlabelled=table[:, 1:, 0].sum(axis=0),
        without_class=int(table[:, 0].sum()),
        delay_counts=delays,
        n=int(table.sum()),
    )


def one_vs_rest_counts(part: Part, place: int) -> OneVsRestCounts:
    """Score cells of one class against the rest; all zero when the part holds none."""
    keys, values = part.sparse.get(f"{ONE_VS_REST}{place}", _nothing(4))
    cell, state, group = np.unravel_index(keys, _REST_SHAPE)
    table = np.zeros((3, ENTITY_GROUPS, SCORE_CELLS + 1), np.int64)
    np.add.at(table, (state, group, cell), values[:, 0])
    sums = np.zeros((SCORE_CELLS + 1, 3), np.int64)
    labelled = state < 2
    np.add.at(sums, cell[labelled], values[labelled, 1:])
    counts = table[:, :, :SCORE_CELLS]
    scaled = sums[:SCORE_CELLS] / UNIT
    return OneVsRestCounts(
        positives=counts[1].sum(axis=0),
        negatives=counts[0].sum(axis=0),
        unlabelled=counts[2].sum(axis=0),
        score_sums=scaled[:, 0],
        score_square_sums=scaled[:, 1],
        score_label_sums=scaled[:, 2],
        positives_by_group=counts[1],
        negatives_by_group=counts[0],
    )


def _nothing(width: int) -> tuple[Integers, Integers]:
    return np.zeros(0, np.int64), np.zeros((0, width), np.int64)
