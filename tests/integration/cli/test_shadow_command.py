"""Shadow pairs from stored requests: paired, counted again in plain Python, judged."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.run import Runner
from monitor.records import RequestOutcome
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import (
    START,
    TestClock,
    apply,
    deployment,
    label,
    label_batch,
    make_contract,
    request,
    rows_of,
    send,
)
from tests.integration.cli.conftest import Run

N = 600
WINDOW = "2024-05-01/2024-05-02"


@pytest.fixture
def model(engine: Engine, project_id: int) -> ModelContext:
    return apply(engine, project_id, make_contract())


def scenario(
    engine: Engine, store: IntakeStore, model: ModelContext, *, noise: float, runtime: str = "1"
) -> dict[str, tuple[float, float, int]]:
    """N live requests, each with a shadow answer off by noise; id → both scores and the label."""
    rng = random.Random(5)
    live = deployment(engine, model, model_version="1", runtime_version="1")
    shade = deployment(engine, model, model_version="2", runtime_version=runtime)
    truth, first, second = {}, [], []
    for number in range(N):
        at = START + timedelta(seconds=number * 60)
        score = round(rng.random(), 6)
        other = min(1.0, max(0.0, round(score + rng.gauss(0, noise), 6))) if noise else score
        outcome = int(rng.random() < score)
        name = f"r{number}"
        truth[name] = (score, other, outcome)
        first.append(request(name, at, score=score, ms=10.0, deployment=live))
        late = at + timedelta(seconds=2)
        second.append(request(name, late, score=other, ms=20.0, deployment=shade))
    send(store, model, first)
    send(store, model, second, leg="shadow:next")
    return truth


def labelled(
    store: IntakeStore, model: ModelContext, runner: Runner, clock: TestClock, truth: dict[str, Any]
) -> None:
    """The label of every request, a day later, through the jobs."""
    at = START + timedelta(days=1)
    rows = [label(name, y, at) for name, (_, _, y) in truth.items()]
    store.store_labels(label_batch(model, rows, arrived_at=at))
    clock.now = START + timedelta(days=3)
    runner.catch_up()


def compared(run: Run, *more: str) -> dict[str, Any]:
    ended = run("shadow", "credit", "--name", "next", "--window", WINDOW, "--json", *more)
    assert ended.code == 0, ended.err
    found: dict[str, Any] = json.loads(ended.out)
    return found


def test_pairs_and_labels_are_counted_as_in_plain_python(
    run: Run, engine: Engine, project_id: int, store: IntakeStore, model: ModelContext,
    runner: Runner, clock: TestClock,
):  # fmt: skip
    truth = scenario(engine, store, model, noise=0.3)
    labelled(store, model, runner, clock, truth)
    found = compared(run)
    assert (found["pairs"], found["live_alone"], found["shadow_alone"]) == (N, 0, 0)
    (one,) = found["results"]
    right = {name: ((a >= 0.5) == y, (b >= 0.5) == y) for name, (a, b, y) in truth.items()}
    assert one["labelled"] == N
    assert one["both_right"] == sum(a and b for a, b in right.values())
    assert one["only_live_right"] == sum(a and not b for a, b in right.values())
    assert one["only_shadow_right"] == sum(b and not a for a, b in right.values())
    difference = sum(b - a for a, b in right.values()) / N
    assert one["accuracy_difference"]["value"] == pytest.approx(difference)
    losses = [(b - y) ** 2 - (a - y) ** 2 for a, b, y in truth.values()]
    assert one["loss_difference"]["value"] == pytest.approx(sum(losses) / N)
    same = sum((a >= 0.5) == (b >= 0.5) for a, b, _ in truth.values())
    assert one["agreement"]["value"] == pytest.approx(same / N)
    (score,) = (each["numbers"] for each in one["columns"] if each["column"] == "score")
    gaps = [abs(b - a) for a, b, _ in truth.values()]
    assert score["largest"] == pytest.approx(max(gaps))
    assert score["beyond"] == sum(gap > 0 for gap in gaps)
    assert (one["latency_median_live"], one["latency_median_shadow"]) == (10.0, 20.0)
    assert one["differs"] == {"model": ["model_version"]}
    assert one["verdict"] == "worse"
    measured = rows_of(
        engine, project_id,
        "select method, value, deployment_ids, leg from measurement"
        " where check_name = 'shadow' and state = 'measured'",
    )  # fmt: skip
    by_method = {row.method: row for row in measured}
    assert set(by_method) == {
        "agreement", "max_difference", "beyond_tolerance", "accuracy_difference",
        "loss_difference", "unpaired",
    }  # fmt: skip
    assert by_method["accuracy_difference"].value == pytest.approx(difference)
    assert {(tuple(row.deployment_ids), row.leg) for row in measured} == {((1, 2), "shadow:next")}
    told = run("shadow", "credit", "--name", "next", "--window", WINDOW).out
    for words in ("Verdict: worse", "McNemar p =", "model (model_version) alone", "600 pairs"):
        assert words in told


def test_without_labels_only_outputs_are_compared(
    run: Run, engine: Engine, store: IntakeStore, model: ModelContext
):
    scenario(engine, store, model, noise=0.1)
    (one,) = compared(run, "--tolerance", "score=0.05,0.1")["results"]
    assert one["verdict"] == "outputs_only"
    assert one["accuracy_difference"] == {
        "state": "too_few", "reason": "0 labelled pairs, 50 needed",
    }  # fmt: skip
    (score,) = (each["numbers"] for each in one["columns"] if each["column"] == "score")
    assert 0 < score["beyond"] < N


def test_two_groups_of_tags_are_confounded_but_identical_answers_are_not(
    run: Run, engine: Engine, store: IntakeStore, model: ModelContext
):
    scenario(engine, store, model, noise=0.1, runtime="2")
    (one,) = compared(run)["results"]
    assert (one["verdict"], one["confounded"]) == ("confounded", True)
    assert "can't be put down to one of these" in one["sentence"]


def test_identical_answers(run: Run, engine: Engine, store: IntakeStore, model: ModelContext):
    scenario(engine, store, model, noise=0.0)
    (one,) = compared(run)["results"]
    assert one["verdict"] == "identical"
    assert one["agreement"]["value"] == 1.0


def test_lonely_doubled_and_failed_requests_are_counted(
    run: Run, engine: Engine, store: IntakeStore, model: ModelContext
):
    live = deployment(engine, model, model_version="1")
    shade = deployment(engine, model, model_version="2")
    day = timedelta(days=1)
    edge = START + day - timedelta(seconds=1)
    rows = [request(f"p{i}", START + timedelta(minutes=i), deployment=live) for i in range(60)]
    rows += [request(f"l{i}", START, deployment=live) for i in range(7)]
    rows += [request("twice", START, deployment=live), request("twice", edge, deployment=live)]
    rows += [request("edge", edge, deployment=live), request("after", START + day, deployment=live)]
    send(store, model, rows)
    other = [
        request(
            f"p{i}", START + timedelta(minutes=i), deployment=shade,
            outcome=RequestOutcome.FAILED if i < 3 else RequestOutcome.ANSWERED,
        )
        for i in range(60)
    ]  # fmt: skip
    other += [request(f"s{i}", START, deployment=shade) for i in range(5)]
    other += [request("twice", START, deployment=shade)]
    other += [request("edge", START + day + timedelta(seconds=1), deployment=shade)]
    other += [request("after", START + day + timedelta(seconds=9), deployment=shade)]
    send(store, model, other, leg="shadow:next")
    found = compared(run)
    assert (found["pairs"], found["live_alone"], found["shadow_alone"]) == (61, 7, 5)
    assert found["ambiguous"] == 2
    (one,) = found["results"]
    assert one["other_outcomes"] == [["answered", "failed", 3]]
    assert one["answered_by_both"] == 58


def test_nothing_to_compare(
    run: Run, engine: Engine, project_id: int, store: IntakeStore, model: ModelContext
):
    nothing = run("shadow", "credit", "--name", "next", "--window", WINDOW)
    assert nothing.code == 2
    assert "no request of credit on leg shadow:next from 2024-05-01T00:00Z" in nothing.err
    shade = deployment(engine, model, model_version="2")
    send(store, model, [request("a", START, deployment=shade)], leg="shadow:next")
    lonely = run("shadow", "credit", "--name", "next", "--window", WINDOW)
    assert lonely.code == 0
    assert "No pair, so nothing can be compared" in lonely.out
    states = rows_of(
        engine, project_id, "select method, state from measurement where check_name = 'shadow'"
    )
    assert {(row.method, row.state) for row in states} == {
        ("agreement", "too_few"), ("unpaired", "measured"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--name", "a b"), "is no name of a shadow leg"),
        (("--name", "next", "--window", "2024-05-01"), "is not FROM/TO"),
        (("--name", "next", "--window", "2024-05-02/2024-05-01"), "ends before it begins"),
        (("--name", "next", "--tolerance", "age=1"), "no numeric output; there are: score"),
        (("--name", "next", "--tolerance", "score=x"), "is not COLUMN=ABSOLUTE"),
    ],
)
def test_options_that_can_not_be(run: Run, model: ModelContext, options: Any, told: str):
    ended = run("shadow", "credit", *options)
    assert ended.code == 2
    assert told in ended.err
