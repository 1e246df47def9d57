"""How large a calibration error is: debiased, plain, swept, smooth, and what the Brier score holds.

Every plug-in size is above 0 for a perfect model too, so each comes with its value under "the
scores are right".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import fft

from monitor.checks.calibration_cells import ScoreCells, ScoredCounts
from monitor.checks.intervals import LEVEL, noncentrality_limits
from monitor.checks.reliability import Reliability, equal_mass_groups, reliability
from monitor.profiles.arrays import Floats

_WAVES = 1_024
_BISECTIONS = 10


@dataclass(frozen=True)
class DebiasedSquare:
    """L2 error squared without its bias (may be negative), its variance and its 95 % limits.

    `limits` are of the squared error of the groups, not below 0.
    """

    value: float
    variance: float
    limits: tuple[float, float]


def debiased(table: Reliability, level: float = LEVEL) -> DebiasedSquare:
    """Σ w_b [(ȳ - f̄)² - v_b], v_b = ȳ(1 - ȳ)/(n_b - 1), over groups of at least two rows.

    0 on average for a perfect model (Bröcker 2012; Ferro and Fricker 2012; Kumar, Liang and Ma
    2019). Variance: Σ w² [4((ȳ - f̄)² - v)v + 2v²], at least Σ 2w²v². Limits: Σ w (ȳ - f̄)² is
    taken as a scaled noncentral chi-square of its mean and variance (Satterthwaite 1946) and
    inverted, so that they hold near 0 too, where a normal interval does not.
    """
    rows = table.rows.astype(np.float64)
    usable = rows >= 2
    if not usable.any():
        return DebiasedSquare(0.0, 0.0, (0.0, 0.0))
    n, observed, score = rows[usable], table.observed[usable], table.mean_score[usable]
    noise = observed * (1 - observed) / (n - 1)
    return debiased_gaps(n / rows.sum(), observed - score, noise, level)


def debiased_gaps(
    weight: Floats, gap: Floats, noise: Floats, level: float = LEVEL
) -> DebiasedSquare:
    """Σ w (gap² - noise) of gaps with these noise variances, all float64[b], as in `debiased`."""
    value = float(weight @ (gap**2 - noise))
    least = 2 * float(weight**2 @ noise**2)
    variance = max(least, 4 * float(weight**2 @ (gap**2 * noise)) - least)
    mean = float(weight @ noise)
    return DebiasedSquare(value, variance, _inverted(value + mean, mean, variance, level))


def _inverted(total: float, noise: float, variance: float, level: float) -> tuple[float, float]:
    """Limits of θ when `total` has mean θ + noise and about this variance.

    total/c is taken as noncentral chi-square with noise/c degrees and noncentrality θ/c; its
    variance 2c(noise + 2θ) sets c.
    """
    if noise <= 1e-15:
        return total, total
    scale = variance / (2 * noise + 4 * max(0.0, total - noise))
    low, high = noncentrality_limits(total / scale, noise / scale, level)
    return scale * low, scale * high


def debiased_square(table: Reliability) -> tuple[float, float]:
    """The debiased squared error and its standard error."""
    found = debiased(table)
    return found.value, float(np.sqrt(found.variance))


def signed_root(value: float) -> float:
    """sqrt of the size with the sign kept."""
    return float(np.sign(value) * np.sqrt(abs(value)))


def plain_error(table: Reliability) -> float:
    """ECE = Σ w_b |ȳ - f̄|; empty groups weigh nothing."""
    return float(table.rows @ np.abs(table.observed - table.mean_score) / table.rows.sum())


def plain_square(table: Reliability) -> float:
    """Σ w_b (ȳ - f̄)², the plug-in L2 error squared; above 0 for a perfect model."""
    return float(table.rows @ (table.observed - table.mean_score) ** 2 / table.rows.sum())


def plain_error_of_perfect_model(table: Reliability) -> float:
    """What ECE is on average for a perfectly calibrated model: Σ w_b sqrt(2 v_b/(π n_b)).

    v_b is the mean of f(1 - f) in the group. With B groups of equal mass this is
    sqrt(2B/(πn)) · E sqrt(f(1 - f)); an ECE near it is no evidence of anything.
    """
    weight = table.rows / table.rows.sum()
    full = np.maximum(table.rows, 1)
    return float(weight @ np.sqrt(2 * table.score_variance / (np.pi * full)))


def swept_error(counts: ScoredCounts) -> tuple[float, int]:
    """ECE with as many groups of equal mass as keep the observed share ascending, and how many.

    Groups are added until the first time the order breaks (Roelofs et al. 2022, ECE_sweep). Cells
    are never cut, so there are at most as many groups as cells in use.
    """
    filled = int(((counts.positives + counts.negatives) > 0).sum())
    best = reliability(counts, equal_mass_groups(counts, 1))
    for groups in range(2, filled + 1):
        table = reliability(counts, equal_mass_groups(counts, groups))
        if np.any(np.diff(table.observed) < 0):
            break
        best = table
    return plain_error(best), len(best.rows)


def smooth_error(cells: ScoreCells) -> tuple[float, float]:
    """smECE and its bandwidth (Błasiok and Nakkiran 2024).

    ∫ |Σ K_σ(t, f)(y - f)|/n dt with a Gaussian reflected at 0 and 1, at the σ where the integral is
    σ itself, found by ten bisections. The reflected kernel is a cosine series with coefficients
    exp(-(πkσ)²/2), so scores stay where they are. In [0, 1]; no test of anything by itself.
    """
    residual = (cells.positives - cells.rows * cells.score) / cells.n
    waves = np.arange(_WAVES, dtype=np.float64)
    spectrum = _cosine_sums(residual, cells.score)
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        width = (low + high) / 2
        low, high = (low, width) if _smoothed(spectrum, waves, width) < width else (width, high)
    return _smoothed(spectrum, waves, high), high


def _cosine_sums(residual: Floats, score: Floats) -> Floats:
    """Σ r cos(πkf) for k = 0.._WAVES - 1.

    With k = a · s + b, cos(πkf) = cos(πasf) cos(πbf) - sin(πasf) sin(πbf): two products of small
    matrices in place of a cosine for each wave and score.
    """
    size = math.isqrt(_WAVES - 1) + 1
    fine = np.pi * np.outer(np.arange(size), score)
    coarse = size * fine
    even = (np.cos(coarse) * residual) @ np.cos(fine).T
    odd = (np.sin(coarse) * residual) @ np.sin(fine).T
    return np.asarray((even - odd).ravel()[:_WAVES], np.float64)


def _smoothed(spectrum: Floats, waves: Floats, width: float) -> float:
    values = fft.dct(spectrum * np.exp(-((np.pi * waves * width) ** 2) / 2), type=3)
    return float(np.mean(np.abs(values)))


@dataclass(frozen=True)
class BrierParts:
    """Brier score = reliability - resolution + uncertainty, in squared probability (Murphy 1973).

    Over distinct scores; with scores counted in cells it holds up to their spread inside a cell.
    """

    reliability: float
    resolution: float
    uncertainty: float

    @property
    def brier(self) -> float:
        return self.reliability - self.resolution + self.uncertainty


def brier_parts(cells: ScoreCells) -> BrierParts:
    """What the Brier score is made of; needs a row."""
    weight = cells.rows / cells.n
    base = float(cells.positives.sum() / cells.n)
    return BrierParts(
        float(weight @ (cells.score - cells.observed) ** 2),
        float(weight @ (cells.observed - base) ** 2),
        base * (1 - base),
    )
