"""How much healthy windows differ from each other beyond chance. Pure.

A healthy week is not a draw from the baseline: traffic changes a little. τ = (mean(T/df) - 1) /
mean(n_eff) is that natural wobble in PSI units a degree of freedom; a statistic divided by
1 + n_eff·τ is again near chi-square, whatever the size of the window.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from monitor.profiles.arrays import Floats

CONFIDENCE = 0.9


@dataclass(frozen=True)
class Wobble:
    """`tau` >= 0; `spread` >= 1 lifts it to its upper 90 % limit; `ratio` = mean(T/df), 1 for
    independent rows; `n_windows` seen, `n_independent` of them that count as independent."""

    tau: float
    spread: float
    ratio: float
    n_windows: int
    n_independent: float


def wobble_of(statistic: Floats, degrees: Floats, effective_rows: Floats) -> Wobble:
    """The wobble of windows that do not overlap, in time order, float64[n] each, none NaN.

    n_independent = n(1 - r)/(1 + r) with r the lag-1 autocorrelation of T/df (Bartlett 1935); the
    upper limit is τ · ν/χ²_ν(0.1) with ν = n_independent; it is nearer to 75 % where τ·n_eff is no
    larger than sampling noise, because τ is then a small difference of two large numbers.
    """
    n = len(statistic)
    each = statistic / degrees
    ratio = float(each.mean())
    tau = max(0.0, (ratio - 1) / float(effective_rows.mean()))
    off = each - ratio
    r = float(np.clip((off[1:] * off[:-1]).sum() / max(float((off**2).sum()), 1e-12), 0.0, 0.98))
    independent = max(n * (1 - r) / (1 + r), 3.0)
    spread = independent / float(special.chdtri(independent, CONFIDENCE))
    return Wobble(tau, spread, ratio, n, independent)
