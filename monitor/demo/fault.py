"""Names a fault from the contrasts of deployments, and from nothing else. Pure.

A deployment's column is at fault when it differs from that of the deployments serving in the same
hours by more than chance could do anywhere in the whole replay (Bonferroni over every contrast
made, Dunn 1961) and by enough to matter. Only features are candidates: a score that moved because
of a feature is a consequence.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from monitor.windows import Window

FALSE_FAULT_PROBABILITY = 0.001
SMALLEST_EXCESS = 0.02


@dataclass(frozen=True)
class ContrastTest:
    """One measured contrast: excess divergence in PSI units and log10 of its p-value."""

    deployment_id: int
    column: str
    window: Window
    excess: float
    p_log10: float


@dataclass(frozen=True)
class Fault:
    """A named fault. `noticed` is when the first window that shows it could be evaluated."""

    started: datetime
    noticed: datetime
    column: str
    deployment_id: int
    excess: float
    p_log10: float
    windows: int


def find_fault(
    tests: Sequence[ContrastTest], features: Collection[str], lateness: timedelta, made: int
) -> Fault | None:
    """The fault that shows first, None when no contrast is beyond chance and effect limits.

    `made` is how many contrasts of features there were; `tests` may leave out any whose p-value is
    not below FALSE_FAULT_PROBABILITY, since those can't name a fault. `lateness` is how long a
    window waits for late requests after its end. Among the windows that end at the same moment the
    most surprising contrast names column and deployment.
    """
    candidates = [test for test in tests if test.column in features]
    limit = math.log10(FALSE_FAULT_PROBABILITY / max(made, len(candidates), 1))
    firing = [t for t in candidates if t.p_log10 < limit and t.excess > SMALLEST_EXCESS]
    if not firing:
        return None
    noticed = min(test.window.end for test in firing)
    named = min((t for t in firing if t.window.end == noticed), key=lambda test: test.p_log10)
    same = [t for t in firing if (t.deployment_id, t.column) == (named.deployment_id, named.column)]
    return Fault(
        started=named.window.start,
        noticed=noticed + lateness,
        column=named.column,
        deployment_id=named.deployment_id,
        excess=named.excess,
        p_log10=named.p_log10,
        windows=len(same),
    )
