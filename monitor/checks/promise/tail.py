"""From the surprise of a window (-ln of its nominal p-value) to an honest p-value. Pure.

Nominal p-values of real data are wrong where it matters, far out. The largest tenth of the
surprises of held-out baseline windows is fitted by a generalised Pareto distribution (Pickands
1975; Balkema and de Haan 1974) by its moments; 100 resamples of whole weeks say how unsure that
fit is, and the p-value is their average: a predictive one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monitor.profiles.arrays import Floats, Integers

RESAMPLES = 100
TOP_SHARE = 0.1
MIN_TOP = 10
LEAST_SHAPE, MOST_SHAPE = 0.2, 0.5
SURE_SHAPE, SHAPE_MARGIN = 0.1, 0.1
GRID = np.concatenate((np.linspace(0.0, 20.0, 81), np.geomspace(20.5, 800.0, 47)))
"""Surprises at which a p-value curve is kept; in between it is interpolated in ln p."""


@dataclass(frozen=True, eq=False)
class TailFits:
    """One fit a resample: `threshold`, `mean_excess` > 0, `shape`, `share` above the threshold,
    float64[resamples] each. The first is that of the weeks as they are."""

    threshold: Floats
    mean_excess: Floats
    shape: Floats
    share: Floats


def resampled_weeks(n_weeks: int, rng: np.random.Generator) -> Integers:
    """How often each week is drawn in each resample, int64[1 + RESAMPLES, n_weeks]."""
    drawn = rng.multinomial(n_weeks, np.full(n_weeks, 1 / n_weeks), size=RESAMPLES)
    return np.concatenate((np.ones((1, n_weeks), np.int64), drawn))


def fit_tails(surprise: Floats, week: Integers, draws: Integers) -> TailFits:
    """Fit the tail of every resample; surprise float64[n], week int64[n], draws int64[b, weeks].

    Mean excess and variance of the k = max(n/10, 10) largest values give the shape
    ξ = (1 - mean²/variance)/2, held to [-0.2, 0.5].
    """
    order = np.argsort(-surprise, kind="stable")
    values = surprise[order]
    weights = draws[:, week[order]].astype(np.float64)
    n = weights.sum(axis=1)
    k = np.minimum(np.maximum(np.floor(TOP_SHARE * n), MIN_TOP), np.maximum(n - 1, 1))
    running = np.cumsum(weights, axis=1)
    taken = np.clip(k[:, None] - (running - weights), 0.0, weights)
    threshold = values[np.minimum((running <= k[:, None]).sum(axis=1), len(values) - 1)]
    above = np.maximum(values[None, :] - threshold[:, None], 0.0)
    mean = np.maximum((taken * above).sum(axis=1) / k, 1e-3)
    spread = (taken * (above - mean[:, None]) ** 2).sum(axis=1) / np.maximum(k - 1, 1)
    shape = np.clip(0.5 * (1 - mean**2 / np.maximum(spread, 1e-12)), -0.2, MOST_SHAPE)
    # A resample that drew only weeks without a window knows nothing: it says p = 1 everywhere.
    threshold = np.where(n > 0, threshold, np.inf)
    return TailFits(threshold, mean, shape, np.where(n > 0, k / np.maximum(n, 1.0), 1.0))


def least_shape_of(common_shape: Floats) -> float:
    """The least shape for windows whose tail many columns show: their mean plus 0.1, in [0.1, 0.2].

    Shapes near 0 (exponential tails) are what sampling and Gaussian wobble give; where the columns
    together show heavier ones, the full 0.2 stays.
    """
    return float(np.clip(common_shape.mean() + SHAPE_MARGIN, SURE_SHAPE, LEAST_SHAPE))


def tail_curve(fits: TailFits, common_shape: Floats, least_shape: float = LEAST_SHAPE) -> Floats:
    """ln p on GRID, float64[len(GRID)]: the average over the resamples.

    Each fit's shape is drawn half-way to the mean over the columns (`common_shape`
    float64[resamples]) and held to [least, 0.5]: a single column's tail is too short to tell.
    Below its threshold a fit says p = 1.
    """
    shape = np.clip(0.5 * (fits.shape + common_shape), least_shape, MOST_SHAPE)[:, None]
    width = fits.mean_excess[:, None] * (1 - shape)
    z = np.maximum(GRID[None, :] - fits.threshold[:, None], 0.0) / width
    p = np.where(
        GRID[None, :] > fits.threshold[:, None],
        fits.share[:, None] * (1 + shape * z) ** (-1 / shape),
        1.0,
    )
    return np.asarray(np.log(p.mean(axis=0)))


def p_on_curve(curves: Floats, place: Integers, surprise: Floats) -> Floats:
    """p-values float64[r]; `place` int64[r] is each surprise's row of the curves float64[m, grid].

    Beyond the grid the curve's last value holds: p is then too large, never too small.
    """
    s = np.clip(np.nan_to_num(surprise, nan=0.0), 0.0, GRID[-1])
    right = np.clip(np.searchsorted(GRID, s, side="right"), 1, len(GRID) - 1)
    low, high = GRID[right - 1], GRID[right]
    part = (s - low) / (high - low)
    below, above = curves[place, right - 1], curves[place, right]
    return np.asarray(np.exp(below + part * (above - below)))


def surprise_needed(curve: Floats, alpha: float) -> float:
    """The surprise at which a curve reaches alpha; infinite when it never does."""
    wanted = np.log(alpha)
    if curve[-1] > wanted:
        return float("inf")
    at = int(np.argmax(curve <= wanted))
    if at == 0:
        return float(GRID[0])
    part = (curve[at - 1] - wanted) / (curve[at - 1] - curve[at])
    return float(GRID[at - 1] + part * (GRID[at] - GRID[at - 1]))
