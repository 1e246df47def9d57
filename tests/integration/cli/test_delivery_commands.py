"""`inferwatch deliveries`: what people see of messages and do about their receivers."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy.engine import Engine

from alerts.groups import EventType
from alerts.messages import Message
from alerts.model import Severity
from monitor.jobs.deliver import deliver
from monitor.store.engine import Role, transaction
from monitor.store.outbox import owe
from tests.integration.cli.conftest import Run
from tests.unit.alerts.receiver import Answer, LocalReceiver, answer_with, listening

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
RULES = """
owners: [{name: team, people: [ada@example.org], receiver: hook}]
receivers:
  - {name: hook, channel: webhook, url_env: HOOK_URL, secret_env: HOOK_SECRET,
     private_addresses_allowed: true}
  - {name: mail, channel: webhook, url_env: MAIL_URL, secret_env: HOOK_SECRET,
     private_addresses_allowed: true}
delivery: {fallback: mail}
rules:
  - {name: r, when: {check: drift}, above: 0.2, severity: ticket, owner: team,
     response: investigate}
"""


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalReceiver]:
    with listening() as made:
        monkeypatch.setenv("HOOK_URL", made.url)
        monkeypatch.setenv("HOOK_SECRET", SECRET)
        yield made


@pytest.fixture
def ruled(run: Run, hook: LocalReceiver, tmp_path: Path) -> Run:
    (tmp_path / "alerts.yaml").write_text(RULES)
    assert run("alerts", "apply", "alerts.yaml").code == 0
    return run


def only_hook(answer: Answer) -> Answer:
    """The answer of `hook`; `mail` takes everything."""

    def answered(handler: Any) -> None:
        (answer_with(200) if handler.path.endswith("/mail") else answer)(handler)

    return answered


def owed(engine: Engine, *keys: str) -> None:
    for key in keys:
        message = Message(
            EventType.OPENED, "hook", Severity.TICKET, f"title {key}", (), {"data": {}}, (), key
        )
        with transaction(engine, 1, Role.WORKER) as connection:
            owe(connection, 1, key, message, (), datetime.now(UTC))


def send(engine: Engine, hook: LocalReceiver, after: timedelta = timedelta()) -> None:
    environment = {"HOOK_URL": hook.url, "MAIL_URL": hook.url + "/mail", "HOOK_SECRET": SECRET}
    deliver(engine, 1, datetime.now(UTC) + after, environment, Random(1))


def listed(run: Run, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("deliveries", "list", "--json", *options).out)
    return found


def test_messages_are_listed_with_their_last_attempt(
    ruled: Run, engine: Engine, hook: LocalReceiver
) -> None:
    assert "No such message" in ruled("deliveries", "list").out
    owed(engine, "a")
    send(engine, hook)
    hook.answer = answer_with(503, b"come later")
    owed(engine, "b")
    send(engine, hook)
    assert [(row["key"], row["state"]) for row in listed(ruled)] == [
        ("b", "waiting"), ("a", "sent"),
    ]  # fmt: skip
    (waiting,) = listed(ruled, "--state", "waiting", "--receiver", "hook")
    assert waiting["last"]["outcome"] == "receiver_error"
    assert "answered 503 come later" in ruled("deliveries", "list").out
    shown = ruled("deliveries", "show", waiting["number"])
    assert "title b" in shown.out
    assert "receiver_error" in shown.out
    assert json.loads(ruled("deliveries", "show", waiting["number"], "--json").out)["tries"]
    assert ruled("deliveries", "show", 999).code == 2
    wrong = ruled("deliveries", "list", "--state", "lost")
    assert wrong.code == 2
    assert "waiting, sent, dead" in wrong.err


def test_dead_letters_are_sent_again(ruled: Run, engine: Engine, hook: LocalReceiver) -> None:
    hook.answer = only_hook(answer_with(400))
    owed(engine, "a", "b")
    send(engine, hook)
    dead = listed(ruled, "--state", "dead", "--receiver", "hook")
    assert {row["key"] for row in dead} == {"a", "b"}
    number = next(row["number"] for row in dead if row["key"] == "a")
    done = ruled("deliveries", "resend", number, 999)
    assert done.code == 1
    assert "not dead letters: 999" in done.err
    assert ruled("deliveries", "resend").code == 2
    assert "1 messages" in ruled("deliveries", "resend", "--receiver", "hook").out
    hook.answer = answer_with(200)
    send(engine, hook)
    assert {row["key"]: row["state"] for row in listed(ruled, "--receiver", "hook")} == {
        "a": "sent", "b": "sent",
    }  # fmt: skip


def test_a_receiver_that_said_gone_is_shown_and_enabled_with_what_it_missed(
    ruled: Run, engine: Engine, hook: LocalReceiver
) -> None:
    hook.answer = only_hook(answer_with(410))
    owed(engine, "a")
    send(engine, hook)
    (row, fallback) = json.loads(ruled("deliveries", "receivers", "--json").out)
    assert (row["name"], row["condition"], row["dead"]) == ("hook", "disabled", 1)
    assert fallback["is_fallback"]
    told = ruled("deliveries", "receivers").out
    assert "mail (fallback)" in told
    assert "410" in told
    assert ruled("deliveries", "enable", "mail").code == 2
    hook.answer = answer_with(200)
    done = ruled("deliveries", "enable", "hook", "--by", "ada")
    assert "1 messages that it missed" in done.out
    send(engine, hook)
    assert listed(ruled, "--receiver", "hook")[0]["state"] == "sent"


def test_enabling_may_leave_what_was_missed(
    ruled: Run, engine: Engine, hook: LocalReceiver
) -> None:
    hook.answer = only_hook(answer_with(410))
    owed(engine, "a")
    send(engine, hook)
    assert "0 messages" in ruled("deliveries", "enable", "hook", "--without-missed").out
    assert listed(ruled, "--receiver", "hook")[0]["state"] == "dead"


def test_a_test_message_is_sent_now_or_by_the_worker(
    ruled: Run, engine: Engine, hook: LocalReceiver
) -> None:
    done = ruled("deliveries", "ping", "hook")
    assert done.code == 0
    assert "hook took the test message (status 200)" in done.out
    assert json.loads(hook.received[0].body)["type"] == "test.ping"
    assert ruled("deliveries", "ping", "hook", "--by-worker").code == 0
    send(engine, hook, after=timedelta(seconds=1))
    assert [row["event"] for row in listed(ruled)] == ["test.ping"]
    hook.answer = answer_with(403, b"not you")
    refused = ruled("deliveries", "ping", "hook")
    assert refused.code == 1
    assert "not you" in refused.err
    unknown = ruled("deliveries", "ping", "nobody")
    assert unknown.code == 2
    assert "hook, mail" in unknown.err
