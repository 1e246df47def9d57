"""Streams raw request rows of windows, in one snapshot with the transaction that asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.profiles.part import PartKind
from monitor.store.bulk import BulkConnections, execute, literal, read
from monitor.windows import Grain, Window

ROWS_A_CHUNK = 200_000
_COLUMNS = (
    "leg, event_time, request_id, deployment_id, contract_version, outcome, outcome_reason,"
    " received_at, violations, numbers, texts"
)


_LABEL_COLUMNS = (
    "request_id, source, observed_at, arrived_at, event_time, leg, value, text, revision"
)


@contextmanager
def request_chunks(
    connection: Connection,
    bulk: BulkConnections,
    project_id: int,
    model_id: int,
    starts: Sequence[datetime],
    grain: Grain,
) -> Iterator[Iterator[pa.Table]]:
    """Tables of at most about ROWS_A_CHUNK rows of these windows, read in the caller's snapshot.

    The caller's transaction must be REPEATABLE READ: what its marks say and what is read here is
    then the same moment.
    """
    snapshot = connection.scalar(sa.text("select pg_export_snapshot()"))
    spans = " or ".join(
        f"(event_time >= {literal(window.start)} and event_time < {literal(window.end)})"
        for window in merged_windows(starts, grain.length)
    )
    query = (
        f"select {_COLUMNS} from request_log"
        f" where project_id = {int(project_id)} and model_id = {int(model_id)} and ({spans})"
    )
    with bulk.transaction() as cursor:
        execute(cursor, "set transaction isolation level repeatable read")
        execute(cursor, f"set transaction snapshot {literal(snapshot)}")
        yield _chunks(read(cursor, query))


def expired_windows(
    connection: Connection,
    project_id: int,
    model_id: int,
    starts: Sequence[datetime],
    grain: Grain,
) -> set[datetime]:
    """Windows of these that were profiled from more rows than are there now.

    Requests are never changed or deleted but by retention, so what is left of such a window can't
    take the place of its profile.
    """
    query = sa.text(
        "select p.window_start from profile p where p.project_id = :project and p.model_id = :model"
        " and p.part = :serving and p.grain = :grain and p.segment_id = 0 and p.binning_id = 0"
        " and p.window_start = any(:starts) group by p.window_start"
        " having sum(p.n) > (select count(*) from request_log r where r.project_id = :project"
        "   and r.model_id = :model and r.event_time >= p.window_start"
        "   and r.event_time < p.window_start + make_interval(secs => :grain))"
    )
    values = {
        "project": project_id,
        "model": model_id,
        "serving": int(PartKind.SERVING),
        "grain": int(grain),
        "starts": list(starts),
    }
    return set(connection.scalars(query, values)) if starts else set()


def first_requests(
    bulk: BulkConnections, project_id: int, model_id: int, leg: str, limit: int
) -> pa.Table:
    """The earliest requests of a leg by event time, at most `limit`."""
    query = (
        f"select {_COLUMNS} from request_log where project_id = {int(project_id)}"
        f" and model_id = {int(model_id)} and leg = {literal(leg)}"
        f" order by event_time, request_id limit {int(limit)}"
    )
    with bulk.transaction() as cursor:
        return read(cursor, query).read_all()


@contextmanager
def leg_chunks(
    bulk: BulkConnections, project_id: int, model_id: int, leg: str, window: Window | None
) -> Iterator[Iterator[pa.Table]]:
    """Tables of at most about ROWS_A_CHUNK rows of one leg, in the window or of all times.

    Each read is a moment of its own: requests that arrive between two reads are in the later only.
    """
    span = ""
    if window is not None:
        span = f" and event_time >= {literal(window.start)} and event_time < {literal(window.end)}"
    query = (
        f"select {_COLUMNS} from request_log where project_id = {int(project_id)}"
        f" and model_id = {int(model_id)} and leg = {literal(leg)}{span}"
    )
    with bulk.transaction() as cursor:
        yield _chunks(read(cursor, query))


def labels_of_batch(
    bulk: BulkConnections,
    project_id: int,
    model_id: int,
    label_name: str,
    marks: Sequence[tuple[datetime, datetime, datetime]],
) -> pa.Table:
    """Stored labels of some batches, each given by first and last observation and its arrival.

    Of several revisions with the same observation and arrival (one body said two things) only the
    last is read: no time tells them apart.
    """
    spans = " or ".join(
        f"(observed_at >= {literal(first)} and observed_at <= {literal(last)} and arrived_at in"
        f" ({', '.join(literal(arrived) for arrived in arrivals)}))"
        for first, last, arrivals in _overlapping(marks)
    )
    query = (
        f"select {_LABEL_COLUMNS} from label where project_id = {int(project_id)}"
        f" and model_id = {int(model_id)} and label_name = {literal(label_name)} and ({spans})"
    )
    with bulk.transaction() as cursor:
        return _last_revisions(read(cursor, query).read_all())


def _overlapping(
    marks: Sequence[tuple[datetime, datetime, datetime]],
) -> list[tuple[datetime, datetime, set[datetime]]]:
    """Batches whose observations overlap as one, so that no label is looked at once a batch.

    Which labels they hold is told by their arrivals; the span only bounds the search.
    """
    spans: list[tuple[datetime, datetime, set[datetime]]] = []
    for first, last, arrived in sorted(marks):
        if spans and first <= spans[-1][1]:
            start, end, arrivals = spans[-1]
            spans[-1] = (start, max(end, last), arrivals | {arrived})
        else:
            spans.append((first, last, {arrived}))
    return spans


def _last_revisions(labels: pa.Table) -> pa.Table:
    values = labels.drop_columns(["revision"])
    if labels.num_rows == 0 or pc.max(labels["revision"]).as_py() == 0:
        return values
    key = ["request_id", "source", "observed_at", "arrived_at"]
    placed = labels.append_column("place", pa.array(np.arange(labels.num_rows)))
    ordered = placed.sort_by([("revision", "ascending")])
    last = ordered.group_by(key, use_threads=False).aggregate([("place", "last")])
    return values.take(last["place_last"].combine_chunks().sort())


def _chunks(reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in reader:
        held.append(batch)
        rows += batch.num_rows
        if rows >= ROWS_A_CHUNK:
            yield pa.Table.from_batches(held)
            held, rows = [], 0
    if rows:
        yield pa.Table.from_batches(held)


def merged_windows(starts: Sequence[datetime], length: timedelta) -> list[Window]:
    """Windows of one length, neighbours put together."""
    spans: list[Window] = []
    for start in sorted(set(starts)):
        if spans and spans[-1].end == start:
            spans[-1] = Window(spans[-1].start, start + length)
        else:
            spans.append(Window(start, start + length))
    return spans
