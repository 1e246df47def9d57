"""A burn rate on missed objectives: answers that come too late use up the budget as failures do."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy.engine import Engine

from monitor.jobs.run import Runner
from monitor.store.intake_store import IntakeStore
from tests.factories import (
    START,
    TestClock,
    apply,
    current_context,
    deployment,
    make_contract,
    request,
)
from tests.integration.jobs.test_rules_over_windows import (
    BURN,
    MINUTE,
    alerts,
    at_minute,
    put_in_force,
    serve,
)


def test_slow_answers_burn_the_budget_of_the_objective_within_minutes(
    store: IntakeStore, engine: Engine, runner: Runner, clock: TestClock, project_id: int
) -> None:
    made = make_contract(objective={"column": "ms", "at_most": 200})
    deployment(engine, apply(engine, project_id, made), model_version="1")
    model = current_context(engine, project_id)
    rules = BURN.replace("method: error_rate", "method: objective_missed")
    put_in_force(engine, clock, rules)

    def seconds(first: int, last: int, ms: float) -> list[dict[str, object]]:
        moments = [START + first * MINUTE + timedelta(seconds=2 * k)
                   for k in range((last - first) * 30)]  # fmt: skip
        return [request(f"r{at.isoformat()}", at, deployment=1, ms=ms) for at in moments]

    serve(store, model, seconds(0, 60, 150.0))
    at_minute(clock, 60)
    runner.catch_up({"serving-profile"})
    assert alerts(engine) == {}
    serve(store, model, seconds(60, 80, 900.0))
    for minute in (65, 70, 75, 80):
        at_minute(clock, minute)
        runner.catch_up({"serving-profile"})
    assert alerts(engine) == {"budget-burns": "firing"}, "every answer came, all too late"
