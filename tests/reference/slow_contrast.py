"""The contrast of deployments by permuting rows inside hours: slow, and the oracle of the fast one.

Rows are (hour, group of cells, own or other). Moments are written out row by row and cell by cell,
without the formulas' vector form.
"""

from __future__ import annotations

import numpy as np


def stratified_statistic(hour: np.ndarray, cell: np.ndarray, own: np.ndarray, cells: int) -> float:
    """Generalised Cochran-Mantel-Haenszel statistic from rows, by the pseudo-inverse."""
    difference, covariance = np.zeros(cells), np.zeros((cells, cells))
    for stratum in np.unique(hour):
        inside = hour == stratum
        total, mine = int(inside.sum()), int(own[inside].sum())
        if mine in (0, total):
            continue
        share = [np.mean(cell[inside] == b) for b in range(cells)]
        factor = mine * (total - mine) / (total - 1)
        for b in range(cells):
            difference[b] += np.sum((cell == b) & inside & own) - mine * share[b]
            for d in range(cells):
                covariance[b, d] += factor * ((share[b] if b == d else 0) - share[b] * share[d])
    return float(difference @ np.linalg.pinv(covariance, rcond=1e-10) @ difference)


def permutation_p_value(
    hour: np.ndarray,
    cell: np.ndarray,
    own: np.ndarray,
    cells: int,
    rng: np.random.Generator,
    draws: int,
) -> float:
    """Share of permutations inside hours whose statistic is as large; the observed one included."""
    observed = stratified_statistic(hour, cell, own, cells)
    as_large = 1
    for _ in range(draws):
        shuffled = own.copy()
        for stratum in np.unique(hour):
            inside = np.flatnonzero(hour == stratum)
            shuffled[inside] = own[rng.permutation(inside)]
        drawn = stratified_statistic(hour, cell, shuffled, cells)
        as_large += drawn >= observed - 1e-9
    return as_large / (draws + 1)
