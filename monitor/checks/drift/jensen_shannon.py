"""Jensen-Shannon distance on baseline cells."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy import special

from monitor.checks.drift.base import CellMethod, Counts, Finding, Samples


def jensen_shannon_divergence(reference: Counts, current: Counts) -> float:
    """½ KL(p‖M) + ½ KL(q‖M), M = (p + q)/2, in nats (Lin 1991); 0 to ln 2, never below 0.

    Shares are taken in float64 and rounding below zero is cut off before any root.
    """
    p = np.asarray(reference, np.float64) / np.sum(reference, dtype=np.float64)
    q = np.asarray(current, np.float64) / np.sum(current, dtype=np.float64)
    middle = (p + q) / 2
    divergence = float(np.sum(special.rel_entr(p, middle) + special.rel_entr(q, middle))) / 2
    return min(max(0.0, divergence), float(np.log(2)))


class JensenShannon(CellMethod):
    """sqrt of the divergence to base 2: 0 for equal shares, 1 for disjoint ones (Endres 2003).

    Needs no filling of empty cells. It grows with small samples even without a change: about
    sqrt((k - 1)(1/n + 1/m)/(8 ln 2)), the `null_expectation`. Compare the two before judging; no
    interval, because the plain distance is biased by about that much.
    """

    name: ClassVar[str] = "jensen_shannon"
    unit: ClassVar[str] = "distance"
    empty_cells: ClassVar[str] = "an empty cell adds nothing: 0 ln 0 = 0"

    def measure(self, samples: Samples) -> Finding:
        """The distance, and its divergence less what sampling alone gives."""
        divergence = jensen_shannon_divergence(samples.reference.counts, samples.current)
        degrees = samples.cells_in_use - 1
        null = degrees / samples.effective_rows / 8
        bits = float(np.log(2))
        detail = {
            "null_expectation": float(np.sqrt(null / bits)),
            "divergence_nats": divergence,
            "debiased_divergence_nats": divergence - null,
        }
        return Finding(float(np.sqrt(divergence / bits)), detail=detail)
