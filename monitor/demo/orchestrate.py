"""Every call of the demo into the rest of the product: one place to look when their shape changes.

The replayed clock is an argument here as everywhere: jobs run as of the moment the replay stands
at. Only deliveries use the wall clock, because receivers refuse old signatures.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from monitor.contract import Contract
from monitor.contract_file import read_contract
from monitor.demo.processes import free_port, running
from monitor.demo.signed_server import SignedServer
from monitor.errors import ConfigurationError, Problem
from monitor.jobs.base import JobReport
from monitor.jobs.run import Runner
from monitor.jobs.set_baseline import baseline_from_file, baseline_from_window
from monitor.reference import read_reference
from monitor.store.alert_book import apply_rules
from monitor.store.bulk import BulkConnections
from monitor.store.engine import Role, make_engine, transaction
from monitor.store.models import ModelContext, apply_contract
from monitor.store.one_time_links import first_link
from monitor.store.projects import Scope, create_key, ensure_project
from monitor.store.schema import upgrade
from monitor.store.tables import project
from monitor.windows import Window

PROJECT = "flights"
AUTHOR = "inferwatch demo"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "flights"
WEBHOOK_URL = "INFERWATCH_DEMO_WEBHOOK_URL"
WEBHOOK_SECRET = "INFERWATCH_DEMO_WEBHOOK_SECRET"  # noqa: S105 - the name of a variable
ROUTER_URL = "INFERWATCH_DEMO_ROUTER_URL"
ROUTER_SECRET = "INFERWATCH_DEMO_ROUTER_SECRET"  # noqa: S105 - the name of a variable
SCOPES = (Scope.INGEST, Scope.LABELS, Scope.BACKFILL)


@dataclass(frozen=True)
class Installation:
    """A migrated database with the demo's project, model, rules and a key for its sender."""

    url: str
    engine: Engine
    bulk: BulkConnections
    project_id: int
    contract: Contract
    key: str
    public_url: str
    environment: Mapping[str, str]

    def runner(self, now: Callable[[], datetime]) -> Runner:
        """Runs this installation's jobs by the given clock."""
        return Runner(
            engine=self.engine,
            bulk=self.bulk,
            worker=f"demo-{os.getpid()}",
            public_url=self.public_url,
            clock=now,
            environment=self.environment,
            rng=random.Random(0),  # noqa: S311 - spreads retries, guards nothing
            # The pause is wall-clock time; a replay runs through months in minutes.
            revision_pause=timedelta(0),
            only_project=self.project_id,
        )

    def model(self) -> ModelContext:
        """The demo's model as the jobs see it."""
        (found,) = self.runner(_wall_clock).models(self.project_id)
        return found


@contextmanager
def installed(
    url: str, public_url: str, receiver: SignedServer, router: SignedServer
) -> Iterator[Installation]:
    """Migrate the database and put project, key, contract and alert rules into it.

    `receiver` gets the alerts, `router` the orders of defined responses.
    """
    engine, bulk = make_engine(url), BulkConnections(url, Role.WORKER)
    try:
        upgrade(engine)
        contract = read_contract(_example("contract.yaml"), "examples/flights/contract.yaml")
        with transaction(engine, None, Role.OWNER) as connection:
            project_id = _new_project(connection)
        with transaction(engine, project_id, Role.OWNER) as connection:
            apply_contract(
                connection, project_id, contract, source=_example("contract.yaml"), by=AUTHOR
            )
            apply_rules(
                connection, project_id, _example("alerts.yaml"),
                name="examples/flights/alerts.yaml", by=AUTHOR,
            )  # fmt: skip
            key = create_key(connection, project_id, "flights replay", SCOPES, by=AUTHOR)
        environment = {
            WEBHOOK_URL: receiver.url,
            WEBHOOK_SECRET: receiver.secret,
            ROUTER_URL: router.url,
            ROUTER_SECRET: router.secret,
        }
        yield Installation(url, engine, bulk, project_id, contract, key, public_url, environment)
    finally:
        bulk.close()
        engine.dispose()


def freeze_training(place: Installation, file: Path) -> int:
    """The first baseline: what the model was trained on."""
    return baseline_from_file(
        place.engine, place.project_id, place.model(), read_reference(file),
        name="training", by=AUTHOR, source=file.name,
    )  # fmt: skip


def freeze_spring(place: Installation, window: Window) -> int:
    """The second baseline: what production looked like in its first weeks."""
    return baseline_from_window(
        place.engine, place.project_id, place.model(), window, name="spring", by=AUTHOR
    )


def run_jobs(place: Installation, now: datetime, told: Callable[[int], None]) -> int:
    """Do everything that is due at the replayed moment; how many windows were done."""

    def progress(_: str, report: JobReport) -> None:
        told(report.done)

    return place.runner(lambda: now).catch_up(progress=progress)


def deliver_messages(place: Installation, now: datetime) -> int:
    """Send every message that is owed, and what follows from the answers; how many were sent.

    An action is asked for as a dry run first: only its answer makes the order itself due.
    """
    sender, planner, total = place.runner(_wall_clock), place.runner(lambda: now), 0
    while sent := sender.deliver_due():
        total += sent
        planner.respond_due()
        planner.notify_due()
    return total


@contextmanager
def collector(place: Installation, log: Path) -> Iterator[str]:
    """The collector as a process of its own; its address."""
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "uvicorn", "--factory", "monitor.collector.app:create_app",
               "--host", "127.0.0.1", "--port", str(port), "--no-access-log"]  # fmt: skip
    with running("collector", command, _child_environment(place), f"{address}/readyz", log):
        yield address


@contextmanager
def dashboard(
    place: Installation, port: int, log: Path
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The dashboard as a process of its own; its address and the process."""
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "dashboards.server", "--host", "127.0.0.1",
               "--port", str(port)]  # fmt: skip
    health = f"{address}/healthz"
    with running("dashboard", command, _child_environment(place), health, log) as process:
        yield address, process


def sign_in_address(place: Installation) -> str:
    """The one-time link that makes the first account; the plain address where there is one."""
    with transaction(place.engine, None, Role.OWNER) as connection:
        return first_link(connection, place.public_url, AUTHOR, _wall_clock()) or place.public_url


def _child_environment(place: Installation) -> dict[str, str]:
    """All that the processes need; secrets of the surroundings stay out."""
    return {
        "DATABASE_URL": place.url,
        "INFERWATCH_PUBLIC_URL": place.public_url,
        "PATH": os.defpath,
        "PYTHONUNBUFFERED": "1",
        "HOME": str(Path.home()),
        "LANG": "C.UTF-8",
    }


def _new_project(connection: Connection) -> int:
    """A project that no earlier run has filled: flights, flights-2, flights-3, …"""
    query = sa.select(project.c.name).where(project.c.name.like(f"{PROJECT}%"))
    taken = set(connection.scalars(query))
    names = (PROJECT if n == 1 else f"{PROJECT}-{n}" for n in count(1))
    return ensure_project(connection, next(name for name in names if name not in taken))


def _example(name: str) -> str:
    try:
        return (EXAMPLES / name).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        remedy = "is missing; run the demo from a checkout of the repository"
        raise ConfigurationError("demo", [Problem(str(EXAMPLES / name), remedy)]) from error


def _wall_clock() -> datetime:
    return datetime.now(UTC)
