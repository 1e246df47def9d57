"""Three receivers, what is owed to them, and the sender, for tests of delivery."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from sqlalchemy.engine import Engine

from alerts.groups import EventType
from alerts.messages import Message
from alerts.model import Severity
from monitor.jobs.deliver import deliver
from monitor.store.engine import Role, transaction
from monitor.store.hand_over import apply_alert_rules
from monitor.store.notices import set_clock
from monitor.store.outbox import owe
from tests.factories import START, rows_of
from tests.unit.alerts.receiver import LocalReceiver, listening

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
NAMES = ("first", "second", "mail")
RULES = """
owners:
  - {name: team, people: [ada@example.org], receiver: first}
receivers:
  - {name: first, channel: webhook, url_env: FIRST, secret_env: SECRET,
     private_addresses_allowed: true}
  - {name: second, channel: webhook, url_env: SECOND, secret_env: SECRET,
     private_addresses_allowed: true}
  - {name: mail, channel: webhook, url_env: MAIL, secret_env: SECRET,
     private_addresses_allowed: true}
delivery:
  fallback: mail
  dead_mans_switch: {url_env: MAIL, every: 1m, private_addresses_allowed: true}
rules:
  - {name: r, when: {check: drift}, above: 0.2, severity: ticket, owner: team,
     response: investigate}
"""
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


class Office:
    """The three receivers, what is owed to them and the sender."""

    def __init__(self, engine: Engine, found: dict[str, LocalReceiver]) -> None:
        self.engine, self.receivers = engine, found
        self.environment = {name.upper(): one.url for name, one in found.items()}
        self.environment["SECRET"] = SECRET
        self.now = START

    def owe(
        self,
        key: str,
        receiver: str = "first",
        group: str = "g",
        severity: Severity = Severity.TICKET,
        alerts: tuple[int, ...] = (),
    ) -> None:
        message = Message(
            EventType.OPENED, receiver, severity, f"title {key}", ("a line",), {"data": {"n": key}},
            (), group,
        )  # fmt: skip
        with transaction(self.engine, 1, Role.WORKER) as connection:
            owe(connection, 1, key, message, alerts, self.now)

    def send(self, after: timedelta = timedelta()) -> int:
        self.now += after
        return deliver(self.engine, 1, self.now, self.environment, random.Random(1))

    def got(self, receiver: str = "first") -> list[str]:
        return [one.headers["webhook-id"] for one in self.receivers[receiver].received]

    def states(self) -> dict[str, str]:
        return dict(rows_of(self.engine, 1, "select delivery_key, state from delivery"))

    def due(self, key: str) -> datetime:
        query = "select due_at from delivery where delivery_key = :key"
        found: datetime = rows_of(self.engine, 1, query, key=key)[0].due_at
        return found


@pytest.fixture
def office(engine: Engine, project_id: int) -> Iterator[Office]:
    apply_alert_rules(engine, project_id, RULES, name="rules", by="tests", now=START)
    with transaction(engine, project_id, Role.WORKER) as connection:
        set_clock(connection, project_id, None)  # the rules' own news are planned
    with listening() as first, listening() as second, listening() as mail:
        yield Office(engine, dict(zip(NAMES, (first, second, mail), strict=True)))
