"""A store in memory that can be slow, away, or choke on a row."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import numpy as np

from monitor.deployment import Tags
from monitor.records import LabelBatch, Rejection, RequestBatch
from monitor.registration import RegistrationBook
from monitor.store.models import ModelContext
from monitor.store.projects import Principal
from monitor.store.requests import ACCEPTED, DUPLICATE, StoredRows

ALL_SCOPES = frozenset({"ingest", "labels", "backfill"})


class MemoryRegistrations:
    """Knows of none and keeps nothing."""

    def register(self, *_: Any, **__: Any) -> tuple[int, bool, int | None]:
        return 7, False, None

    def book(self, project_id: int, model_id: int, now: datetime) -> RegistrationBook:
        return RegistrationBook()

    def keep_evidence(self, *_: Any) -> None:
        return


@dataclass
class MemoryStore:
    """Keeps request keys; `before_store` runs ahead of every commit and may wait or raise."""

    model: ModelContext
    engine: None = None
    before_store: Callable[[Any], None] = lambda _: None
    before_lookup: Callable[[], None] = lambda: None
    keys: set[tuple[Any, ...]] = field(default_factory=set)
    groups: list[int] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)
    closed: bool = False
    registrations: MemoryRegistrations = field(default_factory=MemoryRegistrations)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def authenticate(self, key: str, now: datetime) -> Principal | None:
        self.before_lookup()
        return Principal(self.model.project_id, 1, ALL_SCOPES) if key == "right" else None

    def knows(self, key: str) -> bool:
        return False

    def remembers(self, key: str, model: str) -> bool:
        return False

    def model_context(
        self, project_id: int, model: str, *, refresh: bool = False
    ) -> ModelContext | None:
        return self.model if model == self.model.contract.model else None

    def model_known_as(self, project_id: int, names: tuple[str, ...]) -> ModelContext | None:
        return self.model if self.model.contract.model in names else None

    def register_deployment(
        self, project_id: int, model_id: int, tags: Tags, name: str | None, now: datetime
    ) -> tuple[int, bool]:
        return 7, False

    def missing_days(self, days: set[date]) -> set[date]:
        return set()

    def prepare_days(self, days: set[date]) -> None:
        raise AssertionError("no day is ever missing here")

    def store_requests(self, batch: RequestBatch) -> StoredRows:
        self.before_store(batch)
        names = ("leg", "event_time", "request_id")
        rows = zip(*(batch.table[name].to_pylist() for name in names), strict=True)
        with self.lock:
            self.groups.append(batch.table.num_rows)
            codes = [self._keep(row) for row in rows]
        return StoredRows(np.array(codes, np.uint8) if any(codes) else None, len(codes))

    def store_labels(self, batch: LabelBatch) -> StoredRows:
        self.before_store(batch)
        return StoredRows(None, batch.table.num_rows)

    def keep_rejections(
        self,
        project_id: int,
        model_id: int,
        kind: str,
        received: datetime,
        found: tuple[Rejection, ...],
    ) -> None:
        self.rejections.extend(found)

    def keep_unplaced(
        self, project_id: int, kind: str, received: datetime, found: tuple[Rejection, ...]
    ) -> None:
        self.rejections.extend(found)

    def ready(self) -> None:
        self.before_lookup()

    def close(self) -> None:
        self.closed = True

    def _keep(self, key: tuple[Any, ...]) -> int:
        if key in self.keys:
            return DUPLICATE
        self.keys.add(key)
        return ACCEPTED
