"""The longest path through the stages of many requests at once. Pure arithmetic, no contract.

The time of a request is the longest sum of stage times along any path of stages that wait for each
other (critical path method: Kelley and Walker, 1959). It is what the stages explain of the latency
when each starts as soon as those it waits for have ended.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from monitor.profiles.arrays import Floats


def path_times(times: Sequence[Floats], before: Sequence[Sequence[int]]) -> Floats:
    """Milliseconds to the end of the last stage, float64[n].

    `times` are the stages' times, float64[n] each; `before` names, for each stage, the earlier ones
    it waits for.
    """
    ends: list[Floats] = []
    for own, waits in zip(times, before, strict=True):
        start = np.zeros_like(own)
        for place in waits:
            start = np.maximum(start, ends[place])
        ends.append(start + own)
    longest: Floats = np.maximum.reduce(ends)
    return longest


def changed_path_times(
    times: Sequence[Floats], before: Sequence[Sequence[int]], place: int, factor: float
) -> Floats:
    """`path_times` as if one stage took `factor` of its time: 0 for a stage that is gone."""
    changed = list(times)
    changed[place] = changed[place] * factor
    return path_times(changed, before)
