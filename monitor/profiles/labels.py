"""What a labels part says about a binary model. Pure; reads the sparse table `binary`.

Key of the table: predicted class (0, 1, 2 unknown), score cell (0 to 511 = floor(score · 512), 512
without a score), label (0, 1, 2 unlabelled), delay bucket (0 to 31), entity group (0 to 19), packed
in this order. Values: rows, sum of s, sum of s², sum of s · y, in units of 2⁻³⁰.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from monitor.profiles.arrays import Floats, Integers, counts_at
from monitor.profiles.delays import DELAY_BUCKETS
from monitor.profiles.part import Part

SCORE_CELLS = 512
NO_SCORE = SCORE_CELLS
CLASS_UNKNOWN, UNLABELLED = 2, 2

ENTITY_GROUPS = 20
UNIT = 2**30
BINARY = "binary"
_SHAPE = (3, SCORE_CELLS + 1, 3, DELAY_BUCKETS, ENTITY_GROUPS)


@dataclass(frozen=True, eq=False)
class BinaryCounts:
    """Counts of a binary model's predictions and labels.

    Per score cell, int64[512]: `positives`, `negatives`, `unlabelled`; per cell over labelled rows,
    float64[512]: `score_sums` (of s), `score_square_sums` (s²), `score_label_sums` (s · y).
    `without_score` = (negative, positive, unlabelled) rows without a score. `tp`, `fp`, `fn`, `tn`
    count labelled rows with a known predicted class; `confusion_by_group` int64[20, 2, 2] holds the
    same by entity group, [predicted, label]. `positives_by_group`, `negatives_by_group`
    int64[20, 512]. `delay_counts` int64[32]: labelled rows by delay bucket.
    """

    positives: Integers
    negatives: Integers
    unlabelled: Integers
    score_sums: Floats
    score_square_sums: Floats
    score_label_sums: Floats
    without_score: tuple[int, int, int]
    confusion_by_group: Integers
    positives_by_group: Integers
    negatives_by_group: Integers
    delay_counts: Integers
    predicted_positive: int
    n: int

    @property
    def tp(self) -> int:
        return int(self.confusion_by_group[:, 1, 1].sum())

    @property
    def fp(self) -> int:
        return int(self.confusion_by_group[:, 1, 0].sum())

    @property
    def fn(self) -> int:
        return int(self.confusion_by_group[:, 0, 1].sum())

    @property
    def tn(self) -> int:
        return int(self.confusion_by_group[:, 0, 0].sum())

    @property
    def n_labelled(self) -> int:
        """Rows with a label, with or without a score."""
        return int(self.delay_counts.sum())

    @property
    def coverage(self) -> float | None:
        """Share of rows with a label; None without rows."""
        return self.n_labelled / self.n if self.n else None

    @property
    def brier(self) -> float | None:
        """Mean of (s - y)² over labelled rows with a score (Brier, 1950); None without any."""
        rows = int(self.positives.sum() + self.negatives.sum())
        if rows == 0:
            return None
        squares = self.score_square_sums.sum() - 2 * self.score_label_sums.sum()
        return float((squares + self.positives.sum()) / rows)


def binary_counts(
    part: Part,
    *,
    groups: Collection[int] | None = None,
    delays: Collection[int] | None = None,
    table: str = BINARY,
) -> BinaryCounts:
    """Counts of a labels part, of some entity groups only, or of labels in some delay buckets only.

    Narrowing by delay leaves unlabelled rows in; all zero when the part holds no such table.
    `table`: another table that is packed alike, such as `confidence` of a multi-class model.
    """
    keys, values = part.sparse.get(table, (np.zeros(0, np.int64), np.zeros((0, 4), np.int64)))
    predicted, cell, label, delay, group = np.unravel_index(keys, _SHAPE)
    chosen = np.ones(len(keys), bool)
    if groups is not None:
        chosen &= np.isin(group, list(groups))
    if delays is not None:
        chosen &= np.isin(delay, list(delays)) | (label == UNLABELLED)
    index = tuple(np.asarray(a)[chosen] for a in (predicted, cell, label, delay, group))
    return _counted(index, values[chosen])


def predicted_class_counts(part: Part) -> tuple[int, int, int]:
    """Rows by predicted class (negative, positive, unknown), labelled or not."""
    keys, values = part.sparse.get(BINARY, (np.zeros(0, np.int64), np.zeros((0, 4), np.int64)))
    predicted = np.unravel_index(keys, _SHAPE)[0]
    rows = np.bincount(predicted, values[:, 0], minlength=3).astype(np.int64)
    return int(rows[0]), int(rows[1]), int(rows[2])


def _counted(index: tuple[Integers, ...], values: Integers) -> BinaryCounts:
    predicted, cell, label, delay, group = index
    rows = values[:, 0]
    labelled = label != UNLABELLED
    sums = np.zeros((3, SCORE_CELLS + 1), np.int64)  # beyond 2^53: added up as whole numbers
    for place in range(3):
        np.add.at(sums[place], cell[labelled], values[labelled, 1 + place])
    by_group = counts_at((ENTITY_GROUPS, 3, SCORE_CELLS + 1), (group, label, cell), rows)
    cells = by_group.sum(axis=0)
    confusion = counts_at((ENTITY_GROUPS, 3, 3), (group, predicted, label), rows)
    delays = counts_at((DELAY_BUCKETS,), (delay[labelled],), rows[labelled])
    scaled = sums[:, :SCORE_CELLS] / UNIT
    return BinaryCounts(
        positives=cells[1, :SCORE_CELLS],
        negatives=cells[0, :SCORE_CELLS],
        unlabelled=cells[2, :SCORE_CELLS],
        score_sums=scaled[0],
        score_square_sums=scaled[1],
        score_label_sums=scaled[2],
        without_score=(int(cells[0, NO_SCORE]), int(cells[1, NO_SCORE]), int(cells[2, NO_SCORE])),
        confusion_by_group=confusion[:, :2, :2],
        positives_by_group=by_group[:, 1, :SCORE_CELLS],
        negatives_by_group=by_group[:, 0, :SCORE_CELLS],
        delay_counts=delays,
        predicted_positive=int(rows[predicted == 1].sum()),
        n=int(rows.sum()),
    )


def binary_rows(part: Part, table: str = BINARY) -> tuple[Integers, Integers, Integers, Integers]:
    """The table as it stands: predicted class, score cell and label int64[k], values int64[k, 4].

    Keys repeat over delay buckets and entity groups. Cheaper than `binary_counts` for many parts.
    """
    keys, values = part.sparse.get(table, (np.zeros(0, np.int64), np.zeros((0, 4), np.int64)))
    predicted, cell, label, _, _ = (np.asarray(a) for a in np.unravel_index(keys, _SHAPE))
    return predicted, cell, label, values


def pack_binary(
    predicted: Integers, cell: Integers, label: Integers, delay: Integers, group: Integers
) -> Integers:
    """Keys of the table `binary`, int64[n]."""
    return np.ravel_multi_index((predicted, cell, label, delay, group), _SHAPE).astype(np.int64)
