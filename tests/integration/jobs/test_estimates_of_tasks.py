"""Estimates of regression and multi-class models, and reweighted ones, from stored requests on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.keep_house import forget_sampled_labels
from monitor.jobs.names import CHECKS_DAY, ESTIMATES, LABELS, PROFILE, WATCH
from monitor.jobs.run import Runner
from monitor.store.engine import Role, transaction
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import (
    START,
    TestClock,
    apply,
    current_context,
    deployment,
    label,
    label_batch,
    make_contract,
    request,
    rows_of,
    send,
)
from tests.integration.jobs.support import DAY, HOUR, problems

JOBS = {PROFILE, LABELS, CHECKS_DAY, ESTIMATES}
LABEL = {"name": "default", "max_age": "1d", "correction_time": "1d"}
Made = tuple[dict[str, Any], float | str]
"""A request's columns and its label: a number, or the name of a class."""


def model_of(engine: Engine, project_id: int, **changes: Any) -> ModelContext:
    context = apply(engine, project_id, make_contract(label=LABEL, **changes))
    deployment(engine, context, model_version="1")
    return current_context(engine, project_id)


def play(
    store: IntakeStore,
    model: ModelContext,
    days: range,
    make: Callable[[np.random.Generator], Made],
    *,
    n: int = 100,
    labelled: bool = True,
    hours: tuple[int, ...] = (5,),
) -> None:
    """Requests of days, spread over some of their hours, with labels an hour later."""
    for place in days:
        rng = np.random.default_rng(place)
        requests, labels = [], []
        for row in range(n):
            at = START + place * DAY + hours[row % len(hours)] * HOUR + timedelta(seconds=row)
            columns, truth = make(rng)
            requests.append(request(f"{place}-{row}", at, **columns))
            known = {"text": truth} if isinstance(truth, str) else {}
            value = None if isinstance(truth, str) else truth
            labels.append(label(f"{place}-{row}", value, at + HOUR, **known))
        send(store, model, requests)
        if labelled:
            store.store_labels(label_batch(model, labels, arrived_at=START + (place + 1) * DAY))


def run_until(runner: Runner, clock: TestClock, place: int, jobs: set[str]) -> None:
    clock.now = START + place * DAY + timedelta(hours=1)
    runner.catch_up(jobs)


def estimated(engine: Engine, place: int, method: str) -> Any:
    (found,) = rows_of(
        engine, 1,
        "select state, value, low, high, n, reason, detail from measurement"
        " where check_name = 'estimate' and method = :method and window_start = :start",
        method=method, start=START + place * DAY,
    )  # fmt: skip
    return found


def test_regression_errors_are_expected_from_what_errors_were_like(
    store: IntakeStore, engine: Engine, runner: Runner, project_id: int, clock: TestClock
) -> None:
    columns = [
        {"name": "age", "type": "number"},
        {"name": "city", "type": "category"},
        {"name": "amount", "type": "number", "role": "prediction"},
    ]
    model = model_of(engine, project_id, task="regression", columns=columns)

    def price(share_old: float) -> Callable[[np.random.Generator], Made]:
        def made(rng: np.random.Generator) -> Made:
            old = rng.random() < share_old
            amount = float(np.round(rng.normal(100, 10), 3))
            spread = 9.0 if old else 3.0
            columns = {"age": 70.0 if old else 30.0, "city": "Bonn", "amount": amount}
            return columns, float(np.round(amount + rng.normal(0, spread), 3))

        return made

    play(store, model, range(33), price(0.5))
    play(store, model, range(33, 34), price(0.8), labelled=False)
    run_until(runner, clock, 34, JOBS)
    mae, rmse = (estimated(engine, 33, method) for method in ("mae", "rmse"))
    expected_mae = 0.7979 * (0.8 * 9 + 0.2 * 3)
    assert mae.state == "measured", mae.reason
    assert mae.detail["method"] == "dle"
    assert mae.low < mae.value < mae.high
    assert mae.value == pytest.approx(expected_mae, rel=0.12)
    assert rmse.value == pytest.approx(np.sqrt(0.8 * 81 + 0.2 * 9), rel=0.12)
    error = estimated(engine, 30, "mae_error")
    assert error.state == "measured"
    assert abs(error.value) < 1.5
    assert estimated(engine, 5, "mae").state == "too_few"
    assert [row for row in problems(engine) if row.state == "failed"] == []


def test_several_classes_by_their_scores(
    store: IntakeStore, engine: Engine, runner: Runner, project_id: int, clock: TestClock
) -> None:
    names = ["cat", "cow", "dog"]
    columns = [{"name": "scores", "type": "class_scores", "role": "score", "categories": names}]
    model = model_of(engine, project_id, task="multiclass", columns=columns)

    def animal(rng: np.random.Generator) -> Made:
        chance = rng.dirichlet((1.0, 0.8, 0.6))
        truth = int(rng.choice(3, p=chance))
        sharp = chance**1.5
        return {"scores": [float(one) for one in sharp / sharp.sum()]}, names[truth]

    play(store, model, range(33), animal)
    play(store, model, range(33, 34), animal, labelled=False)
    run_until(runner, clock, 34, JOBS)
    accuracy, macro_f1 = (estimated(engine, 33, name) for name in ("accuracy", "macro_f1"))
    assert accuracy.state == "measured", accuracy.reason
    assert accuracy.low < accuracy.value < accuracy.high
    rng = np.random.default_rng(33)
    seen = [animal(rng) for _ in range(100)]
    right = np.mean([names[np.argmax(made["scores"])] == truth for made, truth in seen])
    assert accuracy.low <= right <= accuracy.high
    assert macro_f1.state == "measured"
    assert estimated(engine, 30, "accuracy_error").state == "measured"


def test_a_cohort_of_other_inputs_is_reweighted(
    store: IntakeStore, engine: Engine, runner: Runner, project_id: int, clock: TestClock
) -> None:
    model = model_of(engine, project_id, decision_threshold=0.5)

    def loan(share_old: float) -> Callable[[np.random.Generator], Made]:
        def made(rng: np.random.Generator) -> Made:
            old = rng.random() < share_old
            score = float(np.round(rng.beta(1, 1), 4))
            age = float(np.round(rng.normal(70 if old else 35, 4), 2))
            chance = min(max(score - (0.35 if old else 0.0), 0.0), 1.0)
            return {"age": age, "score": score}, float(rng.random() < chance)

        return made

    hours = (2, 5, 8, 11, 14, 17, 20, 23)
    play(store, model, range(44), loan(0.3), n=160, hours=hours)
    play(store, model, range(44, 45), loan(0.9), n=600, hours=hours, labelled=False)
    run_until(runner, clock, 44, {*JOBS, WATCH})
    run_until(runner, clock, 45, {*JOBS, WATCH})
    found = estimated(engine, 44, "brier")
    assert found.state == "measured", found.reason
    assert found.detail["method"] == "pape", found.detail["gates"]
    assert found.detail["gates"]["classifier_auc"] > 0.6
    rng = np.random.default_rng(44)
    seen = [loan(0.9)(rng) for _ in range(600)]
    realised = np.mean([(made["score"] - truth) ** 2 for made, truth in seen])
    # The sample goes by the hash key, which every database draws anew.
    assert found.value == pytest.approx(realised, abs=0.05)
    assert estimated(engine, 43, "brier").detail["method"] == "cbpe"
    # What names single requests goes with their samples.
    kept = "select method, octet_length(body) > 0 as kept from estimator where method = 'sampled'"
    assert all(row.kept for row in rows_of(engine, 1, kept))
    with transaction(engine, project_id, Role.WORKER) as connection:
        assert forget_sampled_labels(connection, model, START + 90 * DAY) == 0
        assert forget_sampled_labels(connection, model, START + 400 * DAY) > 0
    assert not any(row.kept for row in rows_of(engine, 1, kept))
