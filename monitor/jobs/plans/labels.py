"""Planned for every cohort of predictions: quality, calibration and confidence, by task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from monitor.checks.calibration import calibration
from monitor.checks.confidence import mean_confidence, score_confidence
from monitor.checks.coverage import label_coverage
from monitor.checks.quality.binary import binary_quality
from monitor.checks.quality.multiclass import multiclass_quality
from monitor.checks.quality.regression import regression_quality
from monitor.checks.registry import CheckName
from monitor.contract import ColumnRole, Task
from monitor.jobs.plans.base import PlanInputs
from monitor.measurement import Measurement, Outcome
from monitor.profiles.cells import NumberCells
from monitor.profiles.labels import binary_counts
from monitor.profiles.labels_multiclass import confusion_counts
from monitor.profiles.labels_ranking import rank_counts
from monitor.profiles.labels_regression import regression_counts
from monitor.profiles.part import Part, PartKind
from monitor.profiles.predictions import classes_of, regression_column


def quality(inputs: PlanInputs) -> Iterator[Measurement]:
    """How right the predictions of this window turned out to be, and how many have a label."""
    part = inputs.parts.get(PartKind.LABELS)
    if part is None or inputs.contract.label is None:
        return
    for method, outcome in _QUALITY[inputs.contract.task](inputs, part).items():
        yield inputs.measurement(CheckName.QUALITY, method, outcome)


def _binary(_: PlanInputs, part: Part) -> Mapping[str, Outcome]:
    return binary_quality(binary_counts(part))


def _multiclass(inputs: PlanInputs, part: Part) -> Mapping[str, Outcome]:
    return multiclass_quality(confusion_counts(part, len(classes_of(inputs.contract))))


def _regression(inputs: PlanInputs, part: Part) -> Mapping[str, Outcome]:
    binning, column = inputs.yardsticks.binning, regression_column(inputs.contract)
    cells = binning.views.get(column.name) if binning is not None and column is not None else None
    if not isinstance(cells, NumberCells):
        return {}  # no baseline yet: the cells that errors are counted in do not exist
    return regression_quality(regression_counts(part, cells))


def _ranking(_: PlanInputs, part: Part) -> Mapping[str, Outcome]:
    counts = rank_counts(part, 1)
    return {"label_coverage": label_coverage(counts.n - counts.unlabelled, counts.n)}


_QUALITY: Mapping[Task, Callable[[PlanInputs, Part], Mapping[str, Outcome]]] = {
    Task.BINARY: _binary,
    Task.MULTICLASS: _multiclass,
    Task.REGRESSION: _regression,
    Task.RANKING: _ranking,
}


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
