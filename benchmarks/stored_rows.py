"""Rows as the collector would store them, and storing them through the product's store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from benchmarks.database import Workspace
from monitor.intake.arrow_requests import requests_of_table
from monitor.intake.base import IntakeContext
from monitor.records import LIVE_LEG, RequestBatch
from monitor.store.intake_store import IntakeStore, event_days
from monitor.store.models import ModelContext

_MAX_BYTES = 4 << 30
_MARGIN = timedelta(days=400)


def with_envelope(columns: pa.Table, ids: pa.Array, times: pa.Array, deployment: int) -> pa.Table:
    """The columns as a sender would send them: id, time and deployment first."""
    n = columns.num_rows
    envelope = {
        "request_id": ids,
        "event_time": times,
        "deployment": pa.repeat(pa.scalar(deployment, pa.int64()), n),
    }
    return pa.table({**envelope, **dict(zip(columns.column_names, columns.columns, strict=True))})


def batches_of(
    sent: pa.Table, model: ModelContext, size: int, received: datetime
) -> Iterator[RequestBatch]:
    """What the collector's own intake makes of the sent rows, in batches of `size`."""
    context = reading_context(model, size, received)
    for start in range(0, sent.num_rows, size):
        batch = requests_of_table(sent.slice(start, size).combine_chunks(), context)
        if batch.rejections:
            raise AssertionError(f"a benchmark row was rejected: {batch.rejections[0]}")
        yield batch


def store_rows(place: Workspace, sent: pa.Table, size: int, tell: Callable[[int], None]) -> None:
    """Store the rows as the collector does; `tell` hears the rows of every batch."""
    store = IntakeStore(place.url, place.engine)
    received = datetime.now(UTC)
    for batch in batches_of(sent, place.model, size, received):
        store.prepare_days(event_days(batch.table))
        stored = store.store_requests(batch)
        tell(stored.n)


def reading_context(model: ModelContext, size: int, received: datetime) -> IntakeContext:
    """What the collector's intake reads a body of up to `size` records against."""
    return IntakeContext(
        project_id=model.project_id,
        model_id=model.model_id,
        contract=model.contract,
        contract_version=model.contract_version,
        layout=model.layout,
        leg=LIVE_LEG,
        hash_key=model.hash_key,
        deployment_ids=model.deployment_ids,
        earliest=received - _MARGIN,
        latest=received + _MARGIN,
        received_at=received,
        max_records=size,
        max_bytes=_MAX_BYTES,
    )
