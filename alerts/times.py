"""Time intervals that routes and rules name: office hours, nights, maintenance.

Pure values. An instant is inside when its wall-clock time in the interval's zone is: an hour that
the clock skips is in no interval, an hour that it repeats is in it both times.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """Part of an interval; None or empty means any. All that is given must fit.

    `minutes` are `[from, to)` minutes of the day, from later than to wraps over midnight (the day
    is that on which the span began). `weekdays` count from Monday 0, `days` from 1, negative from
    the end of the month; `months` from 1; `years` in full. All others are inclusive ranges.
    """

    minutes: tuple[tuple[int, int], ...] = ()
    weekdays: tuple[tuple[int, int], ...] = ()
    days: tuple[tuple[int, int], ...] = ()
    months: tuple[tuple[int, int], ...] = ()
    years: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class TimeInterval:
    """A named interval: inside when one of its spans fits the wall clock in `zone`."""

    name: str
    zone: str
    spans: tuple[Span, ...]
