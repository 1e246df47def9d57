"""Whether a cohort's scores lie where labels were seen, and whether the calibrator held. Pure.

Outside that region, or with a calibrator that newer labels contradict, there is no estimate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from monitor.checks.estimation.calibrator import (
    Calibrator,
    LabelledScores,
    fit_calibrator,
    merged,
    too_few_labels,
)
from monitor.checks.estimation.reweighting import FOREIGN, MOST_FOREIGN, OUTSIDE
from monitor.checks.estimation.served import ServedScores
from monitor.measurement import Failed
from monitor.profiles.arrays import Floats

REGIONS = 32
CHANCE_GROUPS = 10
FAILING_P, FAILING_ERROR = 0.001, 0.05
LEAST_OLDER, LEAST_NEWER = 7, 3


@dataclass(frozen=True)
class ScoreSupport:
    """`outside`: share of the cohort's rows in score regions that are at least 19 times as frequent
    in it as among the labelled rows; `psi`: of the 32 regions, 0.5 added to each count."""

    outside: float
    psi: float

    def withheld(self) -> Failed | None:
        """Failed when more than 5 % lies outside."""
        if self.outside <= MOST_FOREIGN:
            return None
        return Failed(
            f"{OUTSIDE}: {self.outside:.1%} of the scores lie where hardly a labelled request lies"
            f" (at most {MOST_FOREIGN:.0%})",
            {"outside_share": self.outside, "score_psi": self.psi},
        )


def score_support(labelled: LabelledScores, served: ServedScores) -> ScoreSupport:
    """Where the cohort's scores lie, in 32 equal parts of [0, 1].

    With q and r the shares of a part among cohort and labelled rows, q/(q + r) is the chance that a
    row drawn from either side with equal chance is the cohort's: above .95 the part is outside, the
    rule of the classifier on all columns applied to the score alone. A part with a single cohort
    row is never outside: one row is no region.
    """
    reference = _by_region(labelled.score, labelled.positives + labelled.negatives)
    current = _by_region(served.score, served.rows)
    r = (reference + 0.5) / (reference.sum() + REGIONS / 2)
    q = (current + 0.5) / (current.sum() + REGIONS / 2)
    foreign = (q / (q + r) > FOREIGN) & (current > 1)
    total = current.sum()
    outside = float(current[foreign].sum() / total) if total else 0.0
    return ScoreSupport(outside, float(((q - r) * np.log(q / r)).sum()))


def _by_region(score: Floats, rows: Floats) -> Floats:
    place = np.clip((score * REGIONS).astype(np.int64), 0, REGIONS - 1)
    return np.asarray(np.bincount(place, rows, REGIONS), np.float64)


@dataclass(frozen=True)
class HeldOutTest:
    """A calibrator against newer days: `p_value` of "they differ from it no more than days do", and
    the debiased calibration `error` in probability; `days` older and newer ones."""

    p_value: float
    error: float
    older_days: int
    newer_days: int

    def withheld(self) -> Failed | None:
        """Failed when the difference is beyond chance (p < .001) and matters (error > .05)."""
        if self.p_value >= FAILING_P or self.error <= FAILING_ERROR:
            return None
        return Failed(
            "the newest labels contradict the calibrator by"
            f" {self.error:.3f} on average (p {self.p_value:.1g}); wait for its next fit",
            {"held_out_error": self.error, "held_out_p_value": self.p_value},
        )


def held_out_test(
    older: Sequence[LabelledScores], newer: Sequence[LabelledScores]
) -> HeldOutTest | None:
    """Fit on older days, test on newer ones, a group of scores a day.

    Of each day the mean of y - c and of (y - c)(c - 1/2): too high or low, too extreme or timid.
    Newer days against older ones by Welch's t (1947) each, twice the smaller p: days differ by
    nature (weather, a sale), and rows of one day are not independent. The error is
    sqrt(max(0, Σ w ((o - e)²/n² - Σ c(1 - c)/n²))) over ten groups of about equal size by chance.
    None with fewer than 7 older or 3 newer days with labels, or when either side is too small (500
    labels, 50 of a class).
    """
    before, after = ([one for one in days if one.n] for days in (older, newer))
    if len(before) < LEAST_OLDER or len(after) < LEAST_NEWER:
        return None
    together = [merged(days) for days in (before, after)]
    if any(too_few_labels(one.positives.sum(), one.negatives.sum()) for one in together):
        return None
    calibrator = fit_calibrator(together[0])
    then, now = (
        np.array([_day_scores(calibrator, one) for one in days]) for days in (before, after)
    )
    p_value = min(1.0, 2 * min(_welch(then[:, k], now[:, k]) for k in range(2)))
    return HeldOutTest(p_value, _error(calibrator, together[1]), len(before), len(after))


def _day_scores(calibrator: Calibrator, day: LabelledScores) -> tuple[float, float]:
    chance = calibrator.probability(day.score)
    gap = day.positives - (day.positives + day.negatives) * chance
    return float(gap.sum() / day.n), float((gap * (chance - 0.5)).sum() / day.n)


def _welch(then: Floats, now: Floats) -> float:
    parts = [float(one.var(ddof=1)) / len(one) for one in (then, now)]
    variance = sum(parts)
    difference = float(now.mean() - then.mean())
    if variance == 0:
        return 1.0 if difference == 0 else 0.0
    degrees = variance**2 / sum(
        part**2 / (len(one) - 1) for part, one in zip(parts, (then, now), strict=True)
    )
    return 2 * float(special.stdtr(degrees, -abs(difference) / math.sqrt(variance)))


def _error(calibrator: Calibrator, newer: LabelledScores) -> float:
    chance = calibrator.probability(newer.score)
    rows = newer.positives + newer.negatives
    order = np.argsort(chance, kind="stable")
    passed = np.cumsum(rows[order]) - rows[order] / 2
    group = np.empty(len(rows), np.int64)
    last = CHANCE_GROUPS - 1
    group[order] = np.minimum((passed / rows.sum() * CHANCE_GROUPS).astype(np.int64), last)
    n = np.bincount(group, rows, CHANCE_GROUPS)
    gap = np.bincount(group, newer.positives - rows * chance, CHANCE_GROUPS)
    noise = np.bincount(group, rows * chance * (1 - chance), CHANCE_GROUPS)
    squares = ((gap[n > 0] ** 2 - noise[n > 0]) / n[n > 0]).sum() / n.sum()
    return math.sqrt(max(0.0, float(squares)))
