"""Lowers the levels when people say that alarms were false: the promise's last support. Pure.

ln(factor) rises by eta·X a month and falls by eta for each alarm told false, never above 0 (the
idea of adaptive conformal inference, Gibbs and Candès 2021). However wrong the p-values are, the
false alarms of T months then stay below X·T + ln(1/smallest factor)/eta.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime, timedelta

ETA = 0.5
MONTH = timedelta(days=30)


def governor_factor(
    told_false: Iterable[datetime], now: datetime, promise: float, eta: float = ETA
) -> float:
    """The factor on all levels at `now`, in (0, 1]; 1 when nobody ever told of a false alarm.

    `told_false` are the moments at which incidents were told false; later ones than `now` are left
    out. `promise` is X, false incidents a month.
    """
    log_factor, at = 0.0, None
    for moment in sorted(each for each in told_false if each <= now):
        if at is not None:
            log_factor = min(0.0, log_factor + eta * promise * ((moment - at) / MONTH))
        log_factor -= eta
        at = moment
    if at is None:
        return 1.0
    return math.exp(min(0.0, log_factor + eta * promise * ((now - at) / MONTH)))
