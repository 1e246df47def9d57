"""When a number may be printed. Below a floor the outcome is TooFew with the number as provisional.

Provisional numbers are for people who ask; rules and charts read measured ones only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from monitor.checks.intervals import LEVEL
from monitor.measurement import Failed, Measured, Outcome, TooFew


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

    An undefined value (None) is TooFew with the reason `undefined` and the count that is short,
    the last such floor being the most telling; Failed when all floors hold. Never 0, never NaN.
    """
    told = dict(detail or {})
    short = [floor for floor in floors if floor.n < floor.needed]
    if value is None or not math.isfinite(value):
        if not short:
            return Failed(undefined, told)
        return TooFew(short[-1].n, short[-1].needed, undefined, told)
    if short:
        return TooFew(short[0].n, short[0].needed, short[0].what, {**told, "provisional": value})
    low, high = limits if limits is not None else (None, None)
    return Measured(value, n, low, high, None if limits is None else LEVEL, detail=told)
