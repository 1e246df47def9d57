"""Counts of two sides by cell: what every comparison reads. Pure.

A cell is one slot of time (an hour or a day), one slice of the traffic and one context (deployments
that are alike but for the factor compared). Side 0 is a, side 1 is b.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import numpy as np
from scipy import sparse

from monitor.measurement import Direction
from monitor.profiles.arrays import Flags, Floats, Integers

A, B = 0, 1


class Control(StrEnum):
    """What holds the time of a comparison fixed."""

    MATCHED = "matched"
    SEASON = "season"


@dataclass(frozen=True)
class Metric:
    """What is compared: `name` for scripts, its unit and which way is bad.

    `of` says what its rows are, for people: requests, labelled requests, predicted positives.
    """

    name: str
    unit: str
    direction: Direction
    of: str
    column: str = ""

    @property
    def title(self) -> str:
        """`p95 of total_ms`, `accuracy`."""
        return f"{self.name} of {self.column}" if self.column else self.name


@dataclass(frozen=True, eq=False)
class RateTable:
    """A share by cell and side: `events` of `n` rows, int64[C, 2] each."""

    metric: Metric
    events: Integers
    n: Integers


@dataclass(frozen=True, eq=False)
class ValueTable:
    """Values by cell and side: the mean, and percentiles where `quantiles` asks for them.

    `values` float64[k], ascending, stands for the rows counted in `counts`, one sparse [C, k] a
    side; `sums` float64[C, 2] are the sums of the values themselves, which the mean comes from.
    """

    metric: Metric
    values: Floats
    counts: tuple[sparse.csr_array, sparse.csr_array]
    sums: Floats
    quantiles: tuple[float, ...] = ()

    @property
    def n(self) -> Integers:
        """Rows, int64[C, 2]."""
        rows = [np.asarray(side.sum(axis=1)).ravel() for side in self.counts]
        return np.column_stack(rows).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Cells:
    """C cells with their requests, and the tables of every metric.

    `slot`, `slice`, `context` int64[C]: places in `slots` (starts, in time order), in `slices`
    (names of the traffic's parts) and the number of the context. `requests` int64[C, 2].
    `labelled` = requests with a label and all that labels are counted for, a side each.
    """

    slots: tuple[datetime, ...]
    slices: tuple[str, ...]
    slot: Integers
    slice: Integers
    context: Integers
    requests: Integers
    rates: tuple[RateTable, ...]
    values: tuple[ValueTable, ...]
    labelled: tuple[tuple[int, int], tuple[int, int]]
    immature: int = 0

    def __len__(self) -> int:
        return len(self.slot)


@dataclass(frozen=True, eq=False)
class Strata:
    """The stratum of each cell, int64[C], how many there are, and how time is held fixed."""

    of_cell: Integers
    count: int
    control: Control

    def shared(self, n: Integers) -> Flags:
        """Strata in which both sides have rows, bool[count]; `n` int64[C, 2]."""
        totals = self.totals(n)
        flags: Flags = (totals[:, A] > 0) & (totals[:, B] > 0)
        return flags

    def totals(self, n: Integers) -> Integers:
        """Rows by stratum and side, int64[count, 2]."""
        found = np.zeros((self.count, 2), np.int64)
        np.add.at(found, self.of_cell, n)
        return found


@dataclass(frozen=True)
class OverlapRow:
    """One slice of the traffic: rows of a and b, and those in strata where both have some."""

    slice: str
    a: int
    b: int
    a_shared: int
    b_shared: int


@dataclass(frozen=True)
class Overlap:
    """How far the two sides saw the same traffic at the same time.

    `share_a`, `share_b`: the share of each side's requests on common support (0 without any).
    """

    rows: tuple[OverlapRow, ...]
    strata: int
    strata_shared: int
    control: Control
    share_a: float
    share_b: float

    @property
    def is_empty(self) -> bool:
        return self.strata_shared == 0


MATCHED_AT_LEAST = 0.5
ENOUGH = 0.8


def strata_of(cells: Cells, zone_hours: Integers) -> Strata:
    """Slot × slice × context; without enough shared slots the season's slot instead of the slot.

    `zone_hours` int64[len(slots)]: the season's slot of each slot (weekday or weekend × hour of the
    day). Slots are matched when the side that shares more has at least half of its requests in
    shared ones; otherwise (deployments that followed each other) time itself can't be held fixed.
    """
    matched = _strata(cells, cells.slot, Control.MATCHED)
    if max(_shares(matched, cells.requests)) >= MATCHED_AT_LEAST:
        return matched
    seasonal = _strata(cells, zone_hours[cells.slot], Control.SEASON)
    better = max(_shares(seasonal, cells.requests)) > max(_shares(matched, cells.requests))
    return seasonal if better else matched


def strata_for(cells: Cells, n: Integers, strata: Strata) -> Strata:
    """Strata for one metric's rows `n` int64[C, 2]: whole days where hours hold too few of them.

    Rows are rare for some metrics (positive labels): with one or two a stratum, most would have no
    counterpart and drop out. Days are taken when neither side has 80 % of its rows in shared
    strata of hours and days share more.
    """
    if strata.control is not Control.MATCHED or max(_shares(strata, n)) >= ENOUGH:
        return strata
    days = np.array([start.toordinal() for start in cells.slots], np.int64)
    by_day = _strata(cells, days[cells.slot], Control.MATCHED)
    return by_day if max(_shares(by_day, n)) > max(_shares(strata, n)) else strata


def overlap(cells: Cells, strata: Strata) -> Overlap:
    """The overlap table: requests of each side by slice, and on common support."""
    shared = strata.shared(cells.requests)[strata.of_cell]
    rows = []
    for place, name in enumerate(cells.slices):
        mine = cells.slice == place
        every, held = cells.requests[mine].sum(axis=0), cells.requests[mine & shared].sum(axis=0)
        rows.append(OverlapRow(name, int(every[A]), int(every[B]), int(held[A]), int(held[B])))
    share_a, share_b = _shares(strata, cells.requests)
    there = int((strata.totals(cells.requests).sum(axis=1) > 0).sum())
    both = int(strata.shared(cells.requests).sum())
    return Overlap(tuple(rows), there, both, strata.control, share_a, share_b)


def support_shares(strata: Strata, n: Integers) -> tuple[float, float]:
    """The share of each side's rows in strata that both sides have rows in."""
    return _shares(strata, n)


def _shares(strata: Strata, n: Integers) -> tuple[float, float]:
    totals = strata.totals(n)
    held = totals[(totals > 0).all(axis=1)].sum(axis=0)
    every = np.maximum(totals.sum(axis=0), 1)
    return float(held[A] / every[A]), float(held[B] / every[B])


def _strata(cells: Cells, slot: Integers, control: Control) -> Strata:
    if not len(cells):
        return Strata(np.zeros(0, np.int64), 0, control)
    keys = np.column_stack([slot, cells.slice, cells.context])
    distinct, of_cell = np.unique(keys, axis=0, return_inverse=True)
    return Strata(of_cell.ravel().astype(np.int64), len(distinct), control)
