"""Population stability index without the part that sampling alone produces."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import special

from monitor.checks.drift.base import CellMethod, Counts, Finding, Samples
from monitor.checks.effect import effect_size

PSEUDO_COUNT = 0.5
_EXACT_BELOW = 30.0
_LARGEST_SUMMED = 120


def population_stability(reference: Counts, current: Counts, pseudo_count: float) -> float:
    """PSI = Σ (q - p) ln(q/p), p = (a + s)/(n + sk), q = (c + s)/(m + sk), natural logarithm.

    `pseudo_count` s is added to each of the k cells of both samples; s = 0 needs every cell used.
    """
    p = (reference + pseudo_count) / (reference.sum() + pseudo_count * len(reference))
    q = (current + pseudo_count) / (current.sum() + pseudo_count * len(current))
    return float(np.sum((q - p) * np.log(q / p)))


def expected_stability(shares: Counts, n: int, m: int) -> float:
    """Mean of the smoothed PSI when both samples come from `shares` (float64[k], sum 1).

    Σ E[p ln p] + E[q ln q] - E[p]E[ln q] - E[q]E[ln p], each from the cell's binomial count. With
    full cells it is (k - 1)(1/n + 1/m) (Yurdakul 2018); that rule is far off for thin cells when n
    and m differ much, because the half row added weighs more in the smaller sample.
    """
    cells = len(shares)
    mean_p, log_p, product_p = _smoothed_moments(shares, n, cells)
    mean_q, log_q, product_q = _smoothed_moments(shares, m, cells)
    return float(np.sum(product_p + product_q - mean_p * log_q - mean_q * log_p))


def _smoothed_moments(shares: Counts, n: int, cells: int) -> tuple[Counts, Counts, Counts]:
    """E[p], E[ln p], E[p ln p] per cell for p = (Binomial(n, share) + ½)/(n + cells/2)."""
    total = n + PSEUDO_COUNT * cells
    mean = (n * shares + PSEUDO_COUNT) / total
    logs, products = _expanded_moments(shares, n)
    thin = np.minimum(n * shares, n * (1 - shares)) < _EXACT_BELOW
    thin &= n * shares < _EXACT_BELOW
    if thin.any():
        logs[thin], products[thin] = _summed_moments(shares[thin], n)
    log_p = logs - np.log(total)
    return mean, log_p, products / total - mean * np.log(total)


def _expanded_moments(shares: Counts, n: int) -> tuple[Counts, Counts]:
    """E[ln x], E[x ln x] of x = count + ½ by Taylor's series around the mean; for counts >= 30."""
    x = n * shares + PSEUDO_COUNT
    variance = n * shares * (1 - shares)
    third, fourth = variance * (1 - 2 * shares), 3 * variance**2
    logs = np.log(x) - variance / (2 * x**2) + third / (3 * x**3) - fourth / (4 * x**4)
    products = x * np.log(x) + variance / (2 * x) - third / (6 * x**2) + fourth / (12 * x**3)
    return logs, products


def _summed_moments(shares: Counts, n: int) -> tuple[Counts, Counts]:
    """The same two moments by summing the binomial distribution; for counts < 30 on average."""
    count = np.arange(min(n, _LARGEST_SUMMED) + 1, dtype=np.float64)
    share = shares[:, None]
    log_mass = special.xlogy(count, share) + special.xlog1py(n - count, -share)
    log_mass += special.gammaln(n + 1) - special.gammaln(count + 1) - special.gammaln(n - count + 1)
    mass = np.exp(log_mass)
    mass /= mass.sum(axis=1, keepdims=True)
    x = count + PSEUDO_COUNT
    return mass @ np.log(x), mass @ (x * np.log(x))


class PopulationStability(CellMethod):
    """D = PSI - E[PSI without a change], so that 0 means "no more than sampling explains".

    PSI adds half a row to each cell of both samples (never a constant share); cells empty in both
    are left out. E is computed from the pooled shares, cell by cell. The limits treat
    n_eff · D + df as noncentral chi-square on df = cells in use - 1: a second-order approximation
    that is too narrow for large shifts. For a p-value take `chi_square`.
    """

    name: ClassVar[str] = "psi"
    unit: ClassVar[str] = "psi"
    empty_cells: ClassVar[str] = "0.5 rows are added to each cell of both samples"

    def measure(self, samples: Samples) -> Finding:
        """The debiased index with the raw one and its null expectation in the detail."""
        total = samples.reference.counts + samples.current
        used = total > 0
        reference, current = samples.reference.counts[used], samples.current[used]
        raw = population_stability(reference, current, PSEUDO_COUNT)
        degrees = int(used.sum()) - 1
        shares = total[used] / total.sum()
        null = expected_stability(shares, samples.reference.n, samples.n) if degrees else 0.0
        statistic = samples.effective_rows * (raw - null) + degrees
        effect = effect_size(statistic, degrees, samples.effective_rows)
        detail: dict[str, Any] = {
            "raw_psi": raw,
            "null_expectation": null,
            "degrees_of_freedom": degrees,
            "interval_method": "noncentral chi-square, inverted",
        }
        return Finding(effect.value, effect.low, effect.high, detail)
