"""Estimates for a whole population from a sample with known inclusion probabilities. Pure.

A review looks at some requests, on purpose not all kinds equally often; weights put that right.
Limits come from the design, not from a model. Unrated items are taken to be like the rated ones of
their stratum (stratified) or of the whole (Poisson): look at how many are missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from monitor.checks.intervals import LEVEL
from monitor.checks.signals.spread import score_limits
from monitor.profiles.arrays import Floats, Integers

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Estimate:
    """A population's mean: n items it rests on, `variance` of the mean, df of its t quantile."""

    mean: float
    variance: float
    degrees: float
    n: int
    covered: float

    @property
    def reach(self) -> float:
        """The t quantile of the level."""
        return float(special.stdtrit(max(self.degrees, 1.0), 0.5 + LEVEL / 2))

    def mean_limits(self, low: float, high: float) -> tuple[float, float]:
        """mean ± t · se, cut to [low, high]."""
        half = self.reach * self.variance**0.5
        return max(low, self.mean - half), min(high, self.mean + half)

    def share_limits(self) -> tuple[float, float]:
        """Score limits on the effective sample size m(1 - m)/variance (Dean and Pagano 2015).

        Where every item says the same, the variance is 0 and the number of items counts instead.
        """
        scattered = self.mean * (1 - self.mean)
        n = scattered / self.variance if scattered > 0 and self.variance > 0 else self.n
        return score_limits(self.mean, n, self.reach)


def stratified_mean(values: Floats, strata: Integers, population: Integers) -> Estimate:
    """Mean of a population from simple random samples of its strata.

    Σ W_h ȳ_h; variance Σ W_h² (1 - n_h/N_h) s_h²/n_h, df by Satterthwaite (Cochran 1977, 5.9 and
    5.16). `values` float64[n], `strata` int64[n] number each value's stratum, `population`
    int64[h] are the strata's sizes. A stratum with one value takes the variance of all values; one
    without any is left out, and `covered` is the share of the population in the others. Needs two
    values.
    """
    h = len(population)
    counts = np.bincount(strata, minlength=h)
    there = counts > 0
    n, size = counts[there], population[there].astype(np.float64)
    sums = np.bincount(strata, values, h)[there]
    means = sums / n
    centred = values - (np.bincount(strata, values, h) / np.maximum(counts, 1))[strata]
    inside = np.bincount(strata, centred**2, h)[there]
    overall = float(np.var(values, ddof=1))
    variances = np.where(n > 1, inside / np.maximum(n - 1, 1), overall)
    weights = size / size.sum()
    terms = weights**2 * np.clip(1 - n / size, 0.0, 1.0) * variances / n
    total = float(terms.sum())
    spread = float(np.sum(terms**2 / np.maximum(n - 1, 1)))
    degrees = total**2 / spread if spread > 0 else float(max(len(values) - len(n), 1))
    mean = float(np.sum(weights * means))
    return Estimate(mean, total, degrees, len(values), float(size.sum() / population.sum()))


def weighted_mean(values: Floats, probability: Floats, responded: float = 1.0) -> Estimate:
    """Mean of a population from a Poisson sample: Hájek's ratio Σ y/π / Σ 1/π.

    Variance n/(n-1) Σ (1 - π)/π² (y - ȳ)² / (Σ 1/π)² (Hájek 1971; Särndal, Swensson and Wretman
    1992, 5.7), df Σ-weighted after Kish: (effective sample size - 1). `probability` float64[n]
    in (0, 1]; `responded` is the share of drawn items that have a value. Needs two values.
    """
    weights = 1 / probability
    total = float(weights.sum())
    mean = float(np.sum(weights * values) / total)
    n = len(values)
    inside = (1 - probability * responded) * (weights * (values - mean)) ** 2
    variance = n / (n - 1) * float(inside.sum()) / total**2
    return Estimate(mean, variance, effective_size(weights) - 1, n, 1.0)


def horvitz_thompson_total(values: Floats, probability: Floats) -> tuple[float, float]:
    """A population's total Σ y/π and its variance Σ (1 - π) (y/π)² under Poisson sampling.

    Horvitz and Thompson (1952). Unbiased, but far less precise than Hájek's ratio times the known
    size where the size of the sample is random.
    """
    parts = values / probability
    return float(parts.sum()), float(np.sum((1 - probability) * parts**2))


def effective_size(weights: Array) -> float:
    """(Σw)²/Σw² (Kish 1965): how many equally weighted rows tell as much."""
    return float(weights.sum() ** 2 / np.sum(weights**2))
