"""What a message says around an alert: found in stored rows when somebody is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine

from alerts.links import LINK_PATH, LinkDeed
from monitor.jobs import alert_context
from monitor.jobs.run import Runner
from monitor.store.alert_links import read_alert_link
from monitor.store.engine import Role, transaction
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import START, TestClock, rows_of
from tests.integration.jobs.test_alerting import RULES, SECRET, at_hour, put_in_force, serve
from tests.unit.alerts.formats import assert_format
from tests.unit.alerts.receiver import LocalReceiver, listening

WITH_RESPONSE = (
    RULES.replace("response: reduce_traffic", "response: move-away\n    about: data")
    + """
responses:
  - name: move-away
    action: reduce_traffic
    runbook: https://runbooks.example.org/move
    command: "inferwatch respond run {alert}"
"""
)


@pytest.fixture
def receiver() -> Iterator[LocalReceiver]:
    with listening() as made:
        yield made


@pytest.fixture
def wired(runner: Runner, receiver: LocalReceiver) -> Runner:
    return replace(
        runner,
        environment={"HOOK_URL": receiver.url, "HOOK_SECRET": SECRET},
        public_url="https://pages.example.org/",
        api_url="https://api.example.org",
    )


@pytest.fixture
def told(
    store: IntakeStore,
    engine: Engine,
    wired: Runner,
    credit: ModelContext,
    clock: TestClock,
    receiver: LocalReceiver,
) -> dict[str, Any]:
    """Deployments 1 and 2 serve a day; then 3, of another runtime, comes with a fault."""
    put_in_force(engine, clock, WITH_RESPONSE)
    serve(store, credit, 0, 24, deployments=(1, 2))
    at_hour(clock, 24)
    wired.catch_up()
    serve(store, credit, 24, 8, fault=True)
    at_hour(clock, 32)
    wired.catch_up()
    assert wired.deliver_due() == 1
    message: dict[str, Any] = json.loads(receiver.received[0].body)
    assert_format("webhook", message)
    return message


def stamp(hour: int) -> str:
    return (START + timedelta(hours=hour)).isoformat().replace("+00:00", "Z")


def alert_of(message: dict[str, Any], column: str) -> dict[str, Any]:
    (found,) = [each for each in message["data"]["alerts"] if each["labels"]["column"] == column]
    return dict(found)


def test_a_message_says_what_changed_before_how_often_and_what_to_do(
    engine: Engine, told: dict[str, Any]
) -> None:
    alert = alert_of(told, "age")
    number = rows_of(
        engine, 1, "select id from alert where body->'labels'->>'column' = 'age'"
    )[0].id  # fmt: skip
    assert alert["fired_30_days"] == 1
    (changed,) = alert["changed"]
    assert changed.pop("before") in ("1", "2")
    assert changed == {
        "tag": "runtime_version",
        "after": "3",
        "deployment": "3",
        "at": stamp(24),
    }
    served = alert["traffic"]
    assert served["of"] == 6 * 120
    assert served["share"] == round(served["requests"] / served["of"], 4)
    assert 0.25 < served["share"] < 0.42
    assert alert["response"]["command"] == f"inferwatch respond run {number}"
    assert alert["response"]["runbook"] == "https://runbooks.example.org/move"
    assert alert["quality"] == "nothing about quality: no labelled window had ended"
    assert alert["data_until"] == stamp(32)
    assert alert["links"]["evidence"] == (
        "https://pages.example.org/model?project=default&model=credit"
    )


def test_the_links_of_a_message_do_what_they_say_until_they_end(
    engine: Engine, told: dict[str, Any], clock: TestClock
) -> None:
    alert = alert_of(told, "age")
    expires = datetime.fromisoformat(alert["links"]["expires"])
    for name in ("acknowledge", "silence"):
        address = urlsplit(alert["links"][name])
        assert (address.netloc, address.path[: len(LINK_PATH)]) == ("api.example.org", LINK_PATH)
        token = address.path.removeprefix(LINK_PATH)
        link = read_alert_link(engine, token, clock.now)
        assert link.deed is LinkDeed(name)
        assert (link.key.fingerprint, link.who) == (alert["fingerprint"], None)
        assert timedelta(0) <= expires - link.expires_at < timedelta(seconds=1)


def test_without_an_address_of_the_api_there_are_no_links_that_act(
    store: IntakeStore,
    engine: Engine,
    wired: Runner,
    credit: ModelContext,
    clock: TestClock,
    receiver: LocalReceiver,
) -> None:
    quiet = replace(wired, api_url="")
    put_in_force(engine, clock, WITH_RESPONSE)
    serve(store, credit, 0, 12)
    serve(store, credit, 12, 6, fault=True)
    at_hour(clock, 18)
    quiet.catch_up()
    quiet.deliver_due()
    alert = alert_of(json.loads(receiver.received[0].body), "age")
    assert (alert["links"]["acknowledge"], alert["links"]["expires"]) == (None, None)


def test_the_value_is_compared_with_the_windows_before(
    store: IntakeStore,
    engine: Engine,
    wired: Runner,
    credit: ModelContext,
    clock: TestClock,
    receiver: LocalReceiver,
) -> None:
    put_in_force(engine, clock, WITH_RESPONSE)
    serve(store, credit, 0, 12)
    at_hour(clock, 12)
    wired.catch_up()
    serve(store, credit, 12, 6, fault=True)
    at_hour(clock, 18)
    wired.catch_up()
    wired.deliver_due()
    alert = alert_of(json.loads(receiver.received[0].body), "age")
    with transaction(engine, 1, Role.WORKER) as connection:
        values = list(
            connection.scalars(
                sa.text(
                    "select value from measurement where check_name = 'contrast'"
                    " and method = :method and column_name = 'age' and deployment_ids = '{3}'"
                    " and window_end - window_start = interval '6 hours'"
                    " and window_end <= :first - interval '6 hours' and state = 'measured'"
                ),
                {"method": alert["labels"]["method"],
                 "first": datetime.fromisoformat(alert["since"])},
            )
        )  # fmt: skip
    assert len(values) >= 5
    assert alert["baseline"].endswith(
        f"{median(values):.4g} in the median of the {len(values)} windows before it began"
    )


def test_an_error_in_the_surroundings_takes_nothing_but_them(
    store: IntakeStore,
    engine: Engine,
    wired: Runner,
    credit: ModelContext,
    clock: TestClock,
    receiver: LocalReceiver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(connection: sa.Connection, *_: object) -> None:
        connection.execute(sa.text("select 1 / 0"))

    monkeypatch.setattr(alert_context, "known_models", broken)
    put_in_force(engine, clock, WITH_RESPONSE)
    serve(store, credit, 0, 12)
    serve(store, credit, 12, 6, fault=True)
    at_hour(clock, 18)
    wired.catch_up()
    assert wired.deliver_due() == 1
    alert = alert_of(json.loads(receiver.received[0].body), "age")
    assert alert["fired_30_days"] is None
    assert "no surroundings for messages" in caplog.text
