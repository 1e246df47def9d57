"""Burn rates over five-minute windows and composites, from requests to alerts."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy.engine import Engine

from alerts.channels.registry import CHANNELS
from alerts.config import read_alert_config
from monitor.jobs.base import JobContext
from monitor.jobs.rule_trial import rules_to_try, try_on_model
from monitor.jobs.run import Runner
from monitor.records import RequestOutcome
from monitor.reports.alert_detail import alert_detail
from monitor.reports.alerts import FindingFilter, findings
from monitor.store.engine import Role, transaction
from monitor.store.hand_over import apply_alert_rules, retire_model
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import START, TestClock, apply, make_contract, request, rows_of, send
from tests.integration.jobs.support import HOUR

MINUTE = timedelta(minutes=1)
PEOPLE = """
owners:
  - {name: risk-ml, people: [ada@example.org], receiver: hook}
receivers:
  - {name: hook, channel: webhook, url: "https://example.org/hook", secret_env: HOOK_SECRET}
"""
BURN = (
    PEOPLE
    + """
rules:
  - name: budget-burns
    when: {check: serving, method: error_rate, scale: 5m, scope: all}
    burn: {objective: 0.95, windows: [{long: 1h, short: 5m, factor: 4}]}
    severity: page
    owner: risk-ml
    response: roll_back
    runbook: https://example.org/runbook
    impact: Customers get no answer.
"""
)
HOURLY = BURN.replace("scale: 5m", "scale: 1h").replace(
    "long: 1h, short: 5m", "long: 6h, short: 2h"
)
COMPOSITE = (
    PEOPLE
    + """
rules:
  - name: failing
    when: {check: serving, method: error_rate, scale: 1h, scope: all}
    above: 0.2
    component: true
    severity: notice
    owner: risk-ml
    response: investigate
  - name: busy
    when: {check: serving, method: request_rate, scale: 1h, scope: all}
    above: 0.01
    component: true
    severity: notice
    owner: risk-ml
    response: investigate
  - name: failing-while-busy
    all_of: [failing, busy]
    severity: page
    owner: risk-ml
    response: roll_back
    runbook: https://example.org/runbook
    impact: Customers get no answer.
"""
)


def put_in_force(engine: Engine, clock: TestClock, rules: str) -> None:
    apply_alert_rules(engine, 1, rules, name="alerts.yaml", by="tests", now=clock())


def minutes(
    first: int, last: int, failing: float = 0.0, every: timedelta = timedelta(seconds=2)
) -> list[dict[str, Any]]:
    """Requests of these minutes of the test day, a share of them failed, evenly."""
    rows, at, owed = [], START + first * MINUTE, 0.0
    while at < START + last * MINUTE:
        owed += failing
        failed = owed >= 1
        owed -= failed
        outcome = RequestOutcome.FAILED if failed else RequestOutcome.ANSWERED
        reason = "timeout" if failed else None
        name = f"r{at.isoformat()}"
        rows.append(request(name, at, deployment=1, outcome=outcome, outcome_reason=reason))
        at += every
    return rows


def serve(store: IntakeStore, model: ModelContext, rows: list[dict[str, Any]]) -> None:
    for start in range(0, len(rows), 500):
        send(store, model, rows[start : start + 500])


def alerts(engine: Engine) -> dict[str, str]:
    return dict(rows_of(engine, 1, "select rule, state from alert order by rule"))


def at_minute(clock: TestClock, minute: int) -> None:
    """A moment at which the five minutes before this one are closed."""
    clock.now = START + minute * MINUTE + timedelta(seconds=90)


def fired_at(engine: Engine) -> datetime:
    [row] = rows_of(engine, 1, "select fired_at from alert")
    found: datetime = row.fired_at
    return found


def test_a_burn_rate_fires_within_minutes_and_ends_when_the_errors_do(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext, clock: TestClock
) -> None:
    put_in_force(engine, clock, BURN)
    serve(store, credit, minutes(0, 60))
    at_minute(clock, 60)
    runner.catch_up({"serving-profile"})
    assert alerts(engine) == {}
    serve(store, credit, minutes(60, 90, failing=0.5))
    for minute in range(65, 95, 5):
        at_minute(clock, minute)
        runner.catch_up({"serving-profile"})
    assert alerts(engine) == {"budget-burns": "firing"}
    # Half of all events fail: 10 times the budget of 0.05; over the hour that is more than
    # 4 times once more than 24 of its 60 minutes were so.
    assert fired_at(engine) == START + 85 * MINUTE
    [row] = rows_of(engine, 1, "select body->'last_judged' as judged from alert")
    assert row.judged["evidence"]["long_window"] == "1h"
    assert row.judged["evidence"]["short_burn"] == pytest.approx(10, abs=0.2)
    serve(store, credit, minutes(90, 95))
    at_minute(clock, 95)
    runner.catch_up({"serving-profile"})
    assert alerts(engine) == {"budget-burns": "resolved"}
    assert rows_of(engine, 1, "select count(*) as n from measurement")[0].n == 0


def test_a_burn_alert_stays_while_no_request_comes(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext, clock: TestClock
) -> None:
    put_in_force(engine, clock, BURN)
    serve(store, credit, minutes(0, 60, failing=0.5))
    at_minute(clock, 60)
    runner.catch_up({"serving-profile"})
    assert alerts(engine) == {"budget-burns": "firing"}
    for minute in (90, 180, 600):
        at_minute(clock, minute)
        runner.catch_up()
    assert alerts(engine) == {"budget-burns": "firing"}
    # Requests again, after a gap: the hour is not covered, so nothing is judged.
    serve(store, credit, minutes(600, 605))
    at_minute(clock, 605)
    runner.catch_up({"serving-profile"})
    [row] = rows_of(engine, 1, "select state, data_state from alert")
    assert tuple(row) == ("firing", "too_few")


def test_rules_that_name_no_scale_are_not_about_five_minutes(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext, clock: TestClock
) -> None:
    bare = BURN.replace(", scale: 5m", "").replace(
        "burn: {objective: 0.95, windows: [{long: 1h, short: 5m, factor: 4}]}", "above: 0.2"
    )
    put_in_force(engine, clock, bare)
    serve(store, credit, minutes(0, 60, failing=0.5))
    at_minute(clock, 75)
    runner.catch_up()
    scales = rows_of(engine, 1, "select body->'labels'->>'scale' as scale from alert")
    assert [row.scale for row in scales] == ["1h"]


@pytest.mark.parametrize("step", [1, 8])
def test_a_burn_rate_over_hours_looks_back_on_stored_measurements(
    step: int, store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext,
    clock: TestClock,
) -> None:  # fmt: skip
    """However the hours are handed over, six good ones and two bad ones say the same."""
    put_in_force(engine, clock, HOURLY)
    every = timedelta(seconds=20)
    rows = [*minutes(0, 360, every=every), *minutes(360, 480, 0.9, every=every)]
    serve(store, credit, rows)
    for hour in range(step, 9, step):
        clock.now = START + hour * HOUR + timedelta(minutes=11)
        runner.catch_up()
    # 0.9 is 18 times the budget; after two of six hours the long window burns 6 times.
    assert alerts(engine) == {"budget-burns": "firing"}
    assert fired_at(engine) == START + 8 * HOUR


def test_a_composite_fires_and_only_it_is_told(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext, clock: TestClock
) -> None:
    put_in_force(engine, clock, COMPOSITE)
    quiet = timedelta(minutes=4)
    serve(store, credit, minutes(0, 60, failing=0.5, every=quiet))
    clock.now = START + HOUR + timedelta(minutes=11)
    runner.catch_up()
    assert alerts(engine) == {"failing": "firing"}
    serve(store, credit, minutes(60, 120, failing=0.5, every=timedelta(seconds=20)))
    clock.now = START + 2 * HOUR + timedelta(minutes=11)
    runner.catch_up()
    assert alerts(engine) == {
        "busy": "firing", "failing": "firing", "failing-while-busy": "firing"
    }  # fmt: skip
    told = rows_of(engine, 1, "select a.rule from delivery d join alert a on a.id = any(alert_ids)")
    assert [row.rule for row in told] == ["failing-while-busy"]
    [row] = rows_of(
        engine, 1, "select body->'labels' as labels from alert where rule = 'failing-while-busy'"
    )
    assert row.labels == {"project": "default", "model": "credit"}
    page = findings(engine, 1, FindingFilter(), 1, 10)
    (found,) = (each for each in page.rows if each.rule_name == "failing-while-busy")
    assert found.sentence == "failing-while-busy"
    assert found.threshold == "failing and busy fire"
    assert alert_detail(engine, 1, found.id).series == ()
    serve(store, credit, minutes(120, 180, every=timedelta(seconds=20)))
    clock.now = START + 3 * HOUR + timedelta(minutes=11)
    runner.catch_up()
    assert alerts(engine) == {
        "busy": "firing", "failing": "resolved", "failing-while-busy": "resolved"
    }  # fmt: skip


def test_a_composite_may_join_measurements_and_conditions(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext, clock: TestClock
) -> None:
    """Answers failed, and then no request came any more: each is judged by a job of its own."""
    joined = COMPOSITE.replace(
        "when: {check: serving, method: request_rate, scale: 1h, scope: all}\n    above: 0.01",
        "when: {check: condition, method: request_age}\n    above: 2",
    )
    put_in_force(engine, clock, joined)
    serve(store, credit, minutes(0, 60, failing=0.5, every=timedelta(seconds=20)))
    clock.now = START + HOUR + timedelta(minutes=11)
    runner.catch_up()
    runner.look_at_conditions()
    assert alerts(engine) == {"failing": "firing"}
    clock.now = START + 4 * HOUR
    runner.look_at_conditions()
    assert alerts(engine) == {
        "busy": "firing", "failing": "firing", "failing-while-busy": "firing"
    }  # fmt: skip
    serve(store, credit, minutes(220, 240, failing=0.5, every=timedelta(seconds=20)))
    clock.now = START + 4 * HOUR + timedelta(minutes=11)
    runner.catch_up()
    runner.look_at_conditions()
    assert alerts(engine) == {
        "busy": "resolved", "failing": "firing", "failing-while-busy": "resolved"
    }  # fmt: skip


def test_days_without_a_request_are_no_data(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext, clock: TestClock
) -> None:
    silent = BURN.replace("scale: 5m", "scale: day").replace(
        "burn: {objective: 0.95, windows: [{long: 1h, short: 5m, factor: 4}]}", "state: [no_data]"
    )
    put_in_force(engine, clock, silent)
    serve(store, credit, minutes(0, 24 * 60, every=timedelta(minutes=5)))
    clock.now = START + 25 * HOUR
    runner.catch_up()
    assert alerts(engine) == {}
    clock.now = START + 50 * HOUR
    runner.catch_up()
    assert alerts(engine) == {"budget-burns": "firing"}
    serve(store, credit, minutes(48 * 60, 72 * 60, every=timedelta(minutes=5)))
    clock.now = START + 73 * HOUR
    runner.catch_up()
    assert alerts(engine) == {"budget-burns": "resolved"}


def test_a_retired_model_is_judged_no_more_until_its_contract_is_applied_again(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext, clock: TestClock
) -> None:
    put_in_force(engine, clock, BURN)
    serve(store, credit, minutes(0, 60, failing=0.5))
    at_minute(clock, 60)
    runner.catch_up({"serving-profile"})
    retire_model(engine, 1, "credit", "ada", "replaced", clock())
    assert alerts(engine) == {"budget-burns": "resolved"}
    serve(store, credit, minutes(60, 65, failing=0.5))
    at_minute(clock, 65)
    runner.catch_up({"serving-profile"})
    assert alerts(engine) == {"budget-burns": "resolved"}
    apply(engine, 1, make_contract(segments=["city"]))
    serve(store, credit, minutes(65, 70, failing=0.5))
    at_minute(clock, 70)
    runner.catch_up({"serving-profile"})
    assert alerts(engine) == {"budget-burns": "firing"}


def test_trying_the_rule_says_what_it_did(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext, clock: TestClock
) -> None:
    put_in_force(engine, clock, BURN)
    serve(store, credit, [*minutes(0, 60), *minutes(60, 90, failing=0.5), *minutes(90, 100)])
    for minute in range(5, 105, 5):
        at_minute(clock, minute)
        runner.catch_up({"serving-profile"})
    stored = rows_of(engine, 1, "select at, to_state, reason from alert_transition order by id")
    config = read_alert_config(BURN, "alerts.yaml", CHANNELS)
    with transaction(engine, 1, Role.WORKER) as connection:
        context = JobContext(engine, runner.bulk, "default", credit, "w", clock(), "http://p.test")
        found = try_on_model(
            connection, context, rules_to_try(config, "budget-burns"), START, START + 2 * HOUR
        )
    tried = [(each.at, each.to_state, each.reason) for each in found.trial.transitions]
    assert [tuple(row) for row in stored] == tried
    assert [each.event for each in found.trial.messages] == ["finding.opened", "finding.resolved"]
    assert found.trial.messages[0].at == START + 86 * MINUTE
