"""Calibration of class scores: the largest score against "was right", and class by class.

One number for all classes hides classes that cancel, so each class with enough labels is judged by
itself, its p-value multiplied by the number of classes judged (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from monitor.checks.calibration import calibration, calibration_floors
from monitor.checks.calibration_cells import ScoredCounts
from monitor.checks.calibration_verdict import CalibrationVerdict
from monitor.measurement import Measured, Outcome

CLASS_METHODS = ("class_error", "class_test")


def class_calibration(classes: Mapping[str, ScoredCounts]) -> dict[tuple[str, str], Outcome]:
    """class_error and class_test by (method, class), each class against the rest.

    class_error: debiased L2 error of the class's score, its diagram in the detail. class_test: the
    combined p-value of `calibration` times the number of classes with 500 labels and 50 of either
    kind, at most 1; classes below that are TooFew.
    """
    judged = sum(_enough(counts) for counts in classes.values())
    found: dict[tuple[str, str], Outcome] = {}
    for name, counts in classes.items():
        outcomes = calibration(counts)
        found["class_error", name] = outcomes["debiased_error"]
        found["class_test", name] = _times(outcomes["combined_test"], judged)
    return found


def _enough(counts: ScoredCounts) -> bool:
    return all(floor.n >= floor.needed for floor in calibration_floors(counts))


def _times(outcome: Outcome, judged: int) -> Outcome:
    if not isinstance(outcome, Measured):
        return outcome
    value = min(1.0, outcome.value * judged)
    detail: dict[str, Any] = {**outcome.detail, "p_value": value, "classes_judged": judged}
    if value > detail["level"]:
        detail["verdict"] = CalibrationVerdict.NONE_SEEN.value
    return replace(outcome, value=value, detail=detail)
