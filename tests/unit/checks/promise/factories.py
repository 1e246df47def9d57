"""Made-up traffic by the hour for tests of the promise engine, each stretch from one seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
from scipy import signal, stats

from monitor.checks.promise.baseline import (
    Calibration,
    Calibrations,
    ColumnClass,
    SeasonalBaseline,
    SeasonalColumn,
)
from monitor.checks.promise.column import CellOrder, ColumnHours
from monitor.checks.promise.expect import WindowRows
from monitor.checks.promise.hours import WEEK_HOURS, Hours, Season
from monitor.checks.promise.scales import N_SCALES
from monitor.checks.promise.tail import GRID
from monitor.checks.promise.views import N_VIEWS
from monitor.profiles.cells import CategoryCells, NumberCells

MONDAY = datetime(2024, 1, 1, tzinfo=UTC)
RANKS = np.array([0.001, 0.01, *np.arange(1, 20) / 20, 0.99, 0.999])
NUMBER_EDGES = np.array([-1.3, -0.5, 0.0, 0.5, 1.3])
NUMBER_CELLS = NumberCells(tuple(NUMBER_EDGES.tolist()))
FEW_RANKS = np.array([0.1, 0.3, 0.5, 0.7, 0.9])


@dataclass(frozen=True)
class World:
    """Normal columns: `daily` and `weekend` amplitudes and `wander` (autoregressive with `memory`)
    in standard deviations of a row, `rows` an hour, which follow the day if `cycle`."""

    daily: float = 0.0
    weekend: float = 0.0
    wander: float = 0.0
    memory: float = 0.0
    rows: float = 500.0
    cycle: bool = False


STEADY = World()
SEASONAL = World(daily=0.3, weekend=0.2)
WANDERING = World(daily=0.3, weekend=0.2, wander=0.05, memory=0.9, cycle=True)


def means_of(world: World, rng: np.random.Generator, columns: int, days: int) -> np.ndarray:
    """The mean of each column by hour, float64[columns, hours]."""
    hour = np.arange(days * 24)
    phase = rng.uniform(0, 24, (columns, 1))
    size = rng.uniform(0.5, 1.5, (columns, 1))
    daily = np.sin(2 * np.pi * (hour[None] % 24 + phase) / 24)
    weekend = (hour[None] // 24) % 7 >= 5
    found = size * (world.daily * daily + world.weekend * weekend)
    if world.wander:
        shocks = rng.standard_normal((columns, len(hour))) * np.sqrt(1 - world.memory**2)
        shocks[:, 0] /= np.sqrt(1 - world.memory**2)
        found = found + world.wander * signal.lfilter([1.0], [1.0, -world.memory], shocks, axis=1)
    return found


def rows_of(world: World, rng: np.random.Generator, days: int) -> np.ndarray:
    """Rows by hour, int64[hours]."""
    hour = np.arange(days * 24)
    cycle = 0.6 + 0.5 * np.sin(2 * np.pi * (hour - 8) / 24) if world.cycle else np.ones(len(hour))
    return rng.poisson(np.maximum(world.rows * cycle, 20))


def normal_counts(
    rng: np.random.Generator, mean: np.ndarray, rows: np.ndarray, edges: np.ndarray, sd: float = 1.0
) -> np.ndarray:
    """Counts of normal values by hour, the missing cell last, int64[hours, edges + 2]."""
    below = stats.norm.cdf((edges[None] - mean[:, None]) / sd)
    ends = np.zeros((len(mean), 1)), np.ones((len(mean), 1))
    p = np.clip(np.diff(np.concatenate((ends[0], below, ends[1]), axis=1)), 0, 1)
    drawn = rng.multinomial(rows, p / p.sum(axis=1, keepdims=True))
    return np.concatenate((drawn, np.zeros((len(mean), 1), np.int64)), axis=1)


def edges_of(mean: np.ndarray, ranks: np.ndarray = RANKS) -> np.ndarray:
    """Edges at ranks of a normal column whose mean moves over the hours."""
    return mean.mean() + np.sqrt(1 + mean.var()) * stats.norm.ppf(ranks)


def traffic(
    world: World,
    seed: int,
    columns: int = 20,
    days: int = 86,
    *,
    shift: float = 0.0,
    since: int = 0,
    ranks: np.ndarray = RANKS,
    first: datetime = MONDAY,
) -> tuple[list[ColumnHours], Hours]:
    """Columns `c0`, `c1`, … of a world; the mean of `c0` moves by `shift` from an hour on."""
    rng = np.random.default_rng(seed)
    means, rows = means_of(world, rng, columns, days), rows_of(world, rng, days)
    found = []
    for place, mean in enumerate(means):
        edges = edges_of(mean[: max(since, WEEK_HOURS)], ranks)
        moved = mean.copy()
        if place == 0:
            moved[since:] += shift
        cells = NumberCells(tuple(edges.tolist()))
        found.append(ColumnHours(f"c{place}", cells, normal_counts(rng, moved, rows, edges)))
    return found, Hours(first, days * 24)


def number_column(mean: np.ndarray, seed: int = 0, rows: int = 200) -> ColumnHours:
    """A number column `x` of normal values whose mean follows float64[hours]."""
    rng = np.random.default_rng(seed)
    counts = normal_counts(rng, mean, np.full(len(mean), rows), NUMBER_EDGES)
    return ColumnHours("x", NUMBER_CELLS, counts)


def outages(n: int) -> np.ndarray:
    """Shares of missing values by hour that differ from day to day: 1 to 9 %."""
    return np.repeat(np.random.default_rng(6).uniform(0.01, 0.09, n // 24), 24)


def category_column(
    rng: np.random.Generator, shares: np.ndarray, rows: np.ndarray, name: str = "kind"
) -> ColumnHours:
    """A category column; shares float64[top] or float64[hours, top]."""
    p = np.broadcast_to(shares, (len(rows), np.shape(shares)[-1]))
    cells = CategoryCells(tuple(f"v{i}" for i in range(p.shape[1])))
    counts = np.zeros((len(rows), cells.n_cells), np.int64)
    counts[:, : p.shape[1]] = rng.multinomial(rows, p)
    return ColumnHours(name, cells, counts)


def with_gaps(
    column: ColumnHours, share: float | np.ndarray, seed: int = 0, since: int = 0
) -> ColumnHours:
    """The column with each value missing by chance from an hour on; the rest stay as they are.

    `share` is one for all hours or float64[hours from there].
    """
    rng, counts = np.random.default_rng(seed), column.counts.copy()
    p = np.broadcast_to(np.asarray(share, float), (len(counts) - since,))[:, None]
    gone = rng.binomial(counts[since:, :-1], p)
    counts[since:, :-1] -= gone
    counts[since:, -1] += gone.sum(axis=1)
    return replace(column, counts=counts)


def window_table(observed, expected, *, inflation=None, column=None, valid=None) -> WindowRows:
    """Windows of counts and expectations, one a row, without inflation unless given."""
    seen, wanted = (
        np.atleast_2d(np.array(observed, float)),
        np.atleast_2d(np.array(expected, float)),
    )
    n = len(seen)
    return WindowRows(
        seen,
        wanted,
        seen.sum(axis=1),
        np.ones(n) if inflation is None else np.asarray(inflation, float),
        np.zeros(n, np.int64) if column is None else np.asarray(column, np.int64),
        np.ones(n, bool) if valid is None else np.asarray(valid, bool),
    )


def part_of(columns: Sequence[ColumnHours], start: int, stop: int) -> list[ColumnHours]:
    """Hours [start, stop) of all columns."""
    return [
        ColumnHours(one.name, one.cells, one.counts[start:stop], one.weight, one.segment)
        for one in columns
    ]


def bare_baseline(
    keys: Sequence[tuple[str, str]],
    kind: np.ndarray | None = None,
    weights: Sequence[float] | None = None,
    classes: Sequence[ColumnClass] | None = None,
) -> SeasonalBaseline:
    """A baseline of (segment, column) keys without healthy weeks; `kind`
    int[columns, views, scales]."""
    n = len(keys)
    layout = CellOrder.of(column_is_number=True, totals=np.array([10, 10, 10, 1]))
    columns = tuple(
        SeasonalColumn(
            name, segment, weights[place] if weights else 1.0, Season.NONE, layout, 0.5,
            np.array([[10.0, 10, 10, 1]]), classes[place] if classes else ColumnClass.ROW, (0,),
        )
        for place, (segment, name) in enumerate(keys)
    )  # fmt: skip
    shape = (n, N_VIEWS, N_SCALES)
    table = Calibrations(
        np.full(shape, int(Calibration.TAIL), np.int64) if kind is None else kind,
        np.zeros(shape), np.ones(shape), np.ones(shape), np.full(shape, 100.0),
        np.tile(-GRID, (*shape, 1)),
    )  # fmt: skip
    return SeasonalBaseline(columns, table)
