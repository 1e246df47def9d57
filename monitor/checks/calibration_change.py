"""Did calibration change between two sets of counts: before and after a version or precision?

Knows counts only; which two deployments they belong to is the caller's business.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from scipy import special

from monitor.checks.calibration import GROUPS, calibration_floors, calibration_groups
from monitor.checks.calibration_cells import ScoredCounts, added, score_cells
from monitor.checks.calibration_errors import (
    DebiasedSquare,
    debiased,
    debiased_gaps,
    signed_root,
)
from monitor.checks.calibration_tests import (
    LEAST_EXPECTED,
    CoxFit,
    combined_p_value,
    cox,
    neighbours_until,
)
from monitor.checks.calibration_verdict import ALPHA
from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import normal_quantile
from monitor.checks.reliability import Reliability, equal_mass_groups, reliability
from monitor.measurement import Measured, Outcome
from monitor.profiles.arrays import Floats, Integers

CHANGE_METHODS = ("change", "change_test")


class ChangeVerdict(StrEnum):
    """What the labels say about the change at a level of 0.05."""

    CHANGED = "changed"
    NONE_SEEN = "no_change_seen"


@dataclass(frozen=True, eq=False)
class GapChange:
    """How far the gap between observed share and score moved from before to after.

    `square`: debiased mean of its square over common groups. `p_value`: chi-square of "it did not
    move in any group" on `degrees` degrees of freedom.
    """

    square: DebiasedSquare
    p_value: float
    degrees: int


def gap_change(before: ScoredCounts, after: ScoredCounts) -> GapChange:
    """Compare the gaps in groups of equal size of both together; needs rows on both sides.

    D_b = (ȳ - f̄) after - (ȳ - f̄) before, of variance v_b = sum of ȳ(1 - ȳ)/(n - 1); size Σ w (D² -
    v), w by n·n'/(n + n'), so that scores that only one side has do not count. Test: Σ D²/v over
    neighbouring groups that hold five of each class on both sides.
    """
    groups = equal_mass_groups(added(before, after), GROUPS)
    then, now = (_of_groups(one, groups) for one in (before, after))
    shared = (then.rows >= 2) & (now.rows >= 2)
    weight = np.where(shared, then.rows * now.rows / np.maximum(then.rows + now.rows, 1), 0.0)
    gap, noise = _gaps(then, now)
    if not shared.any():
        return GapChange(DebiasedSquare(0.0, 0.0, (0.0, 0.0)), 1.0, 0)
    square = debiased_gaps(weight[shared] / weight.sum(), gap[shared], noise[shared])
    return GapChange(square, *_moved(before, after, groups, then, now))


def _of_groups(counts: ScoredCounts, groups: Integers) -> Reliability:
    return reliability(counts, groups)


def _gaps(then: Reliability, now: Reliability) -> tuple[Floats, Floats]:
    gap = (now.observed - now.mean_score) - (then.observed - then.mean_score)
    noise = sum(
        (one.observed * (1 - one.observed) / np.maximum(one.rows - 1, 1) for one in (then, now)),
        start=np.zeros(len(gap)),
    )
    return gap, noise


def _moved(
    before: ScoredCounts,
    after: ScoredCounts,
    groups: Integers,
    then: Reliability,
    now: Reliability,
) -> tuple[float, int]:
    """p-value and degrees of freedom of the chi-square over groups that hold enough."""
    held = [part for one in (then, now) for part in (one.positives, one.rows - one.positives)]
    joined = neighbours_until([part.astype(np.float64) for part in held], LEAST_EXPECTED)[groups]
    then, now = _of_groups(before, joined), _of_groups(after, joined)
    usable = (then.rows >= 2) & (now.rows >= 2)
    gap, noise = _gaps(then, now)
    usable &= noise > 0
    degrees = int(usable.sum())
    statistic = float(np.sum(gap[usable] ** 2 / noise[usable]))
    return (float(special.chdtrc(degrees, statistic)) if degrees else 1.0), degrees


def calibration_change(before: ScoredCounts, after: ScoredCounts) -> dict[str, Outcome]:
    """Outcomes `change` and `change_test` of two independent sets of counts.

    change: root of the debiased mean square by which the gap between observed share and score
    moved, in probability, 0 without a change; slopes, intercepts and both errors in its detail.
    change_test: combined p-value of that movement and of the two Cox parameters together (Wald, 2
    df), the level split over the two. Not for the same requests scored twice: those are paired, and
    this takes them as independent.
    """
    floors = _floors(before, after)
    n, n_before = floors[1].n, floors[0].n
    if any(floor.n == 0 for floor in floors[:2]):
        empty = measured_above(floors, None, n, None, None, _empty(floors))
        return dict.fromkeys(CHANGE_METHODS, empty)
    moved = gap_change(before, after)
    cox_detail, cox_p = _cox_difference(before, after)
    p_values = {"gap": moved.p_value, **cox_p}
    p_value = combined_p_value(p_values)
    verdict = ChangeVerdict.CHANGED if p_value <= ALPHA else ChangeVerdict.NONE_SEEN
    detail = _errors(before, after) | cox_detail
    detail |= {"verdict": verdict.value, "p_value": p_value, "tests": p_values, "level": ALPHA}
    detail["signed_root"] = signed_root(moved.square.value)
    low, high = (signed_root(limit) for limit in moved.square.limits)
    value = max(0.0, signed_root(moved.square.value))
    return {
        "change": _of(n_before, measured_above(floors, value, n, (low, high), detail)),
        "change_test": _of(n_before, measured_above(floors, p_value, n, None, detail)),
    }


def _floors(before: ScoredCounts, after: ScoredCounts) -> tuple[Floor, ...]:
    """Labels before, labels after, then both rarer classes."""
    then, now = calibration_floors(before), calibration_floors(after)
    ordered = ((then[0], "before"), (now[0], "after"), (then[1], "before"), (now[1], "after"))
    return tuple(Floor(f.n, f.needed, f"{f.what} {when}") for f, when in ordered)


def _empty(floors: tuple[Floor, ...]) -> str:
    return next(floor.what for floor in floors if floor.n == 0)


def _of(n_before: int, outcome: Outcome) -> Outcome:
    return replace(outcome, n_reference=n_before) if isinstance(outcome, Measured) else outcome


def _errors(before: ScoredCounts, after: ScoredCounts) -> dict[str, Any]:
    """The debiased error of each side with its limits."""
    told: dict[str, Any] = {}
    for name, counts in (("before", before), ("after", after)):
        found = debiased(calibration_groups(counts))
        told[f"error_{name}"] = max(0.0, signed_root(found.value))
        told[f"error_{name}_limits"] = [signed_root(limit) for limit in found.limits]
    return told


def _cox_difference(
    before: ScoredCounts, after: ScoredCounts
) -> tuple[dict[str, Any], dict[str, float]]:
    """Differences of slope and intercept as detail, and the p-value where both have a fit."""
    then, now = (_fit(one) for one in (before, after))
    if isinstance(then, str) or isinstance(now, str):
        return {"cox": then if isinstance(then, str) else now}, {}
    covariance = then.covariance + now.covariance
    moved = np.array([now.intercept - then.intercept, now.slope - then.slope])
    wald = float(moved @ np.linalg.solve(covariance, moved))
    detail = {
        "slope_difference": _difference(float(moved[1]), float(covariance[1, 1])),
        "intercept_difference": _difference(float(moved[0]), float(covariance[0, 0])),
    }
    return detail, {"cox": float(special.chdtrc(2, wald))}


def _difference(value: float, variance: float) -> dict[str, float]:
    reach = normal_quantile() * float(np.sqrt(variance))
    return {"value": value, "low": value - reach, "high": value + reach}


def _fit(counts: ScoredCounts) -> CoxFit | str:
    cells = score_cells(counts)
    return cox(cells.rows, cells.positives, cells.score)
