"""Counts a prediction block into the labels part of a profile, one part a segment. Pure.

The tables are described where they are read: `labels` (binary), `labels_multiclass`,
`labels_regression`, `labels_ranking`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from monitor.contract import Task
from monitor.profiles.arrays import Flags, Floats, Integers, totals_by_key
from monitor.profiles.binning import Binning
from monitor.profiles.block import PredictionBlock
from monitor.profiles.cells import NumberCells
from monitor.profiles.delays import delay_buckets
from monitor.profiles.labels import (
    BINARY,
    CLASS_UNKNOWN,
    NO_SCORE,
    SCORE_CELLS,
    UNIT,
    UNLABELLED,
    pack_binary,
)
from monitor.profiles.labels_multiclass import (
    CONFIDENCE,
    CONFUSION,
    ONE_VS_REST,
    pack_confusion,
    pack_one_vs_rest,
)
from monitor.profiles.labels_ranking import RANK, pack_rank
from monitor.profiles.labels_regression import (
    REGRESSION,
    RELATIVE,
    RESIDUAL_UNLABELLED,
    pack_regression,
    pack_relative,
    relative_columns,
    residual_cells,
)
from monitor.profiles.part import Part
from monitor.profiles.predictions import FIXED_BITS
from monitor.profiles.tally import fixed_point

NEGATIVE_DELAYS = "negative_delays"
_CLASS_SHIFT = FIXED_BITS - 9  # 512 score cells


@dataclass(frozen=True, eq=False)
class _Table:
    """One sparse table before it is added up: a key a row, sums beside the row count."""

    name: str
    keys: Integers
    columns: tuple[Integers, ...] = ()


@dataclass(frozen=True, eq=False)
class _Members:
    """Which block rows belong to which segment: pairs (row, place of the segment in `ids`)."""

    ids: Integers
    rows: Integers
    places: Integers


def labels_parts(block: PredictionBlock, binning: Binning | None = None) -> dict[int, Part]:
    """The labels part of each segment that the block's rows belong to, unlabelled rows included.

    Regression needs the binning, whose cells of the predicted column give prediction cells and the
    unit of the sums; AssertionError without it.
    """
    members = _members(block)
    delays = delay_buckets(block.delay)
    tables = _TABLES[block.task](block, delays, binning)
    sparse: list[dict[str, tuple[Integers, Integers]]] = [{} for _ in members.ids]
    for table in tables:
        _add_up(table, members, sparse)
    negative = np.bincount(
        members.places, (block.delay < 0)[members.rows], minlength=len(members.ids)
    ).astype(np.int64)
    return {
        int(segment): Part({NEGATIVE_DELAYS: negative[place : place + 1]}, sparse[place])
        for place, segment in enumerate(members.ids)
    }


def _members(block: PredictionBlock) -> _Members:
    rows, k = np.nonzero(block.segment_ids >= 0)
    ids, places = np.unique(block.segment_ids[rows, k].astype(np.int64), return_inverse=True)
    return _Members(ids, rows.astype(np.int64), places.astype(np.int64))


def _add_up(
    table: _Table,
    members: _Members,
    sparse: list[dict[str, tuple[Integers, Integers]]],
) -> None:
    span = int(table.keys.max()) + 1 if len(table.keys) else 1
    columns = [column[members.rows] for column in table.columns]
    grouped, totals = totals_by_key(members.places * span + table.keys[members.rows], columns)
    bounds = np.searchsorted(grouped, np.arange(len(sparse) + 1) * span)
    for place, segment in enumerate(sparse):
        part = slice(bounds[place], bounds[place + 1])
        if bounds[place] < bounds[place + 1]:
            segment[table.name] = (grouped[part] - place * span, totals[part])


def _binary(block: PredictionBlock, delays: Integers, _: Binning | None) -> list[_Table]:
    label = _states(block, block.label)
    predicted = np.where(block.predicted < 0, CLASS_UNKNOWN, block.predicted).astype(np.int64)
    return [_scored(BINARY, block, predicted, label, delays)]


def _scored(
    name: str, block: PredictionBlock, predicted: Integers, label: Integers, delays: Integers
) -> _Table:
    """A table of score cells with the sums of s, s² and s · y at fixed point."""
    absent = np.isnan(block.score)
    score = np.clip(np.where(absent, 0.0, block.score), 0.0, 1.0)
    cells = np.minimum(np.floor(score * SCORE_CELLS), SCORE_CELLS - 1).astype(np.int64)
    cells = np.where(absent, NO_SCORE, cells)
    fixed = np.rint(score * UNIT).astype(np.int64)
    squares = np.rint(score * score * UNIT).astype(np.int64)
    keys = pack_binary(predicted, cells, label, delays, block.group.astype(np.int64))
    return _Table(name, keys, (fixed, squares, np.where(label == 1, fixed, 0)))


def _states(block: PredictionBlock, truth: Floats) -> Integers:
    """0, 1, or 2 for unlabelled."""
    return np.where(block.labelled, np.nan_to_num(truth), UNLABELLED).astype(np.int64)


def _multiclass(block: PredictionBlock, delays: Integers, _: Binning | None) -> list[_Table]:
    label = np.where(block.labelled, np.nan_to_num(block.label), -1).astype(np.int64)
    predicted = block.predicted.astype(np.int64)
    group = block.group.astype(np.int64)
    correct = _states(block, (label == predicted).astype(np.float64))
    chosen = np.where(predicted < 0, CLASS_UNKNOWN, 1)
    tables = [
        _Table(CONFUSION, pack_confusion(predicted, label, delays, group)),
        _scored(CONFIDENCE, block, chosen, correct, delays),
    ]
    for place in range(block.class_scores.shape[1]):
        scores = block.class_scores[:, place].astype(np.int64)
        cells = np.where(scores < 0, NO_SCORE, np.minimum(scores >> _CLASS_SHIFT, SCORE_CELLS - 1))
        fixed = np.maximum(scores, 0)
        state = _states(block, (label == place).astype(np.float64))
        keys = pack_one_vs_rest(cells, state, group)
        sums = (fixed, (fixed * fixed) >> FIXED_BITS, np.where(state == 1, fixed, 0))
        tables.append(_Table(f"{ONE_VS_REST}{place}", keys, sums))
    return tables


def _regression(block: PredictionBlock, delays: Integers, binning: Binning | None) -> list[_Table]:
    cells = binning.views.get(block.view) if binning is not None else None
    if not isinstance(cells, NumberCells):
        raise AssertionError(
            f"a regression block needs number cells of {block.view!r}; pass the model's binning"
        )
    labelled = block.labelled
    predicted = cells.assign(block.score).astype(np.int64)
    errors = np.where(labelled, block.score - block.label, np.nan)
    residual = residual_cells(errors, cells.scale)
    e = fixed_point(errors, 0.0, cells.scale)
    y = fixed_point(block.label, cells.centre, cells.scale)
    clipped = _flags(e.clipped, len(block)) | _flags(y.clipped, len(block))
    keys = pack_regression(predicted, residual, delays, block.group.astype(np.int64))
    sums = (e.q, np.abs(e.q), e.high, e.low, y.q, y.high, y.low, clipped)
    judged = residual != RESIDUAL_UNLABELLED
    state, relative = relative_columns(errors, block.label, cells)
    return [
        _Table(REGRESSION, keys, tuple(np.where(judged, s, 0).astype(np.int64) for s in sums)),
        _Table(RELATIVE, pack_relative(state, delays, block.group.astype(np.int64)), relative),
    ]


def _flags(values: Floats | None, n: int) -> Flags:
    return np.zeros(n, bool) if values is None else values > 0


def _ranking(block: PredictionBlock, delays: Integers, _: Binning | None) -> list[_Table]:
    wanted = np.nan_to_num(block.label, nan=-2.0).astype(np.int64)
    hits = block.items == wanted[:, None]
    ranks = np.where(hits.any(axis=1), np.argmax(hits, axis=1) + 1, 0) if hits.size else 0 * wanted
    keys = pack_rank(ranks, block.labelled, delays, block.group.astype(np.int64))
    return [_Table(RANK, keys)]


_TABLES: Mapping[Task, Callable[[PredictionBlock, Integers, Binning | None], list[_Table]]] = {
    Task.BINARY: _binary,
    Task.MULTICLASS: _multiclass,
    Task.REGRESSION: _regression,
    Task.RANKING: _ranking,
}
