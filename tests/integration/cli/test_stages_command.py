"""`inferwatch stages` on stored requests."""

from __future__ import annotations

import json

import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.run import Runner
from monitor.store.intake_store import IntakeStore
from tests.factories import apply, make_contract
from tests.integration.cli.conftest import Run
from tests.integration.served_chat import N, apply_served, send_day

SPAN = ("--window", "2024-05-01/2024-05-02")


@pytest.fixture
def served(store: IntakeStore, engine: Engine, runner: Runner, project_id: int) -> None:
    send_day(store, apply_served(engine, project_id))
    runner.catch_up()


@pytest.mark.usefixtures("served")
def test_stages_tell_which_one_to_shorten_on_average_and_for_slow_requests(run: Run) -> None:
    ended = run("stages", "credit", *SPAN, "--target", "retrieval=100", "--json")
    assert ended.code == 0, ended.err
    path = json.loads(ended.out)["path"]
    assert path["n"] == N
    mean = 1130 + 0.1 * (3_000 - 180)
    assert path["mean"] == pytest.approx(mean)
    by_name = {each["name"]: each for each in path["stages"]}
    assert by_name["model"]["saves"] == pytest.approx(900)
    assert by_name["output"]["halved"] == pytest.approx(15)
    assert by_name["retrieval"]["saves_at_target"] == pytest.approx(0.9 * 80 + 0.1 * 2_900)
    assert by_name["retrieval"]["saves_tail"] == pytest.approx(3_000, rel=0.02)
    text = run("stages", "credit", *SPAN, "--target", "retrieval=100").out
    for words in ("On average model costs most", "For slow requests retrieval costs most",
                  "362 (at 100)", "Upper bounds", "latency less critical path"):  # fmt: skip
        assert words in text


@pytest.mark.usefixtures("served")
def test_targets_that_can_not_be_are_all_told(run: Run) -> None:
    ended = run("stages", "credit", *SPAN, "--target", "nope=1", "--target", "model=x",
                "--target", "model=-1")  # fmt: skip
    assert ended.code == 2
    for words in ("no such stage; there are input, retrieval", "'x' is no number",
                  "0 or more milliseconds"):  # fmt: skip
        assert words in ended.err


@pytest.mark.usefixtures("served")
def test_a_span_without_requests_says_so(run: Run) -> None:
    ended = run("stages", "credit", "--window", "2023-01-01/2023-01-02")
    assert ended.code == 1
    assert "No request in this span has stage times" in ended.out


def test_a_contract_without_stages_says_where_to_declare_them(
    run: Run, engine: Engine, project_id: int
) -> None:
    apply(engine, project_id, make_contract())
    ended = run("stages", "credit")
    assert ended.code == 2
    assert "docs/serving.md" in ended.err
