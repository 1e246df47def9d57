"""The labelled score counts that a week's calibrators are fitted on: made once, stored, read."""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy.engine import Connection

from monitor.checks.estimation.calibrator import LabelledScores, too_few_labels
from monitor.checks.estimation.support import HeldOutTest, held_out_test
from monitor.contract import Task
from monitor.contract_quality import Feedback
from monitor.jobs.base import JobContext
from monitor.jobs.estimates.history import DAY, NEWEST_DAYS, LabelHistory
from monitor.measurement import TooFew
from monitor.profiles.arrays import Integers
from monitor.profiles.labels import SCORE_CELLS, binary_counts
from monitor.profiles.labels_multiclass import one_vs_rest_counts
from monitor.profiles.part import Part
from monitor.profiles.predictions import MAX_CLASSES, classes_of
from monitor.store.estimators import StoredEstimator, estimator_of_week, save_estimator
from monitor.windows import Window

CONFIDENCE_BASED, VERSION = "cbpe", 1


@dataclass(frozen=True, eq=False)
class LabelledReference:
    """Labelled counts by score cell: `counts` int64[deployments, classes, 2, 512], [.., 0, :] of
    the class and [.., 1, :] of the rest; a binary model has one class, the positive one."""

    window: Window
    deployment_ids: tuple[int, ...]
    counts: Integers
    held_out: HeldOutTest | None

    def labelled(self, class_place: int, deployment_ids: Collection[int]) -> LabelledScores:
        """Counts of one class of these deployments together."""
        chosen = np.isin(self.deployment_ids, list(deployment_ids))
        positives, negatives = self.counts[chosen, class_place].sum(axis=0)
        return LabelledScores.of_cells(positives, negatives)

    def known(self, deployment_ids: Collection[int]) -> tuple[int, ...]:
        """Those of the deployments with labels enough to calibrate on by themselves."""
        return tuple(number for number in deployment_ids if self.short_of((number,)) is None)

    def short_of(self, deployment_ids: Collection[int]) -> TooFew | None:
        """What these deployments together lack for a calibrator; None when nothing."""
        found = [self.labelled(place, deployment_ids) for place in range(self.counts.shape[1])]
        short = [too_few_labels(one.positives.sum(), one.negatives.sum()) for one in found]
        return next((one for one in short if one is not None), None)

    def n(self, deployment_ids: Collection[int]) -> int:
        """Labelled rows of these deployments."""
        chosen = np.isin(self.deployment_ids, list(deployment_ids))
        return int(self.counts[chosen, 0].sum())


def reference_of_week(
    connection: Connection,
    context: JobContext,
    history: LabelHistory,
    leg: str,
    week: datetime,
) -> LabelledReference | TooFew:
    """The stored reference of a week, or a new one; TooFew, and nothing stored, with few labels."""
    project, model = context.project_id, context.model_id
    stored = estimator_of_week(connection, project, model, leg, CONFIDENCE_BASED, VERSION, week)
    if stored is not None:
        return _read(stored)
    window = history.reference_window(leg, week)
    made = _counted(context, window, history.parts(leg, window))
    short = made.short_of(made.deployment_ids)
    if short is not None:
        return short
    save_estimator(connection, project, model, _stored(made, leg, week, context.now))
    return made


def _counted(
    context: JobContext, window: Window, parts: Mapping[datetime, Mapping[int, Part]]
) -> LabelledReference:
    numbers = tuple(sorted({number for day in parts.values() for number in day}))
    shape = (len(parts), len(numbers), _n_classes(context), 2, SCORE_CELLS)
    counts = np.zeros(shape, np.int64)
    for place, by_deployment in enumerate(parts[day] for day in sorted(parts)):
        for number, part in by_deployment.items():
            counts[place, numbers.index(number)] = _score_counts(context, part)
    held_out = None
    if context.contract.task is Task.BINARY:
        days = [LabelledScores.of_cells(*day[0]) for day in counts.sum(axis=1)]
        held_out = held_out_test(days[:-NEWEST_DAYS], days[-NEWEST_DAYS:])
    return LabelledReference(window, numbers, counts.sum(axis=0), held_out)


def _n_classes(context: JobContext) -> int:
    if context.contract.task is Task.BINARY:
        return 1
    return min(len(classes_of(context.contract)), MAX_CLASSES)


def _score_counts(context: JobContext, part: Part) -> Integers:
    """int64[classes, 2, 512] of one day and deployment."""
    if context.contract.task is Task.BINARY:
        counts = binary_counts(part)
        negatives = counts.negatives
        if only_positives(context):  # silence after the longest delay is a negative
            negatives = negatives + counts.unlabelled
        return np.stack((counts.positives, negatives))[None]
    each = [one_vs_rest_counts(part, place) for place in range(_n_classes(context))]
    return np.array([(one.positives, one.negatives) for one in each], np.int64)


def only_positives(context: JobContext) -> bool:
    """Whether a request without a label counts as negative once its time has passed."""
    label = context.contract.label
    return label is not None and label.feedback is Feedback.POSITIVE_ONLY


def _stored(
    made: LabelledReference, leg: str, week: datetime, known_at: datetime
) -> StoredEstimator:
    body = io.BytesIO()
    np.savez_compressed(
        body, counts=made.counts, deployment_ids=np.array(made.deployment_ids, np.int64)
    )
    summary: dict[str, Any] = {
        "labels": {str(number): made.n((number,)) for number in made.deployment_ids},
        "days": (made.window.end - made.window.start) // DAY,
    }
    if made.held_out is not None:
        summary["held_out"] = asdict(made.held_out)
    return StoredEstimator(
        leg=leg, method=CONFIDENCE_BASED, version=VERSION, window=made.window, for_week=week,
        known_at=known_at, n=made.n(made.deployment_ids), summary=summary, body=body.getvalue(),
    )  # fmt: skip


def _read(stored: StoredEstimator) -> LabelledReference:
    with np.load(io.BytesIO(stored.body), allow_pickle=False) as arrays:
        counts, numbers = arrays["counts"], arrays["deployment_ids"]
    tested = stored.summary.get("held_out")
    held_out = None if tested is None else HeldOutTest(**tested)
    return LabelledReference(stored.window, tuple(numbers.tolist()), counts, held_out)
