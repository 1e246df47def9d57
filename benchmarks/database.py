"""A database of the benchmark's own, migrated, with one project and model; gone at the end."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import sqlalchemy as sa
from sqlalchemy.engine import Engine

from benchmarks.data import MODEL, benchmark_contract
from monitor.contract import Contract
from monitor.deployment import Tags
from monitor.postgres.databases import create_database, drop_database
from monitor.postgres.server import embedded_database
from monitor.store import models, projects, schema
from monitor.store.engine import Role, make_engine, transaction
from monitor.store.models import ModelContext

PROJECT = "benchmark"


@dataclass(frozen=True)
class Workspace:
    """A migrated database with the benchmark's model, one deployment and an API key."""

    url: str
    engine: Engine
    project_id: int
    deployment_id: int
    api_key: str
    server: str

    @property
    def model(self) -> ModelContext:
        """The model as it is now."""
        with transaction(self.engine, self.project_id, Role.OWNER) as connection:
            key = connection.scalar(
                sa.text("select hash_key from project where id = :id"), {"id": self.project_id}
            )
            found = models.model_context(connection, self.project_id, MODEL, bytes(key or b""))
        if found is None:
            raise AssertionError("the benchmark's model was made with its workspace")
        return found

    def settle(self, *tables: str) -> None:
        """Vacuum tables and checkpoint, so that no run pays for what an earlier one left."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            for table in tables:
                connection.execute(f"vacuum (analyze) {table}")
            if _may_checkpoint(connection):
                connection.execute("checkpoint")

    def empty(self) -> None:
        """Remove every request and what intake noted of it; partitions stay."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("truncate request_log, intake_mark, intake_batch")


@contextmanager
def workspace(
    database_url: str | None, now: datetime, contract: Contract | None = None
) -> Iterator[Workspace]:
    """A fresh workspace: on an embedded server of its own with the durable default settings, or in
    a new database beside the one that `database_url` names (a login that may create databases).
    Without a `contract` its model has that of `benchmark_contract`.
    """
    with _own_database(database_url) as url:
        engine = make_engine(url)
        try:
            schema.upgrade(engine)
            yield _prepared(url, engine, now, contract or benchmark_contract())
        finally:
            engine.dispose()


def _prepared(url: str, engine: Engine, now: datetime, contract: Contract) -> Workspace:
    with transaction(engine, None, Role.OWNER) as connection:
        project = projects.ensure_project(connection, PROJECT)
        server = str(connection.scalar(sa.text("show server_version")))
    with transaction(engine, project, Role.OWNER) as connection:
        models.apply_contract(connection, project, contract, source="", by="benchmarks")
        scopes = (projects.Scope.INGEST, projects.Scope.LABELS, projects.Scope.BACKFILL)
        key = projects.create_key(connection, project, "benchmark", scopes, by="benchmarks")
        model = connection.scalar(
            sa.text("select id from model where project_id = :id"), {"id": project}
        )
        tags = Tags.of({"model_version": "1"})
        number, _ = models.register_deployment(
            connection, project, int(model or 0), tags, None, now
        )
    return Workspace(url, engine, project, number, key, server)


@contextmanager
def _own_database(database_url: str | None) -> Iterator[str]:
    if database_url is None:
        home = Path(tempfile.gettempdir()) / f"inferwatch-benchmark-{secrets.token_hex(6)}"
        try:
            with embedded_database(home) as url:
                yield url
        finally:
            shutil.rmtree(home, ignore_errors=True)
        return
    name = f"benchmark_{secrets.token_hex(6)}"
    with psycopg.connect(database_url) as connection:
        owner = connection.info.user
    create_database(database_url, name, owner=owner)
    try:
        yield urlunsplit(urlsplit(database_url)._replace(path=f"/{name}"))
    finally:
        drop_database(database_url, name)


def _may_checkpoint(connection: psycopg.Connection) -> bool:
    row = connection.execute(
        "select pg_has_role(current_user, 'pg_checkpoint', 'usage')"
    ).fetchone()
    return row is not None and bool(row[0])
