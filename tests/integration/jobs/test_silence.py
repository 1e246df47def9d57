"""Days without a request, and contrast windows that reach over a late row."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy.engine import Engine

from monitor.jobs.names import CHECKS_DAY, CHECKS_HOUR
from monitor.jobs.run import Runner
from monitor.jobs.silent_days import SILENT_FOR
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import START, TestClock, request, rows_of, send
from tests.integration.jobs.support import DAY, HOUR, traffic


def test_days_without_a_request_have_a_request_rate_of_zero_and_everything_else_too_few(
    engine: Engine, credit: ModelContext, store: IntakeStore, runner: Runner, clock: TestClock
):
    send(store, credit, traffic(START, 24, 10))
    clock.now = START + 5 * DAY
    runner.catch_up()
    rates = rows_of(
        engine, credit.project_id,
        "select window_start, state, value, n from measurement where check_name = 'serving'"
        " and method = 'request_rate' and window_end - window_start = interval '24 hours'"
        " order by window_start",
    )  # fmt: skip
    assert [row.window_start for row in rates] == [START + days * DAY for days in range(4)]
    assert [row.value for row in rates[1:]] == [0.0, 0.0, 0.0]
    assert rates[0].n == 240
    hours = rows_of(
        engine, credit.project_id,
        "select value * 3600 as requests from measurement where method = 'request_rate'"
        " and window_end - window_start = interval '1 hour'",
    )  # fmt: skip
    assert [round(row.requests) for row in hours] == [10] * 24
    others = rows_of(
        engine, credit.project_id,
        "select distinct state from measurement where check_name = 'serving'"
        " and method <> 'request_rate' and window_start >= '2024-05-02T00:00Z'",
    )  # fmt: skip
    assert [row.state for row in others] == ["too_few"]


def test_a_model_silent_for_long_is_planned_no_more(
    engine: Engine, credit: ModelContext, store: IntakeStore, runner: Runner, clock: TestClock
):
    send(store, credit, traffic(START, 24, 10))
    for days in range(1, 100, 7):
        clock.now = START + timedelta(days=days)
        runner.catch_up()
    days = rows_of(
        engine, credit.project_id, f"select * from job_window where job = '{CHECKS_DAY}'"
    )
    assert len(days) == SILENT_FOR.days


def test_a_late_row_makes_the_contrast_windows_of_the_following_day_due_again(
    engine: Engine, credit: ModelContext, store: IntakeStore, runner: Runner, clock: TestClock
):
    send(store, credit, traffic(START, 48, 10, deployments=(1, 2)))
    clock.now = START + 4 * DAY
    runner.catch_up()
    send(store, credit, [request("late", START + 5 * HOUR + timedelta(minutes=1))])
    clock.now += HOUR
    runner.catch_up()
    windows = rows_of(
        engine, credit.project_id,
        f"select window_start, runs from job_window where job = '{CHECKS_HOUR}'"
        " order by window_start",
    )  # fmt: skip
    again = [(row.window_start - START) // HOUR for row in windows if row.runs == 2]
    assert again == list(range(5, 29))
    assert {row.runs for row in windows} == {1, 2}
