"""Automatic actions with real workers: one is killed while the deployment system obeys."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.run import Runner
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import TestClock
from tests.integration.jobs.actions import SECRET, Scene, routing, scene_of
from tests.unit.alerts.receiver import listening

PATIENCE_SECONDS = 90


@pytest.fixture
def scene(
    engine: Engine, runner: Runner, clock: TestClock, store: IntakeStore, credit: ModelContext
) -> Iterator[Scene]:
    with routing() as router, listening() as people:
        made = scene_of(engine, runner, clock, store, credit, router, people)
        made.rules()
        yield made


@contextmanager
def worker(scene: Scene, database_url: str, home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`inferwatch worker` as a process of its own, killed in the end."""
    addresses = {"HOOK_URL": scene.people.url, "ROUTER_URL": scene.router.receiver.url}
    environment = {
        **os.environ, **addresses, "HOOK_SECRET": SECRET, "DATABASE_URL": database_url,
        "INFERWATCH_HOME": str(home),
    }  # fmt: skip
    with (home / "worker.log").open("ab") as log:
        made = subprocess.Popen(
            [sys.executable, "-m", "monitor", "worker"], env=environment, stdout=log, stderr=log
        )
    try:
        yield made
    finally:
        made.kill()
        made.wait()


def wait_for_actions(scene: Scene, wanted: list[tuple[str, None, bool]]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while scene.actions() != wanted and time.monotonic() < end:
        time.sleep(0.2)
    assert scene.actions() == wanted


def test_an_order_whose_sender_is_killed_stays_one_order(
    scene: Scene, database_url: str, tmp_path: Path
) -> None:
    with worker(scene, database_url, tmp_path) as doomed:

        def die_then_answer(handler: BaseHTTPRequestHandler) -> None:
            doomed.kill()
            doomed.wait()
            scene.router.receiver.answer = scene.router.answer

        scene.router.receiver.answer = die_then_answer
        scene.measure(0.5)
        end = time.monotonic() + PATIENCE_SECONDS
        while doomed.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        with worker(scene, database_url, tmp_path), worker(scene, database_url, tmp_path):
            wait_for_actions(scene, [("done", None, True), ("done", None, False)])

    ids = [each.headers["webhook-id"] for each in scene.router.receiver.received]
    assert ids == ["act_1_1", "act_1_1", "act_1_2"]
    first, again = scene.router.orders[:2]
    assert first == again
