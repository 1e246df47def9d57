"""`python -m benchmarks.alerting`: a storm of alerts with one cause, and how soon a page arrives.

The storm: 10,000 alerts of one cause fire together, in one model and spread over 200 models, under
the usual storm brake. Told are the seconds of judging and of planning, and how many messages the
receiver was sent at once and until everything was told.

The speed: the product's worker runs as a process of its own; readings breach at random moments, and
each is timed from the reading in hand to the first 2xx at a receiver over HTTP.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from rich.console import Console
from rich.table import Table
from sqlalchemy.engine import Engine

from alerts.lifecycle import step
from alerts.model import Labels, Reading, ReadingState
from benchmarks.database import workspace
from benchmarks.machine import describe_machine
from monitor.jobs.deliver import deliver
from monitor.jobs.notify import notify
from monitor.store.alert_book import (
    known_alerts,
    lock_alerts,
    rules_in_force,
    save_alerts,
    save_transitions,
)
from monitor.store.engine import Role, transaction
from monitor.store.hand_over import apply_alert_rules

PACKAGES = ("inferwatch", "sqlalchemy", "psycopg", "apscheduler", "httpx")
SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
ALERTS, MOST_PAGES, MOST_SECONDS = 10_000, 3, 5.0
RULES = """
owners:
  - {{name: team, people: [ada@example.org], receiver: pager}}
receivers:
  - {{name: pager, channel: webhook, url_env: PAGER_URL, secret_env: PAGER_SECRET,
     private_addresses_allowed: true}}
{delivery}
rules:
  - name: moved
    when: {{check: drift}}
    above: 0.2
    severity: page
    owner: team
    response: investigate
    runbook: https://runbooks.example.org/moved
    impact: Decisions are wrong.
"""
NO_BRAKE = "delivery: {storm: {messages: 100000, within: 1m}}"


@dataclass(frozen=True)
class StormResult:
    """Seconds of work, and messages sent: within 10 minutes, and until all was told."""

    alerts: int
    models: int
    judge_seconds: float
    plan_seconds: float
    first_messages: int
    hours_until_told: float
    all_messages: int
    longest_plan_seconds: float
    told: int
    events: Mapping[str, int]

    @property
    def held(self) -> bool:
        """At most 3 pages at once, and nobody forgotten."""
        return self.first_messages <= MOST_PAGES and self.told == self.alerts


class Receiver:
    """An HTTP server that takes everything and remembers when each finding came first."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.first: dict[str, float] = {}
        self.lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(204)
                self.end_headers()
                receiver.take(body)

            def log_message(self, format: str, *args: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/pages"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def take(self, body: Mapping[str, Any]) -> None:
        """Note a message."""
        now = time.perf_counter()
        with self.lock:
            self.events.append(body["type"])
            for alert in body["data"]["alerts"]:
                self.first.setdefault(alert["labels"]["column"], now)

    @contextmanager
    def running(self) -> Iterator[None]:
        """While the block runs."""
        self._thread.start()
        try:
            yield
        finally:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print the tables, write the JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.alerting", description=__doc__)
    parser.add_argument("--alerts", type=int, default=ALERTS)
    parser.add_argument("--pages", type=int, default=200, help="pages that are timed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    given, console = parser.parse_args(arguments), Console()
    storms = [storm(given.alerts, models) for models in (1, 200)]
    console.print(_storm_table(storms))
    waits = page_seconds(given.pages)
    console.print(_speed_table(waits))
    if given.json is not None:
        facts = {
            "machine": describe_machine(PACKAGES),
            "storms": [{**asdict(one), "held": one.held} for one in storms],
            "pages": {"n": len(waits), **_percentiles(waits), "bar_p95_s": MOST_SECONDS},
        }
        given.json.write_text(json.dumps(facts, indent=1, default=dict), encoding="utf-8")


def storm(alerts: int, models: int) -> StormResult:
    """All alerts fire at one moment; time then passes until nobody is owed a word."""
    now, receiver = datetime.now(UTC), Receiver()
    environment = {"PAGER_URL": receiver.url, "PAGER_SECRET": SECRET}
    with workspace(None, now) as place, receiver.running():
        engine, project = place.engine, place.project_id
        _put_in_force(engine, project, "", now)
        judged = _seconds(lambda: _fire_all(engine, project, alerts, models, now))
        planned = [_seconds(lambda: notify(engine, project, now, "http://dashboard"))]
        first, clock = -1, now
        for minute in range(0, 6 * 60, 1):
            clock = now + timedelta(minutes=minute)
            planned.append(_seconds(lambda at=clock: notify(engine, project, at, "http://d")))
            deliver(engine, project, clock, environment, random.Random(1))
            if minute == 9:
                first = len(receiver.events)
            if minute >= 9 and _told(engine, project) == alerts:
                break
        hours = (clock - now).total_seconds() / 3600
        counts = {name: receiver.events.count(name) for name in set(receiver.events)}
        return StormResult(
            alerts, models, judged, planned[0], first, hours, len(receiver.events),
            max(planned), _told(engine, project), counts,
        )  # fmt: skip


def _put_in_force(engine: Engine, project: int, delivery: str, now: datetime) -> None:
    rules = RULES.format(delivery=delivery)
    apply_alert_rules(engine, project, rules, name="benchmark", by="benchmarks", now=now)


def _fire_all(engine: Engine, project: int, alerts: int, models: int, now: datetime) -> None:
    for number in range(models):
        columns = [f"column-{each}" for each in range(number, alerts, models)]
        judge(engine, project, f"model-{number}", columns, now)


def judge(engine: Engine, project: int, model: str, columns: Sequence[str], now: datetime) -> None:
    """Readings of one model that breach, judged and stored as a job does it."""
    readings = [
        Reading(
            labels=Labels.of(project="benchmark", model=model, check="drift", column=column),
            at=now, window_start=now - timedelta(hours=1), value=0.4, n=5000,
            state=ReadingState.MEASURED,
        )
        for column in columns
    ]  # fmt: skip
    with transaction(engine, project, Role.WORKER) as connection:
        lock_alerts(connection, project)
        rules = rules_in_force(connection, project)
        if rules is None:
            raise AssertionError("the benchmark's rules are in force")
        known = known_alerts(connection, project, model)
        result = step(rules.config, known.alerts, readings, now)
        changed = [(one, rules.config.rules[0]) for one in result.alerts.values()]
        numbers = save_alerts(connection, project, changed, rules.version)
        save_transitions(connection, project, result.transitions, {**known.numbers, **numbers})


def _told(engine: Engine, project: int) -> int:
    """How many alerts the receiver is said to know of."""
    query = "select count(*) from alert where body -> 'told' ? 'pager'"
    with transaction(engine, project, Role.WORKER) as connection:
        return int(connection.scalar(sa.text(query)) or 0)


def page_seconds(pages: int) -> list[float]:
    """Seconds from the reading in hand to the first 2xx, page by page."""
    now, receiver = datetime.now(UTC), Receiver()
    begun: dict[str, float] = {}
    rng = random.Random(1)
    with workspace(None, now) as place, receiver.running():
        _put_in_force(place.engine, place.project_id, NO_BRAKE, now)
        with _worker(place.url, receiver.url):
            time.sleep(8)  # the worker starts
            for number in range(pages):
                column = f"page-{number}"
                begun[column] = time.perf_counter()
                judge(place.engine, place.project_id, f"m-{number}", [column], datetime.now(UTC))
                time.sleep(rng.uniform(0.0, 0.5))
            end = time.monotonic() + 60
            while len(receiver.first) < pages and time.monotonic() < end:
                time.sleep(0.1)
    missing = pages - len(receiver.first)
    if missing:
        raise AssertionError(f"{missing} of {pages} pages did not arrive within a minute")
    return [receiver.first[column] - begun[column] for column in begun]


@contextmanager
def _worker(database_url: str, receiver_url: str) -> Iterator[None]:
    """The product's worker as a process."""
    environment = {**os.environ, "DATABASE_URL": database_url, "PAGER_URL": receiver_url,
                   "PAGER_SECRET": SECRET}  # fmt: skip
    command = [sys.executable, "-m", "monitor", "worker"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)


def _seconds(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _percentiles(waits: Sequence[float]) -> dict[str, float]:
    half, most = np.quantile(waits, (0.5, 0.95))
    return {"p50_s": round(float(half), 3), "p95_s": round(float(most), 3),
            "most_s": round(max(waits), 3)}  # fmt: skip


def _storm_table(storms: Sequence[StormResult]) -> Table:
    table = Table("alerts", "models", "judged s", "planned s", "pages in 10 min", "told", "hours",
                  "messages", "held", title="storm")  # fmt: skip
    for one in storms:
        table.add_row(
            f"{one.alerts:,}", str(one.models), f"{one.judge_seconds:.2f}",
            f"{one.plan_seconds:.2f}", str(one.first_messages), f"{one.told:,}",
            f"{one.hours_until_told:.2f}", str(one.all_messages), "yes" if one.held else "no",
        )  # fmt: skip
    return table


def _speed_table(waits: Sequence[float]) -> Table:
    found = _percentiles(waits)
    table = Table("pages", "p50 s", "p95 s", "most s", "bar s", "held", title="reading to 2xx")
    held = "yes" if found["p95_s"] <= MOST_SECONDS else "no"
    table.add_row(str(len(waits)), *(f"{value:.3f}" for value in found.values()),
                  f"{MOST_SECONDS:g}", held)  # fmt: skip
    return table


if __name__ == "__main__":
    main()
