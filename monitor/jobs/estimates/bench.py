"""What one run keeps at hand: labelled history, references of weeks, sampled rows, past errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import pyarrow as pa
from sqlalchemy.engine import Connection

from monitor.checks.estimation.calibrator import FittedCalibrator, fit_with_draws
from monitor.checks.estimation.direct_loss import LossModel
from monitor.checks.promise.baseline import ColumnClass
from monitor.jobs.base import JobContext
from monitor.jobs.estimates.checked import PastError, errors_before, past_errors
from monitor.jobs.estimates.cohorts import Cohort
from monitor.jobs.estimates.history import LabelHistory
from monitor.jobs.estimates.reference import LabelledReference, reference_of_week
from monitor.jobs.estimates.sampled import (
    REFERENCE_ROWS,
    JoinedRows,
    input_views,
    joined,
    leg_sample,
    rows_of_week,
)
from monitor.measurement import TooFew
from monitor.profiles.binning import Binning
from monitor.profiles.block import PredictionBlock
from monitor.profiles.views import View
from monitor.records import LIVE_LEG
from monitor.store.baselines import current_binning
from monitor.store.profile_rows import BlockKey, read_blocks
from monitor.store.seasonal import newest_seasonal
from monitor.windows import Window

COHORT_ROWS = 2_000


@dataclass
class Bench:
    """One run of the estimates of a model, inside one transaction."""

    connection: Connection
    context: JobContext
    history: LabelHistory
    _references: dict[tuple[str, datetime], LabelledReference | TooFew] = field(
        default_factory=dict
    )
    _fitted: dict[tuple[str, datetime, tuple[int, ...]], tuple[FittedCalibrator, ...]] = field(
        default_factory=dict
    )
    _joined: dict[tuple[str, datetime], JoinedRows | None] = field(default_factory=dict)
    _row_views: dict[datetime, list[View]] = field(default_factory=dict)
    _losses: dict[tuple[str, datetime, tuple[str, ...]], LossModel | TooFew] = field(
        default_factory=dict
    )
    _errors: dict[tuple[str, datetime], list[tuple[str, PastError]]] = field(default_factory=dict)
    _binning: list[Binning | None] = field(default_factory=list)
    _blocks: list[tuple[BlockKey, PredictionBlock]] = field(default_factory=list)
    _blocks_of: Window | None = None

    @property
    def zone(self) -> str:
        """The zone whose days and weeks count."""
        return self.context.contract.time_zone

    def week(self, cohort: Cohort) -> datetime:
        """The beginning of the week whose estimator judges a cohort."""
        return cohort.week(self.zone)

    def rng(self, cohort: Cohort) -> np.random.Generator:
        """Chance that is the same whenever the same cohort is estimated."""
        day = int(cohort.window.start.timestamp())
        return np.random.default_rng([self.context.model_id, day, *cohort.deployment_ids])

    def reference(self, cohort: Cohort) -> LabelledReference | TooFew:
        """Labelled score counts for the cohort's week."""
        key = (cohort.leg, self.week(cohort))
        if key not in self._references:
            self._references[key] = reference_of_week(
                self.connection, self.context, self.history, *key
            )
        return self._references[key]

    def fitted(
        self, cohort: Cohort, reference: LabelledReference, deployment_ids: tuple[int, ...]
    ) -> tuple[FittedCalibrator, ...]:
        """A calibrator a class, fitted once a week and set of deployments."""
        key = (cohort.leg, self.week(cohort), deployment_ids)
        if key not in self._fitted:
            rng = np.random.default_rng([self.context.model_id, *deployment_ids])
            self._fitted[key] = tuple(
                fit_with_draws(reference.labelled(place, deployment_ids), rng)
                for place in range(reference.counts.shape[1])
            )
        return self._fitted[key]

    def joined(self, cohort: Cohort) -> JoinedRows | None:
        """Labelled sampled rows of the cohort's reference window, with their columns."""
        key = (cohort.leg, self.week(cohort))
        if key not in self._joined:
            window = self.history.reference_window(*key)
            rows = rows_of_week(self.connection, self.context, *key, window)
            table = leg_sample(
                self.connection, self.context, rows.window, cohort.leg, REFERENCE_ROWS
            )
            self._joined[key] = joined(table, rows)
        return self._joined[key]

    def sample(self, cohort: Cohort) -> pa.Table | None:
        """Sampled requests of the cohort; None without any."""
        return leg_sample(
            self.connection, self.context, cohort.window, cohort.leg,
            COHORT_ROWS, cohort.deployment_ids,
        )  # fmt: skip

    def loss_model(
        self, cohort: Cohort, views: Sequence[View], learn: Callable[[], LossModel | TooFew]
    ) -> LossModel | TooFew:
        """The model of errors of the cohort's week on these views, learned once."""
        key = (cohort.leg, self.week(cohort), tuple(view.name for view in views))
        if key not in self._losses:
            self._losses[key] = learn()
        return self._losses[key]

    def errors(self, cohort: Cohort) -> dict[str, list[PastError]]:
        """By measure the errors of matured cohorts that this one can learn from."""
        key = (cohort.leg, cohort.window.end)
        if key not in self._errors:
            self._errors[key] = errors_before(self.connection, self.context, *key)
        return past_errors(self._errors[key], cohort)

    def blocks(self, cohort: Cohort) -> list[tuple[BlockKey, PredictionBlock]]:
        """Prediction blocks of the cohort's leg and day."""
        if self._blocks_of != cohort.window:
            self._blocks = read_blocks(
                self.connection, self.context.project_id, self.context.model_id, cohort.window
            )
            self._blocks_of = cohort.window
        return [(key, block) for key, block in self._blocks if key.leg == cohort.leg]

    @property
    def binning(self) -> Binning | None:
        """The binning in use; None before there is one."""
        if not self._binning:
            found = current_binning(self.connection, self.context.project_id, self.context.model_id)
            self._binning = [None if found is None else found.binning]
        return self._binning[0]

    def row_views(self, cohort: Cohort) -> Sequence[View]:
        """Input views whose rows are told apart by themselves, as learned for the live leg by then.

        Weather and weekdays would tell any day from a month. Empty before classes are learned.
        """
        week = self.week(cohort)
        if week not in self._row_views:
            self._row_views[week] = self._learned_views(week) if cohort.leg == LIVE_LEG else []
        return self._row_views[week]

    def _learned_views(self, week: datetime) -> list[View]:
        seasonal = newest_seasonal(
            self.connection, self.context.project_id, self.context.model_id, LIVE_LEG, week
        )
        if seasonal is None or seasonal.baseline is None or self.binning is None:
            return []
        rows = {
            one.name
            for one in seasonal.baseline.columns
            if not one.segment and one.column_class is ColumnClass.ROW
        }
        return [view for view in input_views(self.context, self.binning) if view.name in rows]
