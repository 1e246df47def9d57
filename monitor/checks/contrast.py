"""One deployment against all the others that served in the same hours. Needs no baseline.

Season, weather and holidays hit both sides of an hour alike and cancel, so a fault that sits in
one deployment stands out even in columns whose level wanders. Knows counts by hour, nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from monitor.checks.effect import (
    chi_square_p_log10,
    combined_p_log10,
    effect_size,
    p_from_log10,
)
from monitor.checks.intervals import LEVEL
from monitor.checks.moved import moved_cells
from monitor.checks.pooling import group_sums, pool_neighbours, pool_rare
from monitor.measurement import Measured, Outcome, TooFew
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.cells import SCORE_UNIT, NumberCells, ViewCells
from monitor.profiles.columns import ColumnCounts

MIN_ROWS = 20
_RANK_TOLERANCE = 1e-9


def contrast(hours: Sequence[tuple[ColumnCounts, ColumnCounts]]) -> Outcome:
    """Contrast from (counts of the deployment, counts of the others) of each hour, in any order."""
    if not hours:
        return TooFew(0, MIN_ROWS, "rows of hours that both sides served")
    own = np.stack([pair[0].counts for pair in hours])
    others = np.stack([pair[1].counts for pair in hours])
    return contrast_counts(hours[0][0].cells, own, others)


def contrast_counts(cells: ViewCells, own: Integers, others: Integers) -> Outcome:
    """Contrast of `own` against `others`, both int64[hours, n_cells] with the missing cell last.

    Under "rows of an hour were dealt at random" the deployment's counts are multivariate
    hypergeometric in each hour. Two views of O - E summed over hours: the generalised
    Cochran-Mantel-Haenszel statistic T on pooled cells (Mantel and Haenszel 1959; Landis, Heyman
    and Koch 1978; missing is a cell), and for number columns a 1-df score for location with
    rank-normal cell scores. Value: D = (T - df)/n_eff in PSI units, n_eff = Σ n1·n2/(n1+n2), about
    0 without a difference. `p_value` is two-sided; for number columns it is Bonferroni over the
    two views. Hours that only one side served say nothing and are left out. TooFew with
    fewer than 20 rows on either side.
    Not valid where traffic is dealt by entity or region: the rows are then not exchangeable.
    """
    strata = _Strata.of(own, others)
    n, n_others = int(strata.own.sum()), int(strata.others.sum())
    if min(n, n_others) < MIN_ROWS:
        return TooFew(min(n, n_others), MIN_ROWS, "rows of hours that both sides served")
    groups = _groups(cells, strata)
    statistic, degrees = _omnibus(strata, groups)
    effect = effect_size(statistic, degrees, strata.effective_rows)
    p_log10 = chi_square_p_log10(statistic, degrees)
    location: dict[str, Any] = {}
    if isinstance(cells, NumberCells):
        location = _location(strata, cells.scores() / SCORE_UNIT)
        p_log10 = combined_p_log10(p_log10, location["location_p_log10"])
    detail = {
        "p_value": p_from_log10(p_log10),
        "p_log10": p_log10,
        "statistic": statistic,
        "degrees_of_freedom": degrees,
        "null_expectation": 0.0,
        "n_eff": strata.effective_rows,
        "hours": len(strata.own),
        "empty_cells": "cells that expect fewer than 5 rows are pooled",
        "moved": moved_cells(cells.labels(), strata.expected, strata.own.sum(axis=0)),
        **location,
    }
    return Measured(effect.value, n, effect.low, effect.high, LEVEL, n_others, detail)


@dataclass(frozen=True, eq=False)
class _Strata:
    """Hours that both sides served. `weight` = n1·n2/(N - 1), `shares` = cell totals / N."""

    own: Floats
    others: Floats
    shares: Floats
    weight: Floats
    effective_rows: float
    expected: Floats
    expected_others: Floats

    @classmethod
    def of(cls, own: Integers, others: Integers) -> _Strata:
        """Drop one-sided hours and compute margins."""
        both = (own.sum(axis=1) > 0) & (others.sum(axis=1) > 0)
        a, c = own[both].astype(np.float64), others[both].astype(np.float64)
        n1, n2 = a.sum(axis=1), c.sum(axis=1)
        total = n1 + n2
        shares = (a + c) / total[:, None]
        effective = float(np.sum(n1 * n2 / total))
        weight = n1 * n2 / (total - 1)
        return cls(a, c, shares, weight, effective, n1 @ shares, n2 @ shares)

    @property
    def difference(self) -> Floats:
        """Observed minus expected rows of the deployment by cell."""
        return np.asarray(self.own.sum(axis=0) - self.expected)


def _groups(cells: ViewCells, strata: _Strata) -> Integers:
    """Test cells: full enough on the thinner side; neighbours for numbers, rare ones otherwise."""
    expected = np.minimum(strata.expected, strata.expected_others)
    if not isinstance(cells, NumberCells):
        return pool_rare(expected)
    data = pool_neighbours(expected[:-1])
    missing = int(data.max()) + (1 if expected[-1] >= 5 and expected[:-1].sum() >= 5 else 0)
    return np.append(data, missing)


def _omnibus(strata: _Strata, groups: Integers) -> tuple[float, int]:
    """T = d' V⁻ d and its rank, d = O - E and V the summed hypergeometric covariances."""
    shares = group_sums(strata.shares, groups)
    difference = group_sums(strata.difference, groups)
    weighted = shares * strata.weight[:, None]
    covariance = np.diag(weighted.sum(axis=0)) - weighted.T @ shares
    if len(difference) < 2:
        return 0.0, 0
    # The groups of an hour add up, so one of them says nothing new: without it V has full rank,
    # unless some groups never met in the same hour.
    try:
        factor = np.linalg.cholesky(covariance[:-1, :-1])
    except np.linalg.LinAlgError:
        return _omnibus_of_low_rank(difference, covariance)
    if factor.diagonal().min() ** 2 <= _RANK_TOLERANCE * max(float(covariance.max()), 1.0):
        return _omnibus_of_low_rank(difference, covariance)
    solved = np.linalg.solve(factor, difference[:-1])
    return float(solved @ solved), len(solved)


def _omnibus_of_low_rank(difference: Floats, covariance: Floats) -> tuple[float, int]:
    values, vectors = np.linalg.eigh(covariance)
    kept = values > _RANK_TOLERANCE * max(float(values[-1]), 1.0)
    if not kept.any():
        return 0.0, 0
    projected = (difference @ vectors)[kept]
    return float(np.sum(projected**2 / values[kept])), int(kept.sum())


def _location(strata: _Strata, scores: Floats) -> dict[str, Any]:
    """Score statistic for "values are larger or smaller", scores float64[n_cells]; z has its sign.

    Missing rows have score 0, the middle rank, so that they pull to neither side.
    """
    means = strata.shares @ scores
    variance = float(strata.weight @ (strata.shares @ scores**2 - means**2))
    if variance <= _RANK_TOLERANCE:
        return {"location_z": 0.0, "location_excess": 0.0, "location_p_log10": 0.0}
    z = float(strata.difference @ scores) / float(np.sqrt(variance))
    return {
        "location_z": z,
        "location_excess": (z * z - 1) / strata.effective_rows,
        "location_p_log10": chi_square_p_log10(z * z, 1),
    }
