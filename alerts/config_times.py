"""The section `times` of alerts.yaml: named intervals of wall-clock time, read and checked.

times:
  - name: nights
    zone: Europe/Berlin               # default UTC
    spans:                            # inside when one of them fits
      - times: ["22:00-06:00"]        # wraps over midnight; 24:00 is the end of a day
        weekdays: [mon-fri, sun]      # the day on which the span began
        days: [1-7, -1]               # of the month; negative from its end, "-7 to -1"
        months: [nov-feb]
        years: [2026-2027]
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import yaml

from alerts.times import MINUTES_OF_DAY, Span, TimeInterval
from alerts.yaml_source import Section, describe, did_you_mean, section

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOCKS = re.compile(r"(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})")
_WHOLE = re.compile(r"(-?\d{1,4})(?:\s*(?:-|to)\s*(-?\d{1,4}))?")
_KEYS = ("times", "weekdays", "days", "months", "years")

Pair = tuple[int, int]


def read_times(sections: Sequence[Section]) -> list[TimeInterval]:
    """All intervals whose names were checked; unusable ones are left out, reported."""
    read = [_read_interval(each) for each in sections]
    return [interval for interval in read if interval is not None]


def _read_interval(each: Section) -> TimeInterval | None:
    zone = _read_zone(each)
    spans = each.items("spans", lambda node, place: _read_span(each, node, place))
    if each.get("spans") is None:
        each.missing("spans", 'list at least one, such as {times: ["22:00-06:00"]}')
    each.finish()
    name = each.raw_text("name")
    return TimeInterval(name, zone, tuple(spans)) if zone and spans and name else None


def _read_zone(each: Section) -> str | None:
    zone = each.text("zone", limit=100) if each.get("zone") is not None else "UTC"
    if zone is None:
        return None
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        hint = did_you_mean(zone, available_timezones())
        each.complain("zone", f"no time zone is called {zone!r}{hint or '; write Europe/Berlin'}")
        return None
    return zone


def _read_span(each: Section, node: yaml.Node, place: str) -> Span | None:
    span = section(node, place, each.problems)
    if span is None:
        return None
    if not any(span.get(name) is not None for name in _KEYS):
        span.problems.add(node, place, f"needs at least one of {', '.join(_KEYS)}")
    read = Span(
        minutes=_pairs(span, "times", _clocks),
        weekdays=_pairs(span, "weekdays", _words(WEEKDAYS, 0)),
        days=_pairs(span, "days", _days),
        months=_pairs(span, "months", _words(MONTHS, 1)),
        years=_pairs(span, "years", _years),
    )
    span.finish()
    return read


def _pairs(span: Section, name: str, read: Callable[[str], Pair]) -> tuple[Pair, ...]:
    """The ranges under a key, each on its own; `read` raises ValueError with what is wrong."""

    def one(node: yaml.Node, place: str) -> Pair | None:
        if not isinstance(node, yaml.ScalarNode):
            span.problems.add(node, place, f"must be text, got {describe(node)}")
            return None
        try:
            return read(str(node.value).strip().lower())
        except ValueError as error:
            span.problems.add(node, place, str(error))
            return None

    found = span.items(name, one)
    node = span.get(name)
    if isinstance(node, yaml.SequenceNode) and not node.value:
        span.complain(name, "lists nothing; leave it out, or list what must fit")
    return tuple(found)


def _clocks(text: str) -> Pair:
    parts = _CLOCKS.fullmatch(text)
    if parts is None:
        raise ValueError(f'must be a span such as "22:00-06:00", in quotes, got {text!r}')
    hours = (int(parts[1]), int(parts[3]))
    minutes = (int(parts[2]), int(parts[4]))
    start, end = (hour * 60 + minute for hour, minute in zip(hours, minutes, strict=True))
    if max(minutes) > 59 or start >= MINUTES_OF_DAY or end > MINUTES_OF_DAY:
        raise ValueError(f"a day runs from 00:00 to 24:00, got {text!r}")
    if end in (start, 0):
        raise ValueError(f"must not be empty, got {text!r}; write 24:00 for the end of a day")
    return start, end


def _words(known: Sequence[str], first: int) -> Callable[[str], Pair]:
    """A reader of one word of a list, or two with a dash between them, as numbers from `first`."""

    def read(text: str) -> Pair:
        start, dash, end = (part.strip() for part in text.partition("-"))
        for word in (start, end) if dash else (start,):
            if word not in known:
                hint = did_you_mean(word, known)
                raise ValueError(f"must be of {', '.join(known)}, got {word!r}{hint}")
        low = known.index(start) + first
        return low, (known.index(end) + first if dash else low)

    return read


def _days(text: str) -> Pair:
    first, last = _whole(text, "a day of the month such as 1, 1-7, -1 or -7 to -1")
    for day in (first, last):
        if not 1 <= abs(day) <= 31:
            raise ValueError(f"a month has the days 1 to 31, or -31 to -1 from its end, got {day}")
    if (first > 0) == (last > 0) and first > last:
        raise ValueError(f"must not end before it begins, got {text!r}")
    return first, last


def _years(text: str) -> Pair:
    first, last = _whole(text, "a year such as 2026 or 2026-2027")
    if not 1970 <= first <= last <= 9999:
        raise ValueError(f"must lie within 1970 to 9999 and not end before it begins, got {text!r}")
    return first, last


def _whole(text: str, what: str) -> Pair:
    parts = _WHOLE.fullmatch(text)
    if parts is None:
        raise ValueError(f"must be {what}, got {text!r}")
    return int(parts[1]), int(parts[2] or parts[1])
