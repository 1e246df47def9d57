"""Twenty shapes of a value that crosses its threshold again and again, and what is true of them.

A shape is a day of windows of 15 minutes: a level (what is really the matter) and what is measured.
A real incident is a level over the threshold for an hour or more; it is known to the shape, not to
any alerting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

THRESHOLD, WINDOWS, LEAST_INCIDENT = 0.2, 96, 4
GOOD, BAD = 0.1, 0.3

Levels = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True)
class Shape:
    """`values` are measured, None where a window had no data; `incidents` are `[first, last)`."""

    name: str
    values: tuple[float | None, ...]
    incidents: tuple[tuple[int, int], ...]

    @property
    def breaches(self) -> int:
        """Windows whose measured value is over the threshold."""
        return sum(value is not None and value > THRESHOLD for value in self.values)


def shapes(seed: int) -> tuple[Shape, ...]:
    """All twenty, drawn with this seed."""
    rng = np.random.default_rng(seed)
    return tuple(_shape(name, make, rng) for name, make in _MAKERS.items())


Maker = Callable[[np.random.Generator], tuple[Levels, Sequence[float | None]]]


def _shape(name: str, make: Maker, rng: np.random.Generator) -> Shape:
    level, values = make(rng)
    measured = tuple(None if value is None else round(float(value), 4) for value in values)
    return Shape(name, measured, incidents_of(level))


def incidents_of(level: Levels) -> tuple[tuple[int, int], ...]:
    """Runs of windows whose level is over the threshold for long enough."""
    over = np.flatnonzero(np.diff(np.concatenate(([0], level > THRESHOLD, [0]))))
    runs = zip(over[::2].tolist(), over[1::2].tolist(), strict=True)
    return tuple((first, last) for first, last in runs if last - first >= LEAST_INCIDENT)


def _flat(level: float) -> Levels:
    return np.full(WINDOWS, level)


def _steps(*pieces: tuple[int, float]) -> Levels:
    """Levels one after the other: (windows, level); the last one fills the day."""
    parts = [np.full(length, level) for length, level in pieces]
    joined = np.concatenate(parts)
    rest = np.full(max(0, WINDOWS - len(joined)), pieces[-1][1])
    return np.concatenate((joined, rest))[:WINDOWS]


def _exact(level: Levels) -> tuple[Levels, list[float]]:
    return level, level.tolist()


def _noisy(level: Levels, sd: float, rng: np.random.Generator) -> tuple[Levels, list[float]]:
    return level, (level + rng.normal(0.0, sd, WINDOWS)).tolist()


def _pattern(*values: float) -> tuple[Levels, list[float]]:
    """A pattern repeated over the day; what is really the matter is its mean."""
    repeated = np.resize(np.array(values), WINDOWS)
    return _flat(float(np.mean(values))), repeated.tolist()


def _wave(period: int) -> tuple[Levels, list[float]]:
    return _exact(THRESHOLD + 0.05 * np.sin(2 * np.pi * (np.arange(WINDOWS) + 0.25) / period))


def _walk(rng: np.random.Generator) -> tuple[Levels, list[float]]:
    steps = rng.normal(0.0, 0.02, WINDOWS)
    return _exact(np.clip(0.18 + np.cumsum(steps), 0.0, 0.6))


def _gaps(rng: np.random.Generator) -> tuple[Levels, list[float | None]]:
    level = _steps((30, GOOD), (30, BAD), (36, GOOD))
    lost = rng.random(WINDOWS) < 0.4
    return level, [None if gone else value for gone, value in zip(lost, level, strict=True)]


def _feed_lost() -> tuple[Levels, list[float | None]]:
    """The incident goes on while no data comes, and is over when it comes again."""
    level = _steps((20, GOOD), (40, BAD), (36, GOOD))
    return level, [None if 28 <= at < 56 else value for at, value in enumerate(level)]


def _bursts() -> tuple[Levels, list[float]]:
    values = _flat(GOOD)
    for start in (10, 40, 70):
        values[start : start + 8 : 2] = BAD
    return _flat(GOOD), values.tolist()


_MAKERS: dict[str, Maker] = {
    "clear all day": lambda rng: _noisy(_flat(GOOD), 0.01, rng),
    "breaching all day": lambda rng: _noisy(_flat(BAD), 0.01, rng),
    "one spike": lambda _: (_flat(GOOD), _steps((40, GOOD), (1, 0.9), (1, GOOD)).tolist()),
    "alternating": lambda _: _pattern(BAD, GOOD),
    "alternating in pairs": lambda _: _pattern(BAD, BAD, GOOD, GOOD),
    "one of four": lambda _: _pattern(BAD, GOOD, GOOD, GOOD),
    "three of four": lambda _: _pattern(BAD, BAD, BAD, GOOD),
    "noise at the threshold": lambda rng: _noisy(_flat(0.199), 0.01, rng),
    "noise under it": lambda rng: _noisy(_flat(0.17), 0.02, rng),
    "noise over it": lambda rng: _noisy(_flat(0.23), 0.02, rng),
    "quick wave": lambda _: _wave(6),
    "slow wave": lambda _: _wave(32),
    "random walk": _walk,
    "slow ramp": lambda rng: _noisy(np.linspace(0.1, 0.3, WINDOWS), 0.02, rng),
    "step and back": lambda rng: _noisy(_steps((30, GOOD), (24, BAD), (42, GOOD)), 0.02, rng),
    "two incidents": lambda rng: _noisy(
        _steps((20, GOOD), (12, BAD), (6, GOOD), (12, BAD), (46, GOOD)), 0.02, rng
    ),
    "incident in noise": lambda rng: _noisy(_steps((40, 0.17), (16, 0.3), (40, 0.17)), 0.04, rng),
    "bursts of spikes": lambda _: _bursts(),
    "incident with gaps": _gaps,
    "incident and lost feed": lambda _: _feed_lost(),
}
