"""The fault the demo plants, openly: one number column of one deployment arrives scaled. Pure."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitor.demo.flights import NUMBER_FEATURES
from monitor.errors import ConfigurationError, Problem

FIRST_DAY = date(2013, 4, 1)
LAST_DAY = date(2013, 12, 31)
ROLLOUT = date(2013, 9, 1)
DEFAULT_PLANT = "distance*1.609344@2013-09-01"
NO_PLANT = "none"

_FORM = re.compile(r"([a-z_]+)\*([-+0-9.eE]+)@(\d{4}-\d{2}-\d{2})", re.ASCII)


@dataclass(frozen=True)
class Plant:
    """Column `column` arrives multiplied by `factor` from the New York day `start` on."""

    column: str
    factor: float
    start: date

    def __str__(self) -> str:
        return f"{self.column}*{self.factor:g}@{self.start}"

    def apply(self, values: NDArray[Any], days: NDArray[np.datetime64]) -> NDArray[Any]:
        """The column as the faulty deployment sees it; `days` are the requests' New York days."""
        return np.where(days >= np.datetime64(self.start), values * self.factor, values)


def parse_plant(text: str) -> Plant | None:
    """Read `COLUMN*FACTOR@DATE`, or `none`; raises ConfigurationError naming every mistake."""
    if text.strip().lower() == NO_PLANT:
        return None
    match = _FORM.fullmatch(text.strip())
    if match is None:
        wanted = f"write COLUMN*FACTOR@DATE, for example {DEFAULT_PLANT}, or {NO_PLANT}"
        raise ConfigurationError("--plant", [Problem(repr(text[:80]), wanted)])
    factor, start = _factor(match[2]), _day(match[3])
    problems = [
        *_column_problems(match[1]),
        *([factor] if isinstance(factor, Problem) else []),
        *([start] if isinstance(start, Problem) else []),
    ]
    if problems or isinstance(factor, Problem) or isinstance(start, Problem):
        raise ConfigurationError("--plant", problems)
    return Plant(match[1], factor, start)


def rollout_day(plant: Plant | None) -> date:
    """The New York day from which three deployments serve: 1 September, or earlier for a fault."""
    return ROLLOUT if plant is None else min(ROLLOUT, plant.start)


def _column_problems(column: str) -> list[Problem]:
    if column in NUMBER_FEATURES:
        return []
    known = ", ".join(NUMBER_FEATURES)
    return [Problem(column, f"not a number column of the model; choose one of {known}")]


def _factor(text: str) -> float | Problem:
    try:
        factor = float(text)
    except ValueError:
        return Problem(text, "the factor is not a number; write for example 1.609344")
    if not math.isfinite(factor) or factor == 1:
        return Problem(text, "the factor is a finite number other than 1, which changes nothing")
    return factor


def _day(text: str) -> date | Problem:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return Problem(text, "not a day of the calendar; write for example 2013-09-01")
    if not FIRST_DAY <= day <= LAST_DAY:
        return Problem(text, f"outside the replay; choose a day from {FIRST_DAY} to {LAST_DAY}")
    return day
