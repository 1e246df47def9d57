"""Sampled requests with their labels: the stored samples joined with the blocks by request hash.

Samples hold the columns and expire with the raw rows; what is stored of them here is the hash, the
score or prediction and the label, nothing else.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy.engine import Connection

from monitor.checks.estimation.calibrator import MIN_LABELS
from monitor.checks.multivariate.features import feature_matrix, usable_views
from monitor.contract import ColumnRole, Task
from monitor.jobs.base import JobContext
from monitor.jobs.estimates.reference import only_positives
from monitor.jobs.promise.series import watched_views
from monitor.profiles.arrays import Floats, Integers
from monitor.profiles.binning import Binning
from monitor.profiles.predictions import regression_column
from monitor.profiles.sample import EVENT_TIME, HASH, merge_samples, sample_from_bytes
from monitor.profiles.views import View
from monitor.store.estimators import SAMPLED, StoredEstimator, estimator_of_week, save_estimator
from monitor.store.profile_rows import read_blocks, read_samples
from monitor.windows import Grain, Window

REFERENCE_ROWS = 4_000
VERSION = 1
_INPUTS = (ColumnRole.FEATURE, ColumnRole.SEGMENT)


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Labelled sampled requests, int64[n] `keys` (keyed hashes), `event_time` and `deployment`,
    float64[n] `score` (or prediction) and `label`."""

    window: Window
    keys: Integers
    event_time: Integers
    deployment: Integers
    score: Floats
    label: Floats

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, eq=False)
class JoinedRows:
    """Labelled rows whose columns are still there: `places` int64[m] among the rows, `table`."""

    rows: LabelledRows
    places: Integers
    table: pa.Table


def rows_of_week(
    connection: Connection,
    context: JobContext,
    leg: str,
    week: datetime,
    window: Window,
) -> LabelledRows:
    """The labelled sampled rows of a week's reference: stored before, or made and stored now."""
    project, model = context.project_id, context.model_id
    stored = estimator_of_week(connection, project, model, leg, SAMPLED, VERSION, week)
    if stored is not None:
        return _read(stored)
    sample = leg_sample(connection, context, window, leg, REFERENCE_ROWS)
    made = _labelled(connection, context, leg, window, sample)
    if len(made) >= MIN_LABELS:  # with fewer it is tried again the next day
        save_estimator(connection, project, model, _stored(made, leg, week, context.now))
    return made


def leg_sample(
    connection: Connection,
    context: JobContext,
    window: Window,
    leg: str,
    limit: int,
    deployment_ids: Collection[int] | None = None,
) -> pa.Table | None:
    """The `limit` sampled requests of a leg, window and deployments (any without a choice) with the
    smallest hashes, with their deployment; None when there are none."""
    first = Window.holding(window.start, Grain.DAY).start
    tables = []
    for _, number, its_leg, body in read_samples(
        connection, context.project_id, context.model_id, Window(first, window.end)
    ):
        if its_leg == leg and (deployment_ids is None or number in deployment_ids):
            table = _inside(sample_from_bytes(body), window)
            tables.append(
                table.append_column(_DEPLOYMENT, pa.array(np.full(len(table), number, np.int64)))
            )
    tables = [table for table in tables if len(table)]
    return merge_samples(tables, limit) if tables else None


def sample_deployments(table: pa.Table) -> Integers:
    """The deployment of each row of a leg's sample, int64[n]."""
    return np.asarray(table[_DEPLOYMENT].to_numpy(), np.int64)


def joined(table: pa.Table | None, rows: LabelledRows) -> JoinedRows | None:
    """Labelled rows with their columns; None when no sampled row is left."""
    if table is None or not len(rows):
        return None
    place = _places(rows, table)
    found = np.flatnonzero(place >= 0)
    return JoinedRows(rows, place[found], table.take(pa.array(found))) if len(found) else None


def input_views(context: JobContext, binning: Binning) -> list[View]:
    """Views of the columns that a model is given."""
    every = watched_views(context.contract, binning)
    return [view for view in every if view.column.role in _INPUTS]


def matrices(views: Sequence[View], binning: Binning, *tables: pa.Table) -> list[Floats]:
    """The tables' columns as numbers, float64[n, k] each, NaN where missing; k may be 0."""
    used = usable_views(views, binning, *tables)
    return [feature_matrix(table, used, binning) for table in tables]


def sampled_score(context: JobContext, table: pa.Table) -> Floats | None:
    """The score or predicted number of each sampled row, float64[n] with NaN; None without one."""
    regression = context.contract.task is Task.REGRESSION
    column = regression_column(context.contract) if regression else None
    column = column or context.contract.single(ColumnRole.SCORE)
    if column is None or column.name not in table.column_names:
        return None
    values = table[column.name].combine_chunks()
    if not pa.types.is_floating(values.type):
        return None
    return np.asarray(values.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)


_DEPLOYMENT = "deployment of the request"


def _inside(table: pa.Table, window: Window) -> pa.Table:
    times = table[EVENT_TIME]
    first, last = pa.scalar(window.start, times.type), pa.scalar(window.end, times.type)
    return table.filter(pc.and_(pc.greater_equal(times, first), pc.less(times, last)))


def _labelled(
    connection: Connection,
    context: JobContext,
    leg: str,
    window: Window,
    sample: pa.Table | None,
) -> LabelledRows:
    """The sampled rows that the blocks know a label of."""
    wanted = np.zeros(0, np.int64) if sample is None else np.sort(sample[HASH].to_numpy())
    pieces: list[tuple[Integers, Integers, Integers, Floats, Floats]] = []
    for key, block in read_blocks(connection, context.project_id, context.model_id, window):
        if key.leg != leg or not len(wanted):
            continue
        at = np.minimum(np.searchsorted(wanted, block.keys), len(wanted) - 1)
        silent = 0.0 if only_positives(context) else np.nan
        label = np.where(block.labelled, block.label, silent)
        rows = np.flatnonzero(
            (wanted[at] == block.keys) & ~np.isnan(label) & ~np.isnan(block.score)
        )
        number = np.full(len(rows), key.deployment_id, np.int64)
        pieces.append(
            (block.keys[rows], block.event_time[rows], number, block.score[rows], label[rows])
        )
    if not pieces:
        return _none(window)
    keys, times, numbers, score, label = (
        np.concatenate(each) for each in zip(*pieces, strict=True)
    )
    return LabelledRows(window, keys, times, numbers, score, label)


def _places(rows: LabelledRows, table: pa.Table) -> Integers:
    """The labelled row of each sampled row, int64[m], by hash and time; -1 for none."""
    order = np.lexsort((rows.event_time, rows.keys))
    place_of = {
        (int(key), int(at)): int(place)
        for key, at, place in zip(rows.keys[order], rows.event_time[order], order, strict=True)
    }
    hashes = table[HASH].to_numpy()
    times = table[EVENT_TIME].cast(pa.int64()).to_numpy()
    found = [place_of.get((int(k), int(t)), -1) for k, t in zip(hashes, times, strict=True)]
    return np.array(found, np.int64)


def _stored(made: LabelledRows, leg: str, week: datetime, known_at: datetime) -> StoredEstimator:
    body = io.BytesIO()
    np.savez_compressed(
        body, keys=made.keys, event_time=made.event_time, deployment=made.deployment,
        score=made.score, label=made.label,
    )  # fmt: skip
    return StoredEstimator(
        leg=leg, method=SAMPLED, version=VERSION, window=made.window, for_week=week,
        known_at=known_at, n=len(made), summary={}, body=body.getvalue(),
    )  # fmt: skip


def _none(window: Window) -> LabelledRows:
    none, nothing = np.zeros(0, np.int64), np.zeros(0)
    return LabelledRows(window, none, none, none, nothing, nothing)


def _read(stored: StoredEstimator) -> LabelledRows:
    if not stored.body:  # the rows have expired
        return _none(stored.window)
    with np.load(io.BytesIO(stored.body), allow_pickle=False) as arrays:
        return LabelledRows(stored.window, **{name: arrays[name] for name in arrays.files})
