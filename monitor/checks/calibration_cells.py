"""Labelled rows by score cell, as every calibration statistic reads them. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from monitor.profiles.arrays import Floats, Integers


class ScoredCounts(Protocol):
    """Counts per score cell, int64[512], with sums over labelled rows, float64[512].

    Counts of a binary model, of one class against the rest, and of a largest score against "was
    right" all have them.
    """

    @property
    def positives(self) -> Integers: ...

    @property
    def negatives(self) -> Integers: ...

    @property
    def score_sums(self) -> Floats: ...

    @property
    def score_square_sums(self) -> Floats: ...

    @property
    def score_label_sums(self) -> Floats: ...


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Plain ScoredCounts."""

    positives: Integers
    negatives: Integers
    score_sums: Floats
    score_square_sums: Floats
    score_label_sums: Floats


def added(one: ScoredCounts, other: ScoredCounts) -> CellCounts:
    """The counts of both together."""
    return CellCounts(
        one.positives + other.positives,
        one.negatives + other.negatives,
        one.score_sums + other.score_sums,
        one.score_square_sums + other.score_square_sums,
        one.score_label_sums + other.score_label_sums,
    )


@dataclass(frozen=True, eq=False)
class ScoreCells:
    """The score cells in use, in ascending order, float64[k]: rows, positives, mean score."""

    rows: Floats
    positives: Floats
    score: Floats

    @property
    def n(self) -> float:
        """All rows."""
        return float(self.rows.sum())

    @property
    def observed(self) -> Floats:
        """Share of positives per cell."""
        return self.positives / self.rows

    def seed(self) -> int:
        """A seed made of rows and scores: the same counts always give the same draws."""
        text = np.concatenate((self.rows, self.score)).astype("<f8").tobytes()
        return int.from_bytes(hashlib.sha256(text).digest()[:8], "little")


def score_cells(counts: ScoredCounts) -> ScoreCells:
    """Labelled rows of the cells that hold any, at their exact mean scores."""
    rows = counts.positives + counts.negatives
    used = rows > 0
    score = np.clip(counts.score_sums[used] / rows[used], 0.0, 1.0)
    return ScoreCells(
        rows[used].astype(np.float64), counts.positives[used].astype(np.float64), score
    )


def coarser(cells: ScoreCells, at_most: int) -> ScoreCells:
    """Neighbouring cells joined into at most `at_most`, of about equally many rows each.

    Cells are never cut, so a few distinct scores stay as they are.
    """
    if len(cells.rows) <= at_most:
        return cells
    group = neighbours(cells, at_most)
    rows, positives, sums = (
        np.bincount(group, amounts).astype(np.float64)
        for amounts in (cells.rows, cells.positives, cells.rows * cells.score)
    )
    return ScoreCells(rows, positives, sums / rows)


def neighbours(cells: ScoreCells, at_most: int) -> Integers:
    """Group of each cell, int64[k], in at most `at_most` groups of about equally many rows."""
    middle = (np.cumsum(cells.rows) - cells.rows / 2) / cells.n
    return np.unique((middle * at_most).astype(np.int64), return_inverse=True)[1].astype(np.int64)
