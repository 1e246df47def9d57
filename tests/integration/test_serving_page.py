"""The page Serving over a day with failures, slow retrievals and cold starts."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine

from dashboards import data
from monitor.jobs.run import Runner
from monitor.store.engine import Role, transaction
from monitor.store.intake_store import IntakeStore
from monitor.store.tables import measurement
from tests.contracts.test_pages import all_text, charts_of, run_page
from tests.factories import START, TestClock
from tests.integration.jobs.support import HOUR
from tests.integration.served_chat import HOSTILE, apply_served, send_day


@pytest.fixture(autouse=True)
def closed_connections():
    yield
    data.forget()
    data.engine.clear()


@pytest.fixture
def served(
    store: IntakeStore, engine: Engine, runner: Runner, project_id: int, clock: TestClock
) -> None:
    send_day(store, apply_served(engine, project_id))
    clock.now = START + 40 * HOUR
    runner.catch_up()


@pytest.mark.usefixtures("served")
def test_the_page_tells_outcomes_times_and_the_stage_to_shorten(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = {"from": "2024-05-01", "to": "2024-05-01"}
    test = run_page(database_url, monkeypatch, "serving", model="credit", **days)
    text = all_text(test)
    for words in (
        "Failed", "Objective missed", "Good: answered with latency of at most 1500 ms",
        HOSTILE.replace("1", "#"),
        "cold_start = true", "queue_time", "On average model costs most",
        "For slow requests it is retrieval", "Latency beyond it",
    ):  # fmt: skip
        assert words in text, words
    assert len(charts_of(test)) == 3
    assert not test.error


@pytest.mark.usefixtures("served")
def test_every_day_has_its_measurements_of_operation(engine: Engine, project_id: int) -> None:
    query = sa.select(measurement.c.method, measurement.c.column_name, measurement.c.value).where(
        measurement.c.check_name == "serving", measurement.c.value.is_not(None)
    )
    with transaction(engine, project_id, Role.DASHBOARD) as connection:
        found = {(row.method, row.column_name): row.value for row in connection.execute(query)}
    assert found["cold_start_share", ""] == pytest.approx(0.02)
    assert found["retry_share", ""] == found["failed_share", ""] == found["error_rate", ""]
    assert found["objective_missed", ""] > found["failed_share", ""]
    assert found["cold_p50", "latency"] > 5_000 > found["warm_p50", "latency"]
    assert found["saves_mean", "t_model"] == pytest.approx(900)
    assert found["on_path_share", "t_model"] == 1
    assert found["path_p50", ""] == pytest.approx(1130, rel=0.01)
