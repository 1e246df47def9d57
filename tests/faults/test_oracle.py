"""The oracle finds what it is there to find: losses, doubles, overtaking, changed bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.deliver import deliver
from monitor.jobs.notify import notify
from monitor.store.engine import Role, transaction
from monitor.store.hand_over import apply_alert_rules
from tests.faults.oracle import Oracle, Verdict, compare
from tests.faults.programs import Place, _judge_next
from tests.faults.rounds import RULES
from tests.unit.alerts.receiver import LocalReceiver, listening

Change = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]


@pytest.fixture
def hook() -> Iterator[LocalReceiver]:
    with listening() as made:
        yield made


@pytest.fixture
def told(
    database_url: str, engine: Engine, project_id: int, hook: LocalReceiver, tmp_path: Path
) -> tuple[Place, Oracle]:
    """Three alerts that opened and ended, told over HTTP and written down as the receiver does."""
    now = datetime.now(UTC)
    apply_alert_rules(engine, project_id, RULES, name="rules", by="tests", now=now)
    place = Place(database_url, project_id, 1, tmp_path)
    place.clock.set_back()
    oracle = Oracle(place, random.Random(1))
    oracle.prepare()
    base = hook.url.rpartition("/")[0]
    environment = {**place.environment(), "PAGER_URL": f"{base}/pager", "CHAT_URL": f"{base}/chat"}
    for _ in range(2):
        for subject in ("a", "b", "c"):
            oracle.turn("m", subject, "page")
        with transaction(engine, project_id, Role.WORKER) as connection:
            assert _judge_next(connection, place)
        now += timedelta(minutes=1)
        notify(engine, project_id, now, "http://d")
        deliver(engine, project_id, now, environment, random.Random(1))
    write_down(place, hook)
    return place, oracle


def write_down(place: Place, hook: LocalReceiver) -> None:
    lines = [
        {"receiver": got.path.strip("/"), "status": 200, "headers": got.headers,
         "body": got.body.decode(), "real": 0.0}
        for got in hook.received
    ]  # fmt: skip
    place.received.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def after(place: Place, oracle: Oracle, change: Change) -> Verdict:
    lines = [json.loads(line) for line in place.received.read_text("utf-8").splitlines()]
    changed = "".join(json.dumps(line) + "\n" for line in change(lines))
    place.received.write_text(changed, "utf-8")
    return compare(place, oracle)


def test_what_went_well_has_no_violations(told: tuple[Place, Oracle]) -> None:
    verdict = compare(*told)
    assert verdict.violations == {}
    assert (verdict.openings, verdict.ends, verdict.messages) == (3, 3, 2)


def test_a_repetition_under_the_same_id_is_none(told: tuple[Place, Oracle]) -> None:
    verdict = after(*told, lambda lines: [*lines, lines[0]])
    assert verdict.violations == {}
    assert verdict.sent_again == 1


def _other_id(line: dict[str, Any]) -> dict[str, Any]:
    return {**line, "headers": {**line["headers"], "webhook-id": "msg_other"}}


def _other_body(line: dict[str, Any]) -> dict[str, Any]:
    return {**line, "body": line["body"].replace("page-rule", "page-rulf")}


def _other_reason(line: dict[str, Any]) -> dict[str, Any]:
    return {**line, "body": line["body"].replace('"recovered"', '"superseded"')}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda lines: lines[1:], {"undelivered", "lost_openings"}),
        (lambda lines: lines[:1], {"undelivered", "lost_ends"}),
        (lambda lines: lines[::-1], {"overtaken"}),
        (lambda lines: [*lines, _other_id(lines[0])], {"double_news", "foreign", "changed"}),
        (lambda lines: [_other_body(lines[0]), lines[1]], {"changed"}),
        (lambda lines: [lines[0], _other_reason(lines[1])], {"wrong_reasons", "changed"}),
        (lambda lines: [{**lines[0], "status": 500}, lines[1]], {"undelivered", "lost_openings"}),
    ],
)
def test_every_kind_of_violation_is_seen(
    told: tuple[Place, Oracle], change: Change, expected: set[str]
) -> None:
    assert set(after(*told, change).violations) == expected


def test_a_reading_that_nobody_took_is_missed(told: tuple[Place, Oracle]) -> None:
    place, oracle = told
    oracle.turn("m", "d", "page")
    assert set(compare(place, oracle).violations) == {"lost_readings", "unfinished"}
