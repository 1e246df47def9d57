"""The programs of a fault run, each a process of its own that may be killed at any moment.

- `judge` is a worker's job: it takes readings that the oracle issued, in order, and puts each
  through the lifecycle in the transaction that takes it.
- `scheduler` is the product's worker with its ticks for notifications, deliveries and the switch.
- `receiver` is somebody's HTTP server: it writes down what came before it answers.
"""

from __future__ import annotations

import base64
import json
import os
import random
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from apscheduler.schedulers.blocking import BlockingScheduler
from sqlalchemy.engine import Connection

from alerts.channels.outbound import Outbound
from alerts.lifecycle import step
from alerts.model import Labels, Reading, ReadingState
from monitor.errors import DatabaseUnavailable
from monitor.jobs.run import Runner
from monitor.scheduler import Worker, guarded, worker_name
from monitor.store.alert_book import (
    known_alerts,
    lock_alerts,
    rules_in_force,
    save_alerts,
    save_transitions,
)
from monitor.store.bulk import BulkConnections
from monitor.store.engine import Role, make_engine, transaction
from tests.faults.clock import SharedClock

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
SEND_SECONDS = 2.0
SLOW_SECONDS = 1.0
TICKS = {"notify": 0.3, "deliver": 0.3, "switch": 1.0}


@dataclass(frozen=True)
class Place:
    """Where the parts of a run are: database, receiver, and files that outlive every process."""

    database_url: str
    project_id: int
    port: int
    folder: Path

    @property
    def clock(self) -> SharedClock:
        """The time of all processes."""
        return SharedClock(self.folder / "clock")

    @property
    def received(self) -> Path:
        """What came to the receiver, a JSON line each."""
        return self.folder / "received"

    @property
    def behaviour(self) -> Path:
        """How the receiver answers at which path."""
        return self.folder / "behaviour"

    def environment(self) -> dict[str, str]:
        """What the receivers of the rules name."""
        return {
            name.upper() + "_URL": f"http://127.0.0.1:{self.port}/{name}"
            for name in ("pager", "chat", "mail", "switch")
        } | {"SECRET": SECRET}


def judge(place: Place) -> None:
    """Take issued readings until killed."""
    _forget_terminal()
    engine = make_engine(place.database_url, pool_size=1)
    while True:
        try:
            with transaction(engine, place.project_id, Role.WORKER) as connection:
                found = _judge_next(connection, place)
        except DatabaseUnavailable:
            found = False
        if not found:
            time.sleep(0.05)


def _judge_next(connection: Connection, place: Place) -> bool:
    project = place.project_id
    lock_alerts(connection, project)
    rules = rules_in_force(connection, project)
    query = "select * from oracle_issue where not taken order by id limit 10"
    rows = list(connection.execute(sa.text(query)))
    if rules is None or not rows:
        return False
    known = {row.model: known_alerts(connection, project, row.model) for row in rows}
    by_name = {rule.name: rule for rule in rules.config.rules}
    for model, before in known.items():
        readings = [_reading(row) for row in rows if row.model == model]
        result = step(rules.config, before.alerts, readings, place.clock())
        changed = [(one, by_name[one.rule]) for one in result.alerts.values()]
        numbers = save_alerts(connection, project, changed, rules.version)
        save_transitions(connection, project, result.transitions, {**before.numbers, **numbers})
    taken = sa.text("update oracle_issue set taken = true where id = any(:ids)")
    connection.execute(taken, {"ids": [row.id for row in rows]})
    return True


def _reading(row: Any) -> Reading:
    labels = Labels.of(
        project="default",
        model=row.model,
        check="oracle",
        severity=row.severity,
        column=row.subject,
    )
    at: datetime = row.at
    return Reading(
        labels=labels, at=at, window_start=at - timedelta(minutes=1), value=row.value, n=1000,
        state=ReadingState.MEASURED,
    )  # fmt: skip


def scheduler(place: Place) -> None:
    """The product's own ticks, quicker than usual, until killed."""
    _forget_terminal()
    engine = make_engine(place.database_url)
    runner = Runner(
        engine=engine,
        bulk=BulkConnections(place.database_url, Role.WORKER),
        worker=worker_name(),
        public_url="http://dashboard.test",
        clock=place.clock,
        environment=place.environment(),
        rng=random.SystemRandom(),
    )
    made = Worker(engine, runner, place.clock(), Outbound(timeout=SEND_SECONDS))
    ticker = BlockingScheduler()
    works = {"notify": made.notify_due, "deliver": made.deliver_due, "switch": made.call_switches}
    for name, work in works.items():
        ticker.add_job(
            guarded(name, work), "interval", seconds=TICKS[name], id=name, coalesce=True,
            max_instances=1, misfire_grace_time=None,
        )  # fmt: skip
    ticker.start()


def receiver(place: Place) -> None:
    """Write every request down, then answer as the file of behaviours says, until killed."""
    _forget_terminal()
    handler = type("Handler", (_Handler,), {"place": place})
    server = ThreadingHTTPServer(("127.0.0.1", place.port), handler)
    server.daemon_threads = True
    server.serve_forever(poll_interval=0.05)


class _Handler(BaseHTTPRequestHandler):
    place: Place

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        name = self.path.strip("/")
        way = json.loads(self.place.behaviour.read_text("utf-8")).get(name, {"status": 200})
        status = int(way["status"])
        if way.get("slow"):
            time.sleep(SLOW_SECONDS)
        self._write_down(name, status, way, body)
        if way.get("never"):
            time.sleep(SEND_SECONDS + 1)
            return
        self.send_response(status)
        if "retry_after" in way:
            self.send_header("Retry-After", str(way["retry_after"]))
        self.send_header("content-length", "0")
        self.end_headers()

    def _write_down(self, name: str, status: int, way: dict[str, Any], body: bytes) -> None:
        """On disk before the answer: what was answered with 2xx is never forgotten."""
        line = {
            "receiver": name,
            "status": 0 if way.get("never") else status,
            "retry_after": way.get("retry_after"),
            "clock": self.place.clock().isoformat(),
            "real": time.time(),
            "headers": {key.lower(): value for key, value in self.headers.items()},
            "body": body.decode(),
        }
        data = (json.dumps(line) + "\n").encode()
        file = os.open(self.place.received, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, data)
        finally:
            os.close(file)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


def _forget_terminal() -> None:
    """Ctrl-C is the harness's matter, which then kills this process."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
