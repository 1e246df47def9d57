"""Alerts through a real Alertmanager: told, stated again after a crash, ended once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import Engine

from alerts.channels.outbound import Outbound
from alerts.channels.registry import CHANNELS
from alerts.config import AlertConfig, read_alert_config
from alerts.lifecycle import step
from alerts.model import Labels, Reading, ReadingState
from monitor.jobs.run import Runner
from monitor.store.alert_book import lock_alerts, save_alerts, save_transitions
from monitor.store.engine import Role, transaction
from monitor.store.hand_over import apply_alert_rules, resolve_alert
from tests.factories import TestClock, rows_of
from tests.unit.alerts.formats import assert_format
from tests.unit.alerts.receiver import LocalReceiver, listening

from .alertmanager import RealAlertmanager, program, until

pytestmark = pytest.mark.skipif(program() is None, reason="Alertmanager is not installed")

RULES = """
owners:
  - {name: risk-ml, people: [ada@example.org], receiver: am}
receivers:
  - {name: am, channel: alertmanager, url_env: AM, private_addresses_allowed: true}
rules:
  - name: moved
    when: {check: drift}
    above: 0.2
    severity: ticket
    owner: risk-ml
    response: investigate
"""


@pytest.fixture
def hook() -> Iterator[LocalReceiver]:
    with listening() as made:
        yield made


@pytest.fixture
def real(hook: LocalReceiver, tmp_path: Path) -> Iterator[RealAlertmanager]:
    made = RealAlertmanager(tmp_path, hook.url)
    made.start()
    yield made
    made.kill()


@pytest.fixture
def wired(
    runner: Runner, real: RealAlertmanager, engine: Engine, project_id: int, clock: TestClock
) -> Runner:
    """The runner at the real time: Alertmanager has a clock of its own."""
    clock.now = datetime.now(UTC)
    apply_alert_rules(engine, 1, RULES, name="alerts.yaml", by="tests", now=clock())
    return replace(runner, environment={"AM": real.url}, public_url="https://pages.example.org")


def judge(engine: Engine, clock: TestClock, values: dict[str, float]) -> None:
    """Readings of one hour, by column, judged and stored as a job does it."""
    config: AlertConfig = read_alert_config(RULES, "alerts.yaml", CHANNELS)
    at = clock.now - timedelta(minutes=1)
    readings = [
        Reading(
            labels=Labels.of(project="default", model="credit", check="drift", column=column),
            at=at,
            window_start=at - timedelta(hours=1),
            state=ReadingState.MEASURED,
            value=value,
            n=500,
        )
        for column, value in values.items()
    ]
    with transaction(engine, 1, Role.WORKER) as connection:
        lock_alerts(connection, 1)
        made = step(config, {}, readings, clock.now)
        (rule,) = config.rules
        numbers = save_alerts(connection, 1, [(one, rule) for one in made.alerts.values()], 1)
        save_transitions(connection, 1, made.transitions, numbers)


def told(hook: LocalReceiver) -> list[dict[str, Any]]:
    """What Alertmanager told its own receiver, each as its schema says."""
    bodies = [json.loads(each.body) for each in hook.received]
    for body in bodies:
        assert_format("alertmanager_webhook", body)
    return bodies


def firing_columns(body: dict[str, Any]) -> set[str]:
    return {each["labels"]["column"] for each in body["alerts"] if each["status"] == "firing"}


def test_alerts_reach_the_receivers_of_a_real_alertmanager_and_end_there(
    engine: Engine, wired: Runner, clock: TestClock, real: RealAlertmanager, hook: LocalReceiver
) -> None:
    judge(engine, clock, {"age": 0.31, "city": 0.4})
    wired.notify_due()
    assert wired.deliver_due() == 1
    until(lambda: hook.received, "the opening is told")
    (opening,) = told(hook)
    assert opening["status"] == "firing"
    assert opening["groupLabels"] == {"model": "credit", "response": "investigate"}
    assert firing_columns(opening) == {"age", "city"}
    assert opening["commonLabels"]["alertname"] == "moved"
    assert opening["alerts"][0]["annotations"]["threshold"] == "above 0.2"
    for row in rows_of(engine, 1, "select id from alert"):
        resolve_alert(engine, 1, row.id, "Ada", "mended", clock())
    clock.now = datetime.now(UTC)
    wired.notify_due()
    assert wired.deliver_due() == 1
    until(lambda: len(hook.received) > 1, "the end is told")
    ending = told(hook)[1]
    assert ending["status"] == "resolved"
    assert {each["status"] for each in ending["alerts"]} == {"resolved"}
    assert {each["annotations"]["resolved_reason"] for each in ending["alerts"]} == {
        "closed by hand"
    }
    assert real.alerts() == []


def test_an_alertmanager_that_crashed_knows_everything_again_after_the_next_statement(
    engine: Engine, wired: Runner, clock: TestClock, real: RealAlertmanager, hook: LocalReceiver
) -> None:
    judge(engine, clock, {"age": 0.31, "city": 0.4})
    wired.notify_due()
    wired.deliver_due()
    until(lambda: len(real.alerts()) == 2, "both alerts are known")
    before = {each["labels"]["column"]: each for each in real.alerts()}
    real.kill()
    with Outbound() as http:
        assert wired.restate_due(http) == 0  # nobody answers: the next minute tries again
        real.start()
        assert real.alerts() == []
        assert wired.restate_due(http) == 2
    after = {each["labels"]["column"]: each for each in real.alerts()}
    assert after.keys() == before.keys()
    for column, each in after.items():
        assert each["labels"] == before[column]["labels"]
        assert each["fingerprint"] == before[column]["fingerprint"]
        assert each["startsAt"] == before[column]["startsAt"]


def test_what_ended_while_alertmanager_was_away_is_no_lone_end_and_no_open_alert(
    engine: Engine, wired: Runner, clock: TestClock, real: RealAlertmanager, hook: LocalReceiver
) -> None:
    judge(engine, clock, {"age": 0.31, "city": 0.4})
    wired.notify_due()
    wired.deliver_due()
    until(lambda: hook.received, "the opening is told")
    real.kill()
    (age,) = rows_of(engine, 1, "select id from alert where body->'labels'->>'column' = 'age'")
    resolve_alert(engine, 1, age.id, "Ada", "mended", clock())
    wired.notify_due()
    assert wired.deliver_due() == 0
    real.start()
    hook.received.clear()
    with Outbound() as http:
        assert wired.restate_due(http) == 2
    until(lambda: hook.received, "what is open is told")
    assert {column for body in told(hook) for column in firing_columns(body)} == {"city"}
    assert [each["labels"]["column"] for each in real.alerts()] == ["city"]
    clock.now += timedelta(minutes=10)
    assert wired.deliver_due() == 1
    assert [each["labels"]["column"] for each in real.alerts()] == ["city"]


def test_stating_again_makes_no_second_alert_and_no_second_message(
    engine: Engine, wired: Runner, clock: TestClock, real: RealAlertmanager, hook: LocalReceiver
) -> None:
    judge(engine, clock, {f"column_{number}": 0.3 + number / 100 for number in range(60)})
    wired.notify_due()
    assert wired.deliver_due() == 1
    with Outbound() as http:
        assert wired.restate_due(http) == 60  # what the message had no room for is known now
        until(lambda: len(real.alerts()) == 60, "all alerts are known")
        until(lambda: any(len(firing_columns(each)) == 60 for each in told(hook)), "all are told")
        messages = len(hook.received)
        for _ in range(3):
            clock.now = datetime.now(UTC)
            assert wired.restate_due(http) == 60
    judge(engine, clock, {"one_more": 0.9})
    wired.notify_due()
    wired.deliver_due()
    until(lambda: len(hook.received) > messages, "the next news is told")
    assert len(hook.received) == messages + 1
    assert len(real.alerts()) == 61


def test_only_receivers_that_forget_are_told_again(
    engine: Engine, wired: Runner, clock: TestClock, hook: LocalReceiver
) -> None:
    other = RULES.replace("channel: alertmanager", "channel: alertmanager_webhook")
    apply_alert_rules(engine, 1, other, name="alerts.yaml", by="tests", now=clock())
    judge(engine, clock, {"age": 0.31})
    plain = replace(wired, environment={"AM": hook.url})
    plain.notify_due()
    assert plain.deliver_due() == 1
    with Outbound() as http:
        assert plain.restate_due(http) == 0
    assert len(hook.received) == 1
