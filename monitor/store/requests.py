"""Writing batches of requests and labels: straight COPY, staging when a key was seen before."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import adbc_driver_manager as driver
import numpy as np
import pyarrow as pa

from monitor.records import (
    LABEL_SCHEMA,
    REQUEST_SCHEMA,
    LabelBatch,
    Rejection,
    RequestBatch,
    ViolationExample,
)
from monitor.store.bulk import (
    UNIQUE_VIOLATION,
    BulkConnections,
    copy_in,
    execute,
    literal,
    sqlstate,
)
from monitor.windows import Grain

ACCEPTED, DUPLICATE, CONFLICT = 0, 1, 2
FIVE_MINUTES, HOUR = int(Grain.FIVE_MINUTES), int(Grain.HOUR)
Codes = np.ndarray[Any, np.dtype[np.uint8]]

_STAGED = [("place", pa.int32()), ("status", pa.int16())]
REQUEST_STAGE = pa.schema([*REQUEST_SCHEMA, *_STAGED])
LABEL_STAGE = pa.schema([*LABEL_SCHEMA, *_STAGED])
_STAGE_TYPES = {
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.float64(): "float8",
    pa.string(): "text",
    pa.timestamp("us", tz="UTC"): "timestamptz",
    pa.list_(pa.int32()): "int[]",
    pa.list_(pa.float64()): "float8[]",
    pa.list_(pa.string()): "text[]",
}


@dataclass(frozen=True)
class StoredRows:
    """What became of each row of a batch: None means every one was accepted."""

    codes: Codes | None
    n: int

    def count(self, code: int) -> int:
        """How many rows have this code."""
        if self.codes is None:
            return self.n if code == ACCEPTED else 0
        return int((self.codes == code).sum())


def write_requests(bulk: BulkConnections, batch: RequestBatch) -> StoredRows:
    """Store requests in one transaction; returns after the commit.

    The first of a key is kept; the same content again is a duplicate, other content a conflict.
    """
    try:
        return bulk.run(lambda cursor: _copy_requests(cursor, batch))
    except driver.Error as error:
        if sqlstate(error) != UNIQUE_VIOLATION:
            raise
    return bulk.run(lambda cursor: _stage_requests(cursor, batch))


def write_labels(bulk: BulkConnections, batch: LabelBatch) -> StoredRows:
    """Store labels in one transaction; the same label again is a duplicate, another a revision."""
    # A label copied by another sender while this one is absorbed can take its revision: once more.
    for write in (_copy_labels, _stage_labels, _stage_labels):
        try:
            return bulk.run(partial(write, batch=batch))
        except driver.Error as error:
            if sqlstate(error) != UNIQUE_VIOLATION:
                raise
    return bulk.run(lambda cursor: _stage_labels(cursor, batch))


def _copy_requests(cursor: Any, batch: RequestBatch) -> StoredRows:
    done = StoredRows(None, batch.table.num_rows)
    if done.n:
        marks = _mark_statement(batch.table, None)
        _note(cursor, "requests", batch.table, batch.rejections, done, marks, batch.examples)
        copy_in(cursor, "request_log", batch.table, REQUEST_SCHEMA)
    return done


def _stage_requests(cursor: Any, batch: RequestBatch) -> StoredRows:
    codes = _staged_codes(cursor, "request_stage", batch.table, REQUEST_STAGE, "absorb_requests")
    done = StoredRows(codes, batch.table.num_rows)
    accepted = codes == ACCEPTED
    marks = _mark_statement(batch.table, accepted) if accepted.any() else None
    _note(cursor, "requests", batch.table, batch.rejections, done, marks, batch.examples)
    return done


def _copy_labels(cursor: Any, batch: LabelBatch) -> StoredRows:
    done = StoredRows(None, batch.table.num_rows)
    if done.n:
        marks = _label_mark_statement(batch.table)
        _note(cursor, "labels", batch.table, batch.rejections, done, marks)
        copy_in(cursor, "label", batch.table, LABEL_SCHEMA)
    return done


def _stage_labels(cursor: Any, batch: LabelBatch) -> StoredRows:
    codes = _staged_codes(cursor, "label_stage", batch.table, LABEL_STAGE, "absorb_labels")
    done = StoredRows(codes, batch.table.num_rows)
    accepted = batch.table.filter(pa.array(codes == ACCEPTED))
    marks = _label_mark_statement(accepted) if accepted.num_rows else None
    _note(cursor, "labels", batch.table, batch.rejections, done, marks)
    return done


def _staged_codes(
    cursor: Any, stage: str, table: pa.Table, schema: pa.Schema, absorb: str
) -> Codes:
    columns = ", ".join(f"{field.name} {_STAGE_TYPES[field.type]}" for field in schema)
    execute(cursor, f"create temp table {stage} ({columns}) on commit drop")
    # The absorbing function runs with the owner's rights; the stage is this session's alone.
    execute(cursor, f"grant select, update on {stage} to public")
    n = table.num_rows
    placed = table.append_column("place", pa.array(np.arange(n, dtype="i4")))
    staged = placed.append_column("status", pa.nulls(n, pa.int16())).cast(schema)
    copy_in(cursor, stage, staged, schema, temporary=True)
    cursor.execute(f"select {absorb}()")
    cursor.fetchall()
    cursor.execute(f"select status from {stage} order by place")
    codes: Codes = cursor.fetch_arrow_table()["status"].to_numpy().astype(np.uint8)
    return codes


def _note(
    cursor: Any,
    kind: str,
    table: pa.Table,
    rejections: tuple[Rejection, ...],
    done: StoredRows,
    marks: str | None,
    examples: tuple[ViolationExample, ...] = (),
) -> None:
    """Count and mark the batch, and keep its rejections and examples, in its own transaction."""
    project, model = table["project_id"][0].as_py(), table["model_id"][0].as_py()
    received = table["received_at" if kind == "requests" else "arrived_at"][0].as_py()
    counts = [done.count(code) for code in (ACCEPTED, DUPLICATE, CONFLICT)]
    counted = _count_statement(
        project, model, kind, received, (*counts, len(rejections), count_violations(table))
    )
    # One statement for both: each would cost its own two round trips.
    execute(cursor, counted if marks is None else f"with counted as ({counted}) {marks}")
    if rejections or examples:
        keep_evidence(cursor, project, model, kind, received, rejections, examples)


def count_batch(
    cursor: Any, project: int, model: int, kind: str, received: datetime, counts: tuple[int, ...]
) -> None:
    """Keep a row that says what became of a body: accepted, duplicate, conflict, rejected and
    violations.
    """
    execute(cursor, _count_statement(project, model, kind, received, counts))


def _count_statement(
    project: int, model: int, kind: str, received: datetime, counts: tuple[int, ...]
) -> str:
    values = ", ".join(literal(value) for value in (project, model, kind, received, *counts))
    return (
        "insert into intake_batch (project_id, model_id, kind, received_at, accepted, duplicate,"
        f" conflict, rejected, violations) values ({values})"
    )


def keep_evidence(
    cursor: Any,
    project: int,
    model: int | None,
    kind: str,
    received: datetime,
    rejections: tuple[Rejection, ...],
    examples: tuple[ViolationExample, ...],
) -> None:
    """Store rejections and masked examples (these tables have row-level security)."""
    cursor.execute(f"select set_config('app.project', {literal(str(project))}, true)")
    cursor.fetchall()
    if rejections:
        rows = ", ".join(
            _rejection_row(project, model, kind, received, found) for found in rejections
        )
        execute(
            cursor,
            "insert into rejection (project_id, model_id, kind, place, reason, message, request_id,"
            f" excerpt, received_at, sent_with, producer) values {rows}",
        )
    if examples:
        day = received.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        rows = ", ".join(
            "("
            + ", ".join(
                literal(v) for v in (project, model, e.column, int(e.reason), day, e.example)
            )
            + ")"
            for e in examples
        )
        execute(
            cursor,
            "insert into violation_example (project_id, model_id, column_name, reason, day,"
            f" example) values {rows} on conflict do nothing",
        )


def _rejection_row(
    project: int, model: int | None, kind: str, received: datetime, found: Rejection
) -> str:
    origin = found.origin.cleaned()
    values = (
        project,
        model,
        kind,
        found.place,
        found.reason.value,
        found.message,
        found.request_id,
        found.excerpt,
        received,
        origin.key,
        origin.producer,
    )
    return "(" + ", ".join(literal(value) for value in values) + ")"


def count_violations(table: pa.Table) -> int:
    """Violations in a request table (0 for labels, which have none)."""
    if "violations" not in table.schema.names:
        return 0
    if table["violations"].null_count == table.num_rows:
        return 0
    return sum(len(chunk.flatten()) for chunk in table["violations"].chunks)


def _mark_statement(table: pa.Table, kept: np.ndarray[Any, np.dtype[np.bool_]] | None) -> str:
    moments = _micros(table["event_time"])
    moments = moments if kept is None else moments[kept]
    head = ", ".join(literal(table[name][0].as_py()) for name in ("project_id", "model_id", "leg"))
    starts, counts = np.unique(moments // (FIVE_MINUTES * 1_000_000), return_counts=True)
    windows: Counter[tuple[int, int]] = Counter()
    for start, count in zip((starts * FIVE_MINUTES).tolist(), counts.tolist(), strict=True):
        windows[FIVE_MINUTES, start] += count
        windows[HOUR, start - start % HOUR] += count
    rows = ", ".join(
        f"({head}, {grain}, to_timestamp({start}), {count})"
        for (grain, start), count in sorted(windows.items())
    )
    return (
        f"insert into intake_mark (project_id, model_id, leg, grain, window_start, n) values {rows}"
    )


def _label_mark_statement(table: pa.Table) -> str:
    head = ", ".join(literal(table[name][0].as_py()) for name in ("project_id", "model_id"))
    observed, arrived = _micros(table["observed_at"]), _micros(table["arrived_at"])
    rows = []
    for moment in np.unique(arrived):
        mine = observed[arrived == moment]
        times = ", ".join(literal(_moment(value)) for value in (mine.min(), mine.max(), moment))
        rows.append(f"({head}, {times}, {len(mine)})")
    return (
        "insert into label_mark (project_id, model_id, first_observed_at, last_observed_at,"
        " arrived_at, n) values " + ", ".join(rows)
    )


def _micros(column: pa.ChunkedArray) -> np.ndarray[Any, np.dtype[np.int64]]:
    found: np.ndarray[Any, np.dtype[np.int64]] = column.cast(pa.int64()).to_numpy()
    return found


def _moment(micros: int) -> datetime:
    return datetime.fromtimestamp(int(micros) // 1_000_000, UTC).replace(
        microsecond=int(micros) % 1_000_000
    )
