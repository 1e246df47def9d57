"""Columns together, from stored requests on: profiles, samples, correlations, the daily classifier.

Two columns keep their distributions and turn their correlation round: no view of a single column
can see it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from sqlalchemy.engine import Engine

from monitor.jobs.names import CHECKS_HOUR, PROFILE, WATCH
from monitor.jobs.promise.together import TOGETHER
from monitor.jobs.run import Runner
from monitor.store.engine import Role, transaction
from monitor.store.incidents import read_incidents
from monitor.store.intake_store import IntakeStore
from tests.factories import (
    TestClock,
    apply,
    current_context,
    deployment,
    make_contract,
    rows_of,
    send,
)

FIRST = datetime(2024, 1, 1, tzinfo=UTC)  # a Monday
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
DAYS, TURNED = 66, 62
AN_HOUR = 13
NUMBERS = ("a", "b", "c", "d")

pytestmark = pytest.mark.slow


def rows(days: range, rng: np.random.Generator) -> list[dict[str, Any]]:
    found = []
    for day in days:
        r = 0.8 if day < TURNED else -0.8
        for hour in range(24):
            drawn = rng.normal(size=(AN_HOUR, len(NUMBERS)))
            drawn[:, 1] = r * drawn[:, 0] + 0.6 * drawn[:, 1]
            at = FIRST + day * DAY + hour * HOUR
            for place, values in enumerate(drawn.tolist()):
                moment = at + timedelta(minutes=4 * place)
                named = dict(zip(NUMBERS, values, strict=True))
                name = f"{day}-{hour}-{place}"
                found.append({"request_id": name, "event_time": moment, **named})
    return found


def test_a_correlation_that_turns_round_is_found_by_the_day_and_by_the_classifier(
    engine: Engine, project_id: int, store: IntakeStore, runner: Runner, clock: TestClock
) -> None:
    columns = [{"name": name, "type": "number"} for name in NUMBERS]
    contract = make_contract(columns=columns, label=None, baseline={"first_rows": 2000})
    model = apply(engine, project_id, contract)
    assert deployment(engine, model, runtime_version="1") == 1
    model = current_context(engine, project_id)
    rng = np.random.default_rng(3)
    for start in range(0, DAYS, 22):
        days = range(start, min(start + 22, DAYS))
        send(store, model, rows(days, rng))
        clock.now = FIRST + days.stop * DAY + HOUR
        runner.catch_up({PROFILE, CHECKS_HOUR, WATCH})
    assert rows_of(engine, 1, "select job, error from job_window where failures > 0") == []

    told = rows_of(
        engine, 1,
        "select method, window_start, state, value, detail from measurement"
        " where method in ('correlation', 'classifier') order by window_start",
    )  # fmt: skip
    turned = FIRST + TURNED * DAY
    healthy = [row for row in told if row.state == "measured" and row.window_start < turned]
    after = [row for row in told if row.window_start >= turned]
    assert {row.method for row in healthy} == {"correlation", "classifier"}
    assert len([row for row in after if row.state == "measured"]) == 2 * (DAYS - TURNED)
    judged = [row for row in healthy if row.detail.get("p_value") is not None]
    assert min(row.detail["p_value"] for row in judged) > 1e-4
    for row in after:
        assert row.detail["p_value"] < (1e-6 if row.method == "correlation" else 1e-3)
        if row.method == "classifier":
            assert row.value > 0.65
            carried = [each["column"] for each in row.detail["columns"]]
            assert set(carried[:2]) == {"a", "b"}

    with transaction(engine, 1, Role.WORKER) as connection:
        (one,) = read_incidents(connection, 1, model.model_id)
    assert set(one.incident.columns) == {TOGETHER}
    assert one.incident.opened == turned + DAY
    assert one.incident.columns[TOGETHER].firings >= DAYS - TURNED
