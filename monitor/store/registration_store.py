"""Registrations as intake needs them: kept for a second, contradictions counted in the passing."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime

from sqlalchemy.engine import Engine

from monitor.deployment import Tags
from monitor.registration import RegistrationBook, ResolvedTags, TagConflict, TagSource
from monitor.store import models, registrations
from monitor.store.engine import Role, transaction
from monitor.store.registrations import NewRegistration

KEPT_SECONDS = 1.0
COUNTED_EVERY_SECONDS = 5.0
MOST_REMEMBERED = 20_000
Model = tuple[int, int]


class RegistrationStore:
    """Safe to use from several threads. A model is (project, model number)."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._books: dict[Model, tuple[float, int, RegistrationBook]] = {}
        self._counted: dict[Model, Counter[TagConflict]] = defaultdict(Counter)
        self._last: dict[Model, datetime] = {}
        self._seen: set[tuple[Model, TagConflict]] = set()
        self._said: set[tuple[Model, str, str, TagSource]] = set()
        self._written = time.monotonic()

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
        """Deployment, whether something new was stored, and the registration, if any was asked."""
        with transaction(self._engine, project_id, Role.INGEST) as connection:
            number, created = models.register_deployment(
                connection, project_id, model_id, tags, name, now
            )
            if new is None:
                return number, created, None
            registered, fresh = registrations.add_registration(
                connection, project_id, model_id, number, new, now, from_now_on=from_now_on
            )
        with self._lock:
            self._books.pop((project_id, model_id), None)
        return number, created or fresh, registered

    def book(self, project_id: int, model_id: int, now: datetime) -> RegistrationBook:
        """Registrations of the model that requests of today may need."""
        model = (project_id, model_id)
        with self._lock:
            held = self._books.get(model)
        if held is not None and time.monotonic() - held[0] < KEPT_SECONDS:
            return held[2]
        with transaction(self._engine, project_id, Role.INGEST) as connection:
            newest = registrations.newest_registration(connection, project_id, model_id)
            if held is not None and held[1] == newest:
                book = held[2]
            else:
                found = registrations.registrations_of(connection, project_id, model_id, now)
                book = RegistrationBook(found)
        with self._lock:
            self._books[model] = (time.monotonic(), newest, book)
        return book

    def keep_evidence(
        self,
        project_id: int,
        model_id: int,
        resolved: Iterable[tuple[ResolvedTags, int]],
        at: datetime,
    ) -> None:
        """Keep who said the tags of so many requests each, and what contradicted what.

        What was never seen is written at once; counts of what is known every few seconds.
        """
        model = (project_id, model_id)
        counts: Counter[TagConflict] = Counter()
        said = set()
        for one, requests in resolved:
            digest = one.tags.digest()
            said |= {(digest, tag, source) for tag, source in one.sources.items()}
            for conflict in one.conflicts:
                counts[conflict] += requests
        with self._lock:
            said = {each for each in said if (model, *each) not in self._said}
            self._counted[model].update(counts)
            self._last[model] = at
            new = any((model, each) not in self._seen for each in counts)
            due = time.monotonic() - self._written > COUNTED_EVERY_SECONDS
        if said or new:
            self._write(model, said)
        if due:
            self.flush()

    def flush(self) -> None:
        """Write the counts that wait in memory."""
        with self._lock:
            waiting = [model for model, counts in self._counted.items() if counts]
            self._written = time.monotonic()
        for model in waiting:
            self._write(model, set())

    def _write(self, model: Model, said: set[tuple[str, str, TagSource]]) -> None:
        with self._lock:
            counts = self._counted.pop(model, Counter())
            at = self._last[model]
        try:
            with transaction(self._engine, model[0], Role.INGEST) as connection:
                registrations.keep_conflicts(connection, *model, counts, at)
                known = registrations.keep_sources(connection, *model, said, at)
        except BaseException:
            with self._lock:
                self._counted[model].update(counts)
            raise
        with self._lock:
            if len(self._said) + len(self._seen) > MOST_REMEMBERED:
                self._said.clear()
                self._seen.clear()
            self._said |= {(model, *each) for each in said if each[0] in known}
            self._seen |= {(model, each) for each in counts}
