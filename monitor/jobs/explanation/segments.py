"""Labelled rows and losses of a window by segment, counted from its prediction blocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from sqlalchemy.engine import Connection

from monitor.checks.context.segment_losses import SegmentLosses
from monitor.jobs.base import JobContext
from monitor.jobs.labelled_sample import blocks_of, row_losses
from monitor.jobs.readings import segment_text
from monitor.profiles.arrays import Floats
from monitor.profiles.block import PredictionBlock
from monitor.profiles.labels import ENTITY_GROUPS
from monitor.windows import Window

Sums = Mapping[int, Floats]
"""By segment number: rows and losses of each entity group, float64[2, 20]."""


def segment_sums(
    connection: Connection,
    context: JobContext,
    window: Window,
    leg: str,
    deployment_ids: Sequence[int] = (),
) -> dict[int, Floats]:
    """Rows and losses of every segment, all labelled requests of the window."""
    sums: dict[int, Floats] = defaultdict(lambda: np.zeros((2, ENTITY_GROUPS)))
    for _, block in blocks_of(connection, context, window, leg, deployment_ids):
        _add(sums, block)
    return dict(sums)


def _add(sums: dict[int, Floats], block: PredictionBlock) -> None:
    loss = row_losses(block)
    judged = ~np.isnan(loss)
    if not judged.any():
        return
    groups = block.group[judged].astype(np.int64)
    for column in block.segment_ids[judged].T:
        numbers, places = np.unique(column, return_inverse=True)
        keys = places * ENTITY_GROUPS + groups
        size = len(numbers) * ENTITY_GROUPS
        rows = np.bincount(keys, minlength=size).reshape(-1, ENTITY_GROUPS)
        losses = np.bincount(keys, loss[judged], minlength=size).reshape(-1, ENTITY_GROUPS)
        for place, number in enumerate(numbers.tolist()):
            if number > 0:
                sums[number] += np.stack([rows[place], losses[place]])


def by_key(
    then: Sums, now: Sums, definitions: Mapping[int, Mapping[str, str]]
) -> dict[str, tuple[list[str], SegmentLosses, SegmentLosses]]:
    """For each set of segment columns: the segments in words, and their losses on both sides."""
    keys: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number in sorted({*then, *now}):
        if number in definitions:
            keys[tuple(sorted(definitions[number]))].append(number)
    nothing = np.zeros((2, ENTITY_GROUPS))
    found = {}
    for key, numbers in sorted(keys.items()):
        sides = []
        for side in (then, now):
            wide = np.array([side.get(number, nothing) for number in numbers])
            sides.append(SegmentLosses(wide[:, 0].astype(np.int64), wide[:, 1]))
        labels = [segment_text(definitions[number]) for number in numbers]
        found[", ".join(key)] = (labels, sides[0], sides[1])
    return found
