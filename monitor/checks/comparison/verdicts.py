"""When b is better, worse or no different from a. Pure: knows intervals, no counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from monitor.checks.intervals import normal_quantile
from monitor.measurement import Direction


class Verdict(StrEnum):
    """What a comparison ends with, said of b against a.

    DIFFERENT is for measures without a good side (the share of positive predictions).
    """

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no difference"
    DIFFERENT = "different"
    INCONCLUSIVE = "inconclusive"
    CONFOUNDED = "confounded"


@dataclass(frozen=True)
class Reach:
    """A difference b - a with its 95 % interval, and the wider one of several metrics together."""

    value: float
    low: float
    high: float
    wide_low: float
    wide_high: float


def widened(value: float, low: float, high: float, metrics: int) -> Reach:
    """The simultaneous interval of `metrics` comparisons at 95 % together (Bonferroni; Dunn 1961).

    Each side's reach grows by z(1 - 0.05/(2m)) / z(0.975). Any dependence between the metrics is
    allowed; intervals that were far from normal at 95 % are only roughly right so far out.
    """
    factor = normal_quantile(1 - 0.05 / max(metrics, 1)) / normal_quantile()
    return Reach(value, low, high, value - (value - low) * factor, value + (high - value) * factor)


def verdict_of(reach: Reach, epsilon: float, direction: Direction) -> Verdict:
    """NO_DIFFERENCE when the whole wide interval lies inside ±epsilon; BETTER or WORSE when it
    lies on one side of 0; else INCONCLUSIVE."""
    if epsilon < 0:
        raise AssertionError(f"epsilon is not negative, not {epsilon}")
    if -epsilon <= reach.wide_low and reach.wide_high <= epsilon:
        return Verdict.NO_DIFFERENCE
    if reach.wide_low <= 0 <= reach.wide_high:
        return Verdict.INCONCLUSIVE
    if direction is Direction.TWO_SIDED:
        return Verdict.DIFFERENT
    rose = reach.wide_low > 0
    return Verdict.WORSE if rose == (direction is Direction.HIGHER_IS_WORSE) else Verdict.BETTER


def overall(verdicts: Sequence[Verdict]) -> Verdict:
    """One verdict of all metrics that have a good side; TooFew enters as INCONCLUSIVE.

    WORSE when something is worse and nothing better, BETTER when something is better and nothing
    worse; better here and worse there is for people to weigh, so INCONCLUSIVE. NO_DIFFERENCE
    only when every metric says so. CONFOUNDED when any is.
    """
    told = [verdict for verdict in verdicts if verdict is not Verdict.DIFFERENT]
    if Verdict.CONFOUNDED in told:
        return Verdict.CONFOUNDED
    better, worse = Verdict.BETTER in told, Verdict.WORSE in told
    if better != worse:
        return Verdict.BETTER if better else Verdict.WORSE
    if not better and told and all(verdict is Verdict.NO_DIFFERENCE for verdict in told):
        return Verdict.NO_DIFFERENCE
    return Verdict.INCONCLUSIVE
