"""What every part of a contract is made of: frozen models and durations. Pure."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer

MAX_NAME_LENGTH = 200

_DURATION = re.compile(r"\s*(\d+)\s*(s|m|h|d|w)\s*", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def parse_duration(value: Any) -> timedelta:
    """`90s`, `10m`, `6h`, `7d`, `2w` as a timedelta; raises ValueError on anything else."""
    if isinstance(value, timedelta):
        return value
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None or len(match[1]) > 10:
        raise ValueError(f"{value!r} is not a duration; write for example 90s, 10m, 6h, 7d or 2w")
    return timedelta(seconds=int(match[1]) * _SECONDS[match[2]])


def format_duration(value: timedelta) -> str:
    """The shortest form that `parse_duration` reads back: the largest unit that fits exactly."""
    seconds = int(value.total_seconds())
    unit = next(unit for unit in "wdhms" if seconds % _SECONDS[unit] == 0)
    return f"{seconds // _SECONDS[unit]}{unit}"


Duration = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, when_used="json"),
]


class Frozen(BaseModel):
    """A part of a contract: never changed, and a key that it does not know is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")
