"""Means and percentiles of two sides, standardised to one mix, with intervals of the difference.

Percentiles come from weighed counts: they are never averaged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy import special

from monitor.checks.comparison.cells import Cells, Metric, Strata, ValueTable, support_shares
from monitor.checks.comparison.order import quantile_with_limits
from monitor.checks.comparison.rates import MIN_CLUSTERS, MIN_ROWS, Compared
from monitor.checks.comparison.resample import Shared
from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import LEVEL, normal_quantile
from monitor.profiles.arrays import Floats

MIN_BEYOND = 50
"""Rows that must be expected beyond a percentile on each side for its difference to be printed."""
BY_TIME, BY_ROW = "bootstrap over time", "bootstrap of rows, taken as independent"


def compare_values(
    cells: Cells, table: ValueTable, strata: Strata, rng: np.random.Generator
) -> Iterator[tuple[Metric, Compared]]:
    """The mean and each wanted percentile of a table, b - a.

    Rows are weighed so that in every stratum each side counts as many as both sides have together
    (direct standardisation to the pooled mix on common support). The bootstrap (Efron 1979)
    resamples slots of time as a whole, both sides together, 1,000 draws; with fewer than 12 shared
    slots it resamples rows. Interval of the mean: its standard error times t (slots, or rows of the
    smaller side, less 1 degrees of freedom); of a percentile: the draws' own percentiles, widened
    by t/z. A percentile's difference is printed from 50 rows expected beyond it on each side on
    (p99: 5,000 rows): below, the bootstrap covers less than it says. Crude percentiles have
    order-statistic limits.
    """
    shared = Shared.of(cells, table, strata)
    if not min(shared.rows):
        for place in range(1 + len(table.quantiles)):
            yield _named(table, place), _without_support(table, strata, place)
        return
    by_time = shared.clusters >= MIN_CLUSTERS
    drawn = shared.by_time(rng) if by_time else shared.by_row(rng)
    degrees = (shared.clusters if by_time else min(shared.rows)) - 1
    point = shared.point()
    for place in range(1 + len(table.quantiles)):
        limits = _limits(point[place], drawn[:, place], degrees, is_mean=place == 0)
        base = _without_support(table, strata, place)
        yield _named(table, place), _measured(base, table, shared, place, point[place], limits)


def _named(table: ValueTable, place: int) -> Metric:
    if place == 0:
        return table.metric
    percent = round(100 * table.quantiles[place - 1], 3)
    return replace(table.metric, name=f"p{percent:g}")


def _limits(point: Floats, drawn: Floats, degrees: int, *, is_mean: bool) -> tuple[float, float]:
    """Limits of the difference from the draws float64[d, 2] of both sides."""
    value = float(point[1] - point[0])
    differences = drawn[:, 1] - drawn[:, 0]
    tail = 0.5 + LEVEL / 2
    t = float(special.stdtrit(max(degrees, 1), tail))
    if is_mean:
        reach = t * float(np.std(differences, ddof=1))
        return value - reach, value + reach
    low, high = np.quantile(differences, [1 - tail, tail])
    wider = t / normal_quantile()
    return (
        min(value, value - (value - float(low)) * wider),
        max(value, value + (float(high) - value) * wider),
    )


def _measured(
    base: Compared,
    table: ValueTable,
    shared: Shared,
    place: int,
    point: Floats,
    limits: tuple[float, float],
) -> Compared:
    rows = shared.rows
    needed = MIN_ROWS
    if place:
        needed = max(needed, round(MIN_BEYOND / (1 - table.quantiles[place - 1])))
    floor = Floor(min(rows), needed, f"{table.metric.of} a side on common support")
    detail = {
        "n_a": rows[0],
        "n_b": rows[1],
        "slots": shared.clusters,
        "interval_method": BY_TIME if shared.clusters >= MIN_CLUSTERS else BY_ROW,
    }
    value = float(point[1] - point[0])
    outcome = measured_above((floor,), value, sum(rows), limits, detail)
    return replace(base, adjusted=(float(point[0]), float(point[1])), outcome=outcome)


def _without_support(table: ValueTable, strata: Strata, place: int) -> Compared:
    n = table.n
    crude, limits = [], []
    for side in (0, 1):
        value, low, high = _crude(table, side, place)
        crude.append(value)
        limits.append((low, high))
    floor = Floor(0, MIN_ROWS, f"{table.metric.of} a side on common support")
    return Compared(
        crude=(crude[0], crude[1]),
        adjusted=(None, None),
        n=(int(n[:, 0].sum()), int(n[:, 1].sum())),
        shares=support_shares(strata, n),
        outcome=measured_above((floor,), None, 0, undefined="no common support"),
        crude_limits=tuple(limits) if place else (),
    )


def _crude(
    table: ValueTable, side: int, place: int
) -> tuple[float | None, float | None, float | None]:
    counts = np.asarray(table.counts[side].sum(axis=0)).ravel().astype(np.int64)
    if not counts.sum():
        return None, None, None
    if place == 0:
        return float(table.sums[:, side].sum() / counts.sum()), None, None
    found = quantile_with_limits(table.values, counts, table.quantiles[place - 1])
    return found if found is not None else (None, None, None)
