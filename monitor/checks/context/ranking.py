"""Which columns to name first: what is explained at least, when it changed, what else changed then.

An order for a person's attention, not a probability and not a verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from monitor.checks.context.explained import ExplainedShare
from monitor.checks.context.tags import TagChange
from monitor.measurement import Measured


class Timing(StrEnum):
    """When the column began to change, seen from the start of the output's change."""

    NEAR = "near"
    UNKNOWN = "unknown"
    ELSEWHERE = "elsewhere"


TIMING_WEIGHTS: Mapping[Timing, float] = {
    Timing.NEAR: 1.0,
    Timing.UNKNOWN: 0.5,
    Timing.ELSEWHERE: 0.25,
}
LOGGED_WEIGHT, UNLOGGED_WEIGHT = 1.0, 0.5


@dataclass(frozen=True)
class Ranked:
    """`score` in [0, 1]; `logged` is the change of deployment near the column's change, if any."""

    explained: ExplainedShare
    score: float
    timing: Timing
    logged: TagChange | None


def ranked(
    shares: Sequence[ExplainedShare],
    changed_at: Mapping[str, datetime],
    start: datetime,
    window: timedelta,
    changes: Sequence[TagChange] = (),
) -> tuple[Ranked, ...]:
    """Explained shares by score = lower limit · timing · change log, best first.

    Lower limit of the share explained, cut to [0, 1]. Timing: 1 when the column's change
    (`changed_at` by column; the last one of a pair) lies within one `window` of the `start` of the
    output's change, 1/2 when it is not known, 1/4 elsewhere. Change log: 1 when a deployment
    changed within one window of the column's change (of the start, if that is not known), else
    1/2. The weights are conventions.
    """
    found = []
    for explained in shares:
        moments = [changed_at[name] for name in explained.columns if name in changed_at]
        moment = max(moments) if len(moments) == len(explained.columns) else None
        timing = _timing(moment, start, window)
        logged = _logged(moment or start, window, changes)
        weight = TIMING_WEIGHTS[timing] * (UNLOGGED_WEIGHT if logged is None else LOGGED_WEIGHT)
        found.append(Ranked(explained, _lower_limit(explained) * weight, timing, logged))
    return tuple(sorted(found, key=lambda one: (-one.score, one.explained.columns)))


def _timing(moment: datetime | None, start: datetime, window: timedelta) -> Timing:
    if moment is None:
        return Timing.UNKNOWN
    return Timing.NEAR if abs(moment - start) <= window else Timing.ELSEWHERE


def _logged(moment: datetime, window: timedelta, changes: Sequence[TagChange]) -> TagChange | None:
    near = [change for change in changes if abs(change.at - moment) <= window]
    return min(near, key=lambda change: abs(change.at - moment), default=None)


def _lower_limit(explained: ExplainedShare) -> float:
    share = explained.share
    if not isinstance(share, Measured) or share.low is None:
        return 0.0
    return min(1.0, max(0.0, share.low))
