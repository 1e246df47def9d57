"""A checked grid and its envelope, packed into the frozen request schema. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from monitor.intake.base import IntakeContext
from monitor.intake.grid import Grid, text_or_nulls
from monitor.intake.times import MICROSECOND, micros_of
from monitor.records import REQUEST_SCHEMA, VIOLATION_BASE


@dataclass(frozen=True)
class Envelope:
    """What places a request: id, time, deployment, outcome. All arrays have n entries."""

    request_ids: pa.StringArray
    micros: np.ndarray[Any, np.dtype[np.int64]]
    deployments: np.ndarray[Any, np.dtype[np.int32]]
    outcomes: np.ndarray[Any, np.dtype[np.int16]]
    outcome_reasons: pa.StringArray


def pack_requests(grid: Grid, envelope: Envelope, context: IntakeContext) -> pa.Table:
    """The table of REQUEST_SCHEMA; rows keep their order."""
    n = grid.n
    columns = {
        "project_id": _repeat(context.project_id, n, pa.int32()),
        "model_id": _repeat(context.model_id, n, pa.int32()),
        "leg": _repeat(context.leg, n, pa.string()),
        "event_time": _moments(envelope.micros),
        "request_id": envelope.request_ids,
        "deployment_id": pa.array(envelope.deployments, pa.int32()),
        "contract_version": _repeat(context.contract_version, n, pa.int32()),
        "outcome": pa.array(envelope.outcomes, pa.int16()),
        "outcome_reason": envelope.outcome_reasons,
        "received_at": _moments(np.full(n, micros_of(context.received_at), np.int64)),
        "violations": _violations(grid),
        "numbers": _numbers(grid),
        "texts": _texts(grid),
    }
    return pa.table(columns, schema=REQUEST_SCHEMA)


def _repeat(value: Any, n: int, kind: pa.DataType) -> pa.Array:
    return pa.repeat(pa.scalar(value, kind), n)


def _moments(micros: np.ndarray[Any, np.dtype[np.int64]]) -> pa.TimestampArray:
    """Microseconds as moments, without a copy."""
    data = pa.py_buffer(np.ascontiguousarray(micros, np.int64))
    return pa.Array.from_buffers(MICROSECOND, len(micros), [None, data])


def _numbers(grid: Grid) -> pa.ListArray:
    """Every slot of every row; NULL where a cell is empty or no active column uses the slot."""
    missing = np.ones(grid.numbers.shape, np.bool_)
    for plan in grid.plan.columns:
        start, width = plan.slot.number_start, plan.slot.number_width
        missing[:, start : start + width] = grid.empty[:, plan.position, None]
    flat = np.where(missing, 0.0, grid.numbers).ravel()
    values = pa.array(flat, pa.float64(), mask=missing.ravel() if missing.any() else None)
    return pa.ListArray.from_arrays(_offsets(grid.n, grid.numbers.shape[1]), values)


def _texts(grid: Grid) -> pa.ListArray:
    """Slots are held column by column; `take` turns them into rows."""
    width = grid.plan.layout.text_width
    if width == 0 or grid.n == 0:
        empty = pa.array([], pa.string())
        return pa.ListArray.from_arrays(_offsets(grid.n, 0), empty)
    slots = pa.concat_arrays([text_or_nulls(grid, slot) for slot in range(width)])
    order = (np.arange(width)[None, :] * grid.n + np.arange(grid.n)[:, None]).ravel()
    return pa.ListArray.from_arrays(_offsets(grid.n, width), slots.take(pa.array(order)))


def _violations(grid: Grid) -> pa.ListArray:
    """Codes of each row in ascending order, NULL for a row without a violation."""
    rows, positions = np.nonzero(grid.reasons)
    if not len(rows) and not grid.outside:
        return pa.nulls(grid.n, pa.list_(pa.int32()))
    codes = grid.plan.ordinals[positions] * VIOLATION_BASE + grid.reasons[rows, positions]
    if grid.outside:
        outside = np.concatenate(grid.outside)
        rows = np.concatenate([rows, outside[:, 0]])
        codes = np.concatenate([codes, outside[:, 1]])
    order = np.lexsort((codes, rows))
    counts = np.bincount(rows, minlength=grid.n)
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    values = pa.array(codes[order], pa.int32())
    return pa.ListArray.from_arrays(offsets, values, mask=pa.array(counts == 0))


def _offsets(n: int, width: int) -> pa.Array:
    return pa.array(np.arange(n + 1, dtype=np.int64) * width, pa.int32())
