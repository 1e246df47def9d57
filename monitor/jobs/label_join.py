"""Joins labels with prediction blocks that come in pieces: look at all pieces, then join each.

Only when every piece was looked at is it known which labels are ambiguous: they name no time and
their request id stands for several requests, perhaps on different days.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import pyarrow as pa

from monitor.profiles.arrays import Integers
from monitor.profiles.block import PredictionBlock
from monitor.profiles.label_arrays import NO_TIME, LabelArrays
from monitor.profiles.label_join import UnmatchedReason, join_labels
from monitor.profiles.label_search import LabelSearch
from monitor.store.profile_rows import BlockKey

Blocks = list[tuple[BlockKey, PredictionBlock]]
NO_LEG = -1


@dataclass(frozen=True, eq=False)
class Pairs:
    """Labels and the blocks of a piece that have a row of their request id: int32[p], int32[p]."""

    label_of: Integers
    block_of: Integers

    def __len__(self) -> int:
        return len(self.label_of)


class LabelJoin:
    """Joins m labels. `legs` text[m]; `reach`: how long after its request a label may be observed.

    `matched` says which labels found their request, `reasons` why others did not; a label without
    either has no request.
    """

    def __init__(self, labels: LabelArrays, legs: pa.Array, reach: timedelta) -> None:
        encoded = legs.dictionary_encode()
        self._numbers = {name: place for place, name in enumerate(encoded.dictionary.to_pylist())}
        self._labels = labels
        self._search = LabelSearch(labels, encoded.indices.to_numpy(), reach)
        self._requests = np.zeros(len(labels), np.int32)
        self.matched = np.zeros(len(labels), bool)
        self.reasons: dict[int, UnmatchedReason] = {}

    def look(self, blocks: Blocks) -> Pairs:
        """Which labels may belong to which blocks of a piece; call it once a piece."""
        legs = [self._numbers.get(key.leg, NO_LEG) for key, _ in blocks]
        label_of, block_of = self._search.pairs([block for _, block in blocks], legs)
        found, times = np.unique(label_of, return_counts=True)
        self._requests[found] += times.astype(np.int32)
        return Pairs(label_of.astype(np.int32), block_of.astype(np.int32))

    def join(self, blocks: Blocks, pairs: Pairs) -> Blocks:
        """The blocks of a piece that labels changed; call it after the last `look`."""
        several = self._requests[pairs.label_of] > 1
        several &= self._labels.event_time[pairs.label_of] == NO_TIME
        ambiguous = np.unique(pairs.label_of[several]).tolist()
        self.reasons.update(dict.fromkeys(ambiguous, UnmatchedReason.AMBIGUOUS))
        changed: Blocks = []
        for number, mine in _by_block(pairs.block_of[~several], pairs.label_of[~several]):
            key, block = blocks[number]
            result = join_labels(block, self._labels.take(mine))
            self.matched[mine[result.matched]] = True
            missed = mine[result.unmatched.places].tolist()
            self.reasons.update(zip(missed, result.unmatched.reasons, strict=True))
            if result.block is not block:
                changed.append((key, result.block))
        return changed


def _by_block(block_of: Integers, label_of: Integers) -> Iterator[tuple[int, Integers]]:
    """Each block that some label may belong to, with the places of those labels, each once."""
    order = np.lexsort((label_of, block_of))
    touched, starts = np.unique(block_of[order], return_index=True)
    if len(touched):
        for number, mine in zip(
            touched.tolist(), np.split(label_of[order], starts[1:]), strict=True
        ):
            yield number, np.unique(mine)
