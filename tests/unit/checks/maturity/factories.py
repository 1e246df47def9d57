"""Windows of requests with delays, as the delay curve takes them in."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from monitor.checks.maturity.delay_curve import UPPER_HOURS, DelayCurve, Followed, learn_curve
from monitor.profiles.delays import DELAY_BUCKETS, delay_buckets

HOUR = 3_600_000_000
DAY_HOURS = 24.0


def followed(age_hours: float, delays_hours: np.ndarray) -> Followed:
    """A window of requests of one age; those whose delay is longer have no label yet."""
    told = delays_hours < age_hours
    buckets = delay_buckets((delays_hours[told] * HOUR).astype(np.int64))
    labelled = np.bincount(buckets, minlength=DELAY_BUCKETS).astype(np.int64)
    return Followed(age_hours, labelled, int((~told).sum()))


def on_edges(rows: Iterable[tuple[int, bool]]) -> list[Followed]:
    """One request each: (bucket, labelled): told at the end of the bucket, or censored there."""
    found = []
    for bucket, labelled in rows:
        counts = np.zeros(DELAY_BUCKETS, np.int64)
        counts[bucket] = labelled
        found.append(Followed(float(UPPER_HOURS[bucket]), counts, int(not labelled)))
    return found


def curve_of(share_by_day: dict[float, float], n: int = 1_000_000, days: float = 60) -> DelayCurve:
    """A curve through shares at ages in days, learned from so many requests of one old window.

    Labels come in the last bucket that ends before each age, so that F is exact at the ages.
    """
    delays, before = [], 0.0
    for age, share in sorted(share_by_day.items()):
        edge = UPPER_HOURS[age * DAY_HOURS >= UPPER_HOURS][-1]
        delays += [edge * 0.99] * round((share - before) * n)
        before = share
    delays += [np.inf] * (n - len(delays))
    made = learn_curve([followed(days * DAY_HOURS, np.array(delays))], 30 * DAY_HOURS)
    assert made is not None
    return made
