"""Requests as an Arrow IPC stream or as a table from a file. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from monitor.intake.arrow_columns import put_column
from monitor.intake.arrow_envelope import ArrowEnvelope, Getter, read_envelope
from monitor.intake.arrow_values import Rows, plain
from monitor.intake.base import IntakeContext
from monitor.intake.checks import check_values, mark_absent
from monitor.intake.envelope import ENVELOPE_FIELDS, Parts, Placed, place
from monitor.intake.examples import Opaque
from monitor.intake.grid import Bools, Grid, is_null
from monitor.intake.ipc import read_stream, refuse_columns
from monitor.intake.json_lenient import MAX_UNKNOWN_PER_RECORD
from monitor.intake.pack import pack_requests
from monitor.intake.plan import SERVED, RowPlan, plan_for
from monitor.intake.times import Times
from monitor.records import (
    REQUEST_SCHEMA,
    Rejection,
    RequestBatch,
    ViolationReason,
)
from monitor.strictjson import visible

_SERVED = np.array(sorted(SERVED), np.int16)


class ArrowRequests:
    """Requests in an Arrow IPC stream; columns have the names of a JSON record's keys."""

    def parse(self, body: bytes, context: IntakeContext) -> RequestBatch:
        """Every row ends as a row of the batch or as a rejection; places count rows from 0."""
        table = read_stream(body, context.max_records, context.max_bytes)
        return requests_of_table(table, context)


def requests_of_table(table: pa.Table, context: IntakeContext) -> RequestBatch:
    """The same for a table that is already in memory."""
    refuse_columns(table.schema)
    if table.num_rows == 0:
        return RequestBatch(REQUEST_SCHEMA.empty_table(), ())
    get = getter(table, context.max_bytes)
    envelope = read_envelope(get, table.num_rows)
    describe = describer(table, envelope.request_ids)
    refused = [_early_rejection(row, envelope, describe) for row in sorted(envelope.refusals)]
    first = np.arange(table.num_rows)
    if envelope.refusals:
        first = np.setdiff1d(first, sorted(envelope.refusals))
    placed = place(_parts(envelope, first, describe), context)
    kept = first[placed.kept]
    grid = _fill(get, table, kept, placed, context)
    for row, reason, value in envelope.bad_outcome_reasons:
        at = int(np.searchsorted(kept, row))
        if at < len(kept) and kept[at] == row:
            grid.note_outside("outcome_reason", at, reason, value)
    check_values(grid)
    rejections = sorted((*refused, *placed.rejections), key=lambda one: one.place)
    whole = len(kept) == table.num_rows
    return RequestBatch(
        pack_requests(grid, placed.envelope, context),
        range(table.num_rows) if whole else tuple(kept.tolist()),
        placed.tags,
        tuple(rejections),
        grid.examples.all(),
    )


def getter(table: pa.Table, max_bytes: int) -> Getter:
    """Columns by name in plain types, all null where the table has none; each unpacked once."""
    held: dict[str, tuple[pa.Array, Rows]] = {}

    def get(name: str) -> tuple[pa.Array, Rows]:
        if name not in held:
            place = table.schema.get_field_index(name)
            held[name] = (
                plain(name, table.column(place), max_bytes)
                if place >= 0
                else (pa.nulls(table.num_rows, pa.null()), np.zeros(0, np.intp))
            )
        return held[name]

    return get


def describer(table: pa.Table, ids: pa.StringArray) -> Callable[[int], tuple[str | None, str]]:
    """Id and masked excerpt of a row: column names and types, no value."""
    fields = ", ".join(f"{field.name}: {field.type}" for field in list(table.schema)[:20])
    excerpt = visible("{" + fields + "}", 200)

    def describe(row: int) -> tuple[str | None, str]:
        value = ids[row].as_py()
        return (visible(value, 200) if value else None), excerpt

    return describe


def _early_rejection(
    row: int, envelope: ArrowEnvelope, describe: Callable[[int], tuple[str | None, str]]
) -> Rejection:
    request_id, excerpt = describe(row)
    refusal = envelope.refusals[row]
    return Rejection(row, refusal.reason, refusal.message, request_id, excerpt)


def _parts(
    envelope: ArrowEnvelope, rows: Rows, describe: Callable[[int], tuple[str | None, str]]
) -> Parts:
    every = len(rows) == len(envelope.request_ids)
    chosen = pa.array(rows)
    return Parts(
        request_ids=envelope.request_ids if every else envelope.request_ids.take(chosen),
        times=Times(envelope.times.micros[rows], envelope.times.faults[rows]),
        deployments=_pick(envelope.deployments, rows, every),
        tags=_pick(envelope.tags, rows, every),
        outcomes=envelope.outcomes[rows],
        outcome_reasons=(
            envelope.outcome_reasons if every else envelope.outcome_reasons.take(chosen)
        ),
        places=rows.tolist(),
        describe=lambda row: describe(int(rows[row])),
    )


def _fill(get: Getter, table: pa.Table, kept: Rows, placed: Placed, context: IntakeContext) -> Grid:
    plan = plan_for(context.contract, context.layout)
    grid = Grid(plan, len(kept))
    served: Bools = np.isin(placed.envelope.outcomes, _SERVED)
    names = set(table.column_names)
    for column in plan.columns:
        array, broken = get(column.name)
        array, broken = _rows_of(array, broken, kept)
        put_column(grid, column, array, broken, context.hash_key)
        if array.null_count and not column.column.nullable:
            absent = is_null(array)
            absent[broken] = False
            reason = ViolationReason.NULL if column.name in names else ViolationReason.MISSING
            mark_absent(grid, column, np.flatnonzero(absent), reason, served)
    _note_unknown(grid, table, plan, kept)
    return grid


def _rows_of(array: pa.Array, broken: Rows, kept: Rows) -> tuple[pa.Array, Rows]:
    if len(kept) == len(array):
        return array, broken
    return array.take(pa.array(kept)), np.flatnonzero(np.isin(kept, broken))


def _note_unknown(grid: Grid, table: pa.Table, plan: RowPlan, kept: Rows) -> None:
    unknown = set(table.column_names) - plan.by_name.keys() - set(ENVELOPE_FIELDS)
    for name in sorted(unknown)[:MAX_UNKNOWN_PER_RECORD]:
        shown = [Opaque(str(table.schema.field(name).type))] if len(kept) else []
        grid.note_outside_all(name, ViolationReason.UNKNOWN_COLUMN, shown)


def _pick(values: list[Any], rows: Rows, every: bool) -> list[Any]:
    return values if every else [values[row] for row in rows.tolist()]


ARROW_REQUESTS = ArrowRequests()
