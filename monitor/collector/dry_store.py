"""A store that looks everything up and keeps nothing: what an import would do."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime

from sqlalchemy.engine import Engine

from monitor.collector.ports import Registrations, Store
from monitor.deployment import Tags
from monitor.records import LabelBatch, Rejection, RequestBatch
from monitor.registration import RegistrationBook, ResolvedTags
from monitor.store.models import ModelContext
from monitor.store.projects import Principal
from monitor.store.registrations import NewRegistration
from monitor.store.requests import StoredRows


class DryRegistrations:
    """Reads registrations; keeps no evidence."""

    def __init__(self, inner: Registrations) -> None:
        self._inner = inner

    def register(
        self,
        project_id: int,
        model_id: int,
        tags: Tags,
        name: str | None,
        new: NewRegistration | None,
        now: datetime,
        *,
        from_now_on: bool = False,
    ) -> tuple[int, bool, int | None]:
        """Nothing is registered in a dry run."""
        raise NotImplementedError("a dry run registers nothing")

    def book(self, project_id: int, model_id: int, now: datetime) -> RegistrationBook:
        return self._inner.book(project_id, model_id, now)

    def keep_evidence(
        self,
        project_id: int,
        model_id: int,
        resolved: Iterable[tuple[ResolvedTags, int]],
        at: datetime,
    ) -> None:
        """Kept by a real import."""


class DryStore:
    """Lookups go to the real store; writes are counted as accepted and not done.

    Duplicates are not looked for, as only an insert finds them.
    """

    def __init__(self, inner: Store) -> None:
        self._inner = inner

    @property
    def engine(self) -> Engine | None:
        return self._inner.engine

    @property
    def registrations(self) -> Registrations:
        return DryRegistrations(self._inner.registrations)

    def authenticate(self, key: str, now: datetime) -> Principal | None:
        return self._inner.authenticate(key, now)

    def knows(self, key: str) -> bool:
        return self._inner.knows(key)

    def remembers(self, key: str, model: str) -> bool:
        return self._inner.remembers(key, model)

    def model_context(
        self, project_id: int, model: str, *, refresh: bool = False
    ) -> ModelContext | None:
        return self._inner.model_context(project_id, model, refresh=refresh)

    def model_known_as(self, project_id: int, names: tuple[str, ...]) -> ModelContext | None:
        return self._inner.model_known_as(project_id, names)

    def register_deployment(
        self, project_id: int, model_id: int, tags: Tags, name: str | None, now: datetime
    ) -> tuple[int, bool]:
        """Nothing is registered in a dry run."""
        raise NotImplementedError("a dry run registers nothing")

    def missing_days(self, days: set[date]) -> set[date]:
        return days - days

    def prepare_days(self, days: set[date]) -> None:
        """Made by a real import."""

    def store_requests(self, batch: RequestBatch) -> StoredRows:
        return StoredRows(None, batch.table.num_rows)

    def store_labels(self, batch: LabelBatch) -> StoredRows:
        return StoredRows(None, batch.table.num_rows)

    def keep_rejections(
        self,
        project_id: int,
        model_id: int,
        kind: str,
        received: datetime,
        found: tuple[Rejection, ...],
    ) -> None:
        """Kept by a real import."""

    def keep_unplaced(
        self, project_id: int, kind: str, received: datetime, found: tuple[Rejection, ...]
    ) -> None:
        """Kept by a real import."""

    def ready(self) -> None:
        self._inner.ready()

    def close(self) -> None:
        self._inner.close()
