"""The real application on a database with alerts of every kind, and a client that has a key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from monitor.collector.app import create_app
from monitor.settings import Settings
from monitor.store import projects
from monitor.store.engine import Role, make_engine, transaction
from monitor.store.intake_store import IntakeStore
from tests.integration.collector.serving import serving
from tests.seeded_database import SeededDatabase

PAGES = "https://pages.test"


@dataclass
class AlertWorld:
    """A running application and a key that may do everything about alerts."""

    client: httpx.Client
    database: SeededDatabase
    key: str

    @property
    def project_id(self) -> int:
        return self.database.seeded.project_id

    def number(self, name: str) -> int:
        """An alert by `rule/column`."""
        return self.database.seeded.alert_ids[name]

    def get(self, path: str, key: str | None = None, **parameters: Any) -> httpx.Response:
        """Read something."""
        return self.client.get(path, params=parameters, headers=self._headers(key))

    def post(self, path: str, body: Any, key: str | None = None) -> httpx.Response:
        """Do something."""
        return self.client.post(path, json=body, headers=self._headers(key))

    def make_key(self, *scopes: str, project: str | None = None) -> str:
        """A new key, of the seeded project unless another is named."""
        with transaction(self.database.engine, None, Role.OWNER) as connection:
            number = projects.ensure_project(connection, project) if project else self.project_id
            return projects.create_key(connection, number, "test", scopes, by="test")

    def _headers(self, key: str | None) -> dict[str, str]:
        return {"Authorization": f"Bearer {key or self.key}"}


@contextmanager
def alert_world(database: SeededDatabase) -> Iterator[AlertWorld]:
    """The application on this database while it is served."""
    settings = Settings.from_environment({"HOME": "/nonexistent", "INFERWATCH_PUBLIC_URL": PAGES})
    store = IntakeStore(database.url, make_engine(database.url))
    with (
        serving(create_app(settings, store)) as address,
        httpx.Client(base_url=address, trust_env=False, timeout=30) as client,
    ):
        world = AlertWorld(client, database, "")
        world.key = world.make_key("alerts:read", "alerts:act")
        yield world
