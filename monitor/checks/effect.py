"""From a chi-square statistic to an effect size in PSI units and a p-value that can be tiny.

To second order a chi-square statistic X2 on df degrees of freedom over n_eff = nm/(n+m) rows is
n_eff · PSI, and under no change its mean is df. So D = (X2 - df)/n_eff estimates the population
stability index without the noise of small samples; it may fall below zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import special, stats

from monitor.checks.intervals import LEVEL, noncentrality_limits


@dataclass(frozen=True)
class Effect:
    """`value` in PSI units with limits at `LEVEL`; low <= value <= high always holds."""

    value: float
    low: float
    high: float


def effect_size(statistic: float, degrees: int, effective_rows: float) -> Effect:
    """D = (statistic - df)/n_eff, limits from the noncentral chi-square distribution by inversion.

    The limits are for the true index, which is never negative; they are widened to hold D.
    """
    value = (statistic - degrees) / effective_rows
    low, high = noncentrality_limits(statistic, degrees, LEVEL)
    return Effect(value, min(value, low / effective_rows), max(value, high / effective_rows))


def chi_square_p_value(statistic: float, degrees: int) -> float:
    """Upper tail of the chi-square distribution; 1 when there is nothing that could differ."""
    return 1.0 if degrees < 1 else float(special.chdtrc(degrees, max(0.0, statistic)))


def chi_square_p_log10(statistic: float, degrees: int) -> float:
    """log10 of the upper tail, also where the p-value itself is below the smallest float."""
    if degrees < 1 or statistic <= 0:
        return 0.0
    plain = chi_square_p_value(statistic, degrees)
    if plain > 1e-290:
        return math.log10(plain)
    tail = float(stats.chi2.logsf(statistic, degrees))
    if math.isfinite(tail):
        return tail / math.log(10)
    # Leading term of the incomplete gamma function: Q(a, x) ~ x^(a-1) e^(-x) / Gamma(a).
    half, x = degrees / 2, statistic / 2
    return ((half - 1) * math.log(x) - x - math.lgamma(half)) / math.log(10)


def combined_p_log10(first: float, second: float) -> float:
    """log10 of the Bonferroni p-value of two tests: twice the smaller, at most 1."""
    return min(0.0, min(first, second) + math.log10(2))


def p_from_log10(p_log10: float) -> float:
    """The p-value itself; 0.0 where it is below the smallest float."""
    return float(10.0**p_log10) if p_log10 > -307 else 0.0
