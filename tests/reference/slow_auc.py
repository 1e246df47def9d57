"""AUC and DeLong's variance from all pairs of rows: slow, and the oracle of the fast one."""

from __future__ import annotations

import numpy as np


def pairwise_delong(score: np.ndarray, label: np.ndarray) -> tuple[float, float]:
    """AUC and its standard error from the n1 × n0 matrix of pair comparisons (two rows a class)."""
    positive, negative = score[label == 1], score[label == 0]
    wins = (positive[:, None] > negative[None, :]) + 0.5 * (positive[:, None] == negative[None, :])
    variance = np.var(wins.mean(axis=1), ddof=1) / len(positive)
    variance += np.var(wins.mean(axis=0), ddof=1) / len(negative)
    return float(wins.mean()), float(np.sqrt(variance))
