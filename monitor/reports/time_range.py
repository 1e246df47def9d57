"""Days that a person chooses in their own zone, as one half-open UTC window. Pure.

Every report takes that window and counts what starts in it, so that tables, charts and counters of
one page agree.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from monitor.windows import Window, require_utc

DEFAULT_DAYS = 30
RANGES = {"24h": timedelta(hours=24), "7d": timedelta(days=7), "30d": timedelta(days=30)}
DEFAULT_RANGE = "30d"
MAX_DAYS = 731


def zone_of(name: str | None) -> ZoneInfo:
    """The zone of this name; UTC when there is none of it, because a page must still be drawn."""
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


def window_of_days(first: date, last: date, zone: ZoneInfo) -> Window:
    """From the local midnight that begins `first` to the one that ends `last`.

    A day lasts 23 or 25 hours where the clocks change. Days in the wrong order are swapped; more
    than MAX_DAYS keep the newest.
    """
    first, last = min(first, last), max(first, last)
    first = max(first, last - timedelta(days=MAX_DAYS - 1))
    return Window(_midnight(first, zone), _midnight(last + timedelta(days=1), zone))


def days_of(window: Window, zone: ZoneInfo) -> tuple[date, date]:
    """The first and the last local day that the window touches."""
    last_moment = window.end - timedelta(microseconds=1)
    return window.start.astimezone(zone).date(), last_moment.astimezone(zone).date()


def last_days(end: datetime, zone: ZoneInfo, days: int = DEFAULT_DAYS) -> Window:
    """The window of whole local days whose last one holds the moment just before `end`."""
    last = (require_utc(end) - timedelta(microseconds=1)).astimezone(zone).date()
    return window_of_days(last - timedelta(days=days - 1), last, zone)


def newest_range(end: datetime, zone: ZoneInfo, name: str) -> Window:
    """One of RANGES up to `end`, in whole local days.

    24 hours reach back into the day before: its measurements belong to the moment it began, so half
    of it would show none of them.
    """
    if RANGES[name] < timedelta(days=2):
        first = (require_utc(end) - RANGES[name]).astimezone(zone).date()
        last = (end - timedelta(microseconds=1)).astimezone(zone).date()
        return window_of_days(first, last, zone)
    return last_days(end, zone, RANGES[name].days)


def parse_day(text: str | None) -> date | None:
    """A day written as 2024-03-09, None for anything else."""
    try:
        day = date.fromisoformat(text) if text and len(text) == 10 else None
    except ValueError:
        return None
    return day if day is not None and 1970 <= day.year <= 2200 else None


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), tzinfo=zone).astimezone(UTC)
