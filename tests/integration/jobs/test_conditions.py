"""Rules about the system itself: ages, backlogs, broken schemas, late data, over real tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine

from monitor.jobs.conditions.registry import CONDITIONS
from monitor.jobs.run import Runner
from monitor.records import ViolationReason
from monitor.store.engine import Role, transaction
from monitor.store.hand_over import apply_alert_rules, retire_model
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from tests.factories import START, TestClock, label, label_batch, rows_of, send
from tests.integration.jobs.support import DAY, HOUR, traffic

HEAD = """
owners:
  - {name: risk-ml, people: [ada@example.org], receiver: hook}
receivers:
  - {name: hook, channel: webhook, url: "https://hooks.example.org/x", secret_env: HOOK_SECRET}
  - {name: chat, channel: webhook, url: "https://chat.example.org/x", secret_env: HOOK_SECRET}
rules:
"""
RULE = """
  - name: {name}
    when: {{check: condition, method: {method}}}
    {limit}
    severity: notice
    owner: risk-ml
    response: investigate
"""


def apply(engine: Engine, *rules: tuple[str, str], more: str = "") -> None:
    """Put one rule a (method, limit) in force; a rule is called after its method."""
    text = HEAD + "".join(
        RULE.format(name=method, method=method, limit=limit) for method, limit in rules
    )
    apply_alert_rules(engine, 1, text + more, name="alerts.yaml", by="tests", now=datetime.now(UTC))


def states(engine: Engine) -> dict[str, tuple[str, Any]]:
    """State and newest number of every alert, by rule and what it is about."""
    query = """
        select rule || ' ' || concat_ws(' ', body->'labels'->>'job', body->'labels'->>'column',
               body->'labels'->>'receiver', body->'labels'->>'defined_response') as what,
               state, (body->'last_reading'->>'value')::float as value
        from alert order by 1"""
    return {row.what.strip(): (row.state, row.value) for row in rows_of(engine, 1, query)}


def change(engine: Engine, statement: str, **values: Any) -> None:
    with transaction(engine, 1, Role.OWNER) as connection:
        connection.execute(sa.text(statement), values)


def at(clock: TestClock, moment: datetime) -> None:
    clock.now = moment + timedelta(minutes=20)


@pytest.fixture
def served(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext, clock: TestClock
) -> Callable[[int, int], None]:
    """Sends some hours of traffic, beginning at an hour, and runs the jobs after them."""

    def serve(first: int, hours: int) -> None:
        send(store, credit, traffic(START + first * HOUR, hours, 60, seed=first))
        at(clock, START + (first + hours) * HOUR)
        runner.catch_up()

    return serve


def test_silence_of_requests_is_an_alert_within_minutes_and_ends_when_they_return(
    served: Callable[[int, int], None], engine: Engine, runner: Runner, clock: TestClock
) -> None:
    apply(engine, ("request_age", "above: 2"))
    served(0, 3)
    assert states(engine) == {}
    at(clock, START + 6 * HOUR)
    runner.look_at_conditions()
    assert states(engine) == {"request_age": ("firing", pytest.approx(10 / 3, abs=0.02))}
    served(6, 1)
    assert states(engine)["request_age"][0] == "resolved"


def test_a_model_that_was_never_sent_a_request_has_no_data(
    engine: Engine, runner: Runner, credit: ModelContext
) -> None:
    apply(engine, ("request_age", "state: [no_data]"), ("label_age", "above: 1"))
    runner.look_at_conditions()
    assert states(engine) == {"request_age": ("firing", None)}
    (row,) = rows_of(engine, 1, "select body->'last_reading'->>'text' as told from alert")
    assert row.told == "no request has come yet"


def test_labels_that_stop_are_counted_from_the_newest_and_before_the_first_from_the_requests(
    served: Callable[[int, int], None],
    engine: Engine,
    runner: Runner,
    store: IntakeStore,
    credit: ModelContext,
    clock: TestClock,
) -> None:
    apply(engine, ("label_age", "above: 30"))
    served(0, 3)
    at(clock, START + 31 * HOUR)
    runner.look_at_conditions()
    assert states(engine) == {"label_age": ("firing", pytest.approx(31 + 1 / 3, abs=0.02))}
    store.store_labels(label_batch(credit, [label("r0-1", 1.0, START + 30 * HOUR)]))
    clock.now += timedelta(minutes=1)
    runner.look_at_conditions()
    assert states(engine)["label_age"] == ("resolved", pytest.approx(1.35, abs=0.02))


def test_a_failed_window_is_an_alert_of_its_job_and_ends_when_the_window_is_done(
    served: Callable[[int, int], None], engine: Engine, runner: Runner, clock: TestClock
) -> None:
    apply(engine, ("failed_windows", "above: 0"))
    served(0, 2)
    change(
        engine,
        "update job_window set state = 'failed', error = 'disk full', lease_until = now() + '1h'"
        " where job = 'checks-hour' and window_start = :start",
        start=START,
    )
    clock.now += timedelta(minutes=1)
    runner.look_at_conditions()
    assert states(engine) == {"failed_windows checks-hour": ("firing", 1.0)}
    query = "select body->'last_reading'->'evidence'->>'error' as error from alert"
    assert [row.error for row in rows_of(engine, 1, query)] == ["disk full"]
    change(engine, "update job_window set lease_until = now() - interval '1 s'")
    clock.now += timedelta(minutes=1)
    runner.catch_up()
    assert states(engine) == {"failed_windows checks-hour": ("resolved", 0.0)}


def test_closed_windows_that_nobody_does_are_overdue_and_open_ones_are_not(
    served: Callable[[int, int], None], engine: Engine, runner: Runner, clock: TestClock
) -> None:
    apply(engine, ("overdue_windows", "above: 0"))
    served(0, 2)
    # The day and the month of these hours wait as well, but have not ended yet.
    open_windows = "select count(*) as n from job_window where state <> 'done'"
    assert rows_of(engine, 1, open_windows)[0].n >= 2
    change(engine, "update job_window set lease_until = now() - interval '20 min'")
    runner.look_at_conditions()
    assert states(engine) == {}
    change(
        engine,
        "update job_window set state = 'running' where job = 'watch-hours' and window_start = :at",
        at=START,
    )
    clock.now += timedelta(minutes=1)
    runner.look_at_conditions()
    assert states(engine) == {"overdue_windows watch-hours": ("firing", 1.0)}


def test_requests_that_nobody_profiles_are_overdue_windows(
    store: IntakeStore, engine: Engine, runner: Runner, credit: ModelContext, clock: TestClock
) -> None:
    apply(engine, ("overdue_windows", "above: 0"))
    send(store, credit, traffic(START, 2, 60))
    clock.now = START + 2 * HOUR + timedelta(minutes=24)
    runner.look_at_conditions()  # 10 minutes of lateness and 15 of grace are not over yet
    assert "overdue_windows profile" in states(engine)
    assert states(engine)["overdue_windows profile"] == ("firing", 1.0)
    clock.now += timedelta(minutes=2)
    runner.look_at_conditions()
    assert states(engine)["overdue_windows profile"] == ("firing", 2.0)
    runner.catch_up()
    assert states(engine)["overdue_windows profile"][1] == 2.0  # the same minute: no news
    clock.now += timedelta(minutes=1)
    runner.catch_up()
    assert {state for state, _ in states(engine).values()} == {"resolved"}


def test_a_column_that_changed_its_type_breaks_the_schema_within_the_hour(
    served: Callable[[int, int], None],
    engine: Engine,
    runner: Runner,
    store: IntakeStore,
    credit: ModelContext,
    clock: TestClock,
) -> None:
    apply(engine, ("schema_break", "value: low\n    above: 0.05"))
    served(0, 2)
    assert states(engine) == {}, "empty ages are violations, but no break of the schema"
    rows = traffic(START + 2 * HOUR, 1, 60, seed=7)
    for row in rows:
        row |= {"age": None, "violations": (("age", ViolationReason.WRONG_TYPE),)}
    send(store, credit, rows)
    at(clock, START + 3 * HOUR)
    runner.catch_up()
    assert states(engine) == {"schema_break age": ("firing", 1.0)}
    served(3, 1)
    assert states(engine) == {"schema_break age": ("resolved", 0.0)}


def test_refused_records_are_a_share_of_the_last_hour(
    engine: Engine, runner: Runner, credit: ModelContext
) -> None:
    apply(engine, ("rejected_share", "value: low\n    above: 0.1\n    minimum_n: 50"))
    batch = (
        "insert into intake_batch (project_id, model_id, kind, received_at, accepted, duplicate,"
        " conflict, rejected, violations) values (1, :model, 'requests', now() - :age, 60, 0, 0,"
        " :rejected, 0)"
    )
    change(engine, batch, model=credit.model_id, age=2 * HOUR, rejected=500)
    runner.look_at_conditions()
    assert states(engine) == {}
    change(engine, batch, model=credit.model_id, age=timedelta(minutes=5), rejected=40)
    runner.look_at_conditions()
    assert states(engine) == {"rejected_share": ("firing", 0.4)}


def delivery(
    engine: Engine, key: str, receiver: str, state: str, age: timedelta, now: datetime
) -> None:
    change(
        engine,
        "insert into delivery (project_id, delivery_key, receiver, severity, event_type, body,"
        " alert_ids, state, due_at, created_at, finished_at) values (1, :key, :receiver, 'page',"
        " 'finding.opened', '{}', '{}', :state, :now, now() - :age,"
        " case when :state = 'dead' then now() - :age end)",
        key=key, receiver=receiver, state=state, age=age, now=now,
    )  # fmt: skip


def test_messages_that_are_not_taken_and_those_given_up_are_alerts_of_their_receiver(
    engine: Engine, runner: Runner, credit: ModelContext, clock: TestClock
) -> None:
    apply(engine, ("undelivered_age", "above: 0.5"), ("dead_deliveries", "above: 0"))
    delivery(engine, "a", "hook", "waiting", HOUR, clock.now)
    delivery(engine, "b", "chat", "waiting", timedelta(minutes=10), clock.now)
    delivery(engine, "c", "chat", "dead", timedelta(hours=3), clock.now)
    delivery(engine, "d", "hook", "dead", timedelta(days=3), clock.now)
    runner.look_at_conditions()
    assert states(engine) == {
        "dead_deliveries chat": ("firing", 1.0),
        "undelivered_age hook": ("firing", pytest.approx(1, abs=0.01)),
    }
    change(engine, "update delivery set state = 'sent', finished_at = now()")
    clock.now += timedelta(minutes=1)
    runner.look_at_conditions()
    assert {state for state, _ in states(engine).values()} == {"resolved"}


def test_a_receiver_that_wants_nothing_any_more_is_an_alert_until_it_is_enabled(
    engine: Engine, runner: Runner, credit: ModelContext, clock: TestClock
) -> None:
    apply(engine, ("receiver_disabled", "above: 0"))
    change(
        engine,
        "insert into receiver_state (project_id, receiver, disabled_at, reason, changed_by)"
        " values (1, 'chat', now(), 'answered 410', 'delivery')",
    )
    runner.look_at_conditions()
    assert states(engine) == {"receiver_disabled chat": ("firing", 1.0)}
    change(engine, "update receiver_state set disabled_at = null")
    clock.now += timedelta(minutes=1)
    runner.look_at_conditions()
    assert states(engine) == {"receiver_disabled chat": ("resolved", 0.0)}


def test_an_action_without_an_outcome_in_its_time_is_an_alert_of_its_response(
    engine: Engine, runner: Runner, credit: ModelContext, clock: TestClock
) -> None:
    apply(engine, ("actions_without_outcome", "above: 0"))
    insert = (
        "insert into response_action (project_id, episode, rule, response, action, model,"
        " deployment_ids, dry_run, drill, state, requested_by, requested_at, outcome_due_at, body)"
        " values (1, 1, 'r', 'move-traffic', 'reduce_traffic', 'credit', '{1}', false, :drill,"
        " 'requested', 'tests', :at, :due, '{}')"
    )
    due = clock.now + timedelta(minutes=5)
    change(engine, insert, drill=False, at=clock.now, due=due)
    change(engine, insert, drill=True, at=clock.now, due=due)
    runner.look_at_conditions()
    assert states(engine) == {}
    clock.now += timedelta(minutes=6)
    runner.look_at_conditions()
    assert states(engine) == {"actions_without_outcome move-traffic": ("firing", 1.0)}
    change(engine, "update response_action set state = 'done', outcome_at = :at", at=clock.now)
    clock.now += timedelta(minutes=1)
    runner.look_at_conditions()
    assert states(engine) == {"actions_without_outcome move-traffic": ("resolved", 0.0)}


def test_an_open_alert_whose_next_window_does_not_come_says_that_its_data_is_late(
    served: Callable[[int, int], None], engine: Engine, runner: Runner, clock: TestClock
) -> None:
    rule = """
  - name: errors
    when: {check: serving, method: error_rate, scale: 1h, scope: all}
    above: 0.0001
    severity: notice
    owner: risk-ml
    response: investigate
"""
    apply(engine, more=rule)
    served(0, 2)
    query = "select state, data_state from alert"
    assert rows_of(engine, 1, query) == [("firing", "ok")]
    clock.now = START + 5 * HOUR - timedelta(minutes=1)
    runner.look_at_conditions()
    assert rows_of(engine, 1, query) == [("firing", "ok")]
    clock.now = START + 5 * HOUR + timedelta(minutes=1)
    runner.look_at_conditions()
    assert rows_of(engine, 1, query) == [("firing", "late")]
    told = "select reason from alert_transition order by id desc limit 1"
    assert rows_of(engine, 1, told) == [("late",)]
    served(5, 1)
    assert rows_of(engine, 1, query) == [("firing", "ok")]


def test_alerts_on_checks_without_a_rhythm_are_never_late_unless_their_rule_says_when(
    served: Callable[[int, int], None], engine: Engine, runner: Runner, clock: TestClock
) -> None:
    rule = """
  - name: errors
    when: {check: serving, method: error_rate, scale: 1h, scope: all}
    above: 0.0001
    severity: notice
    owner: risk-ml
    response: investigate
"""
    apply(engine, more=rule)
    served(0, 2)
    check = "jsonb_set(body, '{labels,check}', '\"incident\"')"
    change(engine, f"update alert set body = {check}")
    clock.now = START + 9 * HOUR
    assert runner.look_at_conditions() == 0
    apply(engine, more=rule + "    late_after: 5h\n")
    clock.now += timedelta(minutes=1)
    assert runner.look_at_conditions() == 1
    assert rows_of(engine, 1, "select data_state from alert") == [("late",)]


def test_the_same_minute_looked_at_twice_by_two_workers_changes_nothing(
    served: Callable[[int, int], None], engine: Engine, runner: Runner, clock: TestClock
) -> None:
    apply(engine, ("request_age", "above: 2"))
    served(0, 1)
    at(clock, START + 9 * HOUR)
    assert runner.look_at_conditions() == 1
    assert replace(runner, worker="worker-2").look_at_conditions() == 0
    counted = "select count(*) as n from alert_transition"
    assert rows_of(engine, 1, counted)[0].n == 1


def test_nobody_looks_at_the_conditions_of_a_retired_model(
    served: Callable[[int, int], None], engine: Engine, runner: Runner, clock: TestClock
) -> None:
    apply(engine, ("request_age", "above: 2"))
    served(0, 1)
    at(clock, START + 9 * HOUR)
    runner.look_at_conditions()
    retire_model(engine, 1, "credit", "ada", "replaced", clock())
    at(clock, START + 2 * DAY)
    runner.look_at_conditions()
    assert states(engine)["request_age"][0] == "resolved"


def test_every_condition_can_be_looked_at_on_an_empty_model(
    engine: Engine, runner: Runner, credit: ModelContext
) -> None:
    apply(engine, *((each.method, "above: 1000") for each in CONDITIONS))
    assert runner.look_at_conditions() == 0


def test_the_documentation_lists_every_condition_and_its_example_can_be_applied(
    engine: Engine, credit: ModelContext
) -> None:
    text = (Path(__file__).parents[3] / "docs" / "conditions.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert listed == [each.method for each in CONDITIONS]
    example = text.split("```yaml\nrules:\n")[1].split("```")[0]
    owner = HEAD.replace("risk-ml", "credit-team").rstrip() + "\n" + example
    apply_alert_rules(engine, 1, owner, name="conditions.md", by="tests", now=datetime.now(UTC))
