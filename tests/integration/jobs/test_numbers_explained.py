"""A model that predicts numbers: the worst group, and why errors grew."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.explanation.explain import Question, explain
from monitor.jobs.names import CHECKS_MONTH, LABELS, PROFILE, WORST_GROUPS
from monitor.jobs.run import Runner
from monitor.records import LIVE_LEG
from monitor.reports.explanations import explanation_of
from monitor.store.intake_store import IntakeStore
from monitor.windows import Window
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
from tests.integration.jobs.support import DAY, context_of

COLUMNS = [
    {"name": "age", "type": "number"},
    {"name": "city", "type": "category"},
    {"name": "price", "type": "number", "role": "prediction"},
]
ROWS = 1600


def test_errors_of_numbers(
    store: IntakeStore, engine: Engine, runner: Runner, project_id: int, clock: TestClock
) -> None:
    contract = make_contract(
        task="regression", columns=COLUMNS, segments=["city"], label={"name": "default",
        "max_age": "7d", "correction_time": "1d"},
    )  # fmt: skip
    model = apply(engine, project_id, contract)
    assert deployment(engine, model, model_version="1") == 1
    model = current_context(engine, project_id)
    rng, rows, labels, errors = np.random.default_rng(1), [], [], []
    for number in range(ROWS):
        later = number >= ROWS // 2
        at = START + timedelta(days=number * 20 / ROWS)
        city = ("Bonn", "Ulm")[int(number % 5 < 2)]
        price, scale = float(rng.normal(100, 20)), (8.0 if city == "Ulm" else 3.0) + 4 * later
        error = float(rng.normal(0, scale))
        rows.append(request(f"r{number}", at, city=city, age=float(rng.normal(40, 9)), price=price))
        labels.append(label(f"r{number}", price + error, at + DAY))
        errors.append(abs(error))
    clock.now = START + 60 * DAY
    for start in range(0, ROWS, 500):
        send(store, model, rows[start : start + 500])
        store.store_labels(label_batch(model, labels[start : start + 500], arrived_at=clock.now))
    runner.catch_up({PROFILE, LABELS, CHECKS_MONTH, WORST_GROUPS})

    (worst,) = rows_of(
        engine, 1, "select state, value, low, unit, detail from measurement"
        " where method = 'worst_group' and window_start = :start", start=START,
    )  # fmt: skip
    assert (worst.state, worst.unit) == ("measured", "label")
    assert worst.detail["group"].startswith("city = Ulm")
    assert worst.low > 1

    middle = START + 10 * DAY
    question = Question(Window(middle, middle + 10 * DAY), Window(START, middle), LIVE_LEG)
    found = explanation_of(explain(context_of(runner, model), question, by="ada"))
    parts = {part.name: part for part in found.parts}
    half = ROWS // 2
    change = float(np.mean(errors[half:]) - np.mean(errors[:half]))
    assert parts["total"].value == pytest.approx(change)
    assert parts["within"].low > 0
    assert parts["harder_mix"].low < 0 < parts["harder_mix"].high
    assert found.sentences[0].startswith("The mean absolute error went from")
