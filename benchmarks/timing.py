"""Runs contenders in turn, round after round, and says how they compare.

On a shared machine speed changes from minute to minute, so only ratios inside one round are
compared; each round starts with another contender. Must not know what is measured.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Run:
    """One timed run over some rows; `extra` holds whatever else was seen (milliseconds, CPU)."""

    seconds: float
    rows: int
    extra: Mapping[str, float] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Rows a second."""
        return self.rows / self.seconds


@dataclass(frozen=True)
class Spread:
    """Median and range of a figure over the rounds."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """From one value a round; at least one."""
        return cls(statistics.median(values), min(values), max(values))

    def as_json(self) -> dict[str, float]:
        """Rounded to five significant digits."""
        return {name: significant(value) for name, value in vars(self).items()}


@dataclass(frozen=True)
class Results:
    """Runs by contender, one a round, and the load average when each round began."""

    runs: Mapping[str, Sequence[Run]]
    loads: Sequence[float]

    def rate(self, name: str) -> Spread:
        """Rows a second."""
        return Spread.of([run.rate for run in self.runs[name]])

    def seconds(self, name: str) -> Spread:
        """Seconds a run."""
        return Spread.of([run.seconds for run in self.runs[name]])

    def extra(self, name: str, key: str) -> Spread:
        """A figure that the contender reported."""
        return Spread.of([run.extra[key] for run in self.runs[name]])

    def rate_ratio(self, name: str, base: str) -> Spread:
        """How many times the rows a second of `base`, compared round by round."""
        pairs = zip(self.runs[name], self.runs[base], strict=True)
        return Spread.of([one.rate / other.rate for one, other in pairs])

    def time_ratio(self, name: str, base: str) -> Spread:
        """How many times the seconds of `base`, compared round by round."""
        pairs = zip(self.runs[name], self.runs[base], strict=True)
        return Spread.of([one.seconds / other.seconds for one, other in pairs])

    def as_json(self) -> dict[str, Any]:
        """Every run of every contender."""
        return {
            "load_average": [round(load, 2) for load in self.loads],
            "runs": {name: [_run_json(run) for run in runs] for name, runs in self.runs.items()},
        }


def alternate(
    contenders: Mapping[str, Callable[[], Run]],
    rounds: int,
    tell: Callable[[int, str], None],
) -> Results:
    """Run every contender once a round; `tell` hears the round and name before each run."""
    names = list(contenders)
    runs: dict[str, list[Run]] = {name: [] for name in names}
    loads = []
    for number in range(rounds):
        loads.append(os.getloadavg()[0])
        first = number % len(names)
        for name in names[first:] + names[:first]:
            tell(number + 1, name)
            runs[name].append(contenders[name]())
    return Results(runs, loads)


def significant(value: float, digits: int = 5) -> float:
    """A number rounded to some significant digits."""
    return float(f"{value:.{digits}g}")


def _run_json(run: Run) -> dict[str, float]:
    extra = {name: significant(value) for name, value in run.extra.items()}
    return {"seconds": significant(run.seconds), "rows": run.rows, **extra}
