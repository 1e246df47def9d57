"""A model with live traffic, a router that takes orders, and an alert on one deployment."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from typing import Any

from sqlalchemy.engine import Engine

from monitor.jobs.evaluate_rules import evaluate_rules
from monitor.jobs.run import Runner
from monitor.measurement import Direction, Measured, Measurement, Subject
from monitor.store.engine import Role, transaction
from monitor.store.hand_over import apply_alert_rules
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from monitor.windows import Window
from tests.factories import START, TestClock, request, rows_of, send
from tests.integration.jobs.support import HOUR, context_of
from tests.unit.alerts.receiver import LocalReceiver, answer_with, listening

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
RULES = """
owners:
  - {{name: risk-ml, people: [ada@example.org], receiver: on-call}}
receivers:
  - name: on-call
    channel: webhook
    url_env: HOOK_URL
    secret_env: HOOK_SECRET
    private_addresses_allowed: true
  - name: router
    channel: webhook
    url_env: ROUTER_URL
    secret_env: HOOK_SECRET
    private_addresses_allowed: true
responses:
  - name: move-traffic
    action: reduce_traffic
    runbook: docs/move.md
    may_run: [risk-ml]
    command: "inferwatch respond run {{alert}}"
    automatic: {{receiver: router, {limits}}}
rules:
  - name: drifted
    when: {{check: drift, column: [age, city]}}
    above: 0.2
    severity: page
    owner: risk-ml
    impact: Loans go wrong.
    response: move-traffic
  - name: by-hand
    when: {{check: drift, column: score}}
    above: 0.2
    severity: ticket
    owner: risk-ml
    response: retrain
"""
IN_EARNEST = "dry_run: false, scope: {model: credit}, to_percent: 5, at_most_percent: 40"


@dataclass
class RouterDouble:
    """The user's deployment system: verifies nothing, remembers every order, answers as told."""

    receiver: LocalReceiver
    say: Callable[[dict[str, Any]], dict[str, Any] | None] = field(
        default=lambda order: {"outcome": "done", "former": {"weight": 33}}
    )

    @property
    def orders(self) -> list[dict[str, Any]]:
        """What it was asked, in order."""
        return [json.loads(each.body)["data"] for each in self.receiver.received]

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """One order answered."""
        said = self.say(self.orders[-1])
        answer_with(200, b"" if said is None else json.dumps(said).encode())(handler)


@contextmanager
def routing() -> Iterator[RouterDouble]:
    """The deployment system while the block runs."""
    with listening() as receiver:
        router = RouterDouble(receiver)
        receiver.answer = router.answer
        yield router


@dataclass
class Scene:
    """Everything that a test of actions needs."""

    engine: Engine
    runner: Runner
    clock: TestClock
    model: ModelContext
    router: RouterDouble
    people: LocalReceiver

    def rules(self, limits: str = IN_EARNEST) -> None:
        """Put rules in force whose response has these limits."""
        apply_alert_rules(
            self.engine, 1, RULES.format(limits=limits), name="alerts.yaml", by="tests",
            now=self.clock(),
        )  # fmt: skip

    def measure(self, value: float, *, deployment: int = 3, column: str = "age") -> None:
        """An hour of drift of one deployment; the other one stands still."""
        end = self.clock.now.replace(minute=0, second=0, microsecond=0)
        context = context_of(self.runner, self.model)
        found = [
            Measurement(
                check="drift",
                method="psi",
                method_version=1,
                subject=Subject((number,), "live", column=column),
                window=Window(end - HOUR, end),
                outcome=Measured(value=value if number == deployment else 0.0, n=500),
                unit="nats",
                direction=Direction.HIGHER_IS_WORSE,
                known_at=self.clock.now,
            )
            for number in (1, 2, 3)
        ]
        with transaction(self.engine, 1, Role.WORKER) as connection:
            evaluate_rules(connection, context, found)

    def run(self, times: int = 3) -> None:
        """Some ticks: respond and deliver."""
        for _ in range(times):
            self.runner.respond_due()
            self.runner.deliver_due()

    def later(self, **parts: float) -> None:
        """The clock goes on."""
        self.clock.now += timedelta(**parts)

    def actions(self) -> list[tuple[Any, ...]]:
        """(state, reason, dry run) of every action, the oldest first."""
        query = "select state, reason, dry_run from response_action order by id"
        return [tuple(each) for each in rows_of(self.engine, 1, query)]


def scene_of(
    engine: Engine,
    runner: Runner,
    clock: TestClock,
    store: IntakeStore,
    model: ModelContext,
    router: RouterDouble,
    people: LocalReceiver,
) -> Scene:
    """An hour in which deployment 3 had a quarter of the traffic."""
    wired = replace(
        runner,
        api_url="http://api.test",
        environment={
            "HOOK_URL": people.url,
            "ROUTER_URL": router.receiver.url,
            "HOOK_SECRET": SECRET,
        },
    )
    rows = [
        request(f"r{number}", START + timedelta(seconds=number * 3), deployment=deployment)
        for number in range(1200)
        for deployment in [(1, 1, 2, 3)[number % 4]]
    ]
    for start in range(0, len(rows), 400):
        send(store, model, rows[start : start + 400])
    clock.now = START + HOUR + timedelta(minutes=11)
    scene = Scene(engine, wired, clock, model, router, people)
    wired.catch_up({"profile", "serving-profile"})
    return scene
