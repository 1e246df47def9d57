"""Which days are expected to be different from others: public holidays and what hangs on them.

Knows calendars of countries (the `holidays` package), no models and no clock.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from functools import lru_cache

import holidays

DAY = timedelta(days=1)
_TUESDAY, _THURSDAY = 1, 3


@lru_cache(maxsize=1)
def _countries() -> dict[str, tuple[str, ...]]:
    known = holidays.list_supported_countries(include_aliases=True)
    return {country: tuple(parts) for country, parts in known.items()}


def is_known_country(written: str) -> bool:
    """Whether `US` or `US-NY` names a country, or a part of one, whose holidays are known."""
    country, _, part = written.partition("-")
    parts = _countries().get(country)
    return parts is not None and (not part or part in parts)


@lru_cache(maxsize=256)
def holiday_days(written: str, year: int) -> frozenset[date]:
    """Days of a year around public holidays: each with the day before and the day after.

    A holiday on a Thursday reaches to the Sunday after it, one on a Tuesday back to the Saturday
    before it, because the day between is taken off; where 25 December is a holiday, all of
    20 December to 2 January is.
    """
    country, _, part = written.partition("-")
    found: set[date] = set()
    for years in (year - 1, year, year + 1):
        known = holidays.country_holidays(country, subdiv=part or None, years=years)
        for day in known:
            found.update(_around(day))
    return frozenset(day for day in found if day.year == year)


def _around(day: date) -> Iterable[date]:
    before, after = 1, 1
    if (day.month, day.day) == (12, 25):
        before, after = 5, 8
    elif day.weekday() == _THURSDAY:
        after = 3
    elif day.weekday() == _TUESDAY:
        before = 3
    return (day + shift * DAY for shift in range(-before, after + 1))
