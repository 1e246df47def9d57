"""Standard error by leaving out one group of entities at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from monitor.checks.intervals import LEVEL

MIN_GROUPS = 10


def jackknife_limits(
    value: float, left_out: Sequence[float], level: float = LEVEL
) -> tuple[float, float]:
    """value ± t · se, se² = (G-1)/G Σ (θ_(g) - mean)², t on G - 1 df (Efron and Stein 1981).

    `left_out[g]` is the statistic without group g of entities, so rows of one entity may depend on
    each other. Needs about 10 groups of similar size; too narrow when one entity dominates.
    """
    groups = len(left_out)
    if groups < 2:
        raise AssertionError(f"the jackknife needs at least two groups, not {groups}")
    spread = np.asarray(left_out, np.float64) - np.mean(left_out)
    standard_error = float(np.sqrt((groups - 1) / groups * np.sum(spread**2)))
    reach = float(special.stdtrit(groups - 1, 0.5 + level / 2)) * standard_error
    return value - reach, value + reach
