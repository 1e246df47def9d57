"""Days and months of a contract's time zone as UTC windows. Pure.

A day may be 23 or 25 hours long. Zones whose offset is no whole hour begin their day at the UTC
hour before, because profiles are kept by whole UTC hours.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from monitor.windows import Grain, Window, require_utc


def local_day(moment: datetime, zone: str) -> Window:
    """The calendar day of the zone that holds the moment."""
    day = require_utc(moment).astimezone(ZoneInfo(zone)).date()
    window = Window(_midnight(day, zone), _midnight(day + timedelta(days=1), zone))
    if moment < window.start:  # only in zones with half hours: the day began within this hour
        return local_day(window.start - timedelta(hours=2), zone)
    return window if moment < window.end else local_day(window.end + timedelta(hours=2), zone)


def local_month(moment: datetime, zone: str) -> Window:
    """The calendar month of the zone that holds the moment's day."""
    inside = local_day(moment, zone)
    day = (inside.start + (inside.end - inside.start) / 2).astimezone(ZoneInfo(zone)).date()
    first = day.replace(day=1)
    following = (first + timedelta(days=32)).replace(day=1)
    return Window(_midnight(first, zone), _midnight(following, zone))


def _midnight(day: date, zone: str) -> datetime:
    local = datetime.combine(day, time(), tzinfo=ZoneInfo(zone))
    return Window.holding(local.astimezone(UTC), Grain.HOUR).start


def local_week(moment: datetime, zone: str) -> Window:
    """The week of the zone, Monday to Sunday, that holds the moment."""
    inside = local_day(moment, zone)
    day = (inside.start + (inside.end - inside.start) / 2).astimezone(ZoneInfo(zone)).date()
    monday = day - timedelta(days=day.weekday())
    return Window(_midnight(monday, zone), _midnight(monday + timedelta(days=7), zone))
