"""Planned for every cohort of predictions: quality, calibration and confidence, by task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from monitor.checks.calibration import calibration
from monitor.checks.confidence import mean_confidence, score_confidence
from monitor.checks.coverage import label_coverage
from monitor.checks.maturity.bounds import accuracy_bounds
from monitor.checks.maturity.change import quality_change as compare_quality
from monitor.checks.maturity.delay_curve import UPPER_HOURS
from monitor.checks.maturity.positive_only import Told, corrected_outcomes, told_by_class
from monitor.checks.quality.binary import binary_quality
from monitor.checks.quality.multiclass import multiclass_quality
from monitor.checks.quality.regression import regression_quality
from monitor.checks.registry import CheckName
from monitor.contract import ColumnRole, Task
from monitor.contract_quality import Feedback
from monitor.jobs.maturity.earlier import cohort_at, regression_cells
from monitor.jobs.maturity.known import is_closed
from monitor.jobs.plans.base import PlanInputs
from monitor.jobs.plans.cohorts import CohortLabels, with_detail, without_limits
from monitor.jobs.plans.weighted import (
    binary_bounds,
    binary_weighted,
    bounds_measured,
    bounds_told,
    multiclass_weighted,
    regression_weighted,
)
from monitor.measurement import Measurement, Outcome
from monitor.profiles.delays import DELAY_BUCKETS
from monitor.profiles.label_delays import class_losses, silence_as_negatives
from monitor.profiles.labels import binary_counts
from monitor.profiles.labels_multiclass import confusion_counts
from monitor.profiles.labels_ranking import rank_counts
from monitor.profiles.labels_regression import regression_counts
from monitor.profiles.part import Part, PartKind
from monitor.profiles.predictions import classes_of


def quality(inputs: PlanInputs) -> Iterator[Measurement]:
    """How right the predictions of this window turned out to be, and how many have a label.

    Each number tells in its detail how mature the cohort is.
    """
    part, cohort = inputs.parts.get(PartKind.LABELS), inputs.cohort
    if part is None or cohort is None:
        return
    outcomes = dict(_QUALITY[inputs.contract.task](inputs, part, cohort))
    for method, outcome in outcomes.items():
        told = with_detail(outcome, cohort.maturity.told())
        yield inputs.measurement(CheckName.QUALITY, method, told)


def quality_change(inputs: PlanInputs) -> Iterator[Measurement]:
    """This cohort against those of the 28 days before, as they were when they were as old.

    All that served is held against all that served before; one deployment of several against its
    own days.
    """
    part, cohort, earlier = inputs.parts.get(PartKind.LABELS), inputs.cohort, inputs.earlier
    if part is None or cohort is None or earlier is None:
        return
    binning = inputs.yardsticks.binning
    bucket = _last_bucket(inputs, cohort)
    this = cohort_at(part, bucket, inputs.contract, binning)
    if this is None:
        return
    days = earlier.before(
        inputs.window, inputs.leg, None if inputs.is_whole else inputs.deployment_ids, bucket,
        inputs.contract, binning,
    )  # fmt: skip
    told = cohort.maturity.told()
    if bucket < DELAY_BUCKETS - 1:
        told["until_delay_hours"] = float(UPPER_HOURS[bucket]) if bucket >= 0 else 0.0
    for method, outcome in compare_quality(this, days).items():
        yield inputs.measurement(CheckName.QUALITY_CHANGE, method, with_detail(outcome, told))


def _last_bucket(inputs: PlanInputs, cohort: CohortLabels) -> int:
    """The last delay bucket that even the youngest request of the window is old enough for."""
    if is_closed(inputs.window, inputs.contract, inputs.known_at):
        return DELAY_BUCKETS - 1
    age = cohort.maturity.age_hours
    return int(np.searchsorted(UPPER_HOURS, age, "right")) - 1


def _binary(inputs: PlanInputs, part: Part, cohort: CohortLabels) -> Mapping[str, Outcome]:
    if _only_positives(inputs):
        return _positives_only(part, cohort)
    counts = binary_counts(part)
    outcomes = dict(binary_quality(counts))
    worst = binary_bounds(cohort, counts.tp, counts.fp, counts.fn, counts.tn)
    selective = _is_selective(inputs)
    if selective or not cohort.is_final:
        for name, told in bounds_told(worst).items():
            outcomes[name] = with_detail(outcomes[name], told)
    own = bounds_measured(worst, counts.n_labelled) if selective else {}
    return {**outcomes, **binary_weighted(cohort), **own}


def _positives_only(part: Part, cohort: CohortLabels) -> Mapping[str, Outcome]:
    """Silence counts as a negative, as far as positives have had the time to be told."""
    completed, is_estimate = _completed(part, cohort)
    coverage = binary_quality(binary_counts(part))["label_coverage"]
    outcomes = {**binary_quality(binary_counts(completed)), "label_coverage": coverage}
    if not is_estimate:
        return outcomes
    told = _told_positives(part, cohort)
    estimated = {name: without_limits(outcome) for name, outcome in outcomes.items()}
    return {**estimated, **corrected_outcomes(told), "label_coverage": coverage}


def _completed(part: Part, cohort: CohortLabels) -> tuple[Part, bool]:
    """The part without unlabelled rows, and whether positives still to be told are among them."""
    told = _told_positives(part, cohort)
    shares = {place: told[kind].share for place, kind in ((0, 0), (1, 1), (2, -1)) if kind in told}
    return silence_as_negatives(part, shares), any(share < 1 for share in shares.values())


def _told_positives(part: Part, cohort: CohortLabels) -> dict[int, Told]:
    rows = class_losses(part).rows.sum(axis=2)[:, 1].tolist()
    return told_by_class(cohort.strata, {0: rows[0], 1: rows[1], -1: rows[2]},
                         cohort.maturity.state)  # fmt: skip


def _only_positives(inputs: PlanInputs) -> bool:
    label = inputs.contract.label
    return label is not None and label.feedback is Feedback.POSITIVE_ONLY


def _is_selective(inputs: PlanInputs) -> bool:
    label = inputs.contract.label
    return label is not None and label.feedback is Feedback.SELECTIVE


def _multiclass(inputs: PlanInputs, part: Part, cohort: CohortLabels) -> Mapping[str, Outcome]:
    n_classes = len(classes_of(inputs.contract))
    counts = confusion_counts(part, n_classes)
    outcomes = dict(multiclass_quality(counts))
    right, n = int(np.trace(counts.matrix)), int(counts.matrix.sum())
    worst = {"accuracy": accuracy_bounds(right, n - right, int(counts.unlabelled.sum()))}
    selective = _is_selective(inputs)
    if selective or not cohort.is_final:
        outcomes["accuracy"] = with_detail(outcomes["accuracy"], bounds_told(worst)["accuracy"])
    own = bounds_measured(worst, n) if selective else {}
    return {**outcomes, **multiclass_weighted(cohort, n_classes), **own}


def _regression(inputs: PlanInputs, part: Part, cohort: CohortLabels) -> Mapping[str, Outcome]:
    cells = regression_cells(inputs.contract, inputs.yardsticks.binning)
    if cells is None:
        return {}  # no baseline yet: the cells that errors are counted in do not exist
    outcomes = regression_quality(regression_counts(part, cells))
    return {**outcomes, **regression_weighted(cohort, cells)}


def _ranking(_: PlanInputs, part: Part, __: CohortLabels) -> Mapping[str, Outcome]:
    counts = rank_counts(part, 1)
    return {"label_coverage": label_coverage(counts.n - counts.unlabelled, counts.n)}


_QUALITY: Mapping[Task, Callable[[PlanInputs, Part, CohortLabels], Mapping[str, Outcome]]] = {
    Task.BINARY: _binary,
    Task.MULTICLASS: _multiclass,
    Task.REGRESSION: _regression,
    Task.RANKING: _ranking,
}


def calibrated(inputs: PlanInputs) -> Iterator[Measurement]:
    """Whether scores mean what they say (binary models with a score)."""
    part, cohort = inputs.parts.get(PartKind.LABELS), inputs.cohort
    scored = inputs.contract.single(ColumnRole.SCORE) is not None
    if part is None or inputs.contract.task is not Task.BINARY or not scored or cohort is None:
        return
    used, is_estimate = _completed(part, cohort) if _only_positives(inputs) else (part, False)
    for method, outcome in calibration(binary_counts(used)).items():
        shown = without_limits(outcome) if is_estimate else outcome
        told = with_detail(shown, cohort.maturity.told())
        yield inputs.measurement(CheckName.CALIBRATION, method, told)


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
