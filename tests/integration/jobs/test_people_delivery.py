"""A fault told on PagerDuty, Jira Service Management, Slack, Teams and by mail, until its end.

Everything is real but the services: requests, jobs, rules, plan, outbox, HTTP and SMTP.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from email.message import EmailMessage
from typing import Any

import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.run import Runner
from monitor.store.hand_over import apply_alert_rules
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import START, TestClock, rows_of, send
from tests.integration.jobs.support import HOUR, traffic
from tests.unit.alerts.mail_server import MailBox, mail_server
from tests.unit.alerts.receiver import LocalReceiver, answer_with, listening
from tests.unit.alerts.told import schema_mistakes

SERVICES = ("pagerduty", "jsm", "slack", "teams")
ENVIRONMENT = {"KEY": "k" * 32, "API": "a" * 36}
RULES = """
owners:
  - {{name: risk-ml, people: [ada@example.org], receiver: pager}}
receivers:
  - {{name: pager, channel: pagerduty, url: "{pagerduty}", routing_key_env: KEY,
     private_addresses_allowed: true}}
  - {{name: jira, channel: jsm, url: "{jsm}", api_key_env: API, private_addresses_allowed: true}}
  - {{name: slack, channel: slack, url_env: SLACK, private_addresses_allowed: true}}
  - {{name: teams, channel: teams, url_env: TEAMS, private_addresses_allowed: true}}
  - {{name: mail, channel: email, host: 127.0.0.1, port: {port}, security: none,
     from: inferwatch@example.org, to: [ada@example.org], private_addresses_allowed: true}}
route:
  routes:
    - {{when: {{severity: page}}, receiver: pager, continue: true}}
    - {{when: {{severity: page}}, receiver: jira, continue: true}}
    - {{when: {{severity: page}}, receiver: slack, continue: true}}
    - {{when: {{severity: page}}, receiver: teams, continue: true}}
    - {{when: {{severity: page}}, receiver: mail}}
rules:
  - name: deployments-disagree
    when: {{check: contrast, scale: 6h, column: [age, city], deployment: "3"}}
    value: low
    above: 0.3
    recover_below: 0.1
    for: 2
    severity: page
    owner: risk-ml
    response: reduce_traffic
    runbook: https://runbooks.example.org/credit
    impact: Customers of one deployment get wrong answers.
"""


@dataclass
class Services:
    """The services, what they got, and the mail box."""

    http: dict[str, LocalReceiver]
    box: MailBox

    def got(self, name: str) -> list[Any]:
        """The bodies that a service got."""
        return [json.loads(each.body) for each in self.http[name].received]


@pytest.fixture
def services() -> Iterator[Services]:
    with ExitStack() as stack:
        made = {name: stack.enter_context(listening()) for name in SERVICES}
        for each in made.values():
            each.answer = answer_with(202)
        yield Services(made, stack.enter_context(mail_server()))


@pytest.fixture
def wired(
    runner: Runner, engine: Engine, project_id: int, services: Services, clock: TestClock
) -> Runner:
    """The runner, with rules that tell every service."""
    urls = {name: each.url for name, each in services.http.items()}
    rules = RULES.format(port=services.box.port, **urls)
    environment = {**ENVIRONMENT, "SLACK": urls["slack"], "TEAMS": urls["teams"]}
    apply_alert_rules(engine, project_id, rules, name="alerts.yaml", by="tests", now=clock())
    return replace(runner, environment=environment)


def serve(
    store: IntakeStore, model: ModelContext, first: int, hours: int, faulty: tuple[str, ...] = ()
) -> None:
    """Traffic of some hours; in deployment 3 the named columns are wrong."""
    rows = traffic(START + first * HOUR, hours, 120, seed=first, deployments=(1, 2, 3))
    for row in rows:
        if row["deployment"] == 3 and "age" in faulty and row["age"] is not None:
            row["age"] *= 2
        if row["deployment"] == 3 and "city" in faulty:
            row["city"] = "Bonn"
    for start in range(0, len(rows), 500):
        send(store, model, rows[start : start + 500])


def tell(wired: Runner, clock: TestClock, hour: int) -> None:
    """Do all work up to an hour and send every message it owes."""
    clock.now = START + hour * HOUR + timedelta(minutes=11)
    wired.catch_up()
    for _ in range(4):
        wired.deliver_due()
        clock.now += timedelta(seconds=1)


@pytest.fixture
def told(
    store: IntakeStore, wired: Runner, credit: ModelContext, clock: TestClock, services: Services
) -> Services:
    """Two columns fail; one recovers before the other."""
    serve(store, credit, 0, 12)
    tell(wired, clock, 12)
    assert services.box.taken == []
    serve(store, credit, 12, 6, ("age", "city"))
    tell(wired, clock, 18)
    assert services.http["pagerduty"].received
    serve(store, credit, 18, 10, ("city",))
    tell(wired, clock, 28)
    serve(store, credit, 28, 10)
    tell(wired, clock, 38)
    return services


def test_every_service_hears_of_a_fault_and_of_its_end_in_its_own_form(
    told: Services, engine: Engine
) -> None:
    """One scenario, looked at service by service: the scenario is what takes time."""
    assert {state for (state,) in rows_of(engine, 1, "select state from alert")} == {"resolved"}
    assert {each for (each,) in rows_of(engine, 1, "select state from delivery")} == {"sent"}
    check_incident(told)
    check_jira(told)
    check_mails(told.box.mails)


def check_incident(told: Services) -> None:
    """PagerDuty's incident ends once, when nothing is open; the chats get as many messages."""
    pagerduty = told.got("pagerduty")
    assert len({each["dedup_key"] for each in pagerduty}) == 1
    actions = [each["event_action"] for each in pagerduty]
    assert actions[0] == "trigger"
    assert actions[-1] == "resolve"
    assert actions.count("resolve") == 1  # not while the second column still fails
    assert len(actions) >= 3
    for name, schema in (
        ("pagerduty", "pagerduty_event"),
        ("slack", "slack_message"),
        ("teams", "teams_message"),
    ):
        bodies = told.got(name)
        assert len(bodies) == len(pagerduty)
        assert [schema_mistakes(schema, each) for each in bodies] == [[]] * len(bodies)


def check_jira(told: Services) -> None:
    """The alert is closed once, when nothing is open any more."""
    paths = [each.path.partition("?")[0] for each in told.http["jsm"].received]
    kinds = ["create" if path == "/hook" else path.rpartition("/")[2] for path in paths]
    assert kinds[0] == "create"
    assert kinds[-1] == "close"
    assert kinds.count("close") == 1
    for kind, body in zip(kinds, told.got("jsm"), strict=True):
        assert schema_mistakes("jsm_alert" if kind == "create" else "jsm_note", body) == []


def check_mails(mails: list[EmailMessage]) -> None:
    """One thread that tells what to do and why it ended."""
    assert len({mail["References"] for mail in mails}) == 1
    assert len({mail["Message-ID"] for mail in mails}) == len(mails)
    first, last = mails[0], mails[-1]
    assert first["Subject"].startswith("[page] credit: 2 alerts opened; response: reduce traffic")
    text = first.get_content()
    assert "Response: reduce traffic, owner risk-ml" in text
    assert "Impact: Customers of one deployment get wrong answers." in text
    assert "Runbook: https://runbooks.example.org/credit" in text
    assert "resolved" in last["Subject"]
    assert "resolved (recovered)" in last.get_content()
