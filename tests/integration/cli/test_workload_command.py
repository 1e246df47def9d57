"""`inferwatch workload` on stored requests: the card, its targets, and refused comparisons."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy.engine import Engine

from monitor.contract import Contract
from monitor.jobs.run import Runner
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import START, apply, contract_body, current_context, deployment, request, send
from tests.integration.cli.conftest import Run

SPAN = ("--window", "2024-05-01/2024-05-02")
N = 2_880


@pytest.fixture
def chat(engine: Engine, project_id: int) -> ModelContext:
    body = contract_body()
    body["columns"] = [
        *(each for each in body["columns"] if each["name"] not in ("latency", "prompt_tokens")),
        {"name": "latency", "type": "number", "role": "timing", "unit": "s"},
        {"name": "prompt_tokens", "type": "integer", "role": "count", "nullable": True},
    ]
    body["workload"] = {
        "scenario": "server",
        "requests_per_second": 0.05,
        "lengths": [{"column": "prompt_tokens", "p50": 1_000, "p95": 1_500}],
        "targets": [
            {"column": "latency", "quantile": 0.95, "at_most": 3},
            {"column": "latency", "quantile": 0.5, "at_most": 0.5},
        ],
    }
    context = apply(engine, project_id, Contract.model_validate(body))
    assert deployment(engine, context, model_version="1", accelerator="L4") == 1
    return current_context(engine, project_id)


@pytest.fixture
def served(store: IntakeStore, runner: Runner, chat: ModelContext) -> None:
    """A request every 30 seconds of a day, each of 1.5 seconds."""
    rng = np.random.default_rng(7)
    tokens = rng.integers(800, 1_600, N)
    rows = [
        request(
            str(i), START + i * timedelta(seconds=30), latency=1.5, prompt_tokens=int(tokens[i])
        )
        for i in range(N)
    ]
    send(store, chat, rows)
    runner.catch_up()


@pytest.mark.usefixtures("served")
def test_the_card_tells_conditions_targets_and_what_is_missing(run: Run) -> None:
    ended = run("workload", "credit", *SPAN, "--json")
    card = json.loads(ended.out)
    assert ended.code == 1, "a target is missed"
    assert card["n"] == N
    assert card["arrivals"]["rate"] == pytest.approx(1 / 30)
    assert card["arrivals"]["concurrency_mean"] == pytest.approx(1.5 / 30, rel=1e-6)
    assert card["arrivals"]["dispersion"] == 0
    assert card["lengths"]["prompt_tokens"]["p50"] == pytest.approx(1_200, rel=0.03)
    assert [each["verdict"] for each in card["targets"]] == ["met", "missed"]
    assert card["tags"] == {"accelerator": "L4", "model_version": "1"}
    missing = " ".join(card["missing"])
    for name in ("queue_time", "first_token_time", "runtime_version", "precision"):
        assert f"{name}: " in missing
    assert "accelerator" not in missing
    text = run("workload", "credit", *SPAN).out
    for words in ("at most 3", "missed", "1.5", "Not measured", "dispersion within hours 0.00",
                  "accelerator L4", "prompt_tokens p50 1000, p95 1500"):  # fmt: skip
        assert words in text


@pytest.mark.usefixtures("served")
def test_numbers_of_another_workload_are_refused(run: Run, tmp_path: Path) -> None:
    card = json.loads(run("workload", "credit", *SPAN, "--json").out)
    same = tmp_path / "same.json"
    same.write_text(json.dumps(card))
    alike = json.loads(run("workload", "credit", *SPAN, "--against", same, "--json").out)
    assert alike["refused"] == []
    assert {each["name"]: each["ratio"] for each in alike["numbers"]}["latency p50"] == 1.0
    card["lengths"]["prompt_tokens"]["p50"] = 200.0
    card["tags"] = {"accelerator": "H100"}
    other = tmp_path / "other.json"
    other.write_text(json.dumps(card))
    ended = run("workload", "credit", *SPAN, "--against", other)
    assert ended.code == 1
    assert "No comparison with" in ended.out
    assert "accelerator is L4 here and H100 there" in ended.out
    assert "ratio" not in ended.out
    refused = json.loads(run("workload", "credit", *SPAN, "--against", other, "--json").out)
    assert refused["numbers"] == []
    other.write_text("{}")
    ended = run("workload", "credit", *SPAN, "--against", other)
    assert ended.code == 2
    assert "is no workload card" in ended.err


@pytest.mark.usefixtures("chat")
def test_without_traffic_there_is_no_card(run: Run) -> None:
    ended = run("workload", "credit")
    assert ended.code == 1
    assert "No request has been profiled" in ended.out
