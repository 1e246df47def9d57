"""The reliability curve without bins, and what it would look like for a perfect model.

CORP: consistent, optimally binned, reproducible, by pooling adjacent violators (Dimitriadis,
Gneiting and Jordan 2021).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize

from monitor.checks.calibration_cells import ScoreCells
from monitor.checks.intervals import LEVEL
from monitor.checks.reliability import Reliability
from monitor.profiles.arrays import Floats, Integers

DRAWS = 200
MOST_CELLS = 128
BAND_POINTS = 33


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """`level` float64[k]: the observed share that fits each score cell, ascending with the score.

    `miscalibration` and `discrimination` are parts of the Brier score: it equals miscalibration -
    discrimination + uncertainty, in squared probability.
    """

    level: Floats
    miscalibration: float
    discrimination: float


@dataclass(frozen=True, eq=False)
class PerfectModel:
    """What draws of y from the scores themselves give: the yardstick of the curve and its size.

    `low`, `high` float64[k]: limits of the curve at each score cell. `miscalibration` float64[r] of
    each draw.
    """

    low: Floats
    high: Floats
    miscalibration: Floats


def reliability_curve(cells: ScoreCells) -> ReliabilityCurve:
    """The best ascending curve through the observed shares, weighted by rows; needs a row."""
    level = _pooled(cells.observed, cells.rows)
    base = cells.positives.sum() / cells.n
    weight = cells.rows / cells.n
    lost = float(weight @ (level - cells.observed) ** 2)
    own = float(weight @ (cells.score - cells.observed) ** 2)
    constant = float(weight @ (base - cells.observed) ** 2)
    return ReliabilityCurve(level, max(0.0, own - lost), max(0.0, constant - lost))


def _pooled(observed: Floats, rows: Floats) -> Floats:
    return np.asarray(optimize.isotonic_regression(observed, weights=rows).x, np.float64)


def _pooled_draws(observed: Floats, rows: Floats) -> Floats:
    """The same for draws float64[r, k], all in one go: each is lifted above the one before, so that
    no two are ever pooled.
    """
    lifted = observed + 2.0 * np.arange(len(observed))[:, None]
    pooled = _pooled(lifted.ravel(), np.tile(rows, len(observed)))
    return pooled.reshape(observed.shape) - 2.0 * np.arange(len(observed))[:, None]


def perfect_model(cells: ScoreCells, draws: int = DRAWS, level: float = LEVEL) -> PerfectModel:
    """Draw labels from the scores, count by count, and treat each draw as the labels are treated.

    The draws are seeded by rows and scores, so the same counts give the same band. The band is
    pointwise: of a perfect model a share 1 - level of the points lies outside.
    """
    rng = np.random.default_rng(cells.seed())
    drawn = rng.binomial(cells.rows.astype(np.int64), cells.score, (draws, len(cells.rows)))
    observed = drawn / cells.rows
    curves = _pooled_draws(observed, cells.rows)
    weight = cells.rows / cells.n
    own = (observed - cells.score) ** 2 @ weight
    lost = (observed - curves) ** 2 @ weight
    low, high = np.quantile(curves, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return PerfectModel(low, high, own - lost)


def plain_errors_of_perfect_model(table: Reliability, seed: int, draws: int = DRAWS) -> Floats:
    """The plain error of draws from the scores, float64[draws]: normal counts by group."""
    rng = np.random.default_rng(seed)
    spread = np.sqrt(table.rows * table.score_variance)
    gaps = np.abs(rng.normal(0.0, 1.0, (draws, len(spread))) * spread)
    return np.asarray(gaps.sum(axis=1) / table.rows.sum(), np.float64)


def drawn_p_value(observed: float, draws: Floats) -> float:
    """(1 + draws at least as large)/(1 + draws), never 0 (Davison and Hinkley 1997)."""
    return float((1 + np.count_nonzero(draws >= observed - 1e-12)) / (1 + len(draws)))


def as_detail(
    cells: ScoreCells, curve: ReliabilityCurve, perfect: PerfectModel, table: Reliability
) -> dict[str, Any]:
    """The diagram as JSON: `curve` of steps [from, to, level, rows], `band` of [score, low, high].

    The band is told at 33 scores spread evenly over the rows.
    """
    starts = np.flatnonzero(np.concatenate(([True], np.diff(curve.level) > 1e-12)))
    ends = np.append(starts[1:], len(cells.rows)) - 1
    steps = [
        [round(cells.score[a], 6), round(cells.score[b], 6), round(curve.level[a], 6), int(rows)]
        for a, b, rows in zip(starts, ends, np.add.reduceat(cells.rows, starts), strict=True)
    ]
    places = _spread(cells.rows)
    band = np.column_stack((cells.score, perfect.low, perfect.high))[places]
    return {"curve": steps, "band": np.round(band, 6).tolist(), "table": table.as_rows()}


def _spread(rows: Floats) -> Integers:
    """Cells at evenly spread ranks of the rows, the first and last one among them."""
    ranks = np.linspace(0, rows.sum(), BAND_POINTS)
    places = np.searchsorted(np.cumsum(rows), ranks, "left")
    return np.unique(np.minimum(places, len(rows) - 1))
