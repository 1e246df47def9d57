"""Hours of days that a contract expects to be different: holidays and days named by hand.

Knows a contract's alarms and its time zone, no profiles and no clock.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from monitor.contract import Alarms
from monitor.holiday_days import holiday_days

HOUR = timedelta(hours=1)


def expected_hours(alarms: Alarms, zone: str, first: datetime, n: int) -> NDArray[np.bool_]:
    """Hours of days that are expected to be different, bool[n]."""
    if alarms.holidays is None and not alarms.expected_days:
        return np.zeros(n, bool)
    known, wanted = ZoneInfo(zone), frozenset(alarms.expected_days)
    days: dict[date, bool] = {}
    found = np.zeros(n, bool)
    for place in range(n):
        day = (first + place * HOUR).astimezone(known).date()
        if day not in days:
            country = alarms.holidays
            days[day] = day in wanted or (
                country is not None and day in holiday_days(country, day.year)
            )
        found[place] = days[day]
    return found
