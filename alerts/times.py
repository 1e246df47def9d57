"""Time intervals that routes and rules name: office hours, nights, maintenance.

Pure values. An instant is inside when its wall-clock time in the interval's zone is: an hour that
the clock skips is in no interval, an hour that it repeats is in it both times.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

MINUTES_OF_DAY = 24 * 60
_HALF_HOUR = 30
_LOOK_AHEAD_DAYS = 8
_ONE_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Span:
    """Part of an interval; None or empty means any. All that is given must fit.

    `minutes` are `[from, to)` minutes of the day, from later than to wraps over midnight (the day
    is that on which the span began). `weekdays` count from Monday 0, `days` from 1, negative from
    the end of the month; `months` from 1; `years` in full. All others are inclusive ranges; those
    of weekdays and months may wrap, such as Friday to Monday.
    """

    minutes: tuple[tuple[int, int], ...] = ()
    weekdays: tuple[tuple[int, int], ...] = ()
    days: tuple[tuple[int, int], ...] = ()
    months: tuple[tuple[int, int], ...] = ()
    years: tuple[tuple[int, int], ...] = ()

    def holds(self, wall: datetime) -> bool:
        """Whether a wall-clock time lies in the span."""
        minute, today = wall.hour * 60 + wall.minute, wall.date()
        if not self.minutes:
            return self._has_day(today)
        return any(
            (start <= minute < end and self._has_day(today))
            if start < end
            else (minute >= start and self._has_day(today))
            or (minute < end and today > date.min and self._has_day(today - _ONE_DAY))
            for start, end in self.minutes
        )

    def _has_day(self, day: date) -> bool:
        length = calendar.monthrange(day.year, day.month)[1]
        counted = [(_from_start(first, length), _from_start(last, length))
                   for first, last in self.days]  # fmt: skip
        return (
            (not self.days or any(first <= day.day <= last for first, last in counted))
            and _in_ring(self.weekdays, day.weekday())
            and _in_ring(self.months, day.month)
            and (not self.years or any(a <= day.year <= b for a, b in self.years))
        )


def _from_start(day: int, length: int) -> int:
    return day if day > 0 else length + 1 + day


def _in_ring(ranges: tuple[tuple[int, int], ...], value: int) -> bool:
    return not ranges or any(
        first <= value <= last if first <= last else value >= first or value <= last
        for first, last in ranges
    )


@dataclass(frozen=True)
class TimeInterval:
    """A named interval: inside when one of its spans fits the wall clock in `zone`."""

    name: str
    zone: str
    spans: tuple[Span, ...]

    def holds(self, now: datetime) -> bool:
        """Whether an instant lies in the interval."""
        wall = now.astimezone(ZoneInfo(self.zone))
        return any(span.holds(wall) for span in self.spans)

    def changes_after(self, now: datetime) -> datetime:
        """The next instant at which the answer of `holds` changes, or one about 8 days ahead at
        which to look again."""
        inside = self.holds(now)
        last = now
        for instant in self._instants(now):
            last = instant
            if self.holds(instant) is not inside:
                return instant
        return last

    def _instants(self, now: datetime) -> Iterator[datetime]:
        """Ascending instants after `now` at which the answer can change: edges of spans and full
        half hours of the wall clock, at which clocks are changed."""
        zone = ZoneInfo(self.zone)
        edges = {minute for span in self.spans for pair in span.minutes for minute in pair}
        minutes = sorted({*range(0, MINUTES_OF_DAY, _HALF_HOUR), *edges} - {MINUTES_OF_DAY})
        first = now.astimezone(zone).date()
        for ahead in range(_LOOK_AHEAD_DAYS):
            day = first + timedelta(days=ahead)
            walls = (
                datetime.combine(day, time(*divmod(minute, 60), fold=fold), tzinfo=zone)
                for minute in minutes
                for fold in (0, 1)
            )
            yield from sorted(
                moment for moment in {w.astimezone(UTC) for w in walls} if moment > now
            )
