"""Triton and llama.cpp, real ones, scraped live: their counters become readings of a model."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import Engine

from alerts.channels.outbound import Outbound
from monitor.contract import Contract
from monitor.jobs.scraping.scraper import scrape
from monitor.scrape_targets import ScrapeTarget
from monitor.server_readings import SERVER_READINGS
from monitor.store.engine import Role, transaction
from monitor.store.models import ModelContext
from monitor.store.scrape_targets import apply_targets, target_states
from tests.factories import apply, contract_body, rows_of
from tests.producers.running import PROGRAMS, free_port, python_library_folder, running
from tests.producers.venvs import producer_python, producer_venv

pytestmark = pytest.mark.producer

COMPUTED, REPEATED = 3, 5


@dataclass
class Watched:
    """A scrape target in force, read when a test says so, each time a minute later."""

    engine: Engine
    target: ScrapeTarget
    http: Outbound
    minute: datetime

    def read(self) -> None:
        kept = scrape(self.engine, 1, self.target, {}, lambda: self.minute, self.http)
        with transaction(self.engine, 1, Role.WORKER) as connection:
            (state,) = target_states(connection, 1)
        assert kept is not None, state.told
        self.minute += timedelta(minutes=1)

    def told(self) -> dict[str, Any]:
        """Readings of the newest minute."""
        newest = self.minute - timedelta(minutes=1)
        rows = rows_of(self.engine, 1, "select * from server_reading")
        return {row.reading: row for row in rows if row.minute == newest}


def post(url: str, body: Any) -> tuple[int, Any]:
    request = urllib.request.Request(url, json.dumps(body).encode())
    request.add_header("content-type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def watching(engine: Engine, name: str, url: str, http: Outbound) -> Watched:
    options: dict[str, str | bool] = {"url": url, "private_addresses_allowed": True}
    target = ScrapeTarget(f"{name}-a", (name,), options=options)
    with transaction(engine, 1, Role.OWNER) as connection:
        apply_targets(connection, 1, [target], by="tests")
    return Watched(engine, target, http, datetime.now(UTC).replace(second=0, microsecond=0))


@pytest.fixture
def http() -> Iterator[Outbound]:
    with Outbound() as made:
        yield made


def model(engine: Engine, project_id: int, name: str) -> ModelContext:
    return apply(engine, project_id, Contract.model_validate(contract_body(model=name)))


@pytest.fixture
def triton(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Addresses of a Triton server's models and of its metrics."""
    web, metrics = free_port(), free_port()
    program = str(PROGRAMS / "cached_triton.py")
    with running(
        [producer_python("triton"), program, str(web), str(metrics)],
        f"http://127.0.0.1:{web}/v2/models/sum/ready",
        tmp_path / "triton.log",
        {"LD_LIBRARY_PATH": python_library_folder()},
    ):
        yield f"http://127.0.0.1:{web}", f"http://127.0.0.1:{metrics}/metrics"


def test_triton_scraped_live_tells_cache_hits_apart_and_misses_client_errors(
    engine: Engine, project_id: int, triton: tuple[str, str], http: Outbound
) -> None:
    model(engine, project_id, "sum")
    address, metrics = triton
    watched = watching(engine, "sum", metrics, http)
    watched.read()

    def ask(*values: float) -> int:
        data = {"name": "x", "shape": [1, len(values)], "datatype": "FP32", "data": list(values)}
        return post(f"{address}/v2/models/sum/infer", {"inputs": [data]})[0]

    assert [ask(1, each) for each in range(COMPUTED)] == [200] * COMPUTED
    assert [ask(1, 0) for _ in range(REPEATED)] == [200] * REPEATED
    assert ask(1, 2, 3) == 400  # trap 11: refused for its shape
    watched.read()
    found = watched.told()
    assert {row.version for row in found.values()} == {"3", ""}
    assert found["requests"].total == COMPUTED + REPEATED
    hits, compute = found["response_cache_hits"], found["compute_time"]
    assert (hits.total, hits.n) == (REPEATED, COMPUTED + REPEATED)
    assert compute.n == COMPUTED
    # Each computation sleeps 20 ms; a mean over all successes would look much faster (trap 10).
    assert compute.total / compute.n >= 20
    assert compute.total / found["requests"].total < compute.total / compute.n / 2
    assert found["server_failures"].total == 0
    assert "malformed" in SERVER_READINGS["server_failures"].blind_to
    assert found["batch_size"].total == COMPUTED
    assert found["queue_length"].total == 0


@pytest.fixture
def llama(tmp_path: Path) -> Iterator[str]:
    """The address of a llama.cpp server with a model of random weights."""
    port, weights = free_port(), tmp_path / "micro.gguf"
    venv = producer_venv("llama_server")
    program = str(PROGRAMS / "micro_gguf.py")
    subprocess.run([str(venv / "bin" / "python"), program, str(weights)], check=True, timeout=60)
    with running(
        [str(venv / "bin" / "llama-server-vulkan"), "-m", str(weights), "--host", "127.0.0.1",
         "--port", str(port), "--metrics", "-c", "512", "-np", "1", "-t", "1"],
        f"http://127.0.0.1:{port}/health", tmp_path / "llama.log",
    ):  # fmt: skip
        yield f"http://127.0.0.1:{port}"


def test_llama_cpp_scraped_live_gives_cached_prompt_tokens_and_no_durations(
    engine: Engine, project_id: int, llama: str, http: Outbound
) -> None:
    model(engine, project_id, "micro")
    watched = watching(engine, "micro", f"{llama}/metrics", http)
    watched.read()
    usage = []
    for _ in range(2):
        body = {"messages": [{"role": "user", "content": "one two three four"}], "max_tokens": 6}
        status, answer = post(f"{llama}/v1/chat/completions", body)
        assert status == 200
        usage.append(answer["usage"])
    watched.read()
    found = watched.told()
    # Trap 9: the answers' prompt tokens hold cached ones, the metrics' own counter does not.
    assert found["prompt_tokens"].total == sum(each["prompt_tokens"] for each in usage)
    assert found["output_tokens"].total == sum(each["completion_tokens"] for each in usage)
    cached = sum(each["prompt_tokens_details"]["cached_tokens"] for each in usage)
    assert cached > 0
    hits = found["prefix_cache_hits"]
    assert (hits.total, hits.n) == (cached, found["prompt_tokens"].total)
    assert found["running"].total == 0
    assert not {name for name in found if SERVER_READINGS[name].unit == "ms"}
