"""Consecutive UTC hours as a model's time zone sees them: hours of the day, days, weeks. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property, lru_cache
from zoneinfo import ZoneInfo

import numpy as np

from monitor.profiles.arrays import Flags, Integers
from monitor.windows import require_utc

WEEK_HOURS = 168
HOUR = timedelta(hours=1)


class Season(StrEnum):
    """Which hours are expected to look alike."""

    NONE = "none"
    HOUR = "hour"
    DAY_TYPE_HOUR = "day_type_hour"
    HOUR_OF_WEEK = "hour_of_week"

    @property
    def n_slots(self) -> int:
        """How many different kinds of hours the season knows."""
        return _SLOTS[self]


_SLOTS = {Season.NONE: 1, Season.HOUR: 24, Season.DAY_TYPE_HOUR: 48, Season.HOUR_OF_WEEK: 168}


@dataclass(frozen=True, eq=False)
class Hours:
    """`n` hours from `first`, a full UTC hour. `excluded` bool[n] marks hours of days that are
    expected to be different (holidays): windows that touch one are neither learned from nor judged.

    Weeks are blocks of 168 hours counted from `first`; the change to summer time moves their local
    border by an hour and nothing else, because slots are looked up hour by hour.
    """

    first: datetime
    n: int
    zone: str = "UTC"
    excluded: Flags = field(default_factory=lambda: np.zeros(0, bool))

    def __post_init__(self) -> None:
        first = require_utc(self.first)
        if (first.minute, first.second, first.microsecond) != (0, 0, 0):
            raise AssertionError(f"hours begin on a full hour, not {first.isoformat()}")
        if len(self.excluded) not in (0, self.n):
            raise AssertionError(f"{len(self.excluded)} exclusions for {self.n} hours")
        object.__setattr__(self, "first", first)

    @property
    def n_weeks(self) -> int:
        """Whole weeks from the first hour on."""
        return self.n // WEEK_HOURS

    def end_of(self, hour: int) -> datetime:
        """The moment at which an hour (counted from 0) is over."""
        return self.first + (hour + 1) * HOUR

    @cached_property
    def without(self) -> Flags:
        """Excluded hours, bool[n]."""
        return self.excluded if len(self.excluded) else np.zeros(self.n, bool)

    @cached_property
    def epoch_hour(self) -> int:
        """The first hour counted from 1970."""
        return int(self.first.timestamp()) // 3600

    @cached_property
    def hour_of_week(self) -> Integers:
        """Local hour of the week, Monday 00:00 is 0, int64[n]."""
        return _hours_of_week(self.epoch_hour, self.n, self.zone)

    def slots(self, season: Season) -> Integers:
        """The slot of each hour under a season, int64[n]."""
        week_hour = self.hour_of_week
        match season:
            case Season.NONE:
                return np.zeros(self.n, np.int64)
            case Season.HOUR:
                return week_hour % 24
            case Season.DAY_TYPE_HOUR:
                return week_hour % 24 + 24 * (week_hour >= 120)
            case Season.HOUR_OF_WEEK:
                return week_hour

    def part(self, start: int, stop: int) -> Hours:
        """Hours [start, stop) of these."""
        return Hours(
            self.first + start * HOUR, stop - start, self.zone, self.without[start:stop].copy()
        )


@lru_cache(maxsize=64)
def _hours_of_week(epoch_hour: int, n: int, zone: str) -> Integers:
    """Looked up an offset at a time: it changes twice a year, the hours are thousands."""
    known, start = ZoneInfo(zone), epoch_hour * 3600
    found = np.empty(n, np.int64)
    place = 0
    while place < n:
        moment = start + place * 3600
        stop = min(n, place + 24)
        offset = _offset(moment, known)
        while stop > place + 1 and _offset(start + (stop - 1) * 3600, known) != offset:
            stop -= 1
        local = (moment + offset) // 3600 + np.arange(stop - place)
        found[place:stop] = (local + 72) % WEEK_HOURS  # 1970 began on a Thursday
        place = stop
    found.setflags(write=False)
    return found


def _offset(seconds: int, zone: ZoneInfo) -> int:
    shift = datetime.fromtimestamp(seconds, zone).utcoffset()
    return int(shift.total_seconds()) if shift is not None else 0
