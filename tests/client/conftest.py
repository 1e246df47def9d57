"""A real collector with a model for clients, and small servers that misbehave."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import sqlalchemy as sa
from inferwatch_client.client import Client
from sqlalchemy.engine import Engine

from monitor.collector.app import create_app
from monitor.contract_quality import Label
from monitor.demo.processes import free_port, running
from monitor.records import RequestOutcome
from monitor.store import models, projects
from monitor.store.engine import Role, make_engine, transaction
from monitor.store.intake_store import IntakeStore
from tests.integration.collector.conftest import settings_of
from tests.integration.collector.serving import serving
from tests.unit.intake.factories import contract_of

COLUMNS = (
    {"name": "age", "type": "number", "range": (0, 120), "nullable": True},
    {"name": "country", "type": "category", "nullable": True, "sensitivity": "public"},
    {"name": "place", "type": "vector", "size": 2, "nullable": True},
    {"name": "prediction", "type": "category", "role": "prediction", "nullable": True},
    {"name": "score", "type": "number", "range": (0, 1), "role": "score", "nullable": True},
    {"name": "latency", "type": "number", "role": "timing", "unit": "ms", "nullable": True},
    {"name": "first_token_time", "type": "number", "role": "timing", "nullable": True},
    {"name": "tokens", "type": "integer", "role": "count", "nullable": True},
)
_numbers = itertools.count(1)


@dataclass
class Place:
    """A model, the collector's store, and what is stored."""

    engine: Engine
    project_id: int
    model: str
    key: str
    database_url: str

    @contextmanager
    def collector(self) -> Iterator[str]:
        """The address of a real collector while the block runs."""
        store = IntakeStore(self.database_url, make_engine(self.database_url))
        app = create_app(settings_of(), store, clock=lambda: datetime.now(UTC))
        with serving(app) as address:
            yield address

    @contextmanager
    def collector_process(self, port: int) -> Iterator[subprocess.Popen[bytes]]:
        """`inferwatch collector` as a process of its own while the block runs."""
        command = [sys.executable, "-m", "monitor", "collector"]
        command += ["--host", "127.0.0.1", "--port", str(port)]
        environment = {**os.environ, "DATABASE_URL": self.database_url}
        address = f"http://127.0.0.1:{port}/readyz"
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "collector.log"
            with running("collector", command, environment, address, log) as process:
                yield process

    def client(self, url: str, **settings: Any) -> Client:
        """A client that packs quickly."""
        return Client(url, self.key, **{"model": self.model, "interval": 0.05, **settings})

    def rows(self, query: str) -> list[Any]:
        """Rows of a query; `:model` is the model's number."""
        with transaction(self.engine, self.project_id, Role.OWNER) as connection:
            number = models.model_number(connection, self.project_id, self.model)
            return list(connection.execute(sa.text(query), {"model": number}))

    def stored(self) -> int:
        """How many requests are stored."""
        return int(self.rows("select count(*) from request_log where model_id = :model")[0][0])

    def logged(self, columns: str) -> list[Any]:
        """The requests as the model's view shows them, outcomes by name."""
        outcomes = ", ".join(f"'{each.name.lower()}'" for each in RequestOutcome)
        columns = re.sub(r"\boutcome\b", f"(array[{outcomes}])[outcome] as outcome", columns)
        with transaction(self.engine, self.project_id, Role.OWNER) as connection:
            view = "log_" + "".join(c if c.isalnum() else "_" for c in self.model)
            return list(
                connection.execute(
                    sa.text(f"select {columns} from project_{self.project_id}.{view}")
                )
            )


@pytest.fixture(scope="module")
def module_engine(module_database_url: str) -> Iterator[Engine]:
    made = make_engine(module_database_url)
    yield made
    made.dispose()


@pytest.fixture
def place(module_database_url: str, module_engine: Engine) -> Place:
    """A project with one model."""
    name = f"model-{next(_numbers)}"
    with transaction(module_engine, None, Role.OWNER) as connection:
        project_id = projects.ensure_project(connection, f"project-{name}")
    with transaction(module_engine, project_id, Role.OWNER) as connection:
        contract = contract_of(*COLUMNS, model=name, label=Label(name="default"))
        models.apply_contract(connection, project_id, contract, source="test", by="test")
    with transaction(module_engine, None, Role.OWNER) as connection:
        scopes = ("ingest", "labels")
        key = projects.create_key(connection, project_id, "test", scopes, by="test")
    return Place(module_engine, project_id, name, key, module_database_url)


@pytest.fixture
def collector(place: Place) -> Iterator[str]:
    """The address of a real collector."""
    with place.collector() as address:
        yield address


@pytest.fixture
def dead() -> str:
    """An address on which nobody listens."""
    return f"http://127.0.0.1:{free_port()}"


@dataclass
class Seen:
    """A call that a small server got."""

    path: str
    headers: dict[str, str]
    body: bytes


Answer = tuple[int, dict[str, str], bytes]


@contextmanager
def answering(answer: Callable[[int, Seen], Answer]) -> Iterator[tuple[str, list[Seen]]]:
    """A server of ours that answers its nth call (from 0) as told; its address and its calls."""
    calls: list[Seen] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            names = {name.lower(): value for name, value in self.headers.items()}
            calls.append(Seen(self.path, names, body))
            status, headers, content = answer(len(calls) - 1, calls[-1])
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *facts: Any) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", calls
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
