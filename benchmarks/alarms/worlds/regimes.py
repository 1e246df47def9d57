"""U2: two kinds of traffic, mixed by weekday, hour and bursts, seen by columns of many kinds.

All columns move together when the mix does. Nobody tunes on it.
"""

from __future__ import annotations

import numpy as np

from benchmarks.alarms.laws import (
    CategoryLaw,
    Law,
    Lognormal,
    Mixed,
    Normal,
    NumberLaw,
    with_missing,
    with_zeros,
    zipf,
)
from benchmarks.alarms.scene import LawScene, Scene, hour_of_day, is_weekend
from benchmarks.alarms.worlds.base import World, wandering
from monitor.profiles.arrays import Floats

ROWS_AN_HOUR = 200
BURSTS_A_WEEK = 3
BURST_HOURS = (2, 6)
BURST_TRAFFIC, BURST_MIX = 2.5, 0.2
N_AMOUNTS, N_SPARSE, N_PARTIAL, N_KINDS = 8, 5, 4, 3


def generate(rng: np.random.Generator, days: int) -> Scene:
    """Bursts come in reference and test weeks alike: they are ordinary here."""
    n_hours = days * 24
    burst = _bursts(rng, n_hours)
    weight = _mix(rng, n_hours, burst)
    wave = np.sin(2 * np.pi * (hour_of_day(n_hours) - 9) / 24)
    laws: dict[str, Law] = {}
    for place in range(N_AMOUNTS):
        laws[f"amount_{place}"] = NumberLaw(_amounts(rng, weight))
    for place in range(N_SPARSE):
        zeros = rng.uniform(0.3, 0.8) + 0.08 * wave
        laws[f"sparse_{place}"] = NumberLaw(with_zeros(_amounts(rng, weight), zeros))
    for place in range(N_PARTIAL):
        missing = rng.uniform(0.02, 0.1) * (1.5 - 0.5 * wave)
        laws[f"partial_{place}"] = NumberLaw(with_missing(_amounts(rng, weight), missing))
    for place in range(N_KINDS):
        laws[f"kind_{place}"] = _kinds(rng, weight)
    busy = (1 + 0.7 * wave) * np.where(is_weekend(n_hours), 0.7, 1.0)
    return LawScene(rng.poisson(ROWS_AN_HOUR * busy * np.where(burst, BURST_TRAFFIC, 1.0)), laws)


def _bursts(rng: np.random.Generator, n_hours: int) -> np.ndarray:
    burst = np.zeros(n_hours, bool)
    for start in rng.integers(0, n_hours, rng.poisson(BURSTS_A_WEEK * n_hours / 168)):
        burst[start : start + rng.integers(*BURST_HOURS)] = True
    return burst


def _mix(rng: np.random.Generator, n_hours: int, burst: np.ndarray) -> Floats:
    """Share of the second kind of traffic in each hour: higher from Friday on, and in bursts."""
    late_week = np.arange(n_hours) // 24 % 7 >= 4
    usual = np.where(late_week, 0.55, 0.25) + 0.1 * np.cos(2 * np.pi * hour_of_day(n_hours) / 24)
    logit = np.log(usual / (1 - usual)) + wandering(rng, (1, n_hours), 0.1, 0.9)[0]
    return np.clip(1 / (1 + np.exp(-logit)) + BURST_MIX * burst, 0.0, 1.0)


def _amounts(rng: np.random.Generator, weight: Floats) -> Mixed:
    middle, apart, sd = rng.normal(3, 1), rng.uniform(0.2, 0.8), rng.uniform(0.4, 0.8)
    first, second = (
        Lognormal(Normal(np.full(len(weight), place), sd)) for place in (middle, middle + apart)
    )
    return Mixed(weight, first, second)


def _kinds(rng: np.random.Generator, weight: Floats) -> CategoryLaw:
    first = zipf(10, 1.0)
    second = 0.6 * first + 0.4 * rng.permutation(first)
    shares = (1 - weight[:, None]) * first + weight[:, None] * second
    return CategoryLaw(tuple(f"k{word}" for word in range(10)), shares)


WORLDS = (World("U2", "two kinds of traffic mixed by weekday and bursts", generate, 1.5),)
