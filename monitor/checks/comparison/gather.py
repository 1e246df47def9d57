"""Collects stored parts of two sides into cells. Pure: whoever reads them hands them in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from scipy import sparse

from monitor.checks.comparison.cells import Cells, Metric, RateTable, ValueTable
from monitor.checks.comparison.metrics import (
    Counted,
    Values,
    count_labels,
    count_serving,
    quality_metrics,
    quantiles_of,
)
from monitor.contract import Contract
from monitor.contract_quality import Feedback
from monitor.profiles.arrays import Flags, Integers
from monitor.profiles.cells import NumberCells
from monitor.profiles.part import Part, PartKind

COVERED = 0.8
"""The share of a slot's requests that must have a label before it is as old as labels can be."""


@dataclass(frozen=True, order=True)
class CellKey:
    """Where a part belongs: its slot's start and end, its slice and its context."""

    start: datetime
    end: datetime
    slice: str
    context: int


@dataclass
class _Places:
    """Numbers of the cells seen so far."""

    of: dict[CellKey, int] = field(default_factory=dict)

    def __getitem__(self, key: CellKey) -> int:
        return self.of.setdefault(key, len(self.of))


Triplets = list[tuple[int, int, Values]]


class Gatherer:
    """Takes in serving and labels parts of both sides; `cells` gives what was gathered."""

    def __init__(self, contract: Contract, regression: NumberCells | None) -> None:
        self._contract = contract
        self._regression = regression
        self._places = _Places()
        self._requests: dict[tuple[int, int], int] = defaultdict(int)
        self._labelled: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
        self._rates: dict[Metric, list[tuple[int, int, int, int]]] = defaultdict(list)
        self._values: dict[Metric, Triplets] = defaultdict(list)
        for metric in quality_metrics(contract):  # planned even when no label has come
            (self._values if metric.unit != "share" else self._rates)[metric].extend(())

    def add(self, key: CellKey, side: int, kind: PartKind, part: Part) -> None:
        """Take in one part of one side (0 is a, 1 is b)."""
        place = self._places[key]
        if kind is PartKind.SERVING:
            found = count_serving(part, self._contract)
            self._requests[place, side] += found.rows
        else:
            found = count_labels(part, self._contract, self._regression)
            held = self._labelled[place, side]
            held[0], held[1] = held[0] + found.labelled, held[1] + found.rows
        self._take(place, side, found)

    def _take(self, place: int, side: int, found: Counted) -> None:
        for metric, (events, n) in found.rates.items():
            self._rates[metric].append((place, side, events, n))
        for metric, values in found.values.items():
            self._values[metric].append((place, side, values))

    def cells(self, now: datetime) -> Cells:
        """Everything as cells in time order; quality of slots with immature labels left out.

        A slot's labels are mature when the contract's longest delay has passed since its end, or
        when labels of all requests are expected and 80 % of them are there on each side.
        """
        keys = sorted(self._places.of)
        slots = sorted({key.start for key in keys})
        slices = sorted({key.slice for key in keys})
        order = np.array([self._places.of[key] for key in keys], np.int64)
        at = {start: place for place, start in enumerate(slots)}
        slot = np.array([at[key.start] for key in keys], np.int64)
        mature = self._mature(keys, slot, order, now)
        quality = set(quality_metrics(self._contract))
        counts = self._label_counts(order)
        return Cells(
            slots=tuple(slots),
            slices=tuple(slices),
            slot=slot,
            slice=np.array([slices.index(key.slice) for key in keys], np.int64),
            context=np.array([key.context for key in keys], np.int64),
            requests=self._by_cell(self._requests, order),
            rates=tuple(
                self._rate_table(metric, order, mature if metric in quality else None)
                for metric in self._rates
            ),
            values=tuple(
                self._value_table(metric, order, mature if metric in quality else None)
                for metric in self._values
            ),
            labelled=_both(counts[mature].sum(axis=0)),
            immature=len(np.unique(slot[~mature])),
        )

    def _mature(self, keys: list[CellKey], slot: Integers, order: Integers, now: datetime) -> Flags:
        label = self._contract.label
        if label is None:
            return np.ones(len(keys), bool)
        old = np.array([key.end + label.max_age <= now for key in keys], bool)
        if label.feedback is not Feedback.FULL:
            return old
        by_slot = np.zeros((int(slot.max(initial=-1)) + 1, 2, 2), np.int64)
        np.add.at(by_slot, slot, self._label_counts(order))
        enough = by_slot[:, :, 0] >= COVERED * by_slot[:, :, 1]
        covered: Flags = enough[:, 0] & enough[:, 1]
        flags: Flags = old | covered[slot]
        return flags

    def _label_counts(self, order: Integers) -> Integers:
        """Labelled and all predictions by cell and side, int64[C, 2, 2]."""
        found = np.zeros((len(order), 2, 2), np.int64)
        for (place, side), counts in self._labelled.items():
            found[place, side] = counts
        return found[order]

    def _by_cell(self, counts: Mapping[tuple[int, int], int], order: Integers) -> Integers:
        found = np.zeros((len(order), 2), np.int64)
        for (place, side), count in counts.items():
            found[place, side] = count
        return found[order]

    def _rate_table(self, metric: Metric, order: Integers, mature: Flags | None) -> RateTable:
        found = np.zeros((len(order), 2, 2), np.int64)
        for place, side, events, n in self._rates[metric]:
            found[place, side] += (events, n)
        found = found[order]
        if mature is not None:
            found[~mature] = 0
        return RateTable(metric, found[:, :, 0], found[:, :, 1])

    def _value_table(self, metric: Metric, order: Integers, mature: Flags | None) -> ValueTable:
        triplets = self._values[metric]
        kept = np.ones(len(order), bool)
        if mature is not None:
            kept[order] = mature
        triplets = [one for one in triplets if kept[one[0]]]
        every = [one.values for _, _, one in triplets]
        values = np.unique(np.concatenate(every)) if every else np.zeros(1)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        sums = np.zeros((len(order), 2))
        for place, side, one in triplets:
            sums[rank[place], side] += one.total
        shape = (len(order), len(values))
        sides = [[one for one in triplets if one[1] == side] for side in (0, 1)]
        counts = [_counts(mine, values, rank, shape) for mine in sides]
        quantiles = quantiles_of(self._contract, metric)
        return ValueTable(metric, values, (counts[0], counts[1]), sums, quantiles)


def _counts(
    triplets: Triplets, values: np.ndarray, rank: Integers, shape: tuple[int, int]
) -> sparse.csr_array:
    if not triplets:
        return sparse.csr_array(shape, dtype=np.float64)
    rows = np.concatenate([np.full(len(one.values), rank[place]) for place, _, one in triplets])
    columns = np.searchsorted(values, np.concatenate([one.values for _, _, one in triplets]))
    data = np.concatenate([one.rows for _, _, one in triplets]).astype(np.float64)
    return sparse.csr_array(sparse.coo_array((data, (rows, columns)), shape=shape))


def _both(counts: Integers) -> tuple[tuple[int, int], tuple[int, int]]:
    (a, all_a), (b, all_b) = counts.tolist()
    return (a, all_a), (b, all_b)
