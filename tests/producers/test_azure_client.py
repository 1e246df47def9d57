"""The Azure data collector's real client, through the real sidecar, to stored requests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from sqlalchemy.engine import Engine

from tests.producers.running import PROGRAMS, free_port, running
from tests.producers.test_otlp import Collected, collected
from tests.producers.venvs import producer_python

__all__ = ["collected"]

pytestmark = pytest.mark.producer


def test_rows_of_the_client_are_requests_with_their_answers(
    collected: Collected, engine: Engine, tmp_path: Path
) -> None:
    port = free_port()
    command = [sys.executable, "-m", "monitor", "sidecar", "--url", collected.url, "--port",
               str(port), "--key-env", "SIDECAR_KEY", "--model", "served"]  # fmt: skip
    environment = {"SIDECAR_KEY": collected.key}
    ready = f"http://127.0.0.1:{port}/readyz"
    with running(command, ready, tmp_path / "sidecar.log", environment):
        subprocess.run(
            [producer_python("azure_client"), str(PROGRAMS / "azure_collect.py")],
            env={**os.environ, "AZUREML_MDC_ENABLED": "true", "AZUREML_MDC_HOST": "127.0.0.1",
                 "AZUREML_MDC_PORT": str(port)},
            check=True, timeout=60,
        )  # fmt: skip
        found = collected.requests(2)
        bad = httpx.post(f"http://127.0.0.1:{port}/modeldata/log", content=b"[]")
        assert bad.status_code == 400, "the collector's own answer comes back"
    assert [row.age for row in found] == [1.5, 2.0]
    assert [row.score for row in found] == [0.25, 0.75]
    assert {row.request_id[-2:] for row in found} == {"/0", "/1"}


def test_a_collector_that_is_away_is_told(tmp_path: Path) -> None:
    port, nobody = free_port(), free_port()
    command = [sys.executable, "-m", "monitor", "sidecar", "--url", f"http://127.0.0.1:{nobody}",
               "--port", str(port), "--key-env", "SIDECAR_KEY"]  # fmt: skip
    with running(
        command, f"http://127.0.0.1:{port}/readyz", tmp_path / "log", {"SIDECAR_KEY": "k"}
    ):
        answer = httpx.post(f"http://127.0.0.1:{port}/v1/cloudevents", content=b"{}")
    assert answer.status_code == 502
    assert answer.json()["reason"] == "collector_unavailable"
