"""Whether a cohort's scores lie where labels were seen, and whether the calibrator held. Pure.

Outside that region, or with a calibrator that newer labels contradict, there is no estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from monitor.checks.estimation.calibrator import (
    Calibrator,
    LabelledScores,
    fit_calibrator,
    too_few_labels,
)
from monitor.checks.estimation.reweighting import FOREIGN, MOST_FOREIGN, OUTSIDE
from monitor.checks.estimation.served import ServedScores
from monitor.measurement import Failed
from monitor.profiles.arrays import Floats

REGIONS = 32
CHANCE_GROUPS = 10
FAILING_P, FAILING_ERROR = 0.001, 0.05


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
    """A calibrator against newer labels: chi-square `statistic` on `degrees`, its `p_value`, and
    the debiased calibration `error` in probability; None where labels were too few to test."""

    statistic: float
    degrees: int
    p_value: float
    error: float

    def withheld(self) -> Failed | None:
        """Failed when the difference is beyond chance (p < .001) and matters (error > .05)."""
        if self.p_value >= FAILING_P or self.error <= FAILING_ERROR:
            return None
        return Failed(
            "the newest labels contradict the calibrator by"
            f" {self.error:.3f} on average (p {self.p_value:.1g}); wait for its next fit",
            {"held_out_error": self.error, "held_out_p_value": self.p_value},
        )


def held_out_test(older: LabelledScores, newer: LabelledScores) -> HeldOutTest | None:
    """Fit on `older`, test on `newer`; None when either is too small (500 labels, 50 of a class).

    Newer labels in ten groups of about equal size by calibrated chance: X² = Σ (o - e)²/Σ c(1 - c)
    on the number of groups (Hosmer and Lemeshow 1980 for a model fitted elsewhere); the error is
    sqrt(max(0, Σ w ((o - e)²/n² - Σ c(1 - c)/n²))). Groups with less than
    one expected case of variance are left out of X², whose law they would spoil.
    """
    for one in (older, newer):
        if too_few_labels(one.positives.sum(), one.negatives.sum()) is not None:
            return None
    return _tested(fit_calibrator(older), newer)


def _tested(calibrator: Calibrator, newer: LabelledScores) -> HeldOutTest:
    chance = calibrator.probability(newer.score)
    rows = newer.positives + newer.negatives
    order = np.argsort(chance, kind="stable")
    passed = np.cumsum(rows[order]) - rows[order] / 2
    group = np.empty(len(rows), np.int64)
    group[order] = np.minimum((passed / rows.sum() * CHANCE_GROUPS).astype(np.int64), 9)
    n = np.bincount(group, rows, CHANCE_GROUPS)
    gap = np.bincount(group, newer.positives - rows * chance, CHANCE_GROUPS)
    noise = np.bincount(group, rows * chance * (1 - chance), CHANCE_GROUPS)
    known = (n > 0) & (noise >= 1.0)
    statistic = float((gap[known] ** 2 / noise[known]).sum())
    squares = ((gap[n > 0] ** 2 - noise[n > 0]) / n[n > 0]).sum() / n.sum()
    degrees = int(known.sum())
    p_value = float(special.chdtrc(degrees, statistic)) if degrees else 1.0
    return HeldOutTest(statistic, degrees, p_value, math.sqrt(max(0.0, float(squares))))
