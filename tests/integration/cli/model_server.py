"""A small scikit-learn model behind real HTTP, sound or with one fault, in a thread of the test."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse
from sklearn.linear_model import LogisticRegression


def trained() -> LogisticRegression:
    """Risk rises with age: the same model each time."""
    rng = np.random.default_rng(3)
    age = rng.uniform(18, 80, 400)
    late = rng.random(400) < 1 / (1 + np.exp(-(age - 50) / 8))
    return LogisticRegression().fit(age[:, None], late)


MODEL = trained()


def score_of(age: float) -> float:
    """What the model says, in double precision."""
    return float(MODEL.predict_proba([[age]])[0, 1])


def application(precision: str, fault: str) -> FastAPI:
    """`precision` is the float type that a score is rounded to; `fault` is what goes wrong."""
    app = FastAPI()

    def answer(age: Any) -> dict[str, Any] | None:
        if isinstance(age, bool) or not isinstance(age, int | float):
            return None
        score = np.float64(score_of(age)).astype(precision)
        if fault == "coarse":  # as eight-bit quantisation would do
            score = np.round(score * 32) / 32
        return {"score": float(score), "decision": "yes" if score >= 0.5 else "no"}

    @app.post("/predict")
    async def predict(request: Request) -> Response:
        if (odd := await _odd(fault)) is not None:
            return odd
        found = answer((await request.json()).get("age"))
        if found is None:
            return Response('{"detail": "age must be a number"}', 422)
        return _json(found)

    @app.post("/v2/models/credit/infer")
    async def infer(request: Request) -> Response:
        body = await request.json()
        inputs = {each["name"]: each for each in body["inputs"]}
        if inputs.get("age", {}).get("datatype") != "FP64":
            return Response('{"error": "input age must be FP64"}', 400)
        found = answer(inputs["age"]["data"][0]) or {}
        outputs = [
            {
                "name": "probability",
                "datatype": "FP64",
                "shape": [1, 1],
                "data": [[found["score"]]],
            },
            {"name": "decision", "datatype": "BYTES", "shape": [1], "data": [found["decision"]]},
        ]
        return _json({"model_name": "credit", "id": body["id"], "outputs": outputs})

    return app


async def _odd(fault: str) -> Response | None:
    """The answer of a server that is broken in one way; None when it answers as it should."""
    bodies = {
        "html": "<html>busy</html>",
        "nan": '{"score": NaN, "decision": "no"}',
        "text": '{"score": "high", "decision": "no"}',
        "list": "[0.5]",
        "other": '{"result": 0.5}',
        "twice": '{"score": 0.1, "score": 0.9}',
        "empty": "",
        "partly": '{"score": 0.5}',
        "null": '{"score": null, "decision": null}',
        "abstains": '{"outcome": "abstained", "reason": "not sure"}',
        "outside": '{"score": 1.5, "decision": "no"}',
    }
    if fault == "slow":
        await asyncio.sleep(5)
    if fault == "drip":
        return StreamingResponse(_drops(), media_type="application/json")
    if fault == "huge":
        return Response(b'{"score": 0.5, "pad": "' + b"x" * (9 << 20) + b'"}')
    if fault == "error":
        return Response("Internal\tServer Error\n\x00", 500)
    return Response(bodies[fault], media_type="application/json") if fault in bodies else None


async def _drops() -> AsyncIterator[bytes]:
    """An answer that never ends, though something comes all the time."""
    for _ in range(100):
        yield b" "
        await asyncio.sleep(0.05)


def _json(body: dict[str, Any]) -> Response:

    return Response(json.dumps(body), media_type="application/json")


@contextmanager
def model_server(precision: str = "float64", fault: str = "") -> Iterator[str]:
    """The address of a server that runs until the end of the block."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    config = uvicorn.Config(application(precision, fault), log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    until = time.monotonic() + 10
    while not server.started and time.monotonic() < until:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.force_exit = server.should_exit = True
        thread.join(10)
        listening.close()


@contextmanager
def server_that_goes_away(answers: int) -> Iterator[str]:
    """Answers so many requests rightly (at age 20), one a connection, and then is gone."""
    listening = socket.create_server(("127.0.0.1", 0))
    body = json.dumps({"score": score_of(20), "decision": "no"}).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"

    def serve() -> None:
        for _ in range(answers):
            with listening.accept()[0] as connection:
                connection.recv(65_536)
                connection.sendall(head.encode() + body)
        listening.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        thread.join(10)
