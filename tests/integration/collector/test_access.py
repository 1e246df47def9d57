"""Keys, scopes, models and deployments over HTTP."""

from typing import Any

import pytest

from monitor.store import projects
from monitor.store.engine import Role, transaction
from tests.integration.collector.conftest import World
from tests.unit.intake.factories import lines, record


def label(**changes: Any) -> dict[str, Any]:
    return {
        "request_id": "r-1",
        "value": True,
        "observed_at": "2026-09-01T11:00:00Z",
        **changes,
    }


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (None, "no_key"),
        ("", "no_key"),
        ("Bearer", "no_key"),
        ("Basic abc", "no_key"),
        ("Bearer wrong", "wrong_key"),
        ("Bearer iw_000000000000_wrong", "wrong_key"),
        ("Bearer " + "x" * 5_000, "wrong_key"),
        ("Bearer iw_a b_c", "wrong_key"),
    ],
)
def test_a_wrong_key(world: World, header: str | None, reason: str) -> None:
    headers = {"Content-Type": "application/x-ndjson"}
    if header is not None:
        headers["Authorization"] = header
    for path in ("/v1/requests", "/v1/labels", "/v1/deployments"):
        response = world.client.post(
            path, content=b"{}", params={"model": world.model}, headers=headers
        )
        assert (response.status_code, response.json()["reason"]) == (401, reason)
        assert response.headers["www-authenticate"] == "Bearer"


def test_a_key_whose_secret_is_changed_by_one_sign(world: World) -> None:
    other = world.key[:-1] + ("A" if world.key[-1] != "A" else "B")
    assert world.post(lines([record(deployment=...)]), key=other).status_code == 401


@pytest.mark.parametrize(
    ("path", "scope"),
    [("/v1/requests", "ingest"), ("/v1/labels", "labels"), ("/v1/deployments", "ingest")],
)
def test_a_scope_is_needed(world: World, path: str, scope: str) -> None:
    others = {"ingest", "labels", "backfill", "read", "admin", "export"} - {scope}
    response = world.post(b"{}", path=path, key=world.make_key(*others))
    assert (response.status_code, response.json()["reason"]) == (403, "missing_scope")
    assert scope in response.json()["message"]


@pytest.mark.parametrize("model", ["unknown", "Bad Name", "a\0b", "x" * 200, "../etc"])
def test_an_unknown_model(world: World, model: str) -> None:
    response = world.post(lines([record()]), model=model)
    assert (response.status_code, response.json()["reason"]) == (404, "unknown_model")


def test_a_model_of_another_project_is_unknown(world: World) -> None:
    with transaction(world.engine, None, Role.OWNER) as connection:
        other = projects.ensure_project(connection, "other")
        key = projects.create_key(connection, other, "test", ["ingest"], by="test")
    assert world.post(lines([record()]), key=key).status_code == 404


@pytest.mark.parametrize("leg", ["Live", "shadow", "shadow:", "replay:a b", "live\n", "x" * 500])
def test_a_leg_that_is_none(world: World, leg: str) -> None:
    response = world.post(lines([record()]), leg=leg)
    assert response.status_code == 422
    assert "leg" in response.json()["message"]


def test_a_parameter_that_is_missing(world: World) -> None:
    response = world.client.post("/v1/requests", headers={"Authorization": f"Bearer {world.key}"})
    assert response.json() == {
        "reason": "bad_parameter",
        "message": "parameter model is missing or not valid",
    }


def test_a_deployment_is_stored_once_and_can_be_named_at_once(world: World) -> None:
    body = b'{"name": "blue", "tags": {"model_version": "3", "runtime": "unknown"}}'
    kind = "application/json"
    first = world.post(body, path="/v1/deployments", kind=kind)
    assert first.status_code == 200
    assert first.json()["created"] is True
    number = first.json()["deployment"]
    again = world.post(b'{"tags": {"model_version": "3"}}', path="/v1/deployments", kind=kind)
    assert again.json() == {"deployment": number, "created": False}
    answer = world.post(lines([record(0, deployment=number)])).json()
    assert (answer["accepted"], answer["rejected"]) == (1, 0)
    by_tags = record(1, deployment=..., tags={"model_version": "3"})
    assert world.post(lines([by_tags])).json()["accepted"] == 1
    stored = world.rows("select distinct deployment_id from request_log where model_id = :model")
    assert stored == [(number,)]


def test_a_number_made_after_the_model_was_looked_up_is_known(world: World) -> None:
    unknown = world.post(lines([record(0, deployment=999_999)])).json()
    assert [r["reason"] for r in unknown["rejections"]] == ["unknown_deployment"]
    body = b'{"tags": {"model_version": "9"}}'
    made = world.post(body, path="/v1/deployments", kind="application/json").json()
    answer = world.post(lines([record(0, deployment=made["deployment"])])).json()
    assert answer["accepted"] == 1


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b"", 400, "unreadable"),
        (b"{", 400, "unreadable"),
        (b'{"tags": {}, "tags": {}}', 400, "unreadable"),
        (b"[]", 422, "bad_deployment"),
        (b"{}", 422, "bad_deployment"),
        (b'{"tags": {}, "more": 1}', 422, "bad_deployment"),
        (b'{"tags": []}', 422, "bad_tags"),
        (b'{"tags": {"colour": "red"}}', 422, "bad_tags"),
        (b'{"tags": {"runtime": 5}}', 422, "bad_tags"),
        (b'{"tags": {"runtime": "a\\u0000"}}', 422, "bad_tags"),
        (b'{"tags": {"runtime": "\\ud800"}}', 422, "bad_tags"),
        (b'{"tags": {}, "name": ""}', 422, "bad_name"),
        (b'{"tags": {}, "name": "a\\u0000"}', 422, "bad_name"),
    ],
)
def test_a_deployment_that_can_not_be_stored(
    world: World, body: bytes, status: int, reason: str
) -> None:
    response = world.post(body, path="/v1/deployments", kind="application/json")
    assert (response.status_code, response.json()["reason"]) == (status, reason)


def test_a_name_that_other_tags_have(world: World) -> None:
    for version, status in (("1", 200), ("2", 422)):
        body = f'{{"name": "blue", "tags": {{"model_version": "{version}"}}}}'.encode()
        response = world.post(body, path="/v1/deployments", kind="application/json")
        assert response.status_code == status
    assert response.json()["reason"] == "name_taken"


def test_labels_are_stored_and_a_changed_one_is_a_revision(world: World) -> None:
    def send(*labels: Any) -> tuple[int, int, int, int]:
        answer = world.post(lines(labels), path="/v1/labels").json()
        return tuple(answer[k] for k in ("accepted", "duplicate", "conflict", "rejected"))

    assert send(label(), label(request_id="r-2"), label(value=None)) == (2, 0, 0, 1)
    assert send(label()) == (0, 1, 0, 0)
    assert send(label(value=False)) == (1, 0, 0, 0)
    stored = world.rows(
        "select request_id, revision, value from label where model_id = :model order by 1, 2"
    )
    assert stored == [("r-1", 0, 1.0), ("r-1", 1, 0.0), ("r-2", 0, 1.0)]
    kept = world.rows("select kind, reason from rejection where model_id = :model")
    assert kept == [("labels", "missing_label")]


def test_a_label_from_the_future(world: World) -> None:
    body = lines([label(observed_at="2026-09-02T12:00:00Z"), label(request_id="r-3")])
    answer = world.post(body, path="/v1/labels").json()
    assert (answer["accepted"], answer["rejected"]) == (1, 1)
    assert answer["rejections"][0]["reason"] == "time_out_of_range"
