"""Where a change of the loss sits: in common cells, within cells, or in cells that are new or rare.

Knows cell numbers and losses of labelled rows; it makes no claim about why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from monitor.checks.context.resampling import DRAWS, drawn_rows, percentile_limits
from monitor.checks.intervals import LEVEL
from monitor.measurement import Failed, Measured, TooFew
from monitor.profiles.arrays import CellNumbers, Floats, Integers

MIN_ROWS = 100
_PARTS = ("harder_mix", "within", "new_or_rare", "total")


@dataclass(frozen=True, eq=False)
class LossParts:
    """`total` = `harder_mix` + `within` + `new_or_rare`; `shared` float64[cells] adds up to 1."""

    harder_mix: float
    within: float
    new_or_rare: float
    shared: Floats

    @property
    def total(self) -> float:
        return self.harder_mix + self.within + self.new_or_rare


@dataclass(frozen=True)
class LossChange:
    """The parts as outcomes, in units of the loss; `shared` the shared mix by cell."""

    harder_mix: Measured
    within: Measured
    new_or_rare: Measured
    total: Measured
    shared: tuple[float, ...]


def loss_parts(
    shares: Floats, shares_now: Floats, loss: Floats, loss_now: Floats
) -> LossParts | None:
    """DISDE, discrete form (Cai, Namkoong and Yadlowsky 2023); None when no cell is shared.

    `shares` p, `shares_now` q float64[cells] add up to 1; `loss` R_P, `loss_now` R_Q float64[cells]
    mean loss of a cell, ignored where its share is 0. Shared mix S ∝ pq/(p + q). Parts:
    E_S R_P - E_P R_P (mix shifts to cells that were always harder or easier, within what is
    common), E_S (R_Q - R_P) (the loss of the same cells changed), E_Q R_Q - E_S R_Q (new or rare
    cells).
    """
    overlap = shares * shares_now
    both = shares + shares_now
    shared = np.divide(overlap, both, out=np.zeros_like(overlap), where=both > 0)
    if shared.sum() == 0:
        return None
    shared = shared / shared.sum()
    then, now = np.where(shares > 0, loss, 0.0), np.where(shares_now > 0, loss_now, 0.0)
    return LossParts(
        float((shared - shares) @ then),
        float(shared @ (now - then)),
        float((shares_now - shared) @ now),
        shared,
    )


def loss_change(
    cells: CellNumbers | Integers,
    losses: Floats,
    cells_now: CellNumbers | Integers,
    losses_now: Floats,
    *,
    n_cells: int,
    seed: int,
    draws: int = DRAWS,
) -> LossChange | TooFew | Failed:
    """Split the change of the mean loss of labelled rows by `loss_parts`, with bootstrap limits.

    `cells` int[n_reference], `cells_now` int[n] on the same `n_cells` cells, losses float64 of the
    same lengths (0/1 errors, squared errors). Limits at 95 % for each part. TooFew below 100
    labelled rows on a side; Failed when the two sides share no cell.
    Not for labels that are still arriving: compare cohorts of the same maturity.
    """
    if min(len(cells), len(cells_now)) < MIN_ROWS:
        return TooFew(min(len(cells), len(cells_now)), MIN_ROWS, "labelled rows")
    ones, ones_now = np.ones(len(cells)), np.ones(len(cells_now))
    parts = _parts(cells, losses, ones, cells_now, losses_now, ones_now, n_cells)
    if parts is None:
        return Failed("reference and current rows share no cell")
    rng = np.random.default_rng(seed)
    drawn: dict[str, list[float]] = {name: [] for name in _PARTS}
    for _ in range(draws):
        before = drawn_rows(rng, len(cells)).astype(np.float64)
        now = drawn_rows(rng, len(cells_now)).astype(np.float64)
        sample = _parts(cells, losses, before, cells_now, losses_now, now, n_cells)
        for name in _PARTS:
            drawn[name].append(getattr(sample, name) if sample else np.nan)
    return _measured(parts, drawn, len(cells_now), len(cells))


def _measured(
    parts: LossParts, drawn: Mapping[str, list[float]], n: int, n_reference: int
) -> LossChange | Failed:
    measured: dict[str, Measured] = {}
    for name in _PARTS:
        value = float(getattr(parts, name))
        limits = percentile_limits(np.asarray(drawn[name]), value)
        if limits is None:
            return Failed("in too many bootstrap samples the two sides share no cell")
        measured[name] = Measured(value, n, *limits, LEVEL, n_reference)
    return LossChange(**measured, shared=tuple(parts.shared.tolist()))


def _parts(
    cells: CellNumbers | Integers,
    losses: Floats,
    drawn: Floats,
    cells_now: CellNumbers | Integers,
    losses_now: Floats,
    drawn_now: Floats,
    n_cells: int,
) -> LossParts | None:
    shares, loss = _by_cell(cells, losses, drawn, n_cells)
    shares_now, loss_now = _by_cell(cells_now, losses_now, drawn_now, n_cells)
    return loss_parts(shares, shares_now, loss, loss_now)


def _by_cell(
    cells: CellNumbers | Integers, losses: Floats, drawn: Floats, n_cells: int
) -> tuple[Floats, Floats]:
    """Share of rows and mean loss of each cell, both float64[n_cells]."""
    rows = np.bincount(cells, drawn, minlength=n_cells)
    sums = np.bincount(cells, drawn * losses, minlength=n_cells)
    return rows / rows.sum(), np.divide(sums, rows, out=np.zeros(n_cells), where=rows > 0)
