"""Finds the labels that rows of prediction blocks may belong to. Pure.

Labels are sorted by key once; every block, whenever it is read, is looked up among them. So no more
than the labels and one piece of the predictions is ever in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import numpy as np
import numpy.typing as npt

from monitor.profiles.arrays import Integers
from monitor.profiles.block import PredictionBlock
from monitor.profiles.label_arrays import LabelArrays

_MICROSECOND = timedelta(microseconds=1)


class LabelSearch:
    """m labels, each with the number of its leg, sorted by key.

    `reach` is how long after its request a label may be observed at most.
    """

    def __init__(self, labels: LabelArrays, legs: npt.NDArray[np.int32], reach: timedelta) -> None:
        self._labels, self._legs = labels, legs
        self._reach = reach // _MICROSECOND
        self._order = np.argsort(labels.keys, kind="stable")
        self._keys, self._first, self._counts = np.unique(
            labels.keys[self._order], return_index=True, return_counts=True
        )

    def pairs(
        self, blocks: Sequence[PredictionBlock], legs: Sequence[int]
    ) -> tuple[Integers, Integers]:
        """Pairs (label, block) that share request id and leg within reach, one a row of the block.

        `legs` are the numbers of the blocks' legs. Returns int64[p], int64[p]: places of labels,
        and places of blocks in `blocks`.
        """
        if not blocks or not len(self._keys):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        keys = np.concatenate([block.keys for block in blocks])
        place = np.searchsorted(self._keys, keys)
        place[place == len(self._keys)] = 0
        rows = np.flatnonzero(self._keys[place] == keys)
        place = place[rows]
        counts = self._counts[place]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        label_of = self._order[np.repeat(self._first[place], counts) + within]
        rows = np.repeat(rows, counts)
        return self._fitting(blocks, np.asarray(legs), label_of, rows)

    def _fitting(
        self,
        blocks: Sequence[PredictionBlock],
        legs: npt.NDArray[np.int64],
        label_of: Integers,
        rows: Integers,
    ) -> tuple[Integers, Integers]:
        owner = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
        block_of = owner[rows]
        times = np.concatenate([block.event_time for block in blocks])[rows]
        fits = self._legs[label_of] == legs[block_of]
        fits &= self._labels.observed_at[label_of] - times <= self._reach
        return label_of[fits], block_of[fits]
