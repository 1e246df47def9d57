"""Planned for all but binary models: class scores, each class, relative errors, ranks.

What the plans of `labels` measure already is not measured again here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from monitor.checks.calibration import calibration
from monitor.checks.calibration_classes import class_calibration
from monitor.checks.quality.class_scores import class_quality, class_score_quality
from monitor.checks.quality.ranking import ranking_quality
from monitor.checks.quality.regression import relative_quality
from monitor.checks.registry import CheckName
from monitor.contract import Task
from monitor.jobs.grouping import WHOLE
from monitor.jobs.maturity.earlier import regression_cells
from monitor.jobs.plans.base import PlanInputs
from monitor.jobs.plans.cohorts import with_detail
from monitor.measurement import Measurement, Outcome
from monitor.profiles.labels import binary_counts
from monitor.profiles.labels_multiclass import (
    CONFIDENCE,
    OneVsRestCounts,
    confusion_counts,
    one_vs_rest_counts,
)
from monitor.profiles.labels_ranking import rank_counts
from monitor.profiles.labels_regression import regression_counts, relative_counts
from monitor.profiles.part import Part, PartKind
from monitor.profiles.predictions import MAX_CLASSES, class_scores_column, classes_of

CLASSES_IN_SEGMENTS = 10
"""Segments are measured class by class up to this many classes: there may be 500 segments."""

Found = Iterator[tuple[CheckName, str, str, Outcome]]


def quality_more(inputs: PlanInputs) -> Iterator[Measurement]:
    """Quality of class scores, of each class, of ranked lists, and relative errors."""
    yield from _of_cohort(inputs, _QUALITY)


def calibrated_more(inputs: PlanInputs) -> Iterator[Measurement]:
    """Whether class scores mean what they say: the largest one, and class by class."""
    yield from _of_cohort(inputs, _CALIBRATION)


def _of_cohort(
    inputs: PlanInputs, plans: Mapping[Task, Callable[[PlanInputs, Part], Found]]
) -> Iterator[Measurement]:
    part, cohort = inputs.parts.get(PartKind.LABELS), inputs.cohort
    plan = plans.get(inputs.contract.task)
    if part is None or cohort is None or plan is None:
        return
    maturity = cohort.maturity.told()
    for check, method, column, outcome in plan(inputs, part):
        yield inputs.measurement(check, method, with_detail(outcome, maturity), column=column)


def _class_names(inputs: PlanInputs) -> tuple[str, ...]:
    """The classes that are measured one by one."""
    names = classes_of(inputs.contract)
    every = inputs.segment_id == WHOLE or len(names) <= CLASSES_IN_SEGMENTS
    return names[:MAX_CLASSES] if every else ()


def _class_scores(inputs: PlanInputs, part: Part) -> tuple[OneVsRestCounts, ...]:
    """Each class against the rest; none without class scores."""
    if class_scores_column(inputs.contract) is None:
        return ()
    names = classes_of(inputs.contract)[:MAX_CLASSES]
    return tuple(one_vs_rest_counts(part, place) for place in range(len(names)))


def _multiclass(inputs: PlanInputs, part: Part) -> Found:
    names = classes_of(inputs.contract)
    scores = _class_scores(inputs, part)
    if scores:
        confidence = binary_counts(part, table=CONFIDENCE)
        outcomes = class_score_quality(scores, confidence, len(names))
        for method, outcome in outcomes.items():
            yield CheckName.QUALITY, method, "", outcome
    confusion = confusion_counts(part, len(names))
    by_class = class_quality(confusion, _class_names(inputs), scores)
    for (method, name), outcome in by_class.items():
        yield CheckName.QUALITY, method, name, outcome


def _regression(inputs: PlanInputs, part: Part) -> Found:
    cells = regression_cells(inputs.contract, inputs.yardsticks.binning)
    if cells is None:
        return  # no baseline yet: the cells that errors are counted in do not exist
    outcomes = relative_quality(regression_counts(part, cells), relative_counts(part, cells))
    for method, outcome in outcomes.items():
        yield CheckName.QUALITY, method, "", outcome


def _ranking(_: PlanInputs, part: Part) -> Found:
    for method, outcome in ranking_quality(rank_counts(part, 1)).items():
        if method != "label_coverage":
            yield CheckName.QUALITY, method, "", outcome


def _calibrated_classes(inputs: PlanInputs, part: Part) -> Found:
    scores = _class_scores(inputs, part)
    if not scores:
        return
    for method, outcome in calibration(binary_counts(part, table=CONFIDENCE)).items():
        yield CheckName.CALIBRATION, method, "", outcome
    by_class = class_calibration(dict(zip(_class_names(inputs), scores, strict=False)))
    for (method, name), outcome in by_class.items():
        yield CheckName.CALIBRATION, method, name, outcome


_QUALITY: Mapping[Task, Callable[[PlanInputs, Part], Found]] = {
    Task.MULTICLASS: _multiclass,
    Task.REGRESSION: _regression,
    Task.RANKING: _ranking,
}
_CALIBRATION: Mapping[Task, Callable[[PlanInputs, Part], Found]] = {
    Task.MULTICLASS: _calibrated_classes,
}
