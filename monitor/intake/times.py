"""RFC 3339 times as sent, into microseconds since 1970 UTC. A time without a zone is never guessed.

Accepted: `2013-09-01T13:00:00Z`, with `t` or a space for `T`, 1 to 9 fractional digits (cut to
microseconds, not rounded), `Z`, `z`, `+hh:mm` or `+hhmm`. Years 1 to 9999. Numbers are not times.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MICROSECOND = pa.timestamp("us", tz="UTC")
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - naive on purpose: offsets are applied as integers
_LOWEST = -62_135_596_800_000_000  # 0001-01-01T00:00:00Z
_HIGHEST = 253_402_300_799_999_999  # 9999-12-31T23:59:59.999999Z
_DAY = 86_400_000_000
FEW = 24  # texts; below that plain Python is quicker than Arrow's kernels

_DAY_AND_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d"
_SHORT = rf"^{_DAY_AND_TIME}(\.\d{{1,6}})?(Z|[+-]\d\d:?\d\d)$"
_LONG = rf"^{_DAY_AND_TIME}(\.\d{{1,9}})?(Z|[+-]\d\d:?\d\d)$"
_ONE = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:([Zz])|([+-])(\d\d):?(\d\d))?",
    re.ASCII,
)


class TimeFault(IntEnum):
    """Why a text is no moment."""

    NONE = 0
    BAD = 1
    WITHOUT_ZONE = 2


@dataclass(frozen=True)
class Times:
    """Moments of n texts: microseconds since 1970 UTC, and a TimeFault each (0: all is well)."""

    micros: np.ndarray[Any, np.dtype[np.int64]]
    faults: np.ndarray[Any, np.dtype[np.uint8]]


def parse_times(texts: pa.StringArray) -> Times:
    """Read n texts; null entries give 0 without a fault, callers know their nulls."""
    if len(texts) == 0 or texts.null_count == len(texts):
        return Times(np.zeros(len(texts), "i8"), np.zeros(len(texts), "u1"))
    few = len(texts) <= FEW  # making the patterns ready costs more than reading a few texts
    return (None if few else _all_at_once(texts)) or _one_by_one(texts)


def read_moment(text: str) -> int | TimeFault:
    """One text as microseconds since 1970 UTC, or the fault."""
    found = _ONE.fullmatch(text)
    if found is None:
        return TimeFault.BAD
    day, clock, fraction, utc, sign, hours, minutes = found.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}")
    except ValueError:
        return TimeFault.BAD
    if utc is None and sign is None:
        return TimeFault.WITHOUT_ZONE
    if hours is not None and (int(hours) > 23 or int(minutes) > 59):
        return TimeFault.BAD
    shift = (int(hours) * 60 + int(minutes)) * (1 if sign == "+" else -1) if hours else 0
    since = moment - _EPOCH
    micros = (since.days * 86_400 + since.seconds - shift * 60) * 1_000_000
    micros += int((fraction or "0")[:6].ljust(6, "0"))
    return micros if _LOWEST <= micros <= _HIGHEST else TimeFault.BAD


def micros_of(moment: datetime) -> int:
    """Microseconds since 1970 of an aware moment, exactly."""
    since = moment.astimezone(UTC).replace(tzinfo=None) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _all_at_once(texts: pa.StringArray) -> Times | None:
    """The usual case, vectorised; None when a text needs a closer look."""
    if not pc.all(pc.match_substring_regex(texts, _SHORT)).as_py():
        if not pc.all(pc.match_substring_regex(texts, _LONG)).as_py():
            return None
        texts = pc.replace_substring_regex(texts, r"(\.\d{6})\d{1,3}", r"\1")
    try:
        micros = texts.cast(MICROSECOND).cast(pa.int64()).fill_null(0).to_numpy()
    except pa.ArrowInvalid:
        return None
    if micros.min() < _LOWEST + _DAY or micros.max() > _HIGHEST:  # an offset can reach year 0
        return None
    return Times(micros, np.zeros(len(texts), "u1"))


def _one_by_one(texts: pa.StringArray) -> Times:
    micros, faults = np.zeros(len(texts), "i8"), np.zeros(len(texts), "u1")
    for place, text in enumerate(texts.to_pylist()):
        if text is None:
            continue
        read = read_moment(text)
        if isinstance(read, TimeFault):
            faults[place] = read
        else:
            micros[place] = read
    return Times(micros, faults)
