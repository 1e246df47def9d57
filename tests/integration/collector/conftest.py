"""The real application on the real store, with a model and keys of its own for each test."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine

from monitor.collector.app import create_app
from monitor.settings import Settings
from monitor.store import models, projects
from monitor.store.engine import Role, make_engine, transaction
from monitor.store.intake_store import IntakeStore
from tests.integration.collector.serving import serving
from tests.unit.intake.factories import NOW, contract_of

_numbers = itertools.count(1)


def settings_of(**changes: Any) -> Settings:
    """Settings of nobody's environment."""
    return replace(Settings.from_environment({"HOME": "/nonexistent"}), **changes)


@dataclass(frozen=True)
class World:
    """A running application, a model that exists, and what is stored of it."""

    client: httpx.Client
    engine: Engine
    project_id: int
    model: str
    key: str

    def post(
        self,
        body: bytes,
        *,
        path: str = "/v1/requests",
        kind: str = "application/x-ndjson",
        key: str | None = None,
        model: str | None = None,
        headers: dict[str, str] | None = None,
        **parameters: str,
    ) -> Any:
        """Send a body; the response."""
        return self.client.post(
            path,
            content=body,
            params={"model": model or self.model, **parameters},
            headers={
                "Authorization": f"Bearer {key or self.key}",
                "Content-Type": kind,
                **(headers or {}),
            },
        )

    def make_key(self, *scopes: str) -> str:
        """A new key with these scopes."""
        with transaction(self.engine, None, Role.OWNER) as connection:
            return projects.create_key(connection, self.project_id, "test", scopes, by="test")

    def rows(self, query: str) -> list[Any]:
        """Rows of a query as the database's owner; `:model` is the model's number."""
        with transaction(self.engine, self.project_id, Role.OWNER) as connection:
            number = models.model_number(connection, self.project_id, self.model)
            return list(connection.execute(sa.text(query), {"model": number}))

    def metric(self, name: str, **labels: str) -> float:
        """The value of a counter of this process."""
        wanted = ",".join(f'{key}="{value}"' for key, value in labels.items())
        for line in self.client.get("/metrics").text.splitlines():
            if line.startswith(f"inferwatch_{name}{{{wanted}}} "):
                return float(line.rpartition(" ")[2])
        return 0.0


@pytest.fixture(scope="module")
def module_engine(module_database_url: str) -> Iterator[Engine]:
    made = make_engine(module_database_url)
    yield made
    made.dispose()


@pytest.fixture
def clock() -> Callable[[], datetime]:
    return lambda: NOW


@pytest.fixture
def settings() -> Settings:
    return settings_of()


@pytest.fixture
def world(
    module_database_url: str,
    module_engine: Engine,
    settings: Settings,
    clock: Callable[[], datetime],
) -> Iterator[World]:
    """A project with one model and an application of its own."""
    name = f"model-{next(_numbers)}"
    with transaction(module_engine, None, Role.OWNER) as connection:
        project_id = projects.ensure_project(connection, f"project-{name}")
    with transaction(module_engine, project_id, Role.OWNER) as connection:
        models.apply_contract(
            connection, project_id, contract_of(model=name), source="test", by="test"
        )
    store = IntakeStore(module_database_url, make_engine(module_database_url))
    app = create_app(settings, store, clock=clock)
    with serving(app) as address, httpx.Client(base_url=address, trust_env=False) as client:
        made = World(client, module_engine, project_id, name, "")
        yield replace(made, key=made.make_key("ingest", "labels"))
