"""Weights that give rows the cell shares of another sample (raking). Knows cell numbers only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monitor.profiles.arrays import Floats, Integers

MAX_WEIGHT = 20.0
_MAX_ROUNDS = 50
_TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class Combinations:
    """The combinations of cells that occur in rows of one or more columns.

    `of_row` int64[n] numbers each row's combination; `cells[m]` int64[k] is the cell of margin m in
    each of the k combinations; `n_cells[m]` how many cells margin m has.
    """

    of_row: Integers
    cells: tuple[Integers, ...]
    n_cells: tuple[int, ...]

    @classmethod
    def of(cls, margins: Sequence[Integers], n_cells: Sequence[int]) -> Combinations:
        """From the cell numbers of each margin's rows, int[n] each."""
        keys = np.zeros(len(margins[0]), np.int64)
        for cells, size in zip(margins, n_cells, strict=True):
            keys = keys * size + cells
        distinct, of_row = np.unique(keys, return_inverse=True)
        found = []
        for size in reversed(n_cells):
            distinct, cells = np.divmod(distinct, size)
            found.append(cells)
        return cls(of_row, tuple(reversed(found)), tuple(n_cells))

    @property
    def n(self) -> int:
        return len(self.cells[0])


def raked_weights(
    combinations: Combinations,
    counts: Integers,
    targets: Sequence[Floats],
    max_weight: float = MAX_WEIGHT,
) -> Floats:
    """Weight of a row of each combination so that every margin has its target shares, float64[k].

    `counts` int64[k] rows of each combination, `targets[m]` float64[n_cells[m]] shares. Iterative
    proportional fitting (Deming and Stephan 1940): each margin in turn is scaled to its target,
    until no share moves by more than 1e-8; for one margin that is target share / own share.
    Mean weight over rows is 1; weights over `max_weight` are cut to it, afterwards. Target cells
    without a row can't be matched and cells without a target get weight 0: `unmatched_share` says
    how much is left. All zero when no row lies in a target cell.
    """
    weights: Floats = np.ones(combinations.n)
    for _ in range(1 if len(targets) == 1 else _MAX_ROUNDS):
        moved = 0.0
        for cells, size, target in zip(
            combinations.cells, combinations.n_cells, targets, strict=True
        ):
            own = np.bincount(cells, weights * counts, minlength=size)
            reachable = target * (own > 0)
            if reachable.sum() == 0:
                return np.zeros(combinations.n)
            wanted = reachable / reachable.sum()
            moved = max(moved, float(np.abs(wanted - own / own.sum()).max()))
            weights *= np.divide(wanted, own, out=np.zeros(size), where=own > 0)[cells]
        if moved <= _TOLERANCE:
            break
    scaled: Floats = weights * counts.sum() / (weights @ counts)
    return np.minimum(scaled, max_weight)


def unmatched_share(
    combinations: Combinations, counts: Integers, weights: Floats, targets: Sequence[Floats]
) -> float:
    """Largest total variation distance between a margin's weighted shares and its target, 0 to 1.

    Above 0 after raking where target cells hold no row or weights were cut.
    """
    weighted = weights * counts
    if weighted.sum() == 0:
        return 1.0
    return max(
        float(np.abs(np.bincount(cells, weighted, minlength=size) / weighted.sum() - target).sum())
        / 2
        for cells, size, target in zip(
            combinations.cells, combinations.n_cells, targets, strict=True
        )
    )


def effective_rows(counts: Integers, weights: Floats) -> float:
    """Kish's effective sample size (Σw)²/Σw² over rows; 0 when all weights are 0."""
    squares = float(counts @ weights**2)
    return float(counts @ weights) ** 2 / squares if squares > 0 else 0.0
