"""A change of quality explained from stored samples and labels: the planted truth comes out."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy.engine import Engine

from monitor.errors import ConfigurationError
from monitor.jobs.explanation.explain import Question, explain
from monitor.jobs.labelled_sample import labelled_sample
from monitor.jobs.names import LABELS, PROFILE
from monitor.jobs.run import Runner
from monitor.records import LIVE_LEG
from monitor.reports.explanations import explanations
from monitor.store.engine import Role, transaction
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from monitor.windows import Window
from tests.factories import TestClock
from tests.integration.jobs.support import DAY, context_of
from tests.integration.lending import JUNE, MAY, Loan, lending_model, loans, send_loans

BEFORE, AFTER = Window(MAY, MAY + 12 * DAY), Window(JUNE, JUNE + 12 * DAY)
QUESTION = Question(AFTER, BEFORE, LIVE_LEG)


@pytest.fixture
def lending(engine: Engine, project_id: int) -> ModelContext:
    return lending_model(engine, project_id)


@pytest.fixture
def history(
    store: IntakeStore, runner: Runner, lending: ModelContext, clock: TestClock
) -> list[Loan]:
    """Loans of both windows, profiled and labelled."""
    clock.now = JUNE + 30 * DAY
    found = [*loans(MAY, 12, 150, seed=5), *loans(JUNE, 12, 150, seed=6, later=True)]
    send_loans(store, lending, found)
    runner.catch_up({PROFILE, LABELS})
    return found


def errors(found: list[Loan], window: Window) -> float:
    return float(np.mean([loan.wrong for loan in found if loan.row["event_time"] in window]))


def test_the_planted_change_comes_out(
    runner: Runner, engine: Engine, lending: ModelContext, history: list[Loan]
) -> None:
    made = explain(context_of(runner, lending), QUESTION, by="ada")
    (kept,) = explanations(engine, 1, lending.model_id)
    assert kept.body == made.body
    assert (kept.made_by, kept.window, kept.reference) == ("ada", AFTER, BEFORE)
    parts = {part.name: part for part in kept.parts}
    change = errors(history, AFTER) - errors(history, BEFORE)
    assert parts["total"].value == pytest.approx(change)
    assert sum(parts[name].value for name in parts if name != "total") == pytest.approx(change)
    # Shops: 30 % instead of 10 % on 30 % of the requests, also among the shared inputs.
    assert parts["within"].low < 0.06 < parts["within"].high
    assert parts["within"].low > 0
    first = kept.columns[0]
    assert "channel" in first.name
    branch = {row.label: row for row in kept.segments["branch"]}
    assert sum(row.value for row in branch.values()) == pytest.approx(change)
    assert any("consistent with the same inputs" in sentence for sentence in kept.sentences)
    assert not any("caus" in sentence for sentence in kept.sentences)


def test_asked_again_it_is_the_same_and_as_of_hides_it(
    runner: Runner, engine: Engine, lending: ModelContext, history: list[Loan], clock: TestClock
) -> None:
    first = explain(context_of(runner, lending), QUESTION, by="ada")
    clock.now += DAY
    again = explain(context_of(runner, lending), QUESTION, by="ada")
    assert first.body == again.body
    assert len(explanations(engine, 1, lending.model_id)) == 2
    assert len(explanations(engine, 1, lending.model_id, first.known_at)) == 1
    assert explanations(engine, 1, lending.model_id, MAY) == ()


def test_windows_whose_labels_are_still_coming_are_not_compared(
    runner: Runner, engine: Engine, lending: ModelContext, history: list[Loan]
) -> None:
    early = context_of(runner, lending, now=AFTER.end + timedelta(days=2))
    explain(early, QUESTION, by="ada")
    (kept,) = explanations(engine, 1, lending.model_id)
    assert kept.parts == ()
    assert "labels are still coming until 2024-06-20" in kept.reason
    assert kept.sentences[0].startswith("Not explained:")


@pytest.mark.parametrize(
    ("window", "words"),
    [
        (Window(JUNE, JUNE + timedelta(hours=8)), "labelled sampled rows of a window"),
        (Window(MAY - 20 * DAY, MAY - 10 * DAY), "sampled requests in one of the windows"),
    ],
)
def test_too_little_is_told(
    runner: Runner, engine: Engine, lending: ModelContext, history: list[Loan],
    window: Window, words: str,
) -> None:  # fmt: skip
    explain(context_of(runner, lending), replace(QUESTION, window=window), by="ada")
    (kept,) = explanations(engine, 1, lending.model_id)
    assert words in kept.reason


def test_models_without_a_loss_are_refused(runner: Runner, engine: Engine, project_id: int) -> None:
    model = lending_model(engine, project_id, label=None, fairness=None)
    with pytest.raises(ConfigurationError, match="declares no label"):
        explain(context_of(runner, model), QUESTION, by="ada")


def test_the_sample_holds_every_labelled_request_of_quiet_days(
    runner: Runner, engine: Engine, lending: ModelContext, history: list[Loan]
) -> None:
    context = context_of(runner, lending)
    with transaction(engine, 1, Role.WORKER) as connection:
        found = labelled_sample(connection, context, BEFORE, LIVE_LEG)
        few = labelled_sample(connection, context, BEFORE, LIVE_LEG, most=300)
    assert found is not None
    mine = [loan for loan in history if loan.row["event_time"] in BEFORE]
    assert (len(found), found.sampled) == (len(mine), len(mine))
    by_id = {loan.row["request_id"]: loan for loan in mine}
    ids = found.table["request_id"].to_pylist()
    assert found.loss.tolist() == [float(by_id[name].wrong) for name in ids]
    people = [by_id[name].row["person"] for name in ids]
    assert len(set(found.entities.tolist())) == len(set(people))
    assert few is not None
    assert len(few) == 300


def test_a_busy_day_counts_no_less_than_a_quiet_one(
    store: IntakeStore, runner: Runner, engine: Engine, lending: ModelContext, clock: TestClock
) -> None:
    clock.now = JUNE + 30 * DAY
    busy, quiet = loans(MAY, 1, 3000, seed=11), loans(MAY + DAY, 1, 900, seed=12)
    send_loans(store, lending, [*busy, *quiet])
    runner.catch_up({PROFILE, LABELS})
    context = context_of(runner, lending)
    with transaction(engine, 1, Role.WORKER) as connection:
        found = labelled_sample(connection, context, Window(MAY, MAY + 2 * DAY), LIVE_LEG)
    assert found is not None
    days = [at.day for at in found.table["event_time"].to_pylist()]
    assert days.count(1) == 2000  # a day's sample is cut off there, at two thirds of its requests
    assert days.count(2) / 900 == pytest.approx(2 / 3, abs=0.1)
