"""Labels parts by delay: who is labelled after how long, and the same part as it was earlier. Pure.

Every table of a labels part that knows delays packs its key as (head, delay bucket, entity group);
what the head holds is told where the table is read (`labels`, `labels_multiclass`, …).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from monitor.profiles.arrays import Floats, Integers, add_tables, counts_at
from monitor.profiles.delays import DELAY_BUCKETS
from monitor.profiles.labels import (
    BINARY,
    ENTITY_GROUPS,
    NO_SCORE,
    SCORE_CELLS,
    UNIT,
    UNLABELLED,
)
from monitor.profiles.labels_multiclass import CONFIDENCE, CONFUSION, pack_confusion
from monitor.profiles.labels_ranking import RANK, pack_rank
from monitor.profiles.labels_regression import REGRESSION, RESIDUAL_UNLABELLED
from monitor.profiles.part import Part

ALL_CLASSES = -1
"""Stands for every predicted class, the unknown one included."""

_TAIL = DELAY_BUCKETS * ENTITY_GROUPS
_ONE = np.ones(1, np.int64)
_CONFUSION_WIDTH = int(pack_confusion(_ONE, -_ONE, 0 * _ONE, 0 * _ONE)[0] // _TAIL // 2)
_NO_RANK = int(pack_rank(_ONE, _ONE < 0, 0 * _ONE, 0 * _ONE)[0] // _TAIL)
_BINARY_WIDTH = (SCORE_CELLS + 1) * 3


@dataclass(frozen=True, eq=False)
class ClassDelays:
    """Rows of one predicted class: `labelled` int64[32] by delay bucket, and the others."""

    labelled: Integers
    unlabelled: int

    @property
    def n(self) -> int:
        """All rows."""
        return int(self.labelled.sum()) + self.unlabelled


@dataclass(frozen=True, eq=False)
class ClassLosses:
    """Labelled rows of a binary part by predicted class (0, 1, 2 unknown) and entity group.

    `rows` int64[3, 2, 20] by label; of rows with a score: `scored` int64[3, 20] and `squared_error`
    float64[3, 20], the sums of (score - label)².
    """

    rows: Integers
    scored: Integers
    squared_error: Floats


def delays_by_class(part: Part) -> dict[int, ClassDelays]:
    """Delays of all rows (ALL_CLASSES) and, where the model predicts classes, of each class."""
    for name, classes_of in _CLASSES.items():
        if name in part.sparse:
            keys, values = part.sparse[name]
            head, delay = keys // _TAIL, keys // ENTITY_GROUPS % DELAY_BUCKETS
            labelled = _without_label(name, head) != head
            return _counted(classes_of(head), labelled, delay, values[:, 0])
    return {ALL_CLASSES: ClassDelays(np.zeros(DELAY_BUCKETS, np.int64), 0)}


def labels_until(part: Part, bucket: int) -> Part:
    """The part as if labels with a delay beyond this bucket had not come yet."""
    return Part(
        part.dense,
        {
            name: _until(name, *table, bucket) if name in _EMPTY_HEADS else table
            for name, table in part.sparse.items()
        },
    )


def class_losses(part: Part) -> ClassLosses:
    """Labelled rows and squared errors of a binary part; all zero when it holds no such table."""
    keys, values = part.sparse.get(BINARY, (np.zeros(0, np.int64), np.zeros((0, 4), np.int64)))
    head, group = keys // _TAIL, keys % ENTITY_GROUPS
    predicted, cell, label = head // _BINARY_WIDTH, head // 3 % (SCORE_CELLS + 1), head % 3
    there = np.flatnonzero(label != UNLABELLED)
    index = (predicted[there], label[there], group[there])
    rows = counts_at((3, 2, ENTITY_GROUPS), index, values[there, 0])
    there = np.flatnonzero((label != UNLABELLED) & (cell != NO_SCORE))
    places = predicted[there] * ENTITY_GROUPS + group[there]
    scored = counts_at((3 * ENTITY_GROUPS,), (places,), values[there, 0]).reshape(3, -1)
    positives = np.where(label[there] == 1, values[there, 0], 0)
    errors = (values[there, 2] - 2 * values[there, 3]) / UNIT + positives
    squared: Floats = np.zeros(3 * ENTITY_GROUPS) + np.bincount(places, errors, 3 * ENTITY_GROUPS)
    return ClassLosses(rows, scored, squared.reshape(3, -1))


def silence_as_negatives(part: Part, expected: Mapping[int, float]) -> Part:
    """A binary part in which no row is unlabelled: for labels that are only ever positive.

    `expected` gives, by predicted class (0, 1, 2), the share F of positives that are known by now.
    Where p positives are known p/F are expected: the p(1/F - 1) that are missing are taken from the
    unlabelled rows of the same predicted class, score cell and entity group, whole rows, what is
    left over by rounding going to the next cell; every other unlabelled row is a negative.
    """
    if BINARY not in part.sparse:
        return part
    keys, values = part.sparse[BINARY]
    head, group = keys // _TAIL, keys % ENTITY_GROUPS
    label = head % 3
    silent = label == UNLABELLED
    place = (head // 3) * ENTITY_GROUPS + group
    share = _missing_share(place, label, values[:, 0], expected)
    chosen = share[silent]
    base = (head[silent] - UNLABELLED) * _TAIL + group[silent]
    found = values[silent]
    late = found * chosen[:, None] // np.maximum(found[:, :1], 1)
    late[:, 0] = chosen
    late[:, 3] = late[:, 1]  # score times label of a positive is its score
    rest = found - late
    rest[:, 3] = 0
    tables = [(keys[~silent], values[~silent]), (base + _TAIL, late), (base, rest)]
    kept = [(k[v[:, 0] > 0], v[v[:, 0] > 0]) for k, v in tables]
    return Part(part.dense, {**part.sparse, BINARY: add_tables(kept)})


def _missing_share(
    place: Integers, label: Integers, rows: Integers, expected: Mapping[int, float]
) -> Integers:
    """How many rows of each entry are positives that are still to be told, int64[k]."""
    places, where = np.unique(place, return_inverse=True)
    known, silent = (np.zeros(len(places), np.int64) for _ in range(2))
    np.add.at(known, where[label == 1], rows[label == 1])
    np.add.at(silent, where[label == UNLABELLED], rows[label == UNLABELLED])
    predicted = places // ENTITY_GROUPS // (SCORE_CELLS + 1)
    taken = np.zeros(len(places), np.int64)
    for number, share in expected.items():
        mine = np.flatnonzero(predicted == number)
        owed = 0.0
        for at in mine.tolist():
            owed += known[at] * (1 / min(1.0, max(share, 1e-9)) - 1)
            taken[at] = min(int(owed + 0.5), int(silent[at]))
            owed -= taken[at]
    found: Integers = np.where(label == UNLABELLED, taken[where], 0)
    return found


def _counted(
    classes: Integers, labelled: Integers, delay: Integers, rows: Integers
) -> dict[int, ClassDelays]:
    found = {}
    for number in (ALL_CLASSES, *np.unique(classes[classes >= 0]).tolist()):
        mine = np.ones(len(rows), bool) if number == ALL_CLASSES else classes == number
        there = mine & labelled
        delays = np.bincount(delay[there], rows[there], minlength=DELAY_BUCKETS).astype(np.int64)
        found[int(number)] = ClassDelays(delays, int(rows[mine & ~labelled].sum()))
    return found


def _until(name: str, keys: Integers, values: Integers, bucket: int) -> tuple[Integers, Integers]:
    head, delay = keys // _TAIL, keys // ENTITY_GROUPS % DELAY_BUCKETS
    empty = _without_label(name, head)
    hidden = (empty != head) & (delay > bucket)
    if not hidden.any():
        return keys, values
    kept = values.copy()
    kept[hidden, _OF_THE_ROW[name] :] = 0
    moved = np.where(hidden, empty * _TAIL + keys % ENTITY_GROUPS, keys)
    order = np.argsort(moved, kind="stable")
    ordered = moved[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    return ordered[starts], np.add.reduceat(kept[order], starts, axis=0)


def _without_label(name: str, head: Integers) -> Integers:
    """The head that the same row has as long as it has no label."""
    return _EMPTY_HEADS[name](head)


def _binary_classes(head: Integers) -> Integers:
    predicted = head // _BINARY_WIDTH
    return np.where(predicted < 2, predicted, -1)


_EMPTY_HEADS: Mapping[str, Callable[[Integers], Integers]] = {
    BINARY: lambda head: head - head % 3 + UNLABELLED,
    CONFIDENCE: lambda head: head - head % 3 + UNLABELLED,
    CONFUSION: lambda head: head - head % _CONFUSION_WIDTH,
    REGRESSION: lambda head: head - head % (RESIDUAL_UNLABELLED + 1) + RESIDUAL_UNLABELLED,
    RANK: lambda head: np.full_like(head, _NO_RANK),
}
_OF_THE_ROW = {BINARY: 3, CONFIDENCE: 3, CONFUSION: 1, REGRESSION: 1, RANK: 1}
"""From which column on a table's sums are about the label."""

_CLASSES: Mapping[str, Callable[[Integers], Integers]] = {
    BINARY: _binary_classes,
    CONFUSION: lambda head: head // _CONFUSION_WIDTH - 1,
    REGRESSION: lambda head: np.full_like(head, -1),
    RANK: lambda head: np.full_like(head, -1),
}
