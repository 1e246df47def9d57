"""Putting batches together and looking into them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from monitor.deployment import Tags
from monitor.records import LabelBatch, RequestBatch

DAY_MICROS = 86_400_000_000


def merge_requests(batches: Sequence[RequestBatch]) -> RequestBatch:
    """One batch of the rows of all, in order; tags that several have are held once."""
    tags: list[Tags] = []
    tables = [_with_shared_tags(batch, tags) for batch in batches]
    return RequestBatch(
        pa.concat_tables(tables),
        tuple(place for batch in batches for place in batch.places),
        tuple(tags),
        tuple(rejection for batch in batches for rejection in batch.rejections),
        tuple(example for batch in batches for example in batch.examples),
    )


def merge_labels(batches: Sequence[LabelBatch]) -> LabelBatch:
    """One batch of the rows of all, in order."""
    return LabelBatch(
        pa.concat_tables([batch.table for batch in batches]),
        tuple(place for batch in batches for place in batch.places),
        tuple(rejection for batch in batches for rejection in batch.rejections),
    )


def days_of(table: pa.Table) -> set[date]:
    """UTC days that a request table's event times lie in."""
    days = np.unique(_micros(table, "event_time") // DAY_MICROS)
    return {datetime.fromtimestamp(int(day) * 86_400, UTC).date() for day in days}


def count_later_than(table: pa.Table, moment_micros: int) -> int:
    """How many event times lie after a moment (microseconds since 1970)."""
    return int((_micros(table, "event_time") > moment_micros).sum())


def count_violations(table: pa.Table, accepted: Any = None) -> int:
    """Violations of a request table, of the accepted rows only when a mask is given."""
    if table["violations"].null_count == table.num_rows:
        return 0  # nearly every batch
    counts = pc.list_value_length(table["violations"]).fill_null(0)
    found = counts.to_numpy()
    return int(found.sum() if accepted is None else found[accepted].sum())


def _micros(table: pa.Table, name: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    found: np.ndarray[Any, np.dtype[np.int64]] = table[name].cast(pa.int64()).to_numpy()
    return found


def _with_shared_tags(batch: RequestBatch, tags: list[Tags]) -> pa.Table:
    if not batch.tags:
        return batch.table
    for wanted in batch.tags:
        if wanted not in tags:
            tags.append(wanted)
    renumbered = np.array([-(tags.index(wanted) + 1) for wanted in batch.tags], np.int32)
    numbers = batch.table["deployment_id"].to_numpy()
    shared = np.where(numbers < 0, renumbered[np.where(numbers < 0, -numbers - 1, 0)], numbers)
    place = batch.table.schema.get_field_index("deployment_id")
    return batch.table.set_column(
        place, batch.table.schema.field(place), pa.array(shared, pa.int32())
    )


def with_default_deployment(batch: RequestBatch, number: int) -> RequestBatch:
    """Rows that tell no deployment and no tag get this one."""
    unknown = [-(place + 1) for place, tags in enumerate(batch.tags) if not tags.known]
    if not unknown:
        return batch
    numbers = batch.table["deployment_id"].to_numpy()
    chosen = np.where(np.isin(numbers, unknown), number, numbers)
    place = batch.table.schema.get_field_index("deployment_id")
    field = batch.table.schema.field(place)
    table = batch.table.set_column(place, field, pa.array(chosen, pa.int32()))
    return replace(batch, table=table)
