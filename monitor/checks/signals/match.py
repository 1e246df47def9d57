"""Finds the request of every record of a signal, and the record that counts. Pure.

Days of requests are taken in one after the other and let go again: what is kept grows with the
records, not with the requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.block import PredictionBlock
from monitor.profiles.label_arrays import NO_TIME, one_that_counts

EARLIEST = timedelta(hours=1)
"""A record may be observed so long before its request: clocks differ."""


@dataclass(frozen=True, eq=False)
class SignalRecords:
    """m records of one signal in ascending order of `keys` int64[m], keyed hashes of request ids.

    `value` float64[m] (a tie is 0.5); `observed_at`, `arrived_at`, `event_time` int64[m] µs (0: no
    time named); `source_rank`, `revision`, `leg` int64[m] (`leg` numbers the matcher's legs).
    """

    keys: Integers
    value: Floats
    observed_at: Integers
    arrived_at: Integers
    event_time: Integers
    source_rank: Integers
    revision: Integers
    leg: Integers

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, eq=False)
class RequestDay:
    """The requests of one day: `keys`, `event_time` int64[n]; `owner` int64[n] numbers who served
    them, `group` int64[n] their entity group, `leg` int64[n] their leg."""

    keys: Integers
    event_time: Integers
    owner: Integers
    group: Integers
    leg: Integers

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, eq=False)
class Counted:
    """Requests of a day with the record that counts, [k] each: value, delay µs, owner, group."""

    value: Floats
    delay: Integers
    owner: Integers
    group: Integers


def request_day(blocks: Sequence[tuple[int, int, PredictionBlock]]) -> RequestDay:
    """A day from (owner, leg, block), in ascending order of key."""
    sizes = [len(block) for _, _, block in blocks]
    kind = np.int64
    keys = np.concatenate([np.zeros(0, kind), *(block.keys for _, _, block in blocks)])
    times = np.concatenate([np.zeros(0, kind), *(block.event_time for _, _, block in blocks)])
    groups = np.concatenate([np.zeros(0, kind), *(block.group for _, _, block in blocks)])
    owners = np.repeat(np.array([owner for owner, _, _ in blocks], kind), sizes)
    legs = np.repeat(np.array([leg for _, leg, _ in blocks], kind), sizes)
    order = np.argsort(keys, kind="stable")
    return RequestDay(
        keys[order], times[order], owners[order], groups[order].astype(kind), legs[order]
    )


class SignalMatcher:
    """Matches the records of one signal with the requests of several days."""

    def __init__(self, records: SignalRecords, reach: timedelta) -> None:
        self._records = records
        self._reach = reach // timedelta(microseconds=1)
        self._pairs: dict[int, tuple[Integers, Integers, RequestDay]] = {}

    def add(self, number: int, day: RequestDay) -> None:
        """Take in the requests of a day; only rows that some record may belong to are kept."""
        records = self._records
        first = np.searchsorted(day.keys, records.keys, "left")
        counts = np.searchsorted(day.keys, records.keys, "right") - first
        record = np.repeat(np.arange(len(records)), counts)
        within = np.arange(len(record)) - np.repeat(np.cumsum(counts) - counts, counts)
        row = np.repeat(first, counts) + within
        fits = self._fits(record, day, row)
        rows, places = np.unique(row[fits], return_inverse=True)
        self._pairs[number] = (record[fits], places, _taken(day, rows))

    def _fits(self, record: Integers, day: RequestDay, row: Integers) -> npt.NDArray[np.bool_]:
        records = self._records
        delay = records.observed_at[record] - day.event_time[row]
        timed = records.event_time[record]
        fits = (delay <= self._reach) & (delay >= -(EARLIEST // timedelta(microseconds=1)))
        fits &= records.leg[record] == day.leg[row]
        found: npt.NDArray[np.bool_] = fits & ((timed == NO_TIME) | (timed == day.event_time[row]))
        return found

    def ambiguous(self) -> npt.NDArray[np.bool_]:
        """Records that name no time and whose id stands for several requests, bool[m]."""
        times = np.zeros(len(self._records), np.int64)
        for record, _, _ in self._pairs.values():
            times += np.bincount(record, minlength=len(times))
        found: npt.NDArray[np.bool_] = (times > 1) & (self._records.event_time == NO_TIME)
        return found

    def counted(self, number: int) -> Counted:
        """Requests of a day with the record that counts, by the rule of labels."""
        record, place, day = self._pairs[number]
        usable = ~self.ambiguous()[record]
        record, place = record[usable], place[usable]
        records = self._records
        chosen = one_that_counts(
            place, records.source_rank[record], records.observed_at[record],
            records.arrived_at[record], records.value[record], records.revision[record],
        )  # fmt: skip
        winner, row = record[chosen], place[chosen]
        delay = np.maximum(records.observed_at[winner] - day.event_time[row], 0)
        return Counted(records.value[winner], delay, day.owner[row], day.group[row])


def sorted_records(**columns: npt.NDArray[Any]) -> SignalRecords:
    """Records in ascending order of key."""
    order = np.argsort(columns["keys"], kind="stable")
    return SignalRecords(**{name: values[order] for name, values in columns.items()})


def _taken(day: RequestDay, rows: Integers) -> RequestDay:
    return RequestDay(
        day.keys[rows], day.event_time[rows], day.owner[rows], day.group[rows], day.leg[rows]
    )
