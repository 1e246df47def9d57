"""One p-value for "the scores are probabilities", and in which way they are not."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import numpy as np
from scipy import special

from monitor.checks.calibration_cells import ScoreCells, neighbours
from monitor.checks.calibration_tests import (
    LOGIT_CLIP,
    CoxFit,
    ShiftFit,
    combined_p_value,
)
from monitor.checks.gates import Floor, measured_above
from monitor.checks.intervals import normal_quantile
from monitor.measurement import Outcome

ALPHA = 0.05
GROUPS_OF_LINE = 10


class CalibrationVerdict(StrEnum):
    """What the labels say about the scores at a level of 0.05."""

    NONE_SEEN = "no_miscalibration_seen"
    TOO_HIGH = "too_high"
    TOO_LOW = "too_low"
    TOO_EXTREME = "too_extreme"
    TOO_TIMID = "too_timid"
    UNEVEN = "uneven"


def combined_test(
    p_values: Mapping[str, float],
    cells: ScoreCells,
    fit: CoxFit | str,
    shift: ShiftFit | None,
    floors: tuple[Floor, ...],
) -> Outcome:
    """The combined p-value, with the verdict and by how much scores are too high on average.

    A rule alerts below its limit: at most that share of windows of a perfect model is below it.
    """
    if not p_values:
        why = "no test can be made: all scores are 0 or 1"
        return measured_above(floors, None, floors[0].n, None, None, why)
    value = combined_p_value(p_values)
    gap, reach = mean_gap(cells)
    detail: dict[str, Any] = {
        "p_value": value,
        "tests": dict(p_values),
        "level": ALPHA,
        "verdict": verdict(value, fit, shift, cells).value,
        "too_high_by": gap,
        "too_high_by_limits": [gap - reach, gap + reach],
    }
    if not isinstance(fit, str):
        detail["slope"] = fit.slope
    return measured_above(floors, value, floors[0].n, None, detail)


def mean_gap(cells: ScoreCells) -> tuple[float, float]:
    """Mean score - share of positives, and how far its 95 % limits reach.

    Limits: normal, from the spread of score - label over rows.
    """
    gap = float((cells.rows @ cells.score - cells.positives.sum()) / cells.n)
    of_positives = cells.positives @ (1 - cells.score) ** 2
    of_negatives = (cells.rows - cells.positives) @ cells.score**2
    square = float((of_positives + of_negatives) / cells.n)
    return gap, normal_quantile() * float(np.sqrt(max(0.0, square - gap**2) / cells.n))


def verdict(
    p_value: float, fit: CoxFit | str, shift: ShiftFit | None, cells: ScoreCells
) -> CalibrationVerdict:
    """Nothing seen, or the plainest description of what was: a shift, a slope, else uneven.

    Uneven: a straight line on the logit leaves more over than it explains, or neither shift nor
    slope stands out. A shift is named where it stands out more than the slope does.
    """
    if p_value > ALPHA:
        return CalibrationVerdict.NONE_SEEN
    slope = 0.0 if isinstance(fit, str) else (fit.slope - 1) / fit.slope_standard_error
    moved = 0.0 if shift is None else shift.shift / shift.standard_error
    uneven = not isinstance(fit, str) and left_over(cells, fit) > fit.likelihood_ratio
    if uneven or max(abs(slope), abs(moved)) < normal_quantile():
        return CalibrationVerdict.UNEVEN
    if abs(moved) >= abs(slope):
        return CalibrationVerdict.TOO_HIGH if moved < 0 else CalibrationVerdict.TOO_LOW
    return CalibrationVerdict.TOO_EXTREME if slope < 0 else CalibrationVerdict.TOO_TIMID


def left_over(cells: ScoreCells, fit: CoxFit) -> float:
    """What the fitted line does not explain: Hosmer and Lemeshow's chi-square less its mean."""
    logit = special.logit(np.clip(cells.score, LOGIT_CLIP, 1 - LOGIT_CLIP))
    chance = special.expit(fit.intercept + fit.slope * logit)
    group = neighbours(cells, GROUPS_OF_LINE)
    expected = np.bincount(group, cells.rows * chance)
    variance = np.bincount(group, cells.rows * chance * (1 - chance))
    usable = variance > 1e-9
    gap = np.bincount(group, cells.positives)[usable] - expected[usable]
    return float(np.sum(gap**2 / variance[usable])) - max(0, int(usable.sum()) - 2)
