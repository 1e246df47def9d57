"""What buckets can say of a quantile or a limit, and what they can't. Pure.

A bucket tells how many values lie between its edges and nothing about where. No number between two
edges is made up: a quantile is "between these edges", and whether it is beyond a limit inside its
bucket is not known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Between:
    """A value lies above `low` and at most at `high`; infinite where there is no edge."""

    low: float
    high: float

    def describe(self, unit: str = "") -> str:
        """`between 300 and 500 ms`, `at most 300 ms`, `above 60,000 ms`."""
        tail = f" {unit}" if unit else ""
        if math.isinf(self.low):
            return f"at most {self.high:,.6g}{tail}"
        if math.isinf(self.high):
            return f"above {self.low:,.6g}{tail}"
        return f"between {self.low:,.6g} and {self.high:,.6g}{tail}"


class FinerThanBuckets(ValueError):
    """A question that the buckets can't answer; the text says between which edges the answer is."""


def quantile_between(edges: Sequence[float], counts: Sequence[float], q: float) -> Between | None:
    """The edges between which the q-quantile lies; None when there are no values.

    The quantile is the smallest value with at least a share q of all values at or below it.
    """
    whole = sum(counts)
    if whole <= 0:
        return None
    wanted, upto = q * whole, 0.0
    ends = (-math.inf, *edges, math.inf)
    for place, count in enumerate(counts):
        upto += count
        if count > 0 and upto >= wanted * (1 - 1e-12):
            return Between(ends[place], ends[place + 1])
    last = max(place for place, count in enumerate(counts) if count > 0)
    return Between(ends[last], ends[last + 1])


def is_quantile_above(
    edges: Sequence[float], counts: Sequence[float], q: float, limit: float
) -> bool | None:
    """Whether the q-quantile is above a limit; None when there are no values.

    Raises FinerThanBuckets when the limit lies inside the quantile's bucket.
    """
    found = quantile_between(edges, counts, q)
    if found is None:
        return None
    if limit >= found.high:
        return False
    if limit <= found.low:
        return True
    raise FinerThanBuckets(
        f"the {q:.0%} quantile is {found.describe()}: whether it is above {limit:,.6g} is finer"
        " than the server's buckets can say"
    )
