"""S7 to S9: S3 with something ordinary that its reference weeks don't show. Reported only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.alarms.laws import Normal, NumberLaw
from benchmarks.alarms.scene import REFERENCE_DAYS, LawScene, Scene
from benchmarks.alarms.worlds.base import World
from benchmarks.alarms.worlds.seasonal import SEASONS, number_scene

HOLIDAY_MOVES, HOLIDAY_TRAFFIC = 0.3, 0.5
REPEATED_HOURS, REPEATED_ROWS = 0.02, 0.3


def holiday(rng: np.random.Generator, days: int) -> Scene:
    """One working day of the test weeks has half the traffic and every mean moved."""
    scene = number_scene(SEASONS["S3"], rng, days)
    hours = _stretch(rng, days, 1)
    moved = {
        name: NumberLaw(Normal(_moved(law.numbers.mean, hours)))  # type: ignore[attr-defined]
        for name, law in scene.laws.items()
    }
    return replace(_scaled(scene, hours, HOLIDAY_TRAFFIC), laws=moved)


def half_traffic(rng: np.random.Generator, days: int) -> Scene:
    """A week of the test weeks has half the traffic and nothing else."""
    scene = number_scene(SEASONS["S3"], rng, days)
    return _scaled(scene, _stretch(rng, days, 7), 0.5)


def repeated_batches(rng: np.random.Generator, days: int) -> Scene:
    """In one of fifty test hours 30 % of the rows arrive twice."""
    scene = number_scene(SEASONS["S3"], rng, days)
    n_hours = days * 24
    repeated = np.where(rng.random(n_hours) < REPEATED_HOURS, REPEATED_ROWS, 0.0)
    repeated[: REFERENCE_DAYS * 24] = 0.0
    return replace(scene, repeated=repeated)


def _stretch(rng: np.random.Generator, days: int, length: int) -> slice:
    first = int(rng.integers(REFERENCE_DAYS, days - length))
    return slice(first * 24, (first + length) * 24)


def _scaled(scene: LawScene, hours: slice, factor: float) -> LawScene:
    volumes = scene.volumes.copy()
    volumes[hours] = np.rint(volumes[hours] * factor)
    return replace(scene, volumes=volumes)


def _moved(mean: np.ndarray, hours: slice) -> np.ndarray:
    mean = mean.copy()
    mean[hours] += HOLIDAY_MOVES
    return mean


WORLDS = (
    World("S7", "as S3 with a holiday in the test weeks", holiday),
    World("S8", "as S3 with half the traffic for a week", half_traffic),
    World("S9", "as S3 with batches that arrive twice", repeated_batches),
)
