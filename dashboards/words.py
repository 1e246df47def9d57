"""Numbers, times and untrusted names as text. Knows no Streamlit and no database."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pandas as pd

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!<>|~$:&^=@/\"'])")
# What the browser's Markdown replaces in finished text, where a backslash no longer helps: links
# it finds by itself, arrows, dashes and its own pictures. An invisible word joiner parts them.
_JOINER = "\u2060"
_ICON = re.compile(r":(?=material/|streamlit)", re.IGNORECASE)
_FOUND_LATER = re.compile(
    r":(?=//)|(?<=[wW]{3})(?=\.)|(?<=\w)(?=@)|(?<=@)(?=\w)"
    r"|(?<=[<\-])(?=-)|(?<=-)(?=>)|(?<=[<>~])(?==)"
)
_FORMULA = re.compile(r"\s*[=+\-@|%\uff1d\uff0b\uff0d\uff20]")
_SIGNED_NUMBER = re.compile(r"[+-][\d.][^=+*/|(@!]*$")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_SHARES = frozenset({"share", "probability", "rate"})
UNIT_WORDS = {
    "baseline_sd": "baseline standard deviations",
    "psi": "PSI units",
    "per_second": "a second",
    "squared_probability": "squared probability",
    "ratio": "",
    "column": "",
    "label": "label units",
    "distance": "",
    "share": "",
    "probability": "",
    "rate": "",
    "rating": "",
}
_COUNTED = frozenset(
    {"columns", "days", "hours", "labels", "requests", "rows", "seconds", "windows"}
)
RESPONSES = {
    "roll_back": "Roll back",
    "reduce_traffic": "Reduce traffic",
    "fall_back": "Fall back",
    "review_threshold": "Review the threshold",
    "retrain": "Retrain",
    "investigate": "Investigate",
}


def clean(text: str) -> str:
    """One line without control characters or marks that turn the direction of writing."""
    return _CONTROL.sub(" ", text).strip()


def escape(text: str) -> str:
    """Text from outside as Markdown that shows exactly it: no markup, maths, colours or icons."""
    parted = _ICON.sub(":" + _JOINER, clean(text))
    parted = _FOUND_LATER.sub(lambda found: found[0] + _JOINER, parted)
    return _MARKDOWN.sub(r"\\\1", parted)


def cell(text: str) -> str:
    """Text of a table's cell that no spreadsheet takes for a formula when the table is downloaded.

    An invisible word joiner stands before what would be one; a number keeps its sign as it is.
    """
    is_formula = _FORMULA.match(text) and not _SIGNED_NUMBER.match(text)
    return _JOINER + text if is_formula else text


def code(text: str) -> str:
    """Text from outside as a Markdown code span that shows exactly it, back-ticks included."""
    text = _ICON.sub(":" + _JOINER, clean(text)) or " "
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def plain(name: str) -> str:
    """A name of ours in words: `wasserstein distance`."""
    return name.replace("_", " ")


def whole(number: int | None) -> str:
    """A count or an id, digit for digit, in groups of three: 9,007,199,254,740,993."""
    return "–" if number is None else f"{int(number):,}"


def plural(number: int, word: str) -> str:
    """`1 page`, `2 pages`."""
    return f"{whole(number)} {word}{'' if number == 1 else 's'}"


def number(value: float | None, unit: str = "") -> str:
    """Four digits and the unit; a share as per cent; a dash for no number."""
    if value is None or pd.isna(value):
        return "–"
    if unit in _SHARES:
        return f"{value * 100:.3g} %" if abs(value) < 0.9995 else f"{value * 100:.4g} %"
    text = f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
    word = UNIT_WORDS.get(unit, clean(unit))
    if value == 1 and unit in _COUNTED:
        word = word.removesuffix("s")
    return f"{text} {word}".strip()


def interval(low: float | None, high: float | None, level: float | None, unit: str = "") -> str:
    """`95 % interval 0.90 to 0.93`, nothing without an interval."""
    if low is None or high is None or pd.isna(low) or pd.isna(high):
        return ""
    name = f"{level * 100:.3g} % interval" if level and not pd.isna(level) else "interval"
    kept = unit if unit in _SHARES else ""
    return f"{name} {number(low, kept)} to {number(high, kept)}"


def measured(
    value: float | None,
    low: float | None,
    high: float | None,
    level: float | None,
    n: int,
    unit: str = "",
) -> str:
    """A number as it must be told: with interval and n."""
    inner = interval(low, high, level, unit)
    return ", ".join(part for part in (number(value, unit), inner, f"n {whole(n)}") if part)


def moment(at: datetime | None, zone: ZoneInfo, *, seconds: bool = False) -> str:
    """`2026-11-29 14:00 UTC`; another zone is named after its wall-clock time."""
    if at is None or pd.isna(at):
        return "never"
    name = "UTC" if zone.key == "UTC" else zone.key
    form = "%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M"
    return f"{at.astimezone(zone).strftime(form)} {name}"


def span(start: datetime, end: datetime, zone: ZoneInfo) -> str:
    """A window: whole days by date, else with times."""
    first, last = start.astimezone(zone), end.astimezone(zone)
    if first.time() == last.time() == datetime.min.time():
        days = (last - timedelta(microseconds=1)).date()
        return f"{first.date()}" if first.date() == days else f"{first.date()} to {days}"
    return f"{first:%Y-%m-%d %H:%M} to {moment(end, zone)}"


def in_utc(at: datetime | None, zone: ZoneInfo, end: datetime | None = None) -> str | None:
    """A moment or a span in UTC, for a tooltip; None where it is told in UTC already."""
    if at is None or zone.key == "UTC":
        return None
    utc = ZoneInfo("UTC")
    told = moment(at, utc)
    return f"In UTC: {told} to {moment(end, utc)}" if end is not None else f"In UTC: {told}"


def ago(at: datetime | None, now: datetime) -> str:
    """`5 minutes ago`; a moment ahead of the clock says so."""
    if at is None:
        return "never"
    seconds = (now.astimezone(UTC) - at.astimezone(UTC)).total_seconds()
    if seconds < -60:
        return f"{_length(-seconds)} ahead of this clock"
    return f"{_length(seconds)} ago" if seconds >= 60 else "just now"


def length(seconds: float) -> str:
    """`6 hours`."""
    return _length(seconds)


def response(name: str) -> str:
    """A response in words."""
    return RESPONSES.get(name, clean(name.replace("_", " ")))


def _length(seconds: float) -> str:
    for unit, size in (("year", 31_557_600), ("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= size:
            return plural(int(seconds // size), unit)
    return plural(int(seconds), "second")
