"""Labels parts of many prediction blocks at once, which costs little more than one. Pure.

The hours of a day are counted in one go by numbering (block, segment) as if each were a segment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from monitor.profiles.binning import Binning
from monitor.profiles.block import PredictionBlock
from monitor.profiles.label_tables import labels_parts
from monitor.profiles.part import Part

ROWS_A_BUNCH = 200_000
_ROW_ARRAYS = (
    *("keys", "event_time", "score", "predicted", "group", "class_scores", "items"),
    *("label", "observed_at", "arrived_at", "source_rank"),
)


class CountedPart(NamedTuple):
    """The labels part of one block's segment, and how many of the block's rows it is of."""

    block: int
    segment: int
    n: int
    part: Part


def parts_of_blocks(
    blocks: Sequence[PredictionBlock], binning: Binning | None = None
) -> Iterator[CountedPart]:
    """What `labels_parts` gives for each block; `block` is its place in `blocks`."""
    for places in _bunches(blocks):
        yield from _counted([blocks[place] for place in places], places, binning)


def _bunches(blocks: Sequence[PredictionBlock]) -> Iterator[list[int]]:
    """Places of neighbours that look alike, together at most about ROWS_A_BUNCH rows."""
    held: list[int] = []
    rows = 0
    for place, block in enumerate(blocks):
        alike = not held or _shape(blocks[held[0]]) == _shape(block)
        if held and (not alike or rows + len(block) > ROWS_A_BUNCH):
            yield held
            held, rows = [], 0
        held.append(place)
        rows += len(block)
    if held:
        yield held


def _shape(block: PredictionBlock) -> tuple[Any, ...]:
    widths = (block.segment_ids.shape[1], block.class_scores.shape[1], block.items.shape[1])
    return (block.task, block.view, *widths)


def _counted(
    blocks: Sequence[PredictionBlock], places: Sequence[int], binning: Binning | None
) -> Iterator[CountedPart]:
    owner = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
    segments = np.concatenate([block.segment_ids for block in blocks]).astype(np.int64)
    span = int(segments.max(initial=0)) + 1
    numbers = np.where(segments >= 0, owner[:, None] * span + segments, -1)
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(block, name) for block in blocks]) for name in _ROW_ARRAYS
    }
    whole = replace(blocks[0], **joined, segment_ids=numbers)
    present, rows = np.unique(numbers[numbers >= 0], return_counts=True)
    counts = dict(zip(present.tolist(), rows.tolist(), strict=True))
    for number, part in labels_parts(whole, binning).items():
        block, segment = divmod(number, span)
        yield CountedPart(places[block], segment, counts[number], part)
