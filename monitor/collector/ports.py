"""What the collector asks of a store. `monitor.store.intake_store.IntakeStore` is one."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from typing import Protocol

from sqlalchemy.engine import Engine

from monitor.deployment import Tags
from monitor.records import LabelBatch, Rejection, RequestBatch
from monitor.registration import RegistrationBook, ResolvedTags
from monitor.store.models import ModelContext
from monitor.store.projects import Principal
from monitor.store.registrations import NewRegistration
from monitor.store.requests import StoredRows


class Registrations(Protocol):
    """Registered deployments. `monitor.store.registration_store.RegistrationStore` is one."""

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
    ) -> tuple[int, bool, int | None]: ...

    def book(self, project_id: int, model_id: int, now: datetime) -> RegistrationBook: ...

    def keep_evidence(
        self,
        project_id: int,
        model_id: int,
        resolved: Iterable[tuple[ResolvedTags, int]],
        at: datetime,
    ) -> None: ...


class Store(Protocol):
    """All methods but `remembers` block; they may raise DatabaseUnavailable or DatabaseNotReady."""

    @property
    def engine(self) -> Engine | None:
        """Where alerts are kept; None for a store without, whose application serves none."""
        ...

    @property
    def registrations(self) -> Registrations:
        """Registered deployments and contradictions between tags."""
        ...

    def authenticate(self, key: str, now: datetime) -> Principal | None: ...

    def knows(self, key: str) -> bool:
        """Whether the key would be answered from memory now, without a query."""
        ...

    def remembers(self, key: str, model: str) -> bool:
        """Whether key and model would be answered from memory now, without a query."""
        ...

    def model_context(
        self, project_id: int, model: str, *, refresh: bool = False
    ) -> ModelContext | None: ...

    def model_known_as(self, project_id: int, names: tuple[str, ...]) -> ModelContext | None:
        """The first model that goes by one of these names, its own or a producer's."""
        ...

    def register_deployment(
        self, project_id: int, model_id: int, tags: Tags, name: str | None, now: datetime
    ) -> tuple[int, bool]: ...

    def missing_days(self, days: set[date]) -> set[date]: ...

    def prepare_days(self, days: set[date]) -> None: ...

    def store_requests(self, batch: RequestBatch) -> StoredRows: ...

    def store_labels(self, batch: LabelBatch) -> StoredRows: ...

    def keep_rejections(
        self,
        project_id: int,
        model_id: int,
        kind: str,
        received: datetime,
        found: tuple[Rejection, ...],
    ) -> None: ...

    def keep_unplaced(
        self, project_id: int, kind: str, received: datetime, found: tuple[Rejection, ...]
    ) -> None: ...

    def ready(self) -> None: ...

    def close(self) -> None: ...
