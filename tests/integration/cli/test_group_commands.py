"""Groups and explanations on the command line."""

from __future__ import annotations

import json

import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.names import CHECKS_MONTH, LABELS, PROFILE, WORST_GROUPS
from monitor.jobs.run import Runner
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import TestClock
from tests.integration.cli.conftest import Run
from tests.integration.lending import DAY, JUNE, MAY, lending_model, loans, send_loans

EXPLAIN = ("--window", "2024-06-01/2024-06-09", "--reference", "2024-05-01/2024-05-09")


@pytest.fixture
def lending(
    store: IntakeStore, engine: Engine, runner: Runner, project_id: int, clock: TestClock
) -> ModelContext:
    """Two months of loans, profiled, labelled and measured."""
    clock.now = JUNE + 45 * DAY
    model = lending_model(engine, project_id)
    found = [*loans(MAY, 8, 150, seed=7), *loans(JUNE, 8, 150, seed=8, later=True)]
    for loan in found[:20]:
        loan.row["sex"] = "[bold]other"
    send_loans(store, model, found)
    runner.catch_up({PROFILE, LABELS, CHECKS_MONTH, WORST_GROUPS})
    return model


def test_groups_of_a_month(run: Run, lending: ModelContext) -> None:
    ended = run("groups", "credit", "--window", "2024-05-01/2024-06-01")
    assert ended.code == 0, ended.err
    for words in ("reference", "turns round", "channel = phone", "confirmed"):
        assert words in ended.out
    assert "[bold]other" in ended.out
    assert "too few: 20 answers of the group, 50 needed" in ended.out
    told = json.loads(run("groups", "credit", "--json").out)
    assert told["window"][0].startswith("2024-06-01")
    rows = {(row["method"], row["group"]): row for row in told["columns"]["sex"]}
    assert rows["selection_ratio", "woman"]["verdict"] in ("violates", "inconclusive")
    assert told["worst"]["rows"] == 1200


def test_groups_as_known_before_and_where_there_are_none(run: Run, lending: ModelContext) -> None:
    ended = run("groups", "credit", "--as-of", "2024-06-01")
    assert "No month of groups was measured" in ended.out
    assert run("groups", "credit", "--window", "2020-01-01/2020-02-01").code == 0
    wrong = run("groups", "credit", "--window", "yesterday")
    assert (wrong.code, "--window" in wrong.err) == (2, True)


def test_an_explanation_in_words_and_as_json(run: Run, lending: ModelContext) -> None:
    ended = run("explain", "credit", *EXPLAIN, "--by", "ada")
    assert ended.code == 0, ended.err
    assert "The error rate went from" in ended.out
    assert "consistent with" in ended.out
    assert "segment of branch" in ended.out
    told = json.loads(run("explain", "credit", *EXPLAIN, "--json").out)
    assert told["split"]["total"]["value"] == pytest.approx(
        told["split"]["loss_now"] - told["split"]["loss_then"]
    )
    assert told["reference"][0].startswith("2024-05-01")


def test_rubbish_questions_are_told(run: Run, lending: ModelContext) -> None:
    for option, value, words in (
        ("--window", "2024-06-01", "is not FROM/TO"),
        ("--reference", "2024-05-09/2024-05-01", "ends before it begins"),
        ("--reference", "2024-05-01/2024-06-02", "compare two times apart"),
    ):
        asked = {**dict(zip(EXPLAIN[::2], EXPLAIN[1::2], strict=True)), option: value}
        ended = run("explain", "credit", *[word for pair in asked.items() for word in pair])
        assert ended.code == 2
        assert words in ended.err
        assert option in ended.err
    assert run("explain", "nobody", *EXPLAIN).code == 2
    nothing = run("explain", "credit", *EXPLAIN, "--deployment", "99")
    assert "Not explained: 0 sampled requests" in nothing.out
