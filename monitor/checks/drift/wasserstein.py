"""Wasserstein distance (how far values moved) in baseline standard deviations."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from monitor.checks.drift.base import CellMethod, Counts, Finding, Samples, ViewKind
from monitor.measurement import Failed
from monitor.profiles.cells import NumberCells


def transport_distance(edges: Counts, reference: Counts, current: Counts) -> float:
    """∫ |F - G| between the first and the last edge, in the column's units.

    `edges` float64[k - 1] for k ordered cells. Rows outside the edges count as lying on them
    (winsorised). Inside a cell both samples are spread evenly, so F - G is a straight line. A cell
    that the baseline never uses has no known shape: there the cheapest placement counts.
    """
    share_then, share_now = reference / reference.sum(), current / current.sum()
    gap = np.cumsum(share_now - share_then)[:-1]
    left, right = np.abs(gap[:-1]), np.abs(gap[1:])
    crossing = gap[:-1] * gap[1:] < 0
    both = np.where(left + right > 0, left + right, 1.0)
    even = np.where(crossing, (left**2 + right**2) / (2 * both), (left + right) / 2)
    cheapest = np.where(crossing, 0.0, np.minimum(left, right))
    height = np.where(share_then[1:-1] > 0, even, cheapest)
    return float(height @ np.diff(edges))


def expected_transport(edges: Counts, pooled: Counts, effective_rows: float) -> float:
    """Mean of the distance without a change: sqrt(2/π) ∫ sqrt(F(1 - F)) dx / sqrt(n_eff)."""
    below = np.cumsum(pooled / pooled.sum())[:-1]
    spread = np.sqrt(np.maximum(0.0, below * (1 - below)))
    area = float(((spread[:-1] + spread[1:]) / 2) @ np.diff(edges))
    return float(np.sqrt(2 / np.pi / effective_rows)) * area


def binning_bound(edges: Counts, reference: Counts, current: Counts) -> float:
    """How far the even spread inside cells can be from the truth, in the column's units."""
    share = reference / reference.sum() + current / current.sum()
    return float(share[1:-1] @ np.diff(edges)) / 2


class Wasserstein(CellMethod):
    """W1/sd = (1/sd of the baseline) ∫ |F - G| dx from counts.

    In units that a person feels: 0.1 means that values moved by a tenth of a standard deviation
    on average. Rows beyond the outermost edges (baseline minimum and maximum) count as lying on
    them, so one absurd value can't decide; `mean_shift` keeps the exact means apart. Sampling
    alone gives `null_expectation`. No interval and no p-value: take `chi_square` for those. Failed
    when the baseline is constant and the current data is not the same constant.
    """

    name: ClassVar[str] = "wasserstein"
    unit: ClassVar[str] = "baseline_sd"
    kinds: ClassVar[frozenset[ViewKind]] = frozenset({ViewKind.NUMBER})
    symmetric: ClassVar[bool] = False
    empty_cells: ClassVar[str] = "a cell the baseline never uses counts its cheapest placement"

    def measure(self, samples: Samples) -> Finding | Failed:
        """The distance with its null expectation, the bound of binning and the shift of means."""
        reference, cells = samples.reference, samples.reference.cells
        if not isinstance(cells, NumberCells):
            raise AssertionError("the Wasserstein distance needs number cells")
        sd = reference.sd if reference.sd is not None else cells.reference_sd
        if not sd > 0:
            return _against_constant(samples)
        edges = _in_sd(cells, sd)
        pooled = reference.counts + samples.current
        detail = {
            "null_expectation": expected_transport(edges, pooled, samples.effective_rows),
            "binning_error_bound": binning_bound(edges, reference.counts, samples.current),
        }
        if samples.mean is not None and reference.mean is not None:
            detail["mean_shift"] = (samples.mean / 2 - reference.mean / 2) / (sd / 2)
        return Finding(transport_distance(edges, reference.counts, samples.current), detail=detail)


def _in_sd(cells: NumberCells, sd: float) -> Counts:
    """Edges from the centre in baseline standard deviations; halves first, so none overflows."""
    halves = np.asarray(cells.edges, np.float64) / 2 - cells.centre / 2
    return np.asarray(halves / (sd / 2))


def _against_constant(samples: Samples) -> Finding | Failed:
    if samples.cells_in_use <= 1:
        return Finding(0.0, detail={"null_expectation": 0.0})
    return Failed(
        "the baseline is constant, so a distance in its standard deviations has no meaning;"
        " read chi_square for this column"
    )
