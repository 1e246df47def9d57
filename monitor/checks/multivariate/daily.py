"""Is today's classifier unusual for this model? The history of its own days decides. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from monitor.measurement import TooFew
from monitor.profiles.arrays import Floats

MIN_DAYS = 28
_MAX_AUTOCORRELATION = 0.9
_MOST_DEGREES = 6.0


@dataclass(frozen=True)
class DailyVerdict:
    """`p_value` that a healthy day reaches today's value; all others on the logit scale.

    `expected` is the mean of the accepted days, `spread` their standard deviation after its lower
    limit, `degrees` those of Student's t, `days` how many were used.
    """

    p_value: float
    expected: float
    spread: float
    degrees: float
    days: int


def judge(history: Floats, today: float, *, n: int, m: int) -> DailyVerdict | TooFew:
    """Upper-tail p-value of today's logit AUC given those of accepted days, in order of time.

    t = (today - mean)/(s sqrt(1 + 1/k)) with k - 1 degrees, k the days in effect: d(1 - r)/(1 + r)
    for d days with lag-1 autocorrelation r, which also widens s. Never more than 6 degrees: days
    are not normal, and a few weeks do not show their tail. s is at least what drawing `n` reference
    and `m` current rows gives, sqrt((n + m + 1)/(12 n m)) / (A(1 - A)) with A the mean area (the
    variance of Wilcoxon's statistic; Mann and Whitney 1947): a history that is still by chance must
    not make the next day an alarm. Only a rise counts: that a day is hard to tell from the
    reference is no change. TooFew with fewer than 28 days. Days of confirmed incidents belong left
    out.
    """
    days = len(history)
    if days < MIN_DAYS:
        return TooFew(days, MIN_DAYS, "accepted days with a classifier")
    mean = float(np.mean(history))
    r = _autocorrelation(np.asarray(history, np.float64) - mean)
    effective = days * (1 - r) / (1 + r)
    variance = float(np.var(history)) * effective / max(effective - 1, 1.0)
    area = float(special.expit(mean))
    least = math.sqrt((n + m + 1) / (12 * n * m)) / max(area * (1 - area), 1e-3)
    spread = max(math.sqrt(variance), least)
    degrees = min(max(effective - 1, 1.0), _MOST_DEGREES)
    t = (today - mean) / (spread * math.sqrt(1 + 1 / effective))
    return DailyVerdict(float(special.stdtr(degrees, -t)), mean, spread, degrees, days)


def _autocorrelation(distances: Floats) -> float:
    """Lag-1 autocorrelation, with 1/days added for what taking out the mean costs; in [0, 0.9]."""
    squares = float(np.sum(distances**2))
    if squares == 0:
        return 0.0
    found = float(np.sum(distances[1:] * distances[:-1])) / squares + 1 / len(distances)
    return min(max(found, 0.0), _MAX_AUTOCORRELATION)
