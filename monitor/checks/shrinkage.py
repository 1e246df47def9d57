"""Rates of groups, drawn towards the mean of all by as much as their size deserves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ShrunkRates:
    """`rates` in the order of the groups; `mean` μ, `variance` τ² between groups, `strength` M in
    rows (None: the groups don't differ beyond chance and all rates are μ)."""

    rates: tuple[float, ...]
    mean: float
    variance: float
    strength: float | None


def empirical_bayes_shrunk(successes: Sequence[int], totals: Sequence[int]) -> ShrunkRates:
    """(x + Mμ)/(n + M): the beta-binomial empirical Bayes estimate, by moments (Kleinman 1973).

    `successes`, `totals` int[k] with 0 <= x <= n, n > 0 and at least two groups. μ = Σx/Σn, with
    N = Σn - Σn²/Σn: τ² = (Σ n(p - μ)² - (k - 1) μ(1 - μ))/N, M = μ(1 - μ)/τ² - 1. For ranking
    groups of unequal size; a group's own number and interval stay what they are.
    """
    x, n = np.asarray(successes, np.float64), np.asarray(totals, np.float64)
    if len(x) != len(n) or len(n) < 2 or (n <= 0).any() or (x < 0).any() or (x > n).any():
        raise AssertionError(
            f"shrinkage needs two groups or more with 0 <= x <= n, not {x.tolist()} of {n.tolist()}"
        )
    mean = float(x.sum() / n.sum())
    chance = mean * (1 - mean)
    scale = float(n.sum() - (n**2).sum() / n.sum())
    spread = float((n * (x / n - mean) ** 2).sum())
    variance = min((spread - (len(n) - 1) * chance) / scale, chance)
    if variance <= 0:
        return ShrunkRates((mean,) * len(n), mean, 0.0, None)
    strength = chance / variance - 1
    rates = (x + strength * mean) / (n + strength)
    return ShrunkRates(tuple(rates.tolist()), mean, variance, strength)
