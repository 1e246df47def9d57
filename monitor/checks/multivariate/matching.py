"""Rows of two samples with the same mix of hours, so that the time of day tells nothing. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from zoneinfo import ZoneInfo

import numpy as np

from monitor.profiles.arrays import Integers

_STEP_MICROS = 15 * 60 * 1_000_000
_KEPT_SHARE = 0.8


class MatchedBy(StrEnum):
    """What the two samples have the same mix of."""

    WEEKDAY_TYPE_AND_HOUR = "weekday type and hour"
    HOUR = "hour"
    NOTHING = "nothing"


@dataclass(frozen=True, eq=False)
class Matched:
    """Places of the chosen rows in each sample, and what they were matched by."""

    reference: Integers
    current: Integers
    by: MatchedBy


def match_rows(
    reference: Integers, current: Integers, zone: str, limit: int, rng: np.random.Generator
) -> Matched:
    """Choose at most `limit` rows of each sample by their event times, int64[n] in microseconds.

    Within each slot (working day or weekend, and hour, in the zone) both samples give rows in one
    proportion: as many as the scarcer one allows, the reference a whole multiple of that where it
    can. Where that would lose more than a fifth of the rows, the hour alone decides, and for a
    reference without times nothing does.
    """
    wanted = _KEPT_SHARE * min(len(reference), len(current), limit)
    slots = _slots(reference, zone), _slots(current, zone)
    for by, width in ((MatchedBy.WEEKDAY_TYPE_AND_HOUR, 48), (MatchedBy.HOUR, 24)):
        found = _choose(slots[0] % width, slots[1] % width, limit, rng)
        if len(found[1]) >= wanted:
            return Matched(*found, by)
    zeros = np.zeros(len(reference), np.int64), np.zeros(len(current), np.int64)
    return Matched(*_choose(*zeros, limit, rng), MatchedBy.NOTHING)


def _slots(micros: Integers, zone: str) -> Integers:
    """Hour of the local day, plus 24 on Saturdays and Sundays, int64[n]."""
    steps, places = np.unique(micros // _STEP_MICROS, return_inverse=True)
    local = [
        datetime.fromtimestamp(step * (_STEP_MICROS // 1_000_000), UTC).astimezone(ZoneInfo(zone))
        for step in steps.tolist()
    ]
    slots = [moment.hour + 24 * (moment.weekday() >= 5) for moment in local]
    return np.array(slots, np.int64)[places]


def _choose(
    reference: Integers, current: Integers, limit: int, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    both = np.bincount(reference, minlength=48), np.bincount(current, minlength=48)
    quota = np.minimum(*both)
    held = quota > 0
    if not held.any():
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    total = min(int(quota.sum()), limit)
    times = max(1, min(limit // total, int((both[0][held] // quota[held]).min())))
    kept = np.sort(rng.permutation(int(quota.sum()))[:total])
    first = _in_slots(reference, quota * times, rng).reshape(-1, times)[kept].ravel()
    return first, _in_slots(current, quota, rng)[kept]


def _in_slots(slots: Integers, quota: Integers, rng: np.random.Generator) -> Integers:
    """`quota[s]` places of every slot s at random, slot by slot."""
    order = rng.permutation(len(slots))
    order = order[np.argsort(slots[order], kind="stable")]
    ordered = slots[order]
    rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    return order[rank < quota[ordered]]
