"""The mean of paired differences with an interval, drawn by entity where pairs have one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from monitor.checks.intervals import LEVEL
from monitor.measurement import Measured, Outcome, TooFew
from monitor.profiles.arrays import Floats, Integers

DRAWS = 1_999
MOST_UNITS = 1_000
FEWEST_UNITS = 50
FEWEST_DIFFERING = 10
_DRAWS_AT_ONCE = 200


@dataclass(frozen=True, eq=False)
class _Units:
    """Sums of differences and numbers of pairs of each independent unit, float64[g]."""

    sums: Floats
    sizes: Floats


def mean_difference(
    differences: Floats,
    rng: np.random.Generator,
    entities: Integers | None = None,
    level: float = LEVEL,
) -> Outcome:
    """Mean of `differences` float64[n] (second - first) with bootstrap-t limits.

    Units are drawn with replacement 1,999 times: pairs, or all pairs of an entity together
    (`entities` int64[n]). Each draw gives (mean* - mean) / se*, se the linearised error of a ratio
    of sums; the quantiles of these, turned round, are the limits (Efron and Tibshirani 1993,
    section 12.5). More than 1,000 units are first put together at random into 1,000.

    TooFew below 50 units, or below 10 units that differ: where nearly all differences are 0 no
    resampling can know how large the rare ones are. Differences all of one sign with a very long
    tail (log-normal) keep 92 % only. Needs finite differences; not for medians or other statistics
    without a standard error.
    """
    if len(differences) and not np.isfinite(differences).all():
        raise AssertionError("differences are finite; leave out pairs without a value before")
    units = _units(differences, entities)
    n = len(differences)
    mean = float(differences.mean()) if n else 0.0
    told: dict[str, Any] = {"provisional": mean, "units": len(units.sums)}
    if len(units.sums) < FEWEST_UNITS:
        what = "pairs" if entities is None else "entities"
        return TooFew(len(units.sums), FEWEST_UNITS, what, told if n else {})
    differing = int((units.sums != 0).sum())
    if differing < FEWEST_DIFFERING:
        what = "pairs that differ" if entities is None else "entities that differ"
        return TooFew(differing, FEWEST_DIFFERING, what, told)
    low, high = _limits(_put_together(units, rng), rng, level)
    detail = {"units": len(units.sums), "differing": differing, "draws": DRAWS}
    return Measured(mean, n, min(low, mean), max(high, mean), level, detail=detail)


def _units(differences: Floats, entities: Integers | None) -> _Units:
    if entities is None:
        return _Units(np.asarray(differences, np.float64), np.ones(len(differences)))
    _, place = np.unique(entities, return_inverse=True)
    return _grouped(_Units(differences, np.ones(len(differences))), place)


def _put_together(units: _Units, rng: np.random.Generator) -> _Units:
    n = len(units.sums)
    if n <= MOST_UNITS:
        return units
    return _grouped(units, rng.permutation(n) % MOST_UNITS)


def _grouped(units: _Units, place: Integers) -> _Units:
    return _Units(
        np.bincount(place, units.sums).astype(np.float64),
        np.bincount(place, units.sizes).astype(np.float64),
    )


def _limits(units: _Units, rng: np.random.Generator, level: float) -> tuple[float, float]:
    g = len(units.sums)
    mean, error = _means_and_errors(units, np.arange(g)[None, :])
    if error[0] == 0:  # every unit has the same mean: no draw can differ
        return float(mean[0]), float(mean[0])
    pivots = []
    for start in range(0, DRAWS, _DRAWS_AT_ONCE):
        drawn = rng.integers(0, g, (min(_DRAWS_AT_ONCE, DRAWS - start), g))
        means, errors = _means_and_errors(units, drawn)
        # A draw without any spread says nothing about a pivot; it counts as far out on its side.
        spread = np.maximum(errors, 1e-6 * error[0])
        pivots.append((means - mean[0]) / spread)
    tail = (1 - level) / 2
    low, high = np.quantile(np.concatenate(pivots), [tail, 1 - tail])
    return float(mean[0] - high * error[0]), float(mean[0] - low * error[0])


def _means_and_errors(units: _Units, drawn: Integers) -> tuple[Floats, Floats]:
    """Mean and its standard error for each row of drawn units, float64[draws] each."""
    g = drawn.shape[1]
    sums, sizes = units.sums[drawn], units.sizes[drawn]
    total = sizes.sum(axis=1)
    means = sums.sum(axis=1) / total
    left = sums - means[:, None] * sizes
    errors = np.sqrt(g / (g - 1) * (left**2).sum(axis=1)) / total
    return means, errors
