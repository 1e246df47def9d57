"""What a cohort's requests scored, labelled or not, grouped by score. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.checks.estimation.calibrator import CELL_CENTRES
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.delays import DELAY_BUCKETS
from monitor.profiles.labels import BINARY, ENTITY_GROUPS, SCORE_CELLS, UNIT
from monitor.profiles.part import Part

_CLASSES = 2
_SHAPE = (3, SCORE_CELLS + 1, 3 * DELAY_BUCKETS * ENTITY_GROUPS)


@dataclass(frozen=True, eq=False)
class ServedScores:
    """Requests with a score and a predicted class, grouped by score, all float64[k].

    `score` ascending and distinct; `chosen` rows predicted positive, `other` rows predicted
    negative; `score_sums`, `square_sums` over the rows of the group.
    """

    score: Floats
    chosen: Floats
    other: Floats
    score_sums: Floats
    square_sums: Floats

    @property
    def rows(self) -> Floats:
        """Rows of each group, float64[k]."""
        return self.chosen + self.other

    @property
    def n(self) -> int:
        """All rows."""
        return int(self.rows.sum())

    @classmethod
    def of_rows(cls, score: Floats, chosen: Floats) -> ServedScores:
        """Single requests: `score` float64[n] without NaN, `chosen` float64[n] of 0 and 1."""
        distinct, place = np.unique(score, return_inverse=True)
        rows = np.bincount(place, minlength=len(distinct)).astype(np.float64)
        ones = np.asarray(np.bincount(place, chosen, len(distinct)), np.float64)
        return cls(distinct, ones, rows - ones, rows * distinct, rows * distinct**2)

    @classmethod
    def of_part(cls, part: Part) -> ServedScores:
        """The requests of a labels part of a binary model, whether labelled or not."""
        keys, values = part.sparse.get(BINARY, (np.zeros(0, np.int64), np.zeros((0, 4), np.int64)))
        predicted, cell, _ = np.unravel_index(keys, _SHAPE)
        judged = (predicted < _CLASSES) & (cell < SCORE_CELLS)
        rows = _summed(predicted[judged] * SCORE_CELLS + cell[judged], values[judged, :3])
        by_class = rows.reshape(_CLASSES, SCORE_CELLS, 3)
        sums = by_class.sum(axis=0)
        there = sums[:, 0] > 0
        return cls(
            CELL_CENTRES[there],
            by_class[1, there, 0].astype(np.float64),
            by_class[0, there, 0].astype(np.float64),
            sums[there, 1] / UNIT,
            sums[there, 2] / UNIT,
        )


def _summed(places: Integers, values: Integers) -> Integers:
    sums = np.zeros((_CLASSES * SCORE_CELLS, values.shape[1]), np.int64)
    np.add.at(sums, places, values)
    return sums
