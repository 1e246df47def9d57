"""Requests as a JSON array or as newline-delimited JSON. Pure."""

from __future__ import annotations

import pyarrow as pa

from monitor.intake.base import IntakeContext
from monitor.intake.checks import check_values
from monitor.intake.envelope import Parts, Placed, place
from monitor.intake.grid import Grid
from monitor.intake.json_columns import TypedColumns, fill_grid
from monitor.intake.json_lenient import Notes
from monitor.intake.json_records import (
    Array,
    Form,
    Lines,
    Rows,
    describe_row,
    read_all_typed,
    read_one_by_one,
    without_mark,
)
from monitor.intake.json_struct import count_quotes, reader_for
from monitor.intake.pack import pack_requests
from monitor.intake.plan import RowPlan, plan_for
from monitor.intake.times import parse_times
from monitor.records import REQUEST_SCHEMA, RequestBatch


class JsonRequests:
    """Requests in a JSON body of one form."""

    def __init__(self, form: Form) -> None:
        self._form = form

    def parse(self, body: bytes, context: IntakeContext) -> RequestBatch:
        """Every record ends as a row or as a rejection; places count records from 0."""
        body = without_mark(body)
        plan = plan_for(context.contract, context.layout)
        found, columns = self._read(body, plan, context.max_records)
        if columns is None:
            return RequestBatch(
                REQUEST_SCHEMA.empty_table(), (), rejections=tuple(found.rejections)
            )
        return _assemble(found, columns, plan, context)

    def _read(self, body: bytes, plan: RowPlan, limit: int) -> tuple[Rows, TypedColumns | None]:
        reader = reader_for(plan)
        found = read_all_typed(body, self._form, reader, limit)
        if found is not None:
            columns = TypedColumns(found.rows, plan)
            if columns.explained_quotes == count_quotes(body):
                return found, columns
        found = read_one_by_one(body, self._form, reader, limit)
        return found, TypedColumns(found.rows, plan) if found.rows else None


def _assemble(
    found: Rows, columns: TypedColumns, plan: RowPlan, context: IntakeContext
) -> RequestBatch:
    names = [column.name for column in plan.columns]
    parts = Parts(
        request_ids=columns.request_ids,
        times=parse_times(columns.event_times),
        deployments=columns.deployments,
        tags=columns.tags,
        outcomes=columns.outcomes,
        outcome_reasons=columns.outcome_reasons,
        places=found.places,
        describe=lambda row: describe_row(found.rows[row], names),
    )
    placed = place(parts, context)
    grid = fill_grid(columns, placed.kept, context.hash_key)
    _apply_notes(grid, found.notes, placed)
    check_values(grid)
    return finish(grid, placed, found, context)


def finish(grid: Grid, placed: Placed, found: Rows, context: IntakeContext) -> RequestBatch:
    """The batch of a checked grid; rejections in the order of their places."""
    table: pa.Table = pack_requests(grid, placed.envelope, context)
    places: tuple[int, ...] | range = (
        found.places
        if isinstance(found.places, range) and len(placed.kept) == len(found.places)
        else tuple(found.places[row] for row in placed.kept.tolist())
    )
    rejections = sorted((*found.rejections, *placed.rejections), key=lambda one: one.place)
    return RequestBatch(table, places, placed.tags, tuple(rejections), grid.examples.all())


def _apply_notes(grid: Grid, notes: Notes, placed: Placed) -> None:
    """What the lenient reader found, for the rows that were kept."""
    if notes.empty:
        return
    rows = {row: index for index, row in enumerate(placed.kept.tolist())}
    for row, plan, reason, value in notes.cells:
        if row in rows:
            grid.note(plan, rows[row], reason, value)
    for row, plan, reason in notes.absent:
        if row in rows:
            grid.reasons[rows[row], plan.position] = reason
    for row, name, reason, value in notes.outside:
        if row in rows:
            grid.note_outside(name, rows[row], reason, value)


NDJSON_REQUESTS = JsonRequests(Lines())
JSON_REQUESTS = JsonRequests(Array())
