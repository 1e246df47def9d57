"""Everything the collector asks of the database, behind one object.

Answers that every request needs (key, contract, partitions) are kept for about a second, so a
revoked key or a new contract takes effect within that time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any, Generic, TypeVar

import adbc_driver_manager as driver
import numpy as np
import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.engine import Engine

from monitor.deployment import Tags
from monitor.records import LabelBatch, Rejection, RequestBatch
from monitor.store import models, partitions, projects, schema
from monitor.store.bulk import CHECK_VIOLATION, BulkConnections, sqlstate
from monitor.store.engine import Role, transaction
from monitor.store.models import ModelContext
from monitor.store.projects import Principal
from monitor.store.registration_store import RegistrationStore
from monitor.store.requests import (
    StoredRows,
    count_batch,
    keep_evidence,
    write_labels,
    write_requests,
)
from monitor.store.tables import project

KEPT_SECONDS = 1.0
MAX_KEPT = 10_000
Value = TypeVar("Value")


class IntakeStore:
    """The collector's view of the database. Safe to use from several threads."""

    def __init__(self, database_url: str, engine: Engine) -> None:
        self._engine = engine
        self._bulk = BulkConnections(database_url, Role.INGEST)
        self._keys: _Kept[Principal | None] = _Kept()
        self._models: _Kept[ModelContext | None] = _Kept()
        self._names: _Kept[dict[str, str]] = _Kept()
        self._days: frozenset[date] = frozenset()
        self._months: set[date] = set()
        self.registrations = RegistrationStore(engine)

    @property
    def engine(self) -> Engine:
        """For what else the process asks of the database."""
        return self._engine

    def authenticate(self, key: str, now: datetime) -> Principal | None:
        """Whose key this is, None when it is unknown, expired or revoked."""
        return self._keys.get(key, lambda: self._find_key(key, now))

    def knows(self, key: str) -> bool:
        """Whether the key would be answered from memory now, without a query."""
        return self._keys.peek(key) is not None

    def remembers(self, key: str, model: str) -> bool:
        """Whether key and model would be answered from memory now, without a query."""
        principal = self._keys.peek(key)
        return principal is not None and (
            self._models.peek(f"{principal.project_id}/{model}") is not None
        )

    def model_context(
        self, project_id: int, model: str, *, refresh: bool = False
    ) -> ModelContext | None:
        """The model with its newest contract and deployments, None when there is none."""
        return self._models.get(
            f"{project_id}/{model}", lambda: self._find_model(project_id, model), refresh=refresh
        )

    def model_known_as(self, project_id: int, names: tuple[str, ...]) -> ModelContext | None:
        """The first model that goes by one of these names, its own or a producer's."""
        known = self._names.get(str(project_id), lambda: self._find_names(project_id))
        for name in names:
            model = known.get(name)
            if model is not None:
                return self.model_context(project_id, model)
        return None

    def register_deployment(
        self, project_id: int, model_id: int, tags: Tags, name: str | None, now: datetime
    ) -> tuple[int, bool]:
        """The deployment's number and whether it is new."""
        with transaction(self._engine, project_id, Role.INGEST) as connection:
            return models.register_deployment(connection, project_id, model_id, tags, name, now)

    def missing_days(self, days: set[date]) -> set[date]:
        """Days of these without a partition."""
        if not days <= self._days:
            with transaction(self._engine, None, Role.INGEST) as connection:
                self._days = frozenset(partitions.request_days(connection))
        return days - self._days

    def prepare_days(self, days: set[date]) -> None:
        """Make the partitions of these days that are missing."""
        missing = self.missing_days(days)
        if missing:
            partitions.prepare_request_days(self._engine, missing, Role.INGEST)
            self._days |= missing

    def store_requests(self, batch: RequestBatch) -> StoredRows:
        """Store requests in one transaction; returns after the commit."""
        if batch.table.num_rows == 0:
            return StoredRows(None, 0)
        final = self._with_deployments(batch)
        try:
            return write_requests(self._bulk, final)
        except driver.Error as error:
            if sqlstate(error) != CHECK_VIOLATION:
                raise
        # A partition was dropped since it was looked up: make it again, once.
        self._days = frozenset()
        self.prepare_days(event_days(final.table))
        return write_requests(self._bulk, final)

    def store_labels(self, batch: LabelBatch) -> StoredRows:
        """Store labels in one transaction; returns after the commit."""
        if batch.table.num_rows == 0:
            return StoredRows(None, 0)
        months = {day.replace(day=1) for day in _days(batch.table["observed_at"])}
        if not months <= self._months:
            partitions.prepare_label_months(self._engine, months, Role.INGEST)
            self._months |= months
        return write_labels(self._bulk, batch)

    def keep_rejections(
        self,
        project_id: int,
        model_id: int,
        kind: str,
        received: datetime,
        found: tuple[Rejection, ...],
    ) -> None:
        """Count and keep the rejections of a body of which no record could be stored."""
        counts = (0, 0, 0, len(found), 0)

        def write(cursor: Any) -> None:
            count_batch(cursor, project_id, model_id, kind, received, counts)
            keep_evidence(cursor, project_id, model_id, kind, received, found, ())

        self._bulk.run(write)

    def keep_unplaced(
        self, project_id: int, kind: str, received: datetime, found: tuple[Rejection, ...]
    ) -> None:
        """Keep rejections of records that belong to no model that is known."""

        def write(cursor: Any) -> None:
            keep_evidence(cursor, project_id, None, kind, received, found, ())

        self._bulk.run(write)

    def ready(self) -> None:
        """Raises DatabaseUnavailable or DatabaseNotReady unless intake can store."""
        schema.require_current(self._engine)

    def close(self) -> None:
        """Write what waits in memory, then close all connections."""
        try:
            self.registrations.flush()
        finally:
            self._bulk.close()
            self._engine.dispose()

    def _find_key(self, key: str, now: datetime) -> Principal | None:
        with transaction(self._engine, None, Role.INGEST) as connection:
            return projects.authenticate(connection, key, now)

    def _find_model(self, project_id: int, model: str) -> ModelContext | None:
        with transaction(self._engine, project_id, Role.INGEST) as connection:
            hash_key = connection.scalar(
                sa.select(project.c.hash_key).where(project.c.id == project_id)
            )
            if hash_key is None:
                return None
            return models.model_context(connection, project_id, model, bytes(hash_key))

    def _find_names(self, project_id: int) -> dict[str, str]:
        with transaction(self._engine, project_id, Role.INGEST) as connection:
            return models.names_of_models(connection, project_id)

    def _with_deployments(self, batch: RequestBatch) -> RequestBatch:
        if not batch.tags:
            return batch
        table = batch.table
        project_id, model_id = table["project_id"][0].as_py(), table["model_id"][0].as_py()
        received = table["received_at"][0].as_py()
        numbers = [
            self.register_deployment(project_id, model_id, tags, None, received)[0]
            for tags in batch.tags
        ]
        found = table["deployment_id"].to_numpy()
        chosen = np.array(numbers, dtype="i4")[np.where(found < 0, -found - 1, 0)]
        final = np.where(found < 0, chosen, found).astype("i4")
        place = table.schema.get_field_index("deployment_id")
        return replace(
            batch, table=table.set_column(place, "deployment_id", pa.array(final)), tags=()
        )


def event_days(table: pa.Table) -> set[date]:
    """UTC days that the event times of a request table lie in."""
    return _days(table["event_time"])


def _days(column: pa.ChunkedArray) -> set[date]:
    micros = column.cast(pa.int64()).to_numpy()
    days = np.unique(micros // 86_400_000_000)
    return {datetime.fromtimestamp(int(day) * 86_400, UTC).date() for day in days}


class _Kept(Generic[Value]):
    """Values kept for KEPT_SECONDS; bounded, so made-up keys can't fill the memory."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[float, Value]] = {}
        self._lock = threading.Lock()

    def peek(self, key: str) -> Value | None:
        """The value while it is kept, without looking it up."""
        held = self._values.get(key)
        fresh = held is not None and time.monotonic() - held[0] < KEPT_SECONDS
        return held[1] if held is not None and fresh else None

    def get(self, key: str, find: Callable[[], Value], *, refresh: bool = False) -> Value:
        now = time.monotonic()
        held = self._values.get(key)
        if held is not None and now - held[0] < KEPT_SECONDS and not refresh:
            return held[1]
        value = find()
        with self._lock:
            if len(self._values) >= MAX_KEPT:
                self._values.clear()
            self._values[key] = (now, value)
        return value
