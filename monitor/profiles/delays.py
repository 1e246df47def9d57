"""Delay buckets: how long after its request a label was observed. Pure."""

from __future__ import annotations

import numpy as np

from monitor.profiles.arrays import Integers

DELAY_BUCKETS = 32
_MINUTE = 60_000_000
_MINUTES_A_YEAR = 525_600

DELAY_EDGES: tuple[int, ...] = tuple(
    round(_MINUTE * _MINUTES_A_YEAR ** (k / (DELAY_BUCKETS - 2))) for k in range(DELAY_BUCKETS - 1)
)
"""31 edges in microseconds, evenly spaced in the logarithm from 1 minute to 365 days. Bucket 0
holds delays below 1 minute, negative ones included, bucket i delays in [edge i-1, edge i), bucket
31 those of a year and more."""


def delay_buckets(delays: Integers) -> Integers:
    """Bucket of each delay in microseconds, int64[n] -> int64[n] in 0..31."""
    return np.searchsorted(np.asarray(DELAY_EDGES, np.int64), delays, "right").astype(np.int64)
