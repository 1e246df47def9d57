"""S0 to S6: normal columns with season, wandering means and a daily cycle of traffic.

A table of rows: what differs between these worlds is numbers only. With `mixed`, the same season
and wandering act on two categories, a column with missing values and a correlated pair too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.alarms.laws import Law, Normal, NumberLaw, cut_into_words, with_missing, zipf
from benchmarks.alarms.scene import LawScene, Scene, hour_of_day, is_weekend
from benchmarks.alarms.worlds.base import World, wandering
from monitor.profiles.arrays import Floats, Integers

N_COLUMNS = 20
PAIR = ("pair_a", "pair_b")
PAIR_CORRELATION = 0.7
FEW_WORDS, MANY_WORDS, PARTIAL = "kind_5", "kind_50", "partial"
USUALLY_MISSING = 0.02
CENTRE, UNIT = 20.0, 5.0
LEAST_ROWS = 20


@dataclass(frozen=True)
class Season:
    """Standard deviations of the rows are the unit of daily and weekend size and wobble."""

    daily: float = 0.0
    weekend: float = 0.0
    wobble: float = 0.0
    memory: float = 0.0
    heavy_tails: bool = False
    traffic_cycle: bool = False
    rows_an_hour: int = 500

    def means(self, rng: np.random.Generator, n_columns: int, n_hours: int) -> Floats:
        """The mean of each column in each hour, float64[n_columns, n_hours]."""
        phase = rng.uniform(0, 24, (n_columns, 1))
        size = rng.uniform(0.5, 1.5, (n_columns, 1))
        wave = np.sin(2 * np.pi * (hour_of_day(n_hours) + phase) / 24)
        means = size * (self.daily * wave + self.weekend * is_weekend(n_hours))
        if self.wobble:
            shape = (n_columns, n_hours)
            means = means + wandering(rng, shape, self.wobble, self.memory, self.heavy_tails)
        return np.asarray(means)

    def volumes(self, rng: np.random.Generator, n_hours: int) -> Integers:
        """Rows in each hour, int64[n_hours]."""
        expected = np.full(n_hours, float(self.rows_an_hour))
        if self.traffic_cycle:
            expected *= 0.6 + 0.5 * np.sin(2 * np.pi * (hour_of_day(n_hours) - 8) / 24)
        return rng.poisson(np.maximum(expected, LEAST_ROWS))


def number_scene(season: Season, rng: np.random.Generator, days: int) -> LawScene:
    """Twenty columns of numbers."""
    means = season.means(rng, N_COLUMNS, days * 24)
    laws = {f"n{place:02}": NumberLaw(Normal(mean)) for place, mean in enumerate(means)}
    return LawScene(season.volumes(rng, days * 24), laws)


@dataclass(frozen=True, eq=False)
class MixedScene(LawScene):
    """Twenty columns, among them a pair that moves together row by row."""

    def table(self, rng: np.random.Generator) -> pa.Table:
        """See Scene; the pair's rows are redrawn with their correlation."""
        table = super().table(rng)
        hours = np.repeat(np.arange(len(self.volumes)), self.volumes)
        first, second = rng.standard_normal((2, len(hours)))
        second = PAIR_CORRELATION * first + np.sqrt(1 - PAIR_CORRELATION**2) * second
        for name, noise in zip(PAIR, (first, second), strict=True):
            normal = self.laws[name].numbers  # type: ignore[attr-defined]
            values = normal.mean[hours] + normal.sd * noise
            place = table.schema.get_field_index(name)
            table = table.set_column(place, name, pa.array(values))
        return table


def mixed_scene(season: Season, rng: np.random.Generator, days: int) -> MixedScene:
    """Fifteen columns of numbers, a correlated pair, two categories, one with missing values."""
    means = season.means(rng, N_COLUMNS, days * 24)
    laws: dict[str, Law] = {}
    names = (*(f"n{place:02}" for place in range(N_COLUMNS - 5)), *PAIR)
    for name, mean in zip(names, means[: len(names)], strict=True):
        laws[name] = NumberLaw(Normal(CENTRE + UNIT * mean, UNIT))
    for name, n_words, mean in ((FEW_WORDS, 5, means[-3]), (MANY_WORDS, 50, means[-2])):
        words = tuple(f"v{word:02}" for word in range(n_words))
        laws[name] = cut_into_words(words, zipf(n_words), Normal(mean))
    share = np.full(days * 24, USUALLY_MISSING)
    laws[PARTIAL] = NumberLaw(with_missing(Normal(CENTRE + UNIT * means[-1], UNIT), share))
    return MixedScene(season.volumes(rng, days * 24), laws)


def _world(name: str, tells: str, season: Season, bar: float) -> World:
    def generate(rng: np.random.Generator, days: int) -> Scene:
        return number_scene(season, rng, days)

    return World(name, tells, generate, bar)


SEASONS: Mapping[str, Season] = {
    "S0": Season(),
    "S1": Season(0.3, 0.2),
    "S2": Season(0.3, 0.2, 0.05, 0.9),
    "S3": Season(0.3, 0.2, 0.05, 0.9, traffic_cycle=True),
    "S4": Season(0.3, 0.2, 0.05, 0.5, heavy_tails=True, traffic_cycle=True),
    "S5": Season(0.3, 0.2, 0.1, 0.98, traffic_cycle=True),
    "S6": Season(0.3, 0.2, 0.05, 0.9, traffic_cycle=True, rows_an_hour=60),
}
WORLDS = (
    _world("S0", "independent rows", SEASONS["S0"], 1.2),
    _world("S1", "season of day and weekend", SEASONS["S1"], 1.2),
    _world("S2", "and means that wander, memory .9", SEASONS["S2"], 1.2),
    _world("S3", "and a daily cycle of traffic, 50 to 550 rows an hour", SEASONS["S3"], 1.2),
    _world("S4", "wandering with heavy-tailed shocks", SEASONS["S4"], 1.5),
    _world("S5", "wandering near a unit root, memory .98", SEASONS["S5"], 1.5),
    _world("S6", "as S3 with about 40 rows an hour", SEASONS["S6"], 1.2),
)
