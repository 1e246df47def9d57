"""Levels at which single intervals must be made so that all of a table hold together."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy import special, stats

from monitor.checks.intervals import LEVEL


def each_against_one(groups: int, level: float = LEVEL) -> float:
    """Level of each of the groups - 1 intervals against a reference named beforehand.

    Bonferroni: 1 - (1 - level)/(groups - 1). The reference may not be chosen for its rate.
    """
    return 1 - (1 - level) / max(1, groups - 1)


@lru_cache(maxsize=64)
def each_against_the_best(groups: int, level: float = LEVEL) -> float:
    """Level of each interval when the reference is the group that came out best.

    All pairs hold together (Tukey 1953; Kramer 1956), so those with the best do, whichever that
    is: z is the studentised range's quantile over sqrt(2). Two groups: the level itself.
    """
    if groups <= 2:
        return level
    z = float(stats.studentized_range.ppf(level, groups, np.inf)) / float(np.sqrt(2))
    return float(2 * special.ndtr(z) - 1)
