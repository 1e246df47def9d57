"""How many requests have their label by now."""

from __future__ import annotations

from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import wilson_limits
from monitor.measurement import Outcome


def label_coverage(labelled: int, n: int) -> Outcome:
    """Share of requests whose label is known, with Wilson limits."""
    value, limits = (labelled / n, wilson_limits(labelled, n)) if n else (None, None)
    return measured_above((Floor(n, 1, "rows"),), value, n, limits, {"labelled": labelled}, "rows")
