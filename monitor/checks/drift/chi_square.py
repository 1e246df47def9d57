"""Pearson's chi-square on baseline cells, told as an effect size."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from monitor.checks.drift.base import CellMethod, Counts, Finding, Samples, ViewKind, kind_of
from monitor.checks.effect import chi_square_p_log10, chi_square_p_value, effect_size
from monitor.checks.pooling import group_sums, pool_neighbours, pool_rare


def chi_square_statistic(reference: Counts, current: Counts) -> tuple[float, int]:
    """X2 and its degrees of freedom for a 2 × k table of counts; cells empty in both are left out.

    X2 = n_eff Σ (p - q)²/pool with pool = (a + c)/(n + m), no continuity correction (Pearson
    1900). Not for cells that expect fewer than about 5 rows: pool them first.
    """
    n, m = float(reference.sum()), float(current.sum())
    total = reference + current
    used = total > 0
    difference = (current / m - reference / n)[used]
    statistic = n * m * float(np.sum(difference**2 / total[used]))
    return statistic, int(used.sum()) - 1


class ChiSquare(CellMethod):
    """D = (X2 - df)/n_eff on cells pooled until each expects 5 rows in the smaller sample.

    Neighbouring cells are pooled for numbers, rare ones for categories. In PSI units: 0 on average
    without a change, whatever the sample sizes. `p_value` in the detail is the chi-square tail;
    `p_log10` its logarithm. Both samples are taken as independent rows; with many rows any real
    difference has a tiny p-value, so judge D.
    """

    name: ClassVar[str] = "chi_square"
    unit: ClassVar[str] = "psi"
    empty_cells: ClassVar[str] = "cells that expect fewer than 5 rows are pooled"

    def measure(self, samples: Samples) -> Finding:
        """Pool, then the statistic, its effect size and p-value."""
        reference, current = samples.reference.counts, samples.current
        smaller = min(samples.n, samples.reference.n)
        expected = (reference + current) * smaller / (samples.n + samples.reference.n)
        ordered = kind_of(samples.reference.cells) is ViewKind.NUMBER
        groups = pool_neighbours(expected) if ordered else pool_rare(expected)
        statistic, degrees = chi_square_statistic(
            group_sums(reference, groups), group_sums(current, groups)
        )
        effect = effect_size(statistic, degrees, samples.effective_rows)
        detail = {
            "statistic": statistic,
            "degrees_of_freedom": degrees,
            "null_expectation": 0.0,
            "p_value": chi_square_p_value(statistic, degrees),
            "p_log10": chi_square_p_log10(statistic, degrees),
            "interval_method": "noncentral chi-square, inverted",
        }
        return Finding(effect.value, effect.low, effect.high, detail)
