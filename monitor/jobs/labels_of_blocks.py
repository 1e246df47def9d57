"""Makes the prediction blocks of profiled windows and counts their labels parts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy.engine import Connection

from monitor.contract import Task
from monitor.jobs.base import JobContext
from monitor.jobs.grouping import GroupKey
from monitor.jobs.label_join import Blocks, LabelJoin
from monitor.profiles.binning import Binning
from monitor.profiles.block import PredictionBlock
from monitor.profiles.label_arrays import NO_TIME
from monitor.profiles.label_bunches import parts_of_blocks
from monitor.profiles.label_join import UnmatchedReason
from monitor.profiles.part import PartKind
from monitor.profiles.rows import RequestRows
from monitor.store.label_rows import Orphans, forget_orphans, mark_ambiguous, read_orphans
from monitor.store.profile_rows import (
    BlockKey,
    ProfileKey,
    StoredProfile,
    read_blocks,
    write_blocks,
)
from monitor.windows import Grain, Window

Integers = np.ndarray[Any, np.dtype[np.int64]]


class BlockBuilder:
    """Collects the predictions of windows over chunks of rows, then writes their blocks."""

    def __init__(self, context: JobContext) -> None:
        self._context = context
        self._pieces: dict[BlockKey, list[PredictionBlock]] = defaultdict(list)

    def add(
        self, rows: RequestRows, whole: Integers, keys: Sequence[GroupKey], segments: Integers
    ) -> None:
        """Take in a chunk: `whole` int64[n] is each row's group, `segments` int64[n, k]."""
        # The group travels as a first "segment" through the sorting, then tells the rows apart.
        columns = np.column_stack([whole, np.zeros(len(rows), np.int64), segments])
        block = PredictionBlock.from_rows(
            rows, self._context.model.hash_key, columns, self._context.contract
        )
        groups = block.segment_ids[:, 0]
        order = np.argsort(groups, kind="stable")
        present, starts = np.unique(groups[order], return_index=True)
        for group, places in zip(present.tolist(), np.split(order, starts[1:]), strict=True):
            key = keys[group]
            piece = take(block, places)
            place = BlockKey(key.window_start, key.deployment_id, key.leg)
            self._pieces[place].append(replace(piece, segment_ids=piece.segment_ids[:, 1:]))

    def write(
        self, connection: Connection, starts: Sequence[datetime], binning: Binning | None
    ) -> list[StoredProfile]:
        """Store the blocks, labels known before carried over; the labels parts they give."""
        context = self._context
        blocks = {key: joined_pieces(pieces) for key, pieces in self._pieces.items()}
        span = Window(min(starts), max(starts) + Grain.HOUR.length)
        for key, old in read_blocks(connection, context.project_id, context.model_id, span):
            if key in blocks:
                blocks[key] = carry_labels(old, blocks[key])
        blocks = adopt_orphans(connection, context, blocks)
        write_blocks(connection, context.project_id, context.model_id, blocks.items())
        return labels_profiles(context, blocks.items(), binning)


def labels_profiles(
    context: JobContext,
    blocks: Iterable[tuple[BlockKey, PredictionBlock]],
    binning: Binning | None,
) -> list[StoredProfile]:
    """The labels parts of blocks, one a segment. Regression has none before there is a binning."""
    if context.contract.task is Task.REGRESSION and binning is None:
        return []
    every, found = list(blocks), []
    for counted in parts_of_blocks([block for _, block in every], binning):
        key = every[counted.block][0]
        place = ProfileKey(
            deployment_id=key.deployment_id,
            leg=key.leg,
            segment_id=counted.segment,
            binning_id=0,
            kind=PartKind.LABELS,
            grain=Grain.HOUR,
            window_start=key.window_start,
        )
        version = context.model.contract_version
        found.append(StoredProfile(place, version, counted.n, counted.part))
    return found


def adopt_orphans(
    connection: Connection, context: JobContext, blocks: dict[BlockKey, PredictionBlock]
) -> dict[BlockKey, PredictionBlock]:
    """Join labels that waited for their request with the new blocks, and stop waiting for them.

    A label that names no time goes on waiting when its request id stands in another block too.
    """
    keys = [block.keys for block in blocks.values()]
    orphans = read_orphans(connection, context.model, np.concatenate(keys or [NO_KEYS]))
    if not len(orphans.labels):
        return blocks
    timed = orphans.labels.event_time != NO_TIME
    mine = list(blocks.items())
    mine = _adopt(connection, context, mine, [], orphans.chosen(timed))
    untimed = _with_request(mine, orphans.chosen(~timed), label_reach(context))
    if len(untimed.labels):
        others = _other_blocks(connection, context, blocks, untimed)
        mine = _adopt(connection, context, mine, others, untimed)
    return dict(mine)


def _adopt(
    connection: Connection, context: JobContext, mine: Blocks, others: Blocks, orphans: Orphans
) -> Blocks:
    blocks = [*mine, *others]
    joining = LabelJoin(orphans.labels, orphans.leg_names, label_reach(context))
    changed = joining.join(blocks, joining.look(blocks))
    project, model = context.project_id, context.model_id
    forget_orphans(connection, project, model, orphans.keys_of(np.flatnonzero(joining.matched)))
    reasons = joining.reasons.items()
    several = [place for place, why in reasons if why is UnmatchedReason.AMBIGUOUS]
    mark_ambiguous(connection, project, model, orphans.keys_of(np.array(several, np.int64)))
    return list({**dict(mine), **dict(changed)}.items())


def _with_request(blocks: Blocks, orphans: Orphans, reach: timedelta) -> Orphans:
    """Those whose request id stands in one of the blocks."""
    found = LabelJoin(orphans.labels, orphans.leg_names, reach).look(blocks)
    return orphans.chosen(np.isin(np.arange(len(orphans.labels)), found.label_of))


def _other_blocks(
    connection: Connection,
    context: JobContext,
    blocks: Mapping[BlockKey, PredictionBlock],
    orphans: Orphans,
) -> Blocks:
    """Stored blocks beside these in which a request of the labels may lie."""
    first, last = (
        datetime.fromtimestamp(int(moment) / 1_000_000, UTC)
        for moment in (orphans.labels.observed_at.min(), orphans.labels.observed_at.max())
    )
    span = label_span(context, first, last)
    stored = read_blocks(connection, context.project_id, context.model_id, span)
    return [(key, block) for key, block in stored if key not in blocks]


def carry_labels(old: PredictionBlock, new: PredictionBlock) -> PredictionBlock:
    """The new block with every label that the old one had."""
    there = old.labelled
    rows = new.rows_at(old.keys[there], old.event_time[there])
    found = rows >= 0
    return new.with_labels(
        rows[found],
        old.label[there][found],
        old.observed_at[there][found],
        old.arrived_at[there][found],
        old.source_rank[there][found],
    )


def take(block: PredictionBlock, rows: Integers) -> PredictionBlock:
    """Some rows of a block, in ascending order of row."""
    places = np.sort(rows)
    changed: dict[str, Any] = {name: getattr(block, name)[places] for name in ROW_ARRAYS}
    return replace(block, **changed)


def joined_pieces(pieces: Sequence[PredictionBlock]) -> PredictionBlock:
    """Pieces of one window as one block, in the order that a block keeps."""
    if len(pieces) == 1:
        return pieces[0]
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(piece, name) for piece in pieces]) for name in ROW_ARRAYS
    }
    order = np.lexsort((joined["event_time"], joined["keys"]))
    return replace(pieces[0], **{name: array[order] for name, array in joined.items()})


NO_KEYS = np.zeros(0, np.int64)
ROW_ARRAYS = (
    *("keys", "event_time", "score", "predicted", "group", "segment_ids", "class_scores"),
    *("items", "label", "observed_at", "arrived_at", "source_rank"),
)


def label_reach(context: JobContext) -> timedelta:
    """How long after its request a label may be observed: a correction comes after max_age."""
    label = context.contract.label
    return label.max_age + label.correction_time if label is not None else timedelta(0)


def label_span(context: JobContext, first: datetime, last: datetime) -> Window:
    """The hours in which requests of labels observed in [first, last] can lie."""
    start = Window.holding(first - label_reach(context), Grain.HOUR).start
    return Window(start, Window.holding(last, Grain.HOUR).end)
