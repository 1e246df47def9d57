"""What came true of a matured cohort, by the very measures that were estimated. Pure."""

from __future__ import annotations

import math

import numpy as np

from monitor.checks.estimation.binary import VALUES, BinaryEstimate, BinaryOutcomes
from monitor.checks.estimation.calibrator import CELL_CENTRES
from monitor.checks.estimation.multiclass import MulticlassEstimate, expected_macro_f1
from monitor.checks.estimation.served import ServedScores
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.delays import DELAY_BUCKETS
from monitor.profiles.labels import BINARY, ENTITY_GROUPS, SCORE_CELLS, UNIT, UNLABELLED
from monitor.profiles.part import Part

_SHAPE = (3, SCORE_CELLS + 1, 3, DELAY_BUCKETS * ENTITY_GROUPS)


def realised_binary(
    part: Part, *, silence_is_negative: bool = False
) -> tuple[dict[BinaryEstimate, float], int]:
    """Measures over the labelled rows with score and class, and how many those are.

    `silence_is_negative`: rows that never got a label are negatives (only positives are reported).
    Measures that are 0/0 are left out.
    """
    keys, values = part.sparse.get(BINARY, (np.zeros(0, np.int64), np.zeros((0, 4), np.int64)))
    predicted, cell, label, _ = np.unravel_index(keys, _SHAPE)
    judged = (predicted < 2) & (cell < SCORE_CELLS)
    judged &= (label != UNLABELLED) | silence_is_negative
    chosen, positive = predicted[judged] == 1, label[judged] == 1
    rows = values[judged, 0].astype(np.float64)
    place = cell[judged]
    tables = {
        "chosen": rows * chosen,
        "other": rows * ~chosen,
        "score_sums": values[judged, 1] / UNIT,
        "square_sums": values[judged, 2] / UNIT,
    }
    sums = {name: _by_cell(place, each) for name, each in tables.items()}
    there = sums["chosen"] + sums["other"] > 0
    served = ServedScores(CELL_CENTRES[there], **{name: one[there] for name, one in sums.items()})
    seen = BinaryOutcomes(
        _by_cell(place, rows * chosen * positive)[there],
        _by_cell(place, rows * ~chosen * positive)[there],
    )
    if not served.n:
        return {}, 0
    found = {name: float(value(served, seen)) for name, value in VALUES.items()}
    return {name: value for name, value in found.items() if math.isfinite(value)}, served.n


def realised_multiclass(matrix: Integers) -> tuple[dict[MulticlassEstimate, float], int]:
    """Accuracy and macro F1 of a confusion int64[c, c], [predicted, label], and its rows."""
    n = int(matrix.sum())
    if not n:
        return {}, 0
    predicted, label = np.divmod(np.repeat(np.arange(matrix.size), matrix.ravel()), len(matrix))
    truth = np.eye(len(matrix))[label]
    return {
        MulticlassEstimate.ACCURACY: float(np.trace(matrix) / n),
        MulticlassEstimate.MACRO_F1: expected_macro_f1(truth, predicted),
    }, n


def _by_cell(place: Integers, values: Floats) -> Floats:
    return np.asarray(np.bincount(place, values, SCORE_CELLS), np.float64)
