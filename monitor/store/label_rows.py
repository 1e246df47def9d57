"""Labels that wait for their request, and how they are read back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from monitor.profiles.arrays import Integers
from monitor.profiles.label_arrays import LabelArrays
from monitor.profiles.label_join import UnmatchedReason
from monitor.records import LABEL_SCHEMA
from monitor.store.arrays import insert_rows
from monitor.store.models import ModelContext
from monitor.store.tables import label_orphan

ORPHAN_COLUMNS = (
    *("project_id", "model_id", "label_name", "request_key", "request_id", "source"),
    *("observed_at", "arrived_at", "event_time", "leg", "value", "text", "reason"),
)
_KEY = ("label_name", "request_key", "source", "observed_at", "arrived_at")
LABELS_SCHEMA = pa.schema(
    [
        LABEL_SCHEMA.field(name)
        for name in (
            *("request_id", "source", "observed_at", "arrived_at", "event_time", "leg"),
            *("value", "text"),
        )
    ]
)


@dataclass(frozen=True)
class Orphans:
    """Waiting labels: `places` int64[m] index `row_keys`, which name their rows."""

    labels: LabelArrays
    legs: tuple[str, ...]
    row_keys: tuple[tuple[Any, ...], ...]
    places: np.ndarray[Any, np.dtype[np.int64]]

    @property
    def leg_names(self) -> pa.Array:
        """The leg of each label, text[m]."""
        return pa.array(self.legs, pa.string())

    def chosen(self, wanted: np.ndarray[Any, np.dtype[np.bool_]]) -> Orphans:
        """Some of the waiting labels, by a flag each."""
        places = np.flatnonzero(wanted)
        legs = tuple(self.legs[place] for place in places)
        return Orphans(self.labels.take(places), legs, self.row_keys, self.places[places])

    def keys_of(self, places: np.ndarray[Any, np.dtype[np.int64]]) -> list[tuple[Any, ...]]:
        """The keys of the rows at these places."""
        return [self.row_keys[place] for place in self.places[places].tolist()]


def read_orphans(connection: Connection, model: ModelContext, keys: Integers) -> Orphans:
    """Labels of the contract's label that wait for one of these requests, int64[k] keys.

    Of those that wait for others, however many, only the keys are looked at.
    """
    name = model.contract.label.name if model.contract.label is not None else ""
    row = label_orphan.c
    mine = (
        row.project_id == model.project_id,
        row.model_id == model.model_id,
        row.label_name == name,
    )
    waiting = connection.scalars(sa.select(row.request_key).distinct().where(*mine)).all()
    wanted = np.intersect1d(np.array(waiting, np.int64), keys).tolist()
    query = (
        sa.select(label_orphan)
        .where(*mine)
        .where(row.request_key == sa.any_(sa.literal(wanted, sa.ARRAY(sa.BigInteger))))
        .order_by(row.arrived_at, row.request_key)
    )
    rows = connection.execute(query).all() if wanted else []
    table = pa.table(
        {field.name: [getattr(found, field.name) for found in rows] for field in LABELS_SCHEMA},
        schema=LABELS_SCHEMA,
    )
    return Orphans(
        labels=LabelArrays.from_table(table, model.contract, model.hash_key),
        legs=tuple(found.leg for found in rows),
        row_keys=tuple(tuple(getattr(found, name) for name in _KEY) for found in rows),
        places=np.arange(len(rows)),
    )


def keep_orphans(
    connection: Connection,
    model: ModelContext,
    table: pa.Table,
    keys: Sequence[int],
    reasons: Sequence[str],
) -> None:
    """Let labels wait for their request (`table` has LABELS_SCHEMA)."""
    name = model.contract.label.name if model.contract.label is not None else ""
    rows = [
        (
            *(model.project_id, model.model_id, name, key, row["request_id"], row["source"]),
            *(row["observed_at"], row["arrived_at"], row["event_time"], row["leg"]),
            *(row["value"], row["text"], reason),
        )
        for row, key, reason in zip(table.to_pylist(), keys, reasons, strict=True)
    ]
    insert_rows(connection, label_orphan, ORPHAN_COLUMNS, rows, replace=True)


def forget_orphans(
    connection: Connection, project_id: int, model_id: int, keys: Sequence[tuple[Any, ...]]
) -> None:
    """Stop waiting: these labels were joined."""
    row = label_orphan.c
    for start in range(0, len(keys), 1000):
        some = list(keys[start : start + 1000])
        connection.execute(
            sa.delete(label_orphan)
            .where(row.project_id == project_id, row.model_id == model_id)
            .where(sa.tuple_(*(row[name] for name in _KEY)).in_(some))
        )


def mark_ambiguous(
    connection: Connection, project_id: int, model_id: int, keys: Sequence[tuple[Any, ...]]
) -> None:
    """Note that labels wait because their request id stands for several requests."""
    row = label_orphan.c
    for start in range(0, len(keys), 1000):
        some = list(keys[start : start + 1000])
        connection.execute(
            sa.update(label_orphan)
            .where(row.project_id == project_id, row.model_id == model_id)
            .where(sa.tuple_(*(row[name] for name in _KEY)).in_(some))
            .values(reason=UnmatchedReason.AMBIGUOUS.value)
        )


def forget_old_orphans(
    connection: Connection, project_id: int, model_id: int, before: datetime
) -> int:
    """Give up labels that arrived before this moment without their request; how many."""
    row = label_orphan.c
    done = connection.execute(
        sa.delete(label_orphan)
        .where(row.project_id == project_id, row.model_id == model_id)
        .where(row.arrived_at < before)
    )
    return done.rowcount
