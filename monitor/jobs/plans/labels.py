"""Planned for every cohort of predictions: quality, calibration and confidence, by task."""

from __future__ import annotations

from collections.abc import Iterator

from monitor.checks.calibration import calibration
from monitor.checks.confidence import mean_confidence, score_confidence
from monitor.checks.quality.binary import binary_quality
from monitor.checks.registry import CheckName
from monitor.contract import ColumnRole, Task
from monitor.jobs.plans.base import PlanInputs
from monitor.measurement import Measurement
from monitor.profiles.labels import binary_counts
from monitor.profiles.part import PartKind


def quality(inputs: PlanInputs) -> Iterator[Measurement]:
    """How right the predictions of this window turned out to be, and how many have a label."""
    part = inputs.parts.get(PartKind.LABELS)
    if part is None or inputs.contract.label is None:
        return
    if inputs.contract.task is Task.BINARY:
        for method, outcome in binary_quality(binary_counts(part)).items():
            yield inputs.measurement(CheckName.QUALITY, method, outcome)


def calibrated(inputs: PlanInputs) -> Iterator[Measurement]:
    """Whether scores mean what they say (binary models with a score)."""
    part = inputs.parts.get(PartKind.LABELS)
    scored = inputs.contract.single(ColumnRole.SCORE) is not None
    if part is None or inputs.contract.task is not Task.BINARY or not scored:
        return
    if inputs.contract.label is not None:
        for method, outcome in calibration(binary_counts(part)).items():
            yield inputs.measurement(CheckName.CALIBRATION, method, outcome)


def confidence(inputs: PlanInputs) -> Iterator[Measurement]:
    """How sure the model says it is: needs no labels."""
    part = inputs.parts.get(PartKind.LABELS)
    if part is not None and inputs.contract.task is Task.BINARY:
        threshold = inputs.contract.decision_threshold
        for method, outcome in score_confidence(binary_counts(part), threshold).items():
            yield inputs.measurement(CheckName.CONFIDENCE, method, outcome)
    for view, counts in inputs.views():
        if view.column.type == "class_scores" and not view.is_category:
            yield inputs.measurement(
                CheckName.CONFIDENCE, "mean_confidence", mean_confidence(counts), column=view.name
            )
