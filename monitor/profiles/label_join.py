"""Joins labels with a prediction block by a sorted merge, by one rule of precedence. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from monitor.profiles.arrays import Flags, Floats, Integers
from monitor.profiles.block import PredictionBlock
from monitor.profiles.label_arrays import NO_TIME, LabelArrays, one_that_counts


class UnmatchedReason(StrEnum):
    """Why a label was not joined with a block."""

    NO_REQUEST = "no_request"
    OTHER_TIME = "other_time"
    AMBIGUOUS = "ambiguous"
    UNUSABLE_VALUE = "unusable_value"


@dataclass(frozen=True, eq=False)
class UnmatchedLabels:
    """Places of the labels that were not joined, int64[u] ascending, and why each."""

    places: Integers
    reasons: tuple[UnmatchedReason, ...]


class Joined(NamedTuple):
    """The block after the join (the same object when no label changed it), the places of the labels
    that found their request (int64[m] ascending, whether they counted or not), and the others.
    """

    block: PredictionBlock
    matched: Integers
    unmatched: UnmatchedLabels


def join_labels(block: PredictionBlock, labels: LabelArrays) -> Joined:
    """Join labels with the rows of a block.

    A label that names its request's time matches that row only; one that names no time and whose
    request id occurs more than once is ambiguous and not joined. Of several labels of a row the
    most trusted source counts, then the later observation, then the later arrival; labels equal in
    all of that are decided by the larger value, so that the order of arrival in a batch is of no
    account.
    """
    rows, reasons = _find_rows(block, labels)
    matched = np.flatnonzero(rows >= 0)
    missed = np.flatnonzero(rows < 0)
    kinds = list(UnmatchedReason)
    unmatched = UnmatchedLabels(missed, tuple(kinds[code] for code in reasons[missed]))
    return Joined(_updated(block, labels, rows, matched), matched, unmatched)


def _find_rows(block: PredictionBlock, labels: LabelArrays) -> tuple[Integers, Integers]:
    """Row of each label (-1 for none) and the place of its reason in UnmatchedReason."""
    order = np.argsort(labels.keys, kind="stable")
    ordered = labels.keys[order]
    first = np.empty(len(labels), np.int64)
    last = np.empty(len(labels), np.int64)
    first[order] = np.searchsorted(block.keys, ordered, "left")
    last[order] = np.searchsorted(block.keys, ordered, "right")
    rows = np.where(last - first == 1, first, -1)
    reasons = np.where(last > first, 2, 0)
    timed = np.flatnonzero((labels.event_time != NO_TIME) & (last > first))
    if len(timed):
        rows[timed] = block.rows_at(labels.keys[timed], labels.event_time[timed])
        reasons[timed] = 1
    unusable = np.isnan(labels.value)
    rows[unusable] = -1
    reasons[unusable & (last > first)] = 3
    return rows, reasons


def _updated(
    block: PredictionBlock, labels: LabelArrays, rows: Integers, matched: Integers
) -> PredictionBlock:
    if len(matched) == 0:
        return block
    found = labels.take(matched)
    best = _best_per_row(rows[matched], found)
    target, best_labels = rows[matched][best], found.take(best)
    wins = _beats(best_labels, block, target)
    if not wins.any():
        return block
    chosen = best_labels.take(np.flatnonzero(wins))
    return block.with_labels(
        target[wins], chosen.value, chosen.observed_at, chosen.arrived_at, chosen.source_rank
    )


def _best_per_row(rows: Integers, labels: LabelArrays) -> Integers:
    """Place of the label that counts, one a row."""
    return one_that_counts(
        rows, labels.source_rank, labels.observed_at, labels.arrived_at, labels.value
    )


def _beats(labels: LabelArrays, block: PredictionBlock, rows: Integers) -> Flags:
    """Which labels take precedence over what the block's row has, bool[m]."""
    pairs: tuple[tuple[Integers | Floats, Integers | Floats], ...] = (
        (-labels.source_rank.astype(np.int64), -block.source_rank[rows].astype(np.int64)),
        (labels.observed_at, block.observed_at[rows]),
        (labels.arrived_at, block.arrived_at[rows]),
        (labels.value, block.label[rows]),
    )
    wins = np.zeros(len(labels), bool)
    tied = np.ones(len(labels), bool)
    for new, old in pairs:
        wins |= tied & (new > old)
        tied &= new == old
    return wins | np.isnan(block.label[rows])
