"""U1: categories of 5, 50 and 500 words whose shares wander slowly and differ by time of day.

Nobody tunes on it.
"""

from __future__ import annotations

import numpy as np

from benchmarks.alarms.laws import CategoryLaw, zipf
from benchmarks.alarms.scene import LawScene, Scene, hour_of_day, is_weekend
from benchmarks.alarms.worlds.base import World
from monitor.profiles.arrays import Floats

SIZES = (5,) * 7 + (50,) * 7 + (500,) * 6
PULL = 0.05
ROWS_AN_HOUR = 300


def generate(rng: np.random.Generator, days: int) -> Scene:
    """Shares drift towards a Dirichlet draw of each hour; nights favour other words."""
    n_hours = days * 24
    night = 0.5 + 0.5 * np.cos(2 * np.pi * (hour_of_day(n_hours) - 3) / 24)
    laws = {
        f"c{place:02}_{n_words}": _law(rng, n_words, night) for place, n_words in enumerate(SIZES)
    }
    busy = (1.1 - 0.8 * night) * np.where(is_weekend(n_hours), 0.6, 1.0)
    return LawScene(rng.poisson(ROWS_AN_HOUR * busy), laws)


def _law(rng: np.random.Generator, n_words: int, night: Floats) -> CategoryLaw:
    day_shares = zipf(n_words, rng.uniform(0.8, 1.4))
    night_shares = day_shares * rng.lognormal(0.0, 0.5, n_words)
    night_shares /= night_shares.sum()
    wobble = rng.lognormal(np.log(0.002), 0.5)
    wandered = _wandered(rng, day_shares, wobble, len(night))
    weight = 0.5 * night[:, None]
    shares = wandered * ((1 - weight) + weight * night_shares / day_shares)
    shares /= shares.sum(axis=1, keepdims=True)
    return CategoryLaw(tuple(f"w{word:03}" for word in range(n_words)), shares)


def _wandered(rng: np.random.Generator, shares: Floats, wobble: float, n_hours: int) -> Floats:
    """Shares by hour, float64[n_hours, n_words]; `wobble` is their expected PSI to the usual ones.

    Each hour moves 5 % of the way to a fresh Dirichlet draw, whose concentration gives the wobble.
    """
    concentration = (len(shares) - 1) * PULL / (2 - PULL) / wobble
    drawn = rng.dirichlet(shares * concentration, n_hours)
    wandered = np.empty_like(drawn)
    now = shares
    for hour in range(n_hours):
        now = (1 - PULL) * now + PULL * drawn[hour]
        wandered[hour] = now
    return wandered


WORLDS = (World("U1", "categories of 5, 50 and 500 words with wandering shares", generate, 1.5),)
