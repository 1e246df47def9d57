"""The middleware in a real FastAPI application, served by uvicorn."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, HTTPException
from inferwatch_client.asgi import InferwatchMiddleware, current_inference
from inferwatch_client.client import Client
from inferwatch_client.inference import TimeColumns
from starlette.responses import StreamingResponse

from tests.client.conftest import Place
from tests.integration.collector.serving import serving

ID_HEADER = "x-inferwatch-request-id"
PATHS = ("/predict", "/sync", "/stream", "/broken", "/missing", "/late", "/endless")
FIELDS = "request_id, outcome, outcome_reason, age, prediction, latency, first_token_time, tokens"


def application(client: Client, **settings: Any) -> FastAPI:
    """A model behind FastAPI."""
    app = FastAPI()
    app.add_middleware(InferwatchMiddleware, client=client, paths=PATHS, **settings)

    @app.post("/predict")
    async def predict(body: dict[str, Any]) -> dict[str, Any]:
        inference = current_inference()
        assert inference is not None
        inference.add(age=body["age"], prediction="yes")
        return {"prediction": "yes"}

    @app.get("/sync")
    def in_a_thread() -> str:
        inference = current_inference()
        assert inference is not None
        inference.add(age=5)
        return "done"

    @app.get("/stream")
    async def stream() -> StreamingResponse:
        return StreamingResponse(iter([b"a", b"b", b"c"]), media_type="text/event-stream")

    @app.get("/endless")
    async def endless() -> StreamingResponse:
        def parts() -> Iterator[bytes]:
            for _ in range(2_000):
                time.sleep(0.005)
                yield b"x" * 100

        return StreamingResponse(parts())

    @app.get("/broken")
    async def broken() -> None:
        raise RuntimeError("a secret")

    @app.get("/missing")
    async def missing() -> None:
        raise HTTPException(422, "no")

    @app.get("/late")
    async def late() -> None:
        raise HTTPException(504, "late")

    @app.get("/health")
    async def health() -> bool:
        return current_inference() is None

    return app


def test_calls_are_logged_with_what_handlers_add(place: Place, collector: str) -> None:
    client = place.client(collector)
    with serving(application(client)) as address, httpx.Client(base_url=address) as web:
        answer = web.post("/predict", json={"age": 41})
        assert answer.json() == {"prediction": "yes"}
        client.log_label(answer.headers[ID_HEADER], 1)
        in_a_thread = web.get("/sync").headers[ID_HEADER]
        assert web.get("/health").json() is True
    # serving has ended, and the end of the application sent what waited
    told = client.statistics()
    assert (told.accepted, told.waiting) == (3, 0)
    client.close()
    rows = {row.request_id: row for row in place.logged(FIELDS)}
    assert len(rows) == 2
    row = rows[answer.headers[ID_HEADER]]
    assert (row.outcome, row.age, row.prediction) == ("answered", 41, "yes")
    assert row.latency > 0
    assert row.first_token_time is None
    assert rows[in_a_thread].age == 5
    assert place.rows("select count(*) from label where model_id = :model") == [(1,)]


@pytest.mark.parametrize(
    ("path", "outcome", "reason"),
    [
        ("/broken", "failed", "RuntimeError"),
        ("/missing", "refused", "HTTP 422"),
        ("/late", "timed_out", "HTTP 504"),
    ],
)
def test_statuses_and_errors_become_outcomes(
    place: Place, collector: str, path: str, outcome: str, reason: str
) -> None:
    client = place.client(collector)
    with serving(application(client)) as address, httpx.Client(base_url=address) as web:
        assert web.get(path).status_code >= 400
    client.close()
    [row] = place.logged(FIELDS)
    assert (row.outcome, row.outcome_reason) == (outcome, reason)


def test_a_streamed_answer_tells_its_first_part(place: Place, collector: str) -> None:
    client = place.client(collector)
    app = application(client, times=TimeColumns(parts="tokens"))
    with serving(app) as address, httpx.Client(base_url=address) as web:
        assert web.get("/stream").text == "abc"
    client.close()
    [row] = place.logged(FIELDS)
    assert (row.outcome, row.tokens) == ("answered", 3)
    assert 0 < row.first_token_time <= row.latency


def test_a_caller_that_leaves_cancels_the_request(place: Place, collector: str) -> None:
    client = place.client(collector)
    with serving(application(client)) as address, httpx.Client(base_url=address) as web:
        with web.stream("GET", "/endless") as answer:
            next(answer.iter_bytes())
        end = time.monotonic() + 20
        while client.statistics().logged == 0 and time.monotonic() < end:
            time.sleep(0.01)
    client.close()
    [row] = place.logged(FIELDS)
    assert row.outcome == "cancelled"


def test_columns_can_be_read_from_the_bodies(place: Place, collector: str) -> None:
    client = place.client(collector)

    def read(request: bytes, answer: bytes) -> dict[str, Any]:
        return {
            "age": json.loads(request)["age"] + 1,
            "prediction": json.loads(answer)["prediction"],
        }

    app = application(client, read=read, trust_ids=True)
    with serving(app) as address, httpx.Client(base_url=address) as web:
        answer = web.post("/predict", json={"age": 41}, headers={ID_HEADER: "mine-1"})
        assert answer.headers[ID_HEADER] == "mine-1"
        assert web.get("/sync").status_code == 200  # has no JSON body: `read` raises
    client.close()
    [row] = place.logged(FIELDS)
    assert (row.request_id, row.age) == ("mine-1", 42)
    assert client.statistics().dropped == {"columns_failed": 1}
