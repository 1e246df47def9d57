"""What a world is, and wandering means that several worlds share."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.signal import lfilter

from benchmarks.alarms.scene import Scene
from monitor.profiles.arrays import Floats


@dataclass(frozen=True)
class World:
    """A kind of traffic. `generate(rng, days)` makes one stretch of it; the first day is a Monday.

    `bar` is the promise ratio it should hold (None: reported only).
    """

    name: str
    tells: str
    generate: Callable[[np.random.Generator, int], Scene]
    bar: float | None = None

    def random(self, seed: int, month: int, purpose: str) -> np.random.Generator:
        """The chance of one month of this world; other purposes and worlds are independent."""
        return np.random.default_rng((zlib.crc32(f"{self.name} {purpose}".encode()), seed, month))


def wandering(
    rng: np.random.Generator,
    shape: tuple[int, int],
    sd: float,
    memory: float,
    heavy_tails: bool = False,
) -> Floats:
    """Stationary first-order autoregression along the last axis, float64[shape].

    `sd` of each value, `memory` the correlation of neighbours; shocks are normal, or Student's t
    with 4 degrees of freedom.
    """
    shocks = rng.standard_t(4, shape) / np.sqrt(2) if heavy_tails else rng.standard_normal(shape)
    shocks[:, 1:] *= np.sqrt(1 - memory**2)
    return sd * np.asarray(lfilter([1.0], [1.0, -memory], shocks, axis=-1))
