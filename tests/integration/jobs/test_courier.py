"""The courier goes on while receivers hang; the dead man's switch says so outside."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy.engine import Engine

from alerts.channels.outbound import Outbound
from monitor.jobs.courier import Courier
from monitor.jobs.dead_man import DeadMan
from monitor.jobs.deliver import Sender
from monitor.store.engine import Role, transaction
from monitor.store.outbox import (
    LEASE,
    claim_deliveries,
)
from tests.factories import START
from tests.integration.jobs.delivery_office import MINUTE, SECOND, Office, office
from tests.unit.alerts.receiver import answer_with

__all__ = ("office",)


@contextmanager
def courier_of(office: Office, timeout: float = 5.0) -> Iterator[Courier]:
    with Outbound(timeout=timeout) as http:
        made = Courier(
            Sender(
                office.engine, office.environment, random.Random(1), lambda: office.now, "w", "",
                http,
            )
        )  # fmt: skip
        try:
            yield made
        finally:
            made.close()


def eventually(condition: Any, within: float = 10.0) -> None:
    end = time.monotonic() + within
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def test_a_receiver_that_never_answers_holds_up_nobody_else(office: Office) -> None:
    hanging = threading.Event()
    office.receivers["first"].answer = lambda handler: hanging.wait(4) and None
    for number in range(60):
        office.owe(f"stuck{number}", group=str(number))
        office.owe(f"free{number}", receiver="second", group=str(number))
    with courier_of(office) as courier:
        began = time.monotonic()
        courier.tick([1])
        eventually(lambda: len(office.got("second")) == 60)
        assert time.monotonic() - began < 3.5
        assert len(office.got("first")) <= 4
        hanging.set()


def test_a_long_send_keeps_its_claim(office: Office, engine: Engine) -> None:
    from monitor.jobs import courier as module

    released = threading.Event()
    office.receivers["first"].answer = lambda handler: (
        released.wait(8) and answer_with(200)(handler)
    )
    office.owe("a")
    with pytest.MonkeyPatch.context() as patch, courier_of(office, timeout=20) as courier:
        patch.setattr(module, "RENEW_AFTER_SECONDS", 0.0)
        courier.tick([1])
        eventually(lambda: len(office.got()) == 1)
        for _ in range(3):
            office.now += LEASE - SECOND
            courier.tick([1])
            with transaction(engine, 1, Role.WORKER) as connection:
                assert claim_deliveries(connection, 1, office.now, by="other") == []
        released.set()
        eventually(lambda: office.states() == {"a": "sent"})
    assert office.got() == ["a"]


def test_the_dead_mans_switch_is_called_while_messages_go_out_and_not_otherwise(
    office: Office, engine: Engine
) -> None:
    with Outbound() as http:
        made = DeadMan(engine, office.environment, http)
        assert made.call_due(1, START)
        assert not made.call_due(1, START + 30 * SECOND)
        assert made.call_due(1, START + MINUTE)
        office.now = START + MINUTE
        office.owe("a")
        assert made.call_due(1, START + 2 * MINUTE)
        assert not made.call_due(1, START + 4 * MINUTE)  # nobody sends it
        office.send(after=3 * MINUTE)
        assert made.call_due(1, START + 5 * MINUTE)
    calls = [one for one in office.receivers["mail"].received if "webhook-id" not in one.headers]
    assert len(calls) == 4
    assert {call.body for call in calls} == {b""}


def test_the_switch_is_not_called_while_notifications_are_not_planned(
    office: Office, engine: Engine
) -> None:
    from monitor.store.alert_book import plan_now

    with transaction(engine, 1, Role.WORKER) as connection:
        plan_now(connection, 1)
    with Outbound() as http:
        made = DeadMan(engine, office.environment, http)
        assert made.call_due(1, START)
        assert made.call_due(1, START + 2 * MINUTE)
        assert not made.call_due(1, START + 3 * MINUTE)
