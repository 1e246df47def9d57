"""Errors of a matured day's estimates: what was estimated minus what came true."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from monitor.checks.estimation.binary import MIN_EVENTS, MIN_ROWS
from monitor.checks.estimation.realised import realised_binary, realised_multiclass
from monitor.checks.intervals import LEVEL, normal_quantile
from monitor.contract import Task
from monitor.contract_quality import Feedback
from monitor.jobs.estimates.bench import Bench
from monitor.jobs.estimates.checked import ERROR, StoredEstimate, estimates_of
from monitor.jobs.estimates.cohorts import Cohort, cohorts_of
from monitor.jobs.estimates.reference import only_positives
from monitor.measurement import Measured, Outcome, TooFew
from monitor.profiles.cells import NumberCells
from monitor.profiles.labels_multiclass import confusion_counts
from monitor.profiles.labels_regression import regression_counts
from monitor.profiles.predictions import classes_of, regression_column
from monitor.windows import Window


def errors_of_day(bench: Bench, day: Window) -> Iterator[tuple[Cohort, dict[str, Outcome]]]:
    """For every cohort that was estimated, its errors by method name."""
    made = estimates_of(bench.connection, bench.context, day.start)
    for cohort in cohorts_of(bench.connection, bench.context, day) if made else ():
        estimates = made.get((cohort.leg, cohort.deployment_ids), [])
        if estimates:
            realised, n = _realised(bench, cohort)
            yield cohort, {one.method + ERROR: _error(bench, one, realised, n) for one in estimates}


def _realised(bench: Bench, cohort: Cohort) -> tuple[Mapping[str, float], int]:
    """Realised measures by name, and over how many labelled rows."""
    context, part = bench.context, cohort.part
    match context.contract.task:
        case Task.BINARY:
            binary, n = realised_binary(part, silence_is_negative=only_positives(context))
            return {name.value: value for name, value in binary.items()}, n
        case Task.MULTICLASS:
            matrix = confusion_counts(part, len(classes_of(context.contract))).matrix
            several, n = realised_multiclass(matrix)
            return {name.value: value for name, value in several.items()}, n
        case _:
            return _realised_regression(bench, cohort)


def _realised_regression(bench: Bench, cohort: Cohort) -> tuple[Mapping[str, float], int]:
    column, binning = regression_column(bench.context.contract), bench.binning
    cells = binning.views.get(column.name) if binning is not None and column is not None else None
    if not isinstance(cells, NumberCells):
        return {}, 0
    total = regression_counts(cohort.part, cells).total
    known = {"mae": total.mae, "rmse": total.rmse}
    return {name: value for name, value in known.items() if value is not None}, total.n


def _error(bench: Bench, made: StoredEstimate, realised: Mapping[str, float], n: int) -> Outcome:
    """Estimate - realised, with the reach of chance around it; TooFew under 50 labelled rows, or
    with labels of one class where the measure needs both."""
    if n < MIN_ROWS:
        return TooFew(n, MIN_ROWS, "labelled requests to compare with")
    if made.method not in realised:
        return TooFew(0, MIN_EVENTS, "labelled requests of one class")
    error = made.value - realised[made.method]
    # Where part of the rows has a label, chance reaches further than over all of them.
    sigma = made.sigma * math.sqrt(max(1.0, made.n / n))
    reach = normal_quantile() * sigma
    label = bench.context.contract.label
    detail = {
        "estimate": made.value,
        "realised": realised[made.method],
        "sigma": sigma,
        "coverage": n / made.n if made.n else None,
        "selective": label is not None and label.feedback is Feedback.SELECTIVE,
    }
    return Measured(error, n, error - reach, error + reach, LEVEL, detail=detail)
