"""Small worlds whose days differ in known ways, for the tests of pairs and of the classifier."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from monitor.checks.multivariate.correlations import PairWindows
from monitor.profiles.arrays import Floats

VIEWS = tuple(f"x{k}" for k in range(20))
Day = Callable[[Generator], Floats]


def independent(n: int) -> Day:
    """n rows of 20 independent normal columns."""
    return lambda rng: rng.normal(size=(n, len(VIEWS)))


def correlated(n: int, r: float, loading: float = 0.6, wobble: float = 0.0) -> Day:
    """x0 to x9 share a factor whose loading wobbles from day to day; x10, x11 have correlation r.

    Every column is standard normal whatever the loading and r are.
    """

    def day(rng: Generator) -> Floats:
        own = rng.normal(size=(n, len(VIEWS)))
        share = np.zeros(len(VIEWS))
        share[:10] = np.clip(loading + wobble * rng.normal(), -0.9, 0.9)
        values = share * rng.normal(size=(n, 1)) + np.sqrt(1 - share**2) * own
        values[:, 11] = r * values[:, 10] + np.sqrt(1 - r * r) * own[:, 11]
        return values

    return day


def moving_means(n: int) -> Day:
    """Independent columns whose means move from day to day."""
    return lambda rng: rng.normal(size=(n, len(VIEWS))) + 0.4 * rng.normal(size=len(VIEWS))


def windows_of(days: list[Floats]) -> PairWindows:
    """The pair sums of days of normal columns: their normal scores are the values themselves."""
    upper = np.triu_indices(days[0].shape[1])
    scores = [np.rint(day * 1024) for day in days]
    sums = np.array([(day.T @ day)[upper] for day in scores], np.int64)
    n = np.array([np.full(len(upper[0]), len(day)) for day in scores], np.int64)
    means = np.array([day.mean(axis=0) for day in scores])
    return PairWindows(tuple(f"x{k}" for k in range(days[0].shape[1])), sums, n, means)
