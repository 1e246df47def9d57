"""Estimates of a cohort of a regression model: a second model says how wrong the first one is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from monitor.checks.estimation.binary import MIN_ROWS
from monitor.checks.estimation.calibrator import MIN_LABELS
from monitor.checks.estimation.direct_loss import (
    LossModel,
    RegressionEstimate,
    expected_losses,
    fit_loss_model,
    loss_outcomes,
)
from monitor.checks.estimation.reweighting import (
    MOST_FOREIGN,
    OUTSIDE,
    foreign_reason,
    likeness,
)
from monitor.checks.multivariate.features import feature_matrix, usable_views
from monitor.jobs.estimates.bench import Bench
from monitor.jobs.estimates.classification import MOST_UNKNOWN, Errors
from monitor.jobs.estimates.cohorts import Cohort
from monitor.jobs.estimates.sampled import (
    JoinedRows,
    input_views,
    matrices,
    sample_deployments,
    sampled_score,
)
from monitor.jobs.estimates.telling import Basis, allowances, told
from monitor.measurement import Failed, Outcome, TooFew
from monitor.profiles.arrays import Floats
from monitor.profiles.binning import Binning
from monitor.profiles.cells import NumberCells
from monitor.profiles.labels_regression import regression_counts
from monitor.profiles.predictions import regression_column
from monitor.profiles.views import View

DLE = "dle"
Losses = dict[RegressionEstimate, Outcome]


@dataclass(frozen=True, eq=False)
class Sampled:
    """Sampled requests of a cohort with a prediction, and labelled ones of before."""

    then: JoinedRows
    now: pa.Table
    prediction: Floats
    binning: Binning

    @property
    def reference_prediction(self) -> Floats:
        """What was predicted for the labelled rows."""
        return self.then.rows.score[self.then.places]


def regression(
    bench: Bench, cohort: Cohort, errors: Errors, *, look_closely: bool
) -> dict[str, Outcome]:
    """MAE and RMSE to be expected; `look_closely`: ask a classifier whether rows are foreign."""
    sampled = _sampled(bench, cohort)
    basis, outcomes = (
        _estimated(bench, cohort, sampled, errors, look_closely)
        if isinstance(sampled, Sampled)
        else (Basis(DLE, None, 0), sampled)
    )
    every: Losses = (
        dict.fromkeys(RegressionEstimate, outcomes)
        if isinstance(outcomes, TooFew | Failed)
        else outcomes
    )
    return {
        name.value: told(outcome, basis, errors.get(name.value, []))
        for name, outcome in every.items()
    }


def _sampled(bench: Bench, cohort: Cohort) -> Sampled | TooFew:
    then, now, binning = bench.joined(cohort), bench.sample(cohort), bench.binning
    if then is None or binning is None:
        return TooFew(0, MIN_LABELS, "labelled sampled requests to learn errors from")
    prediction = None if now is None else sampled_score(bench.context, now)
    if now is None or prediction is None:
        return TooFew(0, MIN_ROWS, "sampled predictions")
    there = np.flatnonzero(~np.isnan(prediction))
    if len(there) < MIN_ROWS:
        return TooFew(len(there), MIN_ROWS, "sampled predictions")
    return Sampled(then, now.take(pa.array(there)), prediction[there], binning)


def _estimated(
    bench: Bench, cohort: Cohort, sampled: Sampled, errors: Errors, look_closely: bool
) -> tuple[Basis, Losses | TooFew | Failed]:
    window, labels = sampled.then.rows.window, len(sampled.then.places)
    unknown = _unknown_share(sampled)
    if isinstance(unknown, TooFew):
        return Basis(DLE, window, labels), unknown
    gates, stopped = _gates(bench, cohort, sampled, look_closely)
    basis = Basis(DLE, window, labels, gates, unknown)
    if stopped is not None:
        return basis, stopped
    views = usable_views(
        input_views(bench.context, sampled.binning), sampled.binning, sampled.then.table,
        sampled.now,
    )  # fmt: skip
    model = bench.loss_model(cohort, views, lambda: _learned(bench, sampled, views))
    if isinstance(model, TooFew):
        return basis, model
    inputs = _inputs(sampled.now, views, sampled.binning)
    n = max(_predictions(bench, cohort), len(sampled.prediction))
    losses = expected_losses(model, inputs, sampled.prediction, n)
    allowed = {name: one.sigma for name, one in allowances(errors).items()}
    return basis, loss_outcomes(losses, n, model.n, allowed)


def _unknown_share(sampled: Sampled) -> float | TooFew:
    """Share of the cohort's rows of deployments with fewer than 500 labelled sampled rows;
    TooFew above 20 %."""
    numbers, counts = np.unique(
        sampled.then.rows.deployment[sampled.then.places], return_counts=True
    )
    known = numbers[counts >= MIN_LABELS]
    now = sample_deployments(sampled.now)
    share = float((~np.isin(now, known)).mean())
    if share <= MOST_UNKNOWN:
        return share
    new, rows = np.unique(now[~np.isin(now, known)], return_counts=True)
    number = int(new[np.argmax(rows)])
    labels = int(counts[numbers == number].sum())
    return TooFew(labels, MIN_LABELS, f"labelled sampled requests of deployment {number}")


def _gates(
    bench: Bench, cohort: Cohort, sampled: Sampled, look_closely: bool
) -> tuple[dict[str, Any], Failed | None]:
    """Figures, and Failed when more than 5 % of the rows have no like among the labelled."""
    lowest, highest = np.min(sampled.reference_prediction), np.max(sampled.reference_prediction)
    beyond = (sampled.prediction < lowest) | (sampled.prediction > highest)
    gates: dict[str, Any] = {"prediction_outside": float(beyond.mean())}
    if gates["prediction_outside"] > MOST_FOREIGN:
        share = f"{gates['prediction_outside']:.1%}"
        return gates, Failed(
            f"{OUTSIDE}: {share} of the predictions lie beyond the labelled ones"
            f" (at most {MOST_FOREIGN:.0%})"
        )
    views = bench.row_views(cohort)
    if not (look_closely and cohort.is_whole and views):
        return gates, None
    reference, now = matrices(views, sampled.binning, sampled.then.table, sampled.now)
    like = likeness(
        np.column_stack((reference, sampled.reference_prediction)),
        np.column_stack((now, sampled.prediction)),
        seed=bench.context.model_id,
    )
    if isinstance(like, TooFew):
        return gates, None
    gates |= {"classifier_auc": like.area, "foreign": like.foreign}
    return gates, foreign_reason(like.foreign)


def _learned(bench: Bench, sampled: Sampled, views: Sequence[View]) -> LossModel | TooFew:
    label = sampled.then.rows.label[sampled.then.places]
    inputs = _inputs(sampled.then.table, views, sampled.binning)
    seed = bench.context.model_id
    return fit_loss_model(inputs, sampled.reference_prediction, label, seed=seed)


def _inputs(table: pa.Table, views: Sequence[View], binning: Binning) -> Floats:
    """The columns and the deployment of each row: another version errs otherwise."""
    return np.column_stack((feature_matrix(table, views, binning), sample_deployments(table)))


def _predictions(bench: Bench, cohort: Cohort) -> int:
    """All predictions of the cohort, sampled or not."""
    column, binning = regression_column(bench.context.contract), bench.binning
    cells = binning.views.get(column.name) if binning is not None and column is not None else None
    return regression_counts(cohort.part, cells).n if isinstance(cells, NumberCells) else 0
