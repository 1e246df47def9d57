"""A real MLServer: its V2 answers under its own CloudEvents headers, as Seldon's agent hands on."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from tests.producers.running import PROGRAMS, free_port, running
from tests.producers.test_otlp import Collected, collected
from tests.producers.venvs import producer_venv, weekly

__all__ = ["collected"]

pytestmark = pytest.mark.producer


@weekly
def test_answers_of_mlserver_are_requests_with_the_version_of_their_body(
    collected: Collected, tmp_path: Path
) -> None:
    web, metrics = free_port(), free_port()
    folder = tmp_path / "model"
    folder.mkdir()
    shutil.copy(PROGRAMS / "mlserver_model.py", folder / "mlserver_model.py")
    settings = {"http_port": web, "grpc_port": free_port(), "metrics_port": metrics,
                "parallel_workers": 0, "host": "127.0.0.1"}  # fmt: skip
    (folder / "settings.json").write_text(json.dumps(settings))
    about = {"name": "served", "implementation": "mlserver_model.Summed",
             "parameters": {"version": "v7"}}  # fmt: skip
    (folder / "model-settings.json").write_text(json.dumps(about))
    venv = producer_venv("mlserver")
    address = f"http://127.0.0.1:{web}/v2/models/served"
    with running(
        [str(venv / "bin" / "mlserver"), "start", str(folder)], f"{address}/ready",
        tmp_path / "mlserver.log", {"PATH": f"{venv / 'bin'}:/usr/bin:/bin"},
    ):  # fmt: skip
        tensor = {"name": "age", "shape": [1, 1], "datatype": "FP64", "data": [41.0]}
        asked = {"id": "caller-chose-this", "inputs": [tensor]}
        answer = httpx.post(f"{address}/infer", json=asked, timeout=30)
    assert answer.headers["ce-specversion"] == "0.3"
    said = {name: value for name, value in answer.headers.items() if name.startswith("ce-")}
    at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    sent = {**said, "ce-time": at, "Authorization": f"Bearer {collected.key}"}
    url = f"{collected.url}/v1/cloudevents"
    request = {**sent, "ce-type": "io.seldon.serving.inference.request"}
    assert httpx.post(url, content=json.dumps(asked), headers=request).status_code == 200
    assert httpx.post(url, content=answer.content, headers=sent).status_code == 200
    (row,) = collected.requests(1)
    assert (row.age, row.score) == (41.0, 41.0)
    assert row.request_id == said["ce-id"]
    assert collected.tags()["model_version"] == "v7"
