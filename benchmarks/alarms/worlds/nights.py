"""U3: few rows, nights of 0 to 3 an hour, and rows that come in visits of the same entity.

Rows of a visit resemble each other, so an hour holds fewer independent rows than it counts. Nobody
tunes on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.alarms.binning import counted_rows
from benchmarks.alarms.laws import zipf
from benchmarks.alarms.scene import (
    REFERENCE_HOURS,
    TIME,
    Counted,
    Scene,
    hour_of_day,
    is_weekend,
    times,
)
from benchmarks.alarms.worlds.base import World
from monitor.profiles.arrays import Floats, Integers

N_ENTITIES = 400
ROWS_A_VISIT = 2.0
DAY_VISITS, NIGHT_ROWS, MOST_NIGHT_ROWS = 20.0, 1.0, 3
OPEN_HOURS = (7, 21)
N_NUMBERS, N_TALLIES, N_KINDS, N_WORDS = 12, 3, 5, 8
KEEPS_FAVOURITE = 0.5


@dataclass(frozen=True, eq=False)
class VisitScene:
    """Rows by hour and entity, int64[n_rows] each, in order of hours."""

    hours: Integers
    entities: Integers
    n_hours: int
    seed: int

    def counted(self, rng: np.random.Generator) -> tuple[Counted, ...]:
        """See Scene: the rows, counted as the product counts them."""
        return counted_rows(self.table(rng), REFERENCE_HOURS, self.n_hours)

    def table(self, rng: np.random.Generator) -> pa.Table:
        """See Scene; entities keep their ways from `seed`, whatever chance the rows have."""
        ways = np.random.default_rng(self.seed)
        columns = {}
        for place in range(N_NUMBERS):
            columns[f"n{place:02}"] = pa.array(self._numbers(ways, rng))
        for place in range(N_TALLIES):
            rate = ways.lognormal(0.5, 0.4, N_ENTITIES)
            columns[f"tally_{place}"] = pa.array(rng.poisson(rate[self.entities]))
        for place in range(N_KINDS):
            columns[f"kind_{place}"] = self._kinds(ways, rng)
        return pa.table({TIME: times(rng, self.hours), **columns})

    def _numbers(self, ways: np.random.Generator, rng: np.random.Generator) -> Floats:
        own = ways.normal(0, ways.uniform(0.3, 0.8), N_ENTITIES)
        phase, size = ways.uniform(0, 24), ways.uniform(0, 0.4)
        season = size * np.sin(2 * np.pi * (self.hours % 24 + phase) / 24)
        return np.asarray(season + own[self.entities] + rng.standard_normal(len(self.hours)))

    def _kinds(self, ways: np.random.Generator, rng: np.random.Generator) -> pa.Array:
        shares = zipf(N_WORDS)
        favourite = ways.choice(N_WORDS, N_ENTITIES, p=shares)[self.entities]
        other = rng.choice(N_WORDS, len(self.hours), p=shares)
        chosen = np.where(rng.random(len(self.hours)) < KEEPS_FAVOURITE, favourite, other)
        return pa.array([f"k{word}" for word in range(N_WORDS)]).take(pa.array(chosen))


def generate(rng: np.random.Generator, days: int) -> Scene:
    """By day visits of two rows on average, by night single rows."""
    n_hours = days * 24
    hour = hour_of_day(n_hours)
    is_open = (hour >= OPEN_HOURS[0]) & (hour < OPEN_HOURS[1])
    expected = DAY_VISITS * np.where(is_weekend(n_hours), 0.5, 1.0)
    night = np.minimum(rng.poisson(NIGHT_ROWS, n_hours), MOST_NIGHT_ROWS)
    visits = np.where(is_open, rng.poisson(expected), night)
    visit_hours = np.repeat(np.arange(n_hours), visits)
    entities = rng.choice(N_ENTITIES, len(visit_hours), p=zipf(N_ENTITIES, 0.7))
    rows = np.where(is_open[visit_hours], rng.geometric(1 / ROWS_A_VISIT, len(visit_hours)), 1)
    seed = int(rng.integers(2**32))
    return VisitScene(np.repeat(visit_hours, rows), np.repeat(entities, rows), n_hours, seed)


WORLDS = (World("U3", "nights of 0 to 3 rows an hour, rows in visits", generate, 1.5),)
