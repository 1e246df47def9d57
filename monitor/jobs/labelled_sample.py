"""Sampled requests of a window together with what turned out: columns, loss, entity.

Samples hold the columns, prediction blocks the labels; both know a request by its keyed hash.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy.engine import Connection

from monitor.contract import ColumnRole, Task
from monitor.jobs.base import JobContext
from monitor.keys import keyed_hash
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.block import PredictionBlock
from monitor.profiles.sample import (
    EVENT_TIME,
    HASH,
    SAMPLE_ROWS,
    merge_samples,
    sample_from_bytes,
)
from monitor.store.profile_rows import BlockKey, read_blocks, read_samples
from monitor.windows import Grain, Window

MOST_ROWS = 20_000
DAY = timedelta(days=1)
JUDGED = frozenset({Task.BINARY, Task.MULTICLASS, Task.REGRESSION})
"""Tasks whose requests have a loss of their own."""


@dataclass(frozen=True, eq=False)
class LabelledSample:
    """Sampled rows that have a loss: `table` their columns, `loss` float64[n], `entities` int64[n].

    Loss: 1 for a wrong class and 0 for the right one; of numbers the absolute error. `entities` are
    keyed hashes of the entity, of the request where there is none. `sampled` rows were drawn, with
    or without a label.
    """

    table: pa.Table
    loss: Floats
    entities: Integers
    sampled: int

    def __len__(self) -> int:
        return len(self.loss)

    @property
    def coverage(self) -> float | None:
        """Share of sampled rows with a loss; None without rows."""
        return len(self) / self.sampled if self.sampled else None


def labelled_sample(
    connection: Connection,
    context: JobContext,
    window: Window,
    leg: str,
    deployment_ids: Sequence[int] = (),
    most: int = MOST_ROWS,
) -> LabelledSample | None:
    """An even sample of a leg's requests of a window that have a label; None without any sample.

    At most `most` rows are drawn; fewer where a day was busier than its stored sample: rows count
    up to the smallest hash at which a day's sample was cut off, so that all days are drawn alike.
    """
    table = _even_sample(connection, context, window, leg, deployment_ids, most)
    if table is None:
        return None
    loss, keys, times = np.full(table.num_rows, np.nan), table[HASH].to_numpy(), _times(table)
    by_time = np.argsort(times, kind="stable")
    for key, block in blocks_of(connection, context, window, leg, deployment_ids):
        places = by_time[_hour_of(key.window_start, times[by_time])]
        rows = block.rows_at(keys[places], times[places])
        found = rows >= 0
        loss[places[found]] = row_losses(block)[rows[found]]
    there = np.flatnonzero(~np.isnan(loss))
    kept = table.take(pa.array(there))
    return LabelledSample(kept, loss[there], _entities(kept, context), table.num_rows)


def row_losses(block: PredictionBlock) -> Floats:
    """The loss of each row of a block, float64[n]; NaN without a label or a prediction."""
    if block.task is Task.REGRESSION:
        return np.abs(block.score - block.label)
    if block.task not in JUDGED:
        return np.full(len(block), np.nan)
    known = block.labelled & (block.predicted >= 0)
    return np.where(known, (block.predicted != block.label).astype(np.float64), np.nan)


def _even_sample(
    connection: Connection,
    context: JobContext,
    window: Window,
    leg: str,
    deployment_ids: Sequence[int],
    most: int,
) -> pa.Table | None:
    days = Window(Window.holding(window.start, Grain.DAY).start, window.end)
    samples = [
        sample_from_bytes(body)
        for _, number, its_leg, body in read_samples(
            connection, context.project_id, context.model_id, days
        )
        if its_leg == leg and (not deployment_ids or number in deployment_ids)
    ]
    cut_off = [int(pc.max(each[HASH]).as_py()) for each in samples if len(each) >= SAMPLE_ROWS]
    inside = [_inside(each, window, min(cut_off, default=None)) for each in samples]
    inside = [each for each in inside if each.num_rows]
    return merge_samples(inside, limit=most) if inside else None


def _inside(sample: pa.Table, window: Window, last_hash: int | None) -> pa.Table:
    times = sample[EVENT_TIME]
    first, last = pa.scalar(window.start, times.type), pa.scalar(window.end, times.type)
    chosen = pc.and_(pc.greater_equal(times, first), pc.less(times, last))
    if last_hash is not None:
        chosen = pc.and_(chosen, pc.less_equal(sample[HASH], last_hash))
    return sample.filter(chosen)


def blocks_of(
    connection: Connection,
    context: JobContext,
    window: Window,
    leg: str,
    deployment_ids: Sequence[int],
) -> Iterator[tuple[BlockKey, PredictionBlock]]:
    """Blocks of a leg, read a day at a time: a month at once may be too much to hold."""
    start = Window.holding(window.start, Grain.HOUR).start
    while start < window.end:
        day = Window(start, min(start + DAY, window.end))
        for key, block in read_blocks(connection, context.project_id, context.model_id, day):
            if key.leg == leg and (not deployment_ids or key.deployment_id in deployment_ids):
                yield key, block
        start = day.end


def _hour_of(start: datetime, ordered: Integers) -> slice:
    """Where the rows of the hour stand among ascending times in µs."""
    first = int(start.timestamp()) * 1_000_000
    low, high = np.searchsorted(ordered, [first, first + int(Grain.HOUR) * 1_000_000])
    return slice(int(low), int(high))


def _times(table: pa.Table) -> Integers:
    return np.asarray(table[EVENT_TIME].cast(pa.int64()).to_numpy(), np.int64)


def _entities(table: pa.Table, context: JobContext) -> Integers:
    hashed = np.array(table[HASH].to_numpy(), np.int64)
    column = context.contract.single(ColumnRole.ENTITY)
    if column is None or column.name not in table.column_names:
        return hashed
    texts = table[column.name].combine_chunks().cast(pa.string())
    present = texts.is_valid().to_numpy(zero_copy_only=False)
    hashed[present] = keyed_hash(texts.drop_null(), context.model.hash_key)
    return hashed
