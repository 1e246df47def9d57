"""Cohorts of the days before a window, as they were when they were as old as it is now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy.engine import Connection

from monitor.checks.maturity.change import (
    Cohort,
    binary_cohort,
    multiclass_cohort,
    regression_cohort,
    together,
)
from monitor.contract import Contract, Task
from monitor.contract_quality import Feedback
from monitor.jobs.base import JobContext
from monitor.jobs.grouping import WHOLE
from monitor.profiles.binning import Binning
from monitor.profiles.cells import NumberCells
from monitor.profiles.label_delays import labels_until, silence_as_negatives
from monitor.profiles.labels import binary_counts
from monitor.profiles.labels_multiclass import confusion_counts
from monitor.profiles.labels_regression import regression_counts
from monitor.profiles.part import Part, PartKind
from monitor.profiles.predictions import classes_of, regression_column
from monitor.store.profile_rows import StoredProfile, read_profiles
from monitor.windows import Grain, Window

LOOK_BACK = timedelta(days=28)
ALL_NEGATIVE = {0: 1.0, 1: 1.0, 2: 1.0}


@dataclass(frozen=True, eq=False)
class EarlierCohorts:
    """Days of labels parts by leg; what was counted of one is kept, as windows share their days."""

    by_leg: Mapping[str, Mapping[datetime, Sequence[StoredProfile]]]
    _counted: dict[tuple[str, datetime, int, int], Cohort | None] = field(default_factory=dict)

    def before(
        self,
        window: Window,
        leg: str,
        deployment_ids: tuple[int, ...] | None,
        bucket: int,
        contract: Contract,
        binning: Binning | None,
    ) -> list[Cohort]:
        """Cohorts of the UTC days within 28 days before a window, of these deployments or all."""
        found = []
        for day, stored in self.by_leg.get(leg, {}).items():
            if not window.start - LOOK_BACK <= day or day + Grain.DAY.length > window.start:
                continue
            mine = [
                cohort
                for one in stored
                if deployment_ids is None or one.key.deployment_id in deployment_ids
                if (cohort := self._cohort(one, bucket, contract, binning)) is not None
            ]
            if mine:
                found.append(together(mine))
        return found

    def _cohort(
        self, one: StoredProfile, bucket: int, contract: Contract, binning: Binning | None
    ) -> Cohort | None:
        key = (one.key.leg, one.key.window_start, one.key.deployment_id, bucket)
        if key not in self._counted:
            self._counted[key] = cohort_at(one.part, bucket, contract, binning)
        return self._counted[key]


def earlier_cohorts(
    connection: Connection, context: JobContext, first: datetime, last: datetime
) -> EarlierCohorts:
    """The labels parts of the days before windows that start in [first, last]."""
    if context.contract.label is None:
        return EarlierCohorts({})
    span = Window(Window.holding(first - LOOK_BACK, Grain.DAY).start, last + Grain.DAY.length)
    stored = read_profiles(
        connection, context.project_id, context.model_id, PartKind.LABELS, Grain.DAY, span,
        segment_ids=(WHOLE,),
    )  # fmt: skip
    by_leg: dict[str, dict[datetime, list[StoredProfile]]] = defaultdict(lambda: defaultdict(list))
    for one in stored:
        by_leg[one.key.leg][one.key.window_start].append(one)
    return EarlierCohorts(by_leg)


def cohort_at(
    part: Part, bucket: int, contract: Contract, binning: Binning | None
) -> Cohort | None:
    """What the labels with a delay up to a bucket say; None where the task has no such measure.

    Where only positives are told, every request without a label by then counts as a negative.
    """
    young = labels_until(part, bucket)
    if contract.task is Task.BINARY:
        if contract.label is not None and contract.label.feedback is Feedback.POSITIVE_ONLY:
            young = silence_as_negatives(young, ALL_NEGATIVE)
        return binary_cohort(binary_counts(young))
    if contract.task is Task.MULTICLASS:
        return multiclass_cohort(confusion_counts(young, len(classes_of(contract))))
    cells = regression_cells(contract, binning)
    return regression_cohort(regression_counts(young, cells)) if cells is not None else None


def regression_cells(contract: Contract, binning: Binning | None) -> NumberCells | None:
    """The cells that errors of a regression model are counted in; None before a baseline."""
    column = regression_column(contract) if contract.task is Task.REGRESSION else None
    cells = binning.views.get(column.name) if binning is not None and column is not None else None
    return cells if isinstance(cells, NumberCells) else None
