"""The group that does worst in a month whose labels are in: searched in labelled sampled rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from sqlalchemy.engine import Connection

from monitor.checks.groups.worst import worst_group
from monitor.checks.registry import CheckName
from monitor.checks.slice_counts import SliceColumn, coarse_column
from monitor.checks.slices import MAX_COLUMNS, SliceRows
from monitor.contract import Task
from monitor.jobs.base import JobContext
from monitor.jobs.grouping import WHOLE
from monitor.jobs.labelled_sample import JUDGED, LabelledSample, labelled_sample
from monitor.jobs.plans.base import PlanInputs
from monitor.jobs.promise.sampled import cells_of, is_input
from monitor.measurement import Measurement, Outcome, TooFew
from monitor.profiles.binning import Binning
from monitor.records import LIVE_LEG

WORST = "worst_group"


def measure_worst_group(
    connection: Connection, context: JobContext, inputs: Sequence[PlanInputs]
) -> Iterator[Measurement]:
    """One measurement of everything that served the live leg in the window."""
    mine = [one for one in inputs if one.leg == LIVE_LEG and one.segment_id == WHOLE]
    if context.contract.label is None or context.contract.task not in JUDGED or not mine:
        return
    whole = max(mine, key=lambda one: len(one.deployment_ids))
    outcome = _outcome(connection, context, whole)
    unit = "label" if context.contract.task is Task.REGRESSION else None
    yield whole.measurement(CheckName.GROUPS, WORST, outcome, unit=unit)


def _outcome(connection: Connection, context: JobContext, whole: PlanInputs) -> Outcome:
    label = context.contract.label
    if label is not None and whole.window.end + label.max_age > context.now:
        passed = max(0, (context.now - whole.window.end).days)
        what = "days since the month's end; labels are still coming"
        return TooFew(min(passed, label.max_age.days - 1), max(1, label.max_age.days), what)
    binning = whole.yardsticks.binning
    sample = labelled_sample(connection, context, whole.window, whole.leg)
    if binning is None or sample is None:
        return TooFew(0, 1, "baselines with sampled rows")
    columns, cells = slice_columns(context, binning, sample)
    if not columns:
        return TooFew(0, 1, "columns to search")
    return worst_group(columns, SliceRows(cells, sample.entities, sample.loss))


def slice_columns(
    context: JobContext, binning: Binning, sample: LabelledSample
) -> tuple[list[SliceColumn], np.ndarray[tuple[int, int], np.dtype[np.int64]]]:
    """The inputs in coarse groups, and the cell numbers of the rows, int64[columns, n]."""
    inputs = [c for c in context.contract.columns if is_input(c, binning, [sample.table])]
    inputs = inputs[:MAX_COLUMNS]
    rows = [cells_of(sample.table[c.name], binning.views[c.name]) for c in inputs]
    columns = []
    for column, cells in zip(inputs, rows, strict=True):
        view = binning.views[column.name]
        counts = np.bincount(cells, minlength=view.n_cells).astype(np.int64)
        columns.append(coarse_column(column.name, view, counts))
    return columns, np.array(rows, np.int64).reshape(len(rows), len(sample))
