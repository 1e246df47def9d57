"""Alerts over HTTP: looked at, answered by people, and never those of another project."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from monitor.store.engine import Role, transaction
from monitor.store.tables import alert_transition
from tests.dashboard_seed import MODEL
from tests.integration.collector.alert_world import PAGES, AlertWorld, alert_world
from tests.seeded_database import SeededDatabase, database, own_database, seeded_template

__all__ = ["database", "own_database", "seeded_template"]

PAGE = "deployment-contrast/distance"
TAKEN = "column-drift/distance"
OVER = "column-drift/price $ net $"
READS = ("/v1/alerts", "/v1/alerts/1", "/v1/alerts/export")
DEEDS = ("acknowledge", "archive", "unarchive", "resolve", "snooze", "false-alarm")


@pytest.fixture
def world(own_database: SeededDatabase) -> Iterator[AlertWorld]:
    with alert_world(own_database) as made:
        yield made


@pytest.fixture(scope="module")
def shared(database: SeededDatabase) -> Iterator[AlertWorld]:
    """For tests that change nothing but keys."""
    with alert_world(database) as made:
        yield made


def test_the_list_tells_open_alerts_the_most_severe_first(shared: AlertWorld) -> None:
    body = shared.get("/v1/alerts").json()
    severities = [each["severity"] for each in body["alerts"]]
    assert severities == sorted(severities, key=("page", "ticket", "notice").index)
    assert body["total"] == len(body["alerts"]) == 6
    assert {each["state"] for each in body["alerts"]} <= {"firing", "pending", "recovering"}
    first = body["alerts"][0]
    assert first["number"] == shared.number(PAGE)
    assert first["measurement"]["value"] == 0.5
    assert first["response"]["action"] == "reduce_traffic"
    assert first["response"]["runbook"]
    assert first["told"] == [
        {"receiver": "on-call", "event": "opened", "at": first["told"][0]["at"], "times": 1}
    ]
    assert first["link"] == f"{PAGES}/alert?fingerprint={first['fingerprint']}"


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({"state": "all"}, 7),
        ({"state": "resolved"}, 1),
        ({"state": "pending"}, 1),
        ({"severity": "page"}, 1),
        ({"standing": "ongoing"}, 1),
        ({"standing": "archived"}, 0),
        ({"rule": "no-labels"}, 1),
        ({"model": MODEL}, 6),
        ({"model": "no such model"}, 0),
        ({"owner": "nobody"}, 0),
        ({"size": 2}, 6),
    ],
)
def test_the_list_is_narrowed(shared: AlertWorld, query: dict[str, str], count: int) -> None:
    answer = shared.get("/v1/alerts", **query)
    assert (answer.status_code, answer.json()["total"]) == (200, count)


def test_pages_together_hold_every_alert_once(shared: AlertWorld) -> None:
    seen = [
        each["number"]
        for page in (1, 2, 3)
        for each in shared.get("/v1/alerts", size=2, page=page).json()["alerts"]
    ]
    assert len(seen) == len(set(seen)) == 6


@pytest.mark.parametrize(
    "query",
    [{"state": "bad"}, {"severity": "x"}, {"page": 0}, {"size": 201}, {"model": "a\0b"},
     {"rule": ""}],
)  # fmt: skip
def test_a_parameter_that_is_none_is_refused(shared: AlertWorld, query: dict[str, str]) -> None:
    answer = shared.get("/v1/alerts", **query)
    assert (answer.status_code, answer.json()["reason"]) == (422, "bad_parameter")


def test_one_alert_comes_with_history_deliveries_and_actions(shared: AlertWorld) -> None:
    body = shared.get(f"/v1/alerts/{shared.number(PAGE)}").json()
    assert [each["state"] for each in body["deliveries"]] == ["dead", "sent"]
    assert [each["outcome"] for each in body["deliveries"][1]["attempts"]] == ["sent", "retry"]
    assert any("firing" in each["what"] for each in body["history"])
    assert body["actions"] == []
    assert body["fired_in_30_days"] == 1


def test_acknowledging_keeps_it_open_and_is_recorded(world: AlertWorld) -> None:
    number = world.number(PAGE)
    answer = world.post(f"/v1/alerts/{number}/acknowledge", {"by": "Ada", "comment": "on it"})
    body = answer.json()
    assert (answer.status_code, body["state"], body["standing"]) == (200, "firing", "ongoing")
    assert (body["acknowledged_by"], body["comment"]) == ("Ada", "on it")
    assert last_transition(world, number) == ("acknowledged", "Ada", "on it")


def test_snoozing_archiving_and_taking_back(world: AlertWorld) -> None:
    path = f"/v1/alerts/{world.number(PAGE)}"
    before = datetime.now(UTC)
    snoozed = world.post(f"{path}/snooze", {"by": "Ada", "for": "4h"}).json()
    until = datetime.fromisoformat(snoozed["snoozed_until"])
    assert timedelta(hours=4) <= until - before < timedelta(hours=4, minutes=1)
    moment = (before + timedelta(days=2)).isoformat()
    again = world.post(f"{path}/snooze", {"by": "Ada", "until": moment}).json()
    assert datetime.fromisoformat(again["snoozed_until"]) == before + timedelta(days=2)
    archived = world.post(f"{path}/archive", {"by": "Grace"}).json()
    assert (archived["standing"], archived["archived_by"]) == ("archived", "Grace")
    back = world.post(f"{path}/unarchive", {"by": "Grace"}).json()
    assert (back["standing"], back["archived_by"]) == ("new", None)
    assert world.post(f"{path}/unarchive", {"by": "Grace"}).status_code == 409


def test_resolving_ends_it_and_it_can_not_be_answered_again(world: AlertWorld) -> None:
    number = world.number(PAGE)
    body = world.post(f"/v1/alerts/{number}/resolve", {"by": "Ada", "comment": "fixed"}).json()
    assert (body["state"], body["resolved_reason"]) == ("resolved", "closed_by_hand")
    for deed in ("acknowledge", "archive", "resolve"):
        answer = world.post(f"/v1/alerts/{number}/{deed}", {"by": "Ada"})
        assert (answer.status_code, answer.json()["reason"]) == (409, "not_open")
    assert last_transition(world, number) == ("closed_by_hand", "Ada", "fixed")


def test_a_false_alarm_ends_the_alerts_of_its_incident(world: AlertWorld) -> None:
    number = next(
        each["number"]
        for each in world.get("/v1/alerts").json()["alerts"]
        if "incident" in each["labels"]
    )
    body = world.post(f"/v1/alerts/{number}/false-alarm", {"by": "Ada"}).json()
    assert body["ended"] == [number]
    assert world.get(f"/v1/alerts/{number}").json()["resolved_reason"] == "false_alarm"


def test_a_false_alarm_of_another_kind_of_alert_ends_that_alone(world: AlertWorld) -> None:
    number = world.number(PAGE)
    body = world.post(f"/v1/alerts/{number}/false-alarm", {"by": "Ada"}).json()
    assert body == {"incident": None, "ended": [number]}
    found = world.get(f"/v1/alerts/{number}").json()
    assert (found["resolved_reason"], found["told_false_in_30_days"]) == ("false_alarm", 1)


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({}, "by"),
        ({"by": ""}, "by"),
        ({"by": "  "}, "by"),
        ({"by": "a\nb"}, "by"),
        ({"by": 7}, "by"),
        ({"by": "x" * 201}, "by"),
        ({"by": "Ada", "comment": "c" * 2_001}, "comment"),
        ({"by": "Ada", "comment": "a\0b"}, "U+0000"),
        ({"by": "Ada", "more": 1}, "more"),
        ([], "object"),
        ("Ada", "object"),
    ],
)
def test_a_body_that_can_not_be_used_says_why_and_changes_nothing(
    shared: AlertWorld, body: object, word: str
) -> None:
    number = shared.number("no-labels/")
    answer = shared.post(f"/v1/alerts/{number}/acknowledge", body)
    assert (answer.status_code, answer.json()["reason"]) == (422, "bad_body")
    assert word in answer.json()["message"]
    assert shared.get(f"/v1/alerts/{number}").json()["acknowledged_by"] is None


@pytest.mark.parametrize(
    "body",
    [
        {"by": "Ada"},
        {"by": "Ada", "for": "4h", "until": "2030-01-01T00:00:00Z"},
        {"by": "Ada", "for": "soon"},
        {"by": "Ada", "for": "0"},
        {"by": "Ada", "for": "9999d"},
        {"by": "Ada", "until": "2030-01-01"},
        {"by": "Ada", "until": "2001-01-01T00:00:00Z"},
    ],
)
def test_a_snooze_needs_one_end_that_lies_ahead(shared: AlertWorld, body: object) -> None:
    answer = shared.post(f"/v1/alerts/{shared.number('no-labels/')}/snooze", body)
    assert (answer.status_code, answer.json()["reason"]) == (422, "bad_body")


@pytest.mark.parametrize(
    ("content", "kind", "status", "reason"),
    [
        (b"", "application/json", 400, "empty_body"),
        (b"{", "application/json", 400, "unreadable"),
        (b'{"by": "a", "by": "b"}', "application/json", 400, "unreadable"),
        (b'{"by": "Ada"}', "text/plain", 415, "unsupported_type"),
        (b'{"by": "' + b"x" * 70_000 + b'"}', "application/json", 413, "too_large"),
        (b'{"by": "\\ud800"}', "application/json", 422, "bad_body"),
        (b"[" * 5_000, "application/json", 400, "unreadable"),
    ],
)
def test_a_hostile_body_is_refused(
    shared: AlertWorld, content: bytes, kind: str, status: int, reason: str
) -> None:
    answer = shared.client.post(
        f"/v1/alerts/{shared.number(PAGE)}/acknowledge",
        content=content,
        headers={"Authorization": f"Bearer {shared.key}", "Content-Type": kind},
    )
    assert (answer.status_code, answer.json()["reason"]) == (status, reason)


@pytest.mark.parametrize("path", READS)
def test_reading_needs_its_scope(shared: AlertWorld, path: str) -> None:
    assert shared.client.get(path).status_code == 401
    assert shared.get(path, key="iw_wrong_key").status_code == 401
    answer = shared.get(path, key=shared.make_key("alerts:act", "read", "ingest", "export"))
    assert (answer.status_code, answer.json()["reason"]) == (403, "missing_scope")
    assert "alerts:read" in answer.json()["message"]


@pytest.mark.parametrize("deed", DEEDS)
def test_acting_needs_its_scope(shared: AlertWorld, deed: str) -> None:
    path = f"/v1/alerts/{shared.number(PAGE)}/{deed}"
    assert shared.client.post(path, json={"by": "Ada"}).status_code == 401
    answer = shared.post(path, {"by": "Ada"}, key=shared.make_key("alerts:read", "admin"))
    assert (answer.status_code, answer.json()["reason"]) == (403, "missing_scope")


def test_alerts_of_another_project_are_not_there(shared: AlertWorld) -> None:
    key = shared.make_key("alerts:read", "alerts:act", project="another one")
    number = shared.number(PAGE)
    assert shared.get("/v1/alerts", key=key, state="all").json()["total"] == 0
    for answer in (
        shared.get(f"/v1/alerts/{number}", key=key),
        *(
            shared.post(f"/v1/alerts/{number}/{deed}", {"by": "Eve", **more}, key=key)
            for deed in DEEDS
            for more in ([{"for": "1h"}] if deed == "snooze" else [{}])
        ),
    ):
        assert (answer.status_code, answer.json()["reason"]) == (404, "not_found"), answer.url
    assert shared.get(f"/v1/alerts/{number}").json()["acknowledged_by"] is None


@pytest.mark.parametrize("number", ["0", "-1", "x", str(2**63), "1.5"])
def test_a_number_that_is_none_is_refused(shared: AlertWorld, number: str) -> None:
    assert shared.get(f"/v1/alerts/{number}").status_code == 422


def test_the_largest_number_is_just_not_found(shared: AlertWorld) -> None:
    assert shared.get(f"/v1/alerts/{2**63 - 1}").status_code == 404


@pytest.mark.parametrize(
    ("form", "kind"),
    [("json", "application/json"), ("ndjson", "application/x-ndjson"), ("csv", "text/csv")],
)
def test_an_export_is_a_file_of_the_key_s_project(shared: AlertWorld, form: str, kind: str) -> None:
    answer = shared.get("/v1/alerts/export", format=form)
    assert answer.status_code == 200
    assert answer.headers["content-type"].partition(";")[0] == kind
    assert answer.headers["content-disposition"] == f'attachment; filename="alerts.{form}"'
    assert "deployment-contrast" in answer.text
    key = shared.make_key("alerts:read", project="another one")
    empty = shared.get("/v1/alerts/export", key=key, format=form).text
    assert "deployment-contrast" not in empty


def test_an_export_of_a_span_holds_what_was_recorded_in_it(shared: AlertWorld) -> None:
    span = {"from": "2020-01-01T00:00:00Z", "to": "2020-02-01T01:00:00+01:00"}
    body = shared.get("/v1/alerts/export", **span).json()
    assert (body["from"], body["transitions"]) == ("2020-01-01T00:00:00Z", [])


@pytest.mark.parametrize(
    "span",
    [
        {"from": "2020-01-01"},
        {"from": "2020-01-02T00:00:00Z", "to": "2020-01-01T00:00:00Z"},
        {"from": "2020-01-01T00:00:00Z", "to": "2022-01-01T00:00:00Z"},
        {"to": "0001-01-01T00:00:00Z"},
        {"from": "9999-12-31T00:00:00Z"},
        {"format": "xlsx"},
    ],
)
def test_a_span_that_is_none_is_refused(shared: AlertWorld, span: dict[str, str]) -> None:
    answer = shared.get("/v1/alerts/export", **span)
    assert (answer.status_code, answer.json()["reason"]) == (422, "bad_parameter")


def last_transition(world: AlertWorld, number: int) -> tuple[str, str | None, str | None]:
    row = alert_transition.c
    query = sa.select(row.reason, row.by, row.comment).where(row.alert_id == number)
    with transaction(world.database.engine, world.project_id, Role.OWNER) as connection:
        found = connection.execute(query.order_by(row.id.desc()).limit(1)).one()
    return found.reason, found.by, found.comment
