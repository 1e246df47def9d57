"""Outcomes of checks and the measurement that carries them. Pure.

NaN and infinity never cross a module border: a Measured value is finite or it is not made.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from monitor.windows import Window


class Direction(StrEnum):
    """Which way is bad."""

    HIGHER_IS_WORSE = "higher_is_worse"
    LOWER_IS_WORSE = "lower_is_worse"
    TWO_SIDED = "two_sided"


class MeasurementState(StrEnum):
    """How an attempt to measure ended."""

    MEASURED = "measured"
    TOO_FEW = "too_few"
    FAILED = "failed"


@dataclass(frozen=True)
class Measured:
    """A number with its meaning: interval `[low, high]` at `level`, n rows, reference rows."""

    value: float
    n: int
    low: float | None = None
    high: float | None = None
    level: float | None = None
    n_reference: int | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number in (self.value, self.low, self.high, self.level):
            if number is not None and not math.isfinite(number):
                raise AssertionError(
                    f"a measured number is finite, not {number}; return Failed or TooFew"
                )


@dataclass(frozen=True)
class TooFew:
    """Not enough to say anything: n there, `needed` wanted, of what."""

    n: int
    needed: int
    reason: str = "rows"
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Failed:
    """The measurement could not be made; the reason is for people."""

    reason: str
    detail: Mapping[str, Any] = field(default_factory=dict)


Outcome = Measured | TooFew | Failed


@dataclass(frozen=True)
class Subject:
    """What is measured: deployments, leg, segment, and a column where there is one."""

    deployment_ids: tuple[int, ...]
    leg: str
    segment_id: int = 0
    column: str = ""

    def __post_init__(self) -> None:
        if not self.deployment_ids:
            raise AssertionError("a measurement names the deployments it is about")
        object.__setattr__(self, "deployment_ids", tuple(sorted(self.deployment_ids)))


@dataclass(frozen=True)
class Measurement:
    """A stored outcome. `method_version` rises whenever any statistical choice changes."""

    check: str
    method: str
    method_version: int
    subject: Subject
    window: Window
    outcome: Outcome
    unit: str
    direction: Direction
    known_at: datetime
    baseline_id: int | None = None
