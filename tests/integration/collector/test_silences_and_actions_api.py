"""Silences and responses over HTTP, and by signed link."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from alerts.links import LinkDeed
from tests.integration.collector.alert_world import AlertWorld, alert_world
from tests.integration.collector.test_link_pages import PAGE, alert_of, link_to, text_of
from tests.seeded_database import SeededDatabase, database, own_database, seeded_template

__all__ = ["database", "own_database", "seeded_template"]

RULE = PAGE.partition("/")[0]


@pytest.fixture
def world(own_database: SeededDatabase) -> Iterator[AlertWorld]:
    with alert_world(own_database) as made:
        yield made


@pytest.fixture(scope="module")
def shared(database: SeededDatabase) -> Iterator[AlertWorld]:
    with alert_world(database) as made:
        yield made


def silences(world: AlertWorld, **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = world.get("/v1/silences", **query).json()["silences"]
    return found


def test_a_silence_is_made_listed_seen_on_its_alerts_and_ended(world: AlertWorld) -> None:
    body = {"by": "Ada", "reason": "deploying", "for": "4h", "matchers": {"rule": [RULE, "x*"]}}
    made = world.post("/v1/silences", body).json()
    assert (made["author"], made["reason"]) == ("Ada", "deploying")
    assert made["matchers"] == {"rule": [RULE, "x*"]}
    length = datetime.fromisoformat(made["ends_at"]) - datetime.fromisoformat(made["starts_at"])
    assert length == timedelta(hours=4)
    assert silences(world) == [made]
    held = {each["number"]: each["silences"] for each in world.get("/v1/alerts").json()["alerts"]}
    assert held.pop(world.number(PAGE)) == [made["number"]]
    assert set(map(tuple, held.values())) == {()}

    ended = world.post(f"/v1/silences/{made['number']}/end", {"by": "Grace"})
    assert ended.status_code == 200
    assert silences(world) == []
    assert [each["number"] for each in silences(world, past="true")] == [made["number"]]
    again = world.post(f"/v1/silences/{made['number']}/end", {"by": "Grace"})
    assert (again.status_code, again.json()["reason"]) == (422, "bad_body")


@pytest.mark.parametrize("only", [True, False])
def test_a_silence_made_from_an_alert_is_about_its_like_or_its_subject(
    world: AlertWorld, only: bool
) -> None:
    body = {"by": "Ada", "reason": "known", "for": "1h", "only_this_subject": only}
    made = world.post(f"/v1/alerts/{world.number(PAGE)}/silence", body).json()
    labels = alert_of(world).labels
    every = {"rule": [RULE], **{name: [value] for name, value in labels.items()}}
    like = {"rule": [RULE], "model": [labels["model"]]}
    assert made["matchers"] == (every if only else like)
    assert [each.id for each in alert_of(world).silences] == [made["number"]]


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"reason": ""}, "reason"),
        ({"reason": "  "}, "reason"),
        ({"by": "a\tb"}, "by"),
        ({"matchers": {}}, "matchers"),
        ({"matchers": {"Bad Label": "x"}}, "lower-case"),
        ({"matchers": {"model": "*"}}, "everything"),
        ({"matchers": {"model": "a*b"}}, "at the end"),
        ({"matchers": {"model": 7}}, "matchers"),
        ({"for": "31d"}, "at most 30d"),
        ({"for": "0s"}, "for"),
        ({"for": None}, "until"),
        ({"until": "2001-01-01T00:00:00Z", "for": None}, "until"),
    ],
)
def test_a_silence_that_can_not_be_says_why(
    shared: AlertWorld, changes: dict[str, object], word: str
) -> None:
    body = {"by": "Ada", "reason": "r", "for": "1h", "matchers": {"model": "m"}, **changes}
    answer = shared.post("/v1/silences", {k: v for k, v in body.items() if v is not None})
    assert (answer.status_code, answer.json()["reason"]) == (422, "bad_body")
    assert word in answer.json()["message"]
    assert silences(shared) == []


def test_the_silence_link_asks_for_a_length_and_a_reason(world: AlertWorld) -> None:
    path = link_to(world, LinkDeed.SILENCE, who="Grace")
    page = world.client.get(path)
    assert "Keep these alerts quiet?" in text_of(page)
    assert page.text.count("<option") == 4
    assert silences(world) == []
    for form in ({"for": "4h"}, {"for": "999d", "comment": "x"}, {"comment": "x"}):
        assert world.client.post(path, data=form).status_code == 422
    before = datetime.now(UTC)
    answer = world.client.post(path, data={"for": "24h", "comment": "planned work"})
    assert answer.status_code == 200
    (made,) = silences(world)
    assert (made["author"], made["reason"]) == ("Grace", "planned work")
    assert datetime.fromisoformat(made["ends_at"]) >= before + timedelta(hours=24)
    assert "Silence 1, by Grace" in text_of(answer)
    assert alert_of(world).acknowledged_by is None


def test_a_response_is_started_and_its_outcome_reported_once(world: AlertWorld) -> None:
    path = f"/v1/alerts/{world.number(PAGE)}"
    done = world.post(f"{path}/respond", {"by": "Ada"})
    assert done.status_code == 200
    action = done.json()
    assert (action["state"], action["action"], action["requested_by"]) == (
        "requested",
        "reduce_traffic",
        "Ada",
    )
    assert world.get(path).json()["actions"][0]["number"] == action["number"]
    where = f"/v1/actions/{action['number']}"
    assert world.get(where).json() == action

    report = {"outcome": "done", "detail": "5 % left", "by": "router", "former": {"share": 0.4}}
    told = world.post(f"{where}/outcome", report).json()
    assert (told["state"], told["outcome"], told["detail"], told["outcome_by"]) == (
        "done",
        "done",
        "5 % left",
        "router",
    )
    assert world.post(f"{where}/outcome", report).status_code == 200
    other = world.post(f"{where}/outcome", {"outcome": "failed"})
    assert (other.status_code, other.json()["reason"]) == (409, "not_open")


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ({"outcome": "great"}, "outcome"),
        ({}, "outcome"),
        ({"outcome": "done", "former": {"x": "y" * 5_000}}, "former"),
        ({"outcome": "done", "by": "a\nb"}, "by"),
        ({"outcome": "done", "former": []}, "former"),
    ],
)
def test_an_outcome_that_is_none_is_refused(
    world: AlertWorld, body: dict[str, object], word: str
) -> None:
    number = world.post(f"/v1/alerts/{world.number(PAGE)}/respond", {"by": "Ada"}).json()["number"]
    answer = world.post(f"/v1/actions/{number}/outcome", body)
    assert (answer.status_code, answer.json()["reason"]) == (422, "bad_body")
    assert word in answer.json()["message"]
    assert world.get(f"/v1/actions/{number}").json()["state"] == "requested"


def test_nothing_of_another_project_is_seen_or_changed(world: AlertWorld) -> None:
    number = world.number(PAGE)
    action = world.post(f"/v1/alerts/{number}/respond", {"by": "Ada"}).json()["number"]
    silence = world.post(
        f"/v1/alerts/{number}/silence", {"by": "Ada", "reason": "r", "for": "1h"}
    ).json()["number"]
    key = world.make_key("alerts:read", "alerts:act", project="another one")
    assert world.get("/v1/silences", key=key).json() == {"silences": []}
    assert world.get(f"/v1/actions/{action}", key=key).status_code == 404
    bodies: dict[str, dict[str, Any]] = {
        f"/v1/actions/{action}/outcome": {"outcome": "done"},
        f"/v1/silences/{silence}/end": {"by": "Eve"},
        f"/v1/alerts/{number}/respond": {"by": "Eve"},
        f"/v1/alerts/{number}/silence": {"by": "Eve", "reason": "r", "for": "1h"},
    }
    for path, body in bodies.items():
        answer = world.post(path, body, key=key)
        assert (answer.status_code, answer.json()["reason"]) == (404, "not_found"), path
    assert len(silences(world)) == 1
    assert world.get(f"/v1/actions/{action}").json()["state"] == "requested"


@pytest.mark.parametrize(
    "path", ["/v1/silences", "/v1/silences/1/end", "/v1/alerts/1/silence", "/v1/alerts/1/respond",
             "/v1/actions/1/outcome"],
)  # fmt: skip
def test_acting_needs_its_scope(shared: AlertWorld, path: str) -> None:
    assert shared.client.post(path, json={"by": "Ada"}).status_code == 401
    answer = shared.post(path, {"by": "Ada"}, key=shared.make_key("alerts:read"))
    assert (answer.status_code, answer.json()["reason"]) == (403, "missing_scope")
