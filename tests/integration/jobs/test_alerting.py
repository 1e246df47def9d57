"""From a fault in one deployment to a signed message at the receiver, and back to rest."""

from __future__ import annotations

import base64
import json
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from sqlalchemy.engine import Engine
from standardwebhooks import Webhook, WebhookVerificationError

from monitor.jobs.run import Runner
from monitor.store.hand_over import apply_alert_rules
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import START, TestClock, rows_of, send
from tests.integration.jobs.support import HOUR, another, problems, run_together, traffic
from tests.unit.alerts.receiver import LocalReceiver, answer_with, listening

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
RULES = """
owners:
  - name: risk-ml
    people: [ada@example.org]
    receiver: hook
receivers:
  - name: hook
    channel: webhook
    url_env: HOOK_URL
    secret_env: HOOK_SECRET
    private_addresses_allowed: true
rules:
  - name: deployments-disagree
    when: {check: contrast, scale: 6h, column: [age, city], deployment: "3"}
    value: low
    above: 0.3
    recover_below: 0.1
    for: 2
    severity: ticket
    owner: risk-ml
    response: reduce_traffic
"""


@pytest.fixture
def receiver() -> Iterator[LocalReceiver]:
    with listening() as made:
        yield made


@pytest.fixture
def wired(runner: Runner, receiver: LocalReceiver) -> Runner:
    """The runner, told where the receiver is."""
    return replace(runner, environment={"HOOK_URL": receiver.url, "HOOK_SECRET": SECRET})


def put_in_force(engine: Engine, clock: TestClock, rules: str = RULES) -> None:
    apply_alert_rules(engine, 1, rules, name="alerts.yaml", by="tests", now=clock())


def serve(
    store: IntakeStore,
    model: ModelContext,
    first: int,
    hours: int,
    *,
    fault: bool = False,
    deployments: tuple[int, ...] = (1, 2, 3),
) -> None:
    """Traffic of some hours; the fault sits in deployment 3: ages doubled, every city Bonn."""
    rows = traffic(START + first * HOUR, hours, 120, seed=first, deployments=deployments)
    for row in rows:
        if fault and row["deployment"] == 3:
            row["age"] = None if row["age"] is None else row["age"] * 2
            row["city"] = "Bonn"
    for start in range(0, len(rows), 500):
        send(store, model, rows[start : start + 500])


def at_hour(clock: TestClock, hour: int) -> None:
    """The moment at which everything before this hour is closed."""
    clock.now = START + hour * HOUR + timedelta(minutes=11)


def states(engine: Engine) -> dict[str, str]:
    query = "select body->'labels'->>'column' as name, state from alert order by 1"
    return dict(rows_of(engine, 1, query))


def deliveries(engine: Engine) -> list[Any]:
    columns = "event_type, state, attempts, cardinality(alert_ids) as n"
    query = f"select {columns} from delivery order by id"
    return rows_of(engine, 1, query)


def verified(receiver: LocalReceiver, number: int, clock: TestClock) -> dict[str, Any]:
    """The message as the public library of Standard Webhooks reads it."""
    got = receiver.received[number]
    with time_machine.travel(clock.now, tick=False):
        found: dict[str, Any] = Webhook(SECRET).verify(got.body, got.headers)
    return found


@pytest.fixture
def faulty(
    store: IntakeStore,
    engine: Engine,
    wired: Runner,
    credit: ModelContext,
    clock: TestClock,
) -> Runner:
    """Twelve good hours, six bad ones: two alerts fire, one message is owed."""
    put_in_force(engine, clock)
    serve(store, credit, 0, 12)
    at_hour(clock, 12)
    wired.catch_up()
    assert states(engine) == {}
    serve(store, credit, 12, 6, fault=True)
    at_hour(clock, 18)
    wired.catch_up()
    assert states(engine) == {"age": "firing", "city": "firing"}
    return wired


def test_a_fault_in_one_deployment_becomes_one_message_and_ends_with_a_reason(
    store: IntakeStore,
    engine: Engine,
    faulty: Runner,
    credit: ModelContext,
    clock: TestClock,
    receiver: LocalReceiver,
) -> None:
    assert deliveries(engine) == [("finding.opened", "waiting", 0, 2)]
    assert faulty.deliver_due() == 1
    message = verified(receiver, 0, clock)
    told = message["data"]["alerts"]
    assert {alert["labels"]["column"] for alert in told} == {"age", "city"}
    assert {alert["labels"]["deployment"] for alert in told} == {"3"}
    assert message["data"]["owner"] == "risk-ml"
    assert message["data"]["response"] == "reduce_traffic"
    path = rows_of(
        engine, 1, "select from_state, to_state, reason from alert_transition t join alert a"
        " on a.id = t.alert_id where a.body->'labels'->>'column' = 'age' order by t.id",
    )  # fmt: skip
    assert path[:2] == [("ok", "pending", "breach_began"), ("pending", "firing", "breach_held")]
    assert {row.reason for row in path[2:]} <= {"got_worse"}
    serve(store, credit, 18, 8)
    at_hour(clock, 26)
    faulty.catch_up()
    assert states(engine) == {"age": "resolved", "city": "resolved"}
    assert set(rows_of(engine, 1, "select resolved_reason from alert")) == {("recovered",)}
    events = [row.event_type for row in deliveries(engine)]
    assert events[0] == "finding.opened"
    assert set(events[1:]) == {"finding.resolved"}
    for _ in range(3):
        faulty.deliver_due()
        clock.now += timedelta(seconds=1)
    assert {row.state for row in deliveries(engine)} == {"sent"}
    assert [row for row in problems(engine) if row.state == "failed"] == []


def test_the_measurement_behind_the_alert_is_stored_with_it(engine: Engine, faulty: Runner) -> None:
    fired = rows_of(
        engine, 1, "select (body->'last_judged'->>'value')::float8 as value,"
        " (body->'last_judged'->>'at')::timestamptz as at from alert"
        " where body->'labels'->>'column' = 'age'",
    )[0]  # fmt: skip
    stored = rows_of(
        engine, 1, "select value, deployment_ids from measurement where check_name = 'contrast'"
        " and column_name = 'age' and window_end = :end and deployment_ids = '{3}'"
        " and window_start = :start", end=fired.at, start=fired.at - 6 * HOUR,
    )  # fmt: skip
    assert [row.value for row in stored] == [pytest.approx(fired.value)]


def test_no_data_keeps_an_alert_firing(
    store: IntakeStore, engine: Engine, faulty: Runner, credit: ModelContext, clock: TestClock
) -> None:
    serve(store, credit, 18, 12, deployments=(1, 2))
    at_hour(clock, 30)
    faulty.catch_up()
    assert states(engine) == {"age": "firing", "city": "firing"}
    at_hour(clock, 60)
    faulty.catch_up()
    assert states(engine) == {"age": "firing", "city": "firing"}
    assert [row.event_type for row in deliveries(engine)] == ["finding.opened"]


def test_what_was_only_pending_is_told_to_nobody(
    store: IntakeStore, engine: Engine, wired: Runner, credit: ModelContext, clock: TestClock
) -> None:
    put_in_force(engine, clock, RULES.replace("for: 2", "for: 50"))
    serve(store, credit, 0, 12)
    serve(store, credit, 12, 6, fault=True)
    at_hour(clock, 18)
    wired.catch_up()
    assert states(engine) == {"age": "pending", "city": "pending"}
    serve(store, credit, 18, 8)
    at_hour(clock, 26)
    wired.catch_up()
    assert states(engine) == {"age": "ok", "city": "ok"}
    assert deliveries(engine) == []


def test_rules_without_the_rule_end_its_alerts_once_and_tell_so(
    engine: Engine, faulty: Runner, clock: TestClock, receiver: LocalReceiver
) -> None:
    faulty.deliver_due()
    other = RULES.replace("deployments-disagree", "another-name")
    put_in_force(engine, clock, other)
    put_in_force(engine, clock, other)
    assert states(engine) == {"age": "resolved", "city": "resolved"}
    assert set(rows_of(engine, 1, "select resolved_reason from alert")) == {
        ("no_longer_evaluated",)
    }
    faulty.notify_due()
    faulty.deliver_due()
    assert [row.event_type for row in deliveries(engine)] == ["finding.opened", "finding.resolved"]
    assert verified(receiver, 1, clock)["type"] == "finding.resolved"


def test_a_receiver_that_is_down_gets_the_same_message_later(
    engine: Engine, faulty: Runner, clock: TestClock, receiver: LocalReceiver
) -> None:
    receiver.answer = answer_with(503)
    assert faulty.deliver_due() == 0
    assert faulty.deliver_due() == 0  # not before the wait is over
    assert len(receiver.received) == 1
    receiver.answer = answer_with(204)
    clock.now += timedelta(minutes=10)
    assert faulty.deliver_due() == 1
    first, second = receiver.received
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body
    verified(receiver, 1, clock)
    attempts = rows_of(
        engine, 1, "select attempt, outcome, detail from delivery_attempt order by id"
    )
    assert [(row.attempt, row.outcome == "sent") for row in attempts] == [(1, False), (2, True)]
    assert "503" in attempts[0].detail
    assert deliveries(engine) == [("finding.opened", "sent", 2, 2)]


def test_a_receiver_that_asks_for_nothing_more_is_given_up(
    engine: Engine, faulty: Runner, clock: TestClock, receiver: LocalReceiver
) -> None:
    receiver.answer = answer_with(410)
    faulty.deliver_due()
    clock.now += timedelta(days=1)
    faulty.deliver_due()
    assert len(receiver.received) == 1
    assert deliveries(engine)[0].state == "dead"


def test_a_changed_body_or_key_does_not_verify(
    faulty: Runner, clock: TestClock, receiver: LocalReceiver
) -> None:
    faulty.deliver_due()
    got = receiver.received[0]
    other = "whsec_" + base64.b64encode(bytes(32)).decode()
    changed = got.body.replace(b"reduce_traffic", b"investigate_it")
    for secret, body in ((other, got.body), (SECRET, changed)):
        with time_machine.travel(clock.now, tick=False), pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(body, got.headers)
    assert json.loads(got.body)["type"] == "finding.opened"


CRASHING_DELIVERER = """
import random, sys, time
from datetime import datetime
from monitor.jobs import deliver
from monitor.store.engine import make_engine

def hang(*arguments, **named):
    print("sent", flush=True)
    time.sleep(60)

deliver.record_attempt = hang
url, hook, secret, now = (sys.stdin.readline().strip() for _ in range(4))
deliver.deliver(make_engine(url), 1, datetime.fromisoformat(now),
                {"HOOK_URL": hook, "HOOK_SECRET": secret}, random.Random(1))
"""


def test_a_sender_killed_before_it_could_write_it_down_sends_the_same_id_again(
    engine: Engine,
    faulty: Runner,
    clock: TestClock,
    receiver: LocalReceiver,
    database_url: str,
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CRASHING_DELIVERER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as doomed:
        assert doomed.stdin is not None
        assert doomed.stdout is not None
        told = (database_url, receiver.url, SECRET, clock.now.isoformat())
        doomed.stdin.write("".join(f"{line}\n" for line in told).encode())
        doomed.stdin.flush()
        assert doomed.stdout.readline() == b"sent\n"
        doomed.send_signal(signal.SIGKILL)
    assert faulty.deliver_due() == 0  # its lease still runs
    clock.now += timedelta(seconds=61)
    assert faulty.deliver_due() == 1
    assert faulty.deliver_due() == 0
    ids = [got.headers["webhook-id"] for got in receiver.received]
    assert len(ids) == 2
    assert len(set(ids)) == 1


def test_two_deliverers_send_once(
    engine: Engine, faulty: Runner, receiver: LocalReceiver, database_url: str
) -> None:
    sent: list[int] = []
    barrier = threading.Barrier(2)

    def work(mine: Runner) -> None:
        barrier.wait(10)
        sent.append(mine.deliver_due())

    with another(faulty, database_url, "worker-2") as second:
        threads = [threading.Thread(target=work, args=(mine,)) for mine in (faulty, second)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(sent) == [0, 1]
    assert len(receiver.received) == 1


def test_two_workers_open_each_alert_once(
    store: IntakeStore,
    engine: Engine,
    wired: Runner,
    credit: ModelContext,
    clock: TestClock,
    database_url: str,
) -> None:
    put_in_force(engine, clock)
    serve(store, credit, 0, 12)
    serve(store, credit, 12, 6, fault=True)
    at_hour(clock, 30)
    with another(replace(wired, rng=random.Random(2)), database_url, "worker-2") as second:
        assert run_together([wired, second], turns=2) == []
    assert [row for row in problems(engine) if row.state == "failed"] == []
    assert states(engine) == {"age": "firing", "city": "firing"}
    opened = rows_of(
        engine, 1, "select alert_id, count(*) from alert_transition where to_state = 'firing'"
        " and from_state <> 'firing' group by 1",
    )  # fmt: skip
    assert [row.count for row in opened] == [1, 1]
    assert sum(row.n for row in deliveries(engine)) == 2
