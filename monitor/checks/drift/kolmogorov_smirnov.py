"""Kolmogorov-Smirnov distance at the edges of the baseline's cells."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from scipy import special

from monitor.checks.drift.base import CellMethod, Counts, Finding, Samples, ViewKind

# Mean of the Kolmogorov distribution, sqrt(pi/2) ln 2.
_MEAN = math.sqrt(math.pi / 2) * math.log(2)


def largest_gap(reference: Counts, current: Counts) -> float:
    """D = max |F - G| over the borders between ordered cells; 0 to 1."""
    gap = np.cumsum(current) / current.sum() - np.cumsum(reference) / reference.sum()
    return float(np.max(np.abs(gap)))


def kolmogorov_p_log10(distance: float, effective_rows: float) -> float:
    """log10 of P(D sqrt(n_eff) this large): the asymptotic two-sided p-value (Smirnov 1948).

    Its leading term 2 exp(-2x²) takes over where the p-value would underflow.
    """
    x = distance * math.sqrt(effective_rows)
    tail = float(special.kolmogorov(x))
    if tail > 1e-290:
        return math.log10(tail)
    return (math.log(2) - 2 * x * x) / math.log(10)


class KolmogorovSmirnov(CellMethod):
    """D at the cell borders: a lower bound of the distance between the rows themselves.

    Short by at most the largest share of one cell. The p-value is the asymptotic one at n_eff; on
    cells it is too large (safe), also with ties. D has no sense for categories: their order is
    arbitrary. Blind to rare tails; `chi_square` sees those.
    """

    name: ClassVar[str] = "kolmogorov_smirnov"
    unit: ClassVar[str] = "distance"
    kinds: ClassVar[frozenset[ViewKind]] = frozenset({ViewKind.NUMBER})
    empty_cells: ClassVar[str] = "empty cells need no rule"

    def measure(self, samples: Samples) -> Finding:
        """The distance, its p-value, its mean without a change, and what the cells can hide."""
        reference, current = samples.reference.counts, samples.current
        distance = largest_gap(reference, current)
        p_log10 = kolmogorov_p_log10(distance, samples.effective_rows)
        widest = max(np.max(reference / reference.sum()), np.max(current / current.sum()))
        null = min(1.0, _MEAN / math.sqrt(samples.effective_rows))
        detail = {
            "null_expectation": null if samples.cells_in_use > 1 else 0.0,
            "p_value": float(special.kolmogorov(distance * math.sqrt(samples.effective_rows))),
            "p_log10": p_log10,
            "binned": "measured at cell borders: a lower bound",
            "binning_error_bound": float(min(widest, 1 - distance)),
        }
        return Finding(distance, detail=detail)
