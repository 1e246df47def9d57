"""When a number may be printed. Below a floor the outcome is TooFew with the number as provisional.

Provisional numbers are for people who ask; rules and charts read measured ones only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from monitor.checks.intervals import LEVEL
from monitor.measurement import Measured, Outcome, TooFew


@dataclass(frozen=True)
class Floor:
    """`n` rows of `what` are there, `needed` are wanted."""

    n: int
    needed: int
    what: str


def measured_above(
    floors: tuple[Floor, ...],
    value: float | None,
    n: int,
    limits: tuple[float, float] | None = None,
    detail: Mapping[str, Any] | None = None,
    undefined: str = "the ratio is 0/0",
) -> Outcome:
    """Measured when every floor holds and the value is defined, else TooFew naming what is short.

    An undefined value (None) is TooFew with the reason `undefined`: never 0, never NaN.
    """
    told = dict(detail or {})
    if value is None or not math.isfinite(value):
        return TooFew(n, max(1, *(floor.needed for floor in floors)), undefined, told)
    for floor in floors:
        if floor.n < floor.needed:
            return TooFew(floor.n, floor.needed, floor.what, {**told, "provisional": value})
    low, high = limits if limits is not None else (None, None)
    return Measured(value, n, low, high, None if limits is None else LEVEL, detail=told)
