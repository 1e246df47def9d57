"""Automatic actions: asked of a real deployment system over HTTP, within their limits."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa
import time_machine
from sqlalchemy.engine import Engine
from standardwebhooks import Webhook

from alerts.actions import ActionOutcome, OutcomeReport
from monitor.errors import ActionNotOpen
from monitor.jobs.run import Runner
from monitor.store.action_switch import set_switch
from monitor.store.actions import action_words, overdue_actions, report_outcome
from monitor.store.engine import Role, transaction
from monitor.store.hand_over import (
    acknowledge_alert,
    apply_alert_rules,
    resolve_alert,
    snooze_alert,
)
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from monitor.store.responding import resume_actions, run_response, stop_actions
from tests.factories import TestClock, rows_of
from tests.integration.jobs.actions import IN_EARNEST, RULES, SECRET, Scene, routing, scene_of
from tests.unit.alerts.receiver import answer_with, listening


@pytest.fixture
def scene(
    engine: Engine, runner: Runner, clock: TestClock, store: IntakeStore, credit: ModelContext
) -> Iterator[Scene]:
    with routing() as router, listening() as people:
        yield scene_of(engine, runner, clock, store, credit, router, people)


def test_an_alert_becomes_a_dry_run_and_then_an_action_in_earnest(scene: Scene) -> None:
    scene.rules()
    scene.measure(0.5)
    scene.run()

    assert scene.actions() == [("done", None, True), ("done", None, False)]
    dry, earnest = scene.router.orders
    assert (dry["dry_run"], earnest["dry_run"]) == (True, False)
    assert earnest["action"] == "reduce_traffic"
    assert earnest["parameters"] == {"to_percent": 5.0, "from_percent": 25.0}
    assert [each["number"] for each in earnest["deployments"]] == [3]
    assert earnest["deployments"][0]["tags"]["runtime_version"] == "3"
    assert earnest["alert"]["labels"]["column"] == "age"
    assert earnest["alert"]["number"] == 1
    assert earnest["outcome_url"] == f"http://api.test/v1/actions/{earnest['action_id']}/outcome"


def test_the_order_is_signed_and_its_key_stays_the_same(scene: Scene) -> None:
    scene.rules()
    scene.measure(0.5)
    scene.router.receiver.answer = answer_with(500)
    scene.runner.respond_due()
    scene.runner.deliver_due()
    scene.router.receiver.answer = scene.router.answer
    scene.later(seconds=5)
    scene.runner.deliver_due()

    first, second = scene.router.receiver.received
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == "act_1_1"
    with time_machine.travel(scene.clock.now, tick=False):
        body: dict[str, Any] = Webhook(SECRET).verify(second.body, second.headers)
    assert body["type"] == "response.requested"


def test_a_response_acts_once_in_an_episode_whatever_else_fires(scene: Scene) -> None:
    scene.rules()
    scene.measure(0.5)
    scene.measure(0.6, column="city")
    scene.run()
    scene.later(hours=30)
    scene.run()

    assert len(scene.router.orders) == 2


def test_an_action_beyond_its_share_is_refused_once_and_with_its_numbers(scene: Scene) -> None:
    scene.rules(IN_EARNEST.replace("at_most_percent: 40", "at_most_percent: 10"))
    scene.measure(0.5)
    scene.run()

    assert scene.actions() == [("refused", "too_much_traffic", False)]
    assert scene.router.orders == []
    told = rows_of(scene.engine, 1, "select body->>'text' as told from response_action")[0].told
    assert told == (
        "it would take away 20.0 % of all traffic (from 25.0 % to 5 %); the limit is 10 %"
    )


def test_another_action_on_the_model_waits_for_the_cool_down(scene: Scene) -> None:
    scene.rules(f"{IN_EARNEST}, cool_down: 2h, at_most_a_day: 5")
    scene.measure(0.5)
    scene.run()
    scene.later(hours=1)
    scene.measure(0.5, deployment=2)
    scene.run()
    assert scene.actions()[2:] == [("refused", "cool_down", False)]

    scene.later(hours=1)
    scene.run()

    assert scene.actions()[3:] == [("done", None, True), ("done", None, False)]
    assert [each["deployments"][0]["number"] for each in scene.router.orders] == [3, 3, 2, 2]


def test_no_more_than_the_daily_number_of_actions(scene: Scene) -> None:
    scene.rules(f"{IN_EARNEST}, cool_down: 0")
    scene.measure(0.5)
    scene.run()
    scene.later(hours=1)
    scene.measure(0.5, deployment=2)
    scene.run()
    assert scene.actions()[2:] == [("refused", "daily_limit", False)]

    scene.later(hours=24)
    scene.run()

    assert len(scene.router.orders) == 4


def test_an_action_waits_until_somebody_takes_the_alert_on(scene: Scene) -> None:
    scene.rules(f"{IN_EARNEST}, needs_acknowledgement: true")
    scene.measure(0.5)
    scene.run()
    assert scene.actions() == [("waiting", "not_acknowledged", False)]

    acknowledge_alert(scene.engine, 1, 1, "ada@example.org", "", scene.clock())
    scene.run()

    assert scene.actions() == [("done", None, False), ("done", None, True)]


def test_an_action_that_waited_is_refused_when_its_alert_is_over(scene: Scene) -> None:
    scene.rules(f"{IN_EARNEST}, needs_acknowledgement: true")
    scene.measure(0.5)
    scene.run()
    resolve_alert(scene.engine, 1, 1, "ada@example.org", "", scene.clock())
    scene.run()

    assert scene.actions() == [("refused", "not_firing", False)]
    assert scene.router.orders == []


def test_a_dry_run_that_does_not_succeed_keeps_the_action_back(scene: Scene) -> None:
    scene.router.say = lambda order: {"outcome": "refused", "detail": "no such deployment"}
    scene.rules()
    scene.measure(0.5)
    scene.run()

    assert scene.actions() == [("failed", None, True), ("refused", "dry_run_failed", False)]
    words = told(scene)
    assert "did not succeed: no such deployment" in words


def told(scene: Scene) -> str:
    with transaction(scene.engine, 1, Role.WORKER) as connection:
        return action_words(connection, 1, [1])[1]


def test_a_response_that_only_makes_dry_runs_never_acts(scene: Scene) -> None:
    scene.rules("to_percent: 5, expires_after: 1h")
    scene.measure(0.5)
    scene.run()
    scene.later(hours=2)
    scene.run()

    assert scene.actions() == [("done", None, True)]
    assert [each["dry_run"] for each in scene.router.orders] == [True]
    assert scene.router.orders[0]["expires_at"] is None


def test_the_former_state_is_asked_for_when_the_action_expires(scene: Scene) -> None:
    scene.rules(f"{IN_EARNEST}, expires_after: 14d")
    scene.measure(0.5)
    scene.runner.notify_due()
    scene.run()
    scene.later(days=13)
    scene.run()
    assert len(scene.router.orders) == 2

    scene.later(days=1)
    scene.run()

    back = scene.router.orders[2]
    assert (back["returns"], back["former"], back["dry_run"]) == (2, {"weight": 33}, False)
    assert back["parameters"] == {"to_percent": 25.0, "from_percent": 5.0}
    assert [state for state, _, _ in scene.actions()] == ["done", "returned", "done"]
    assert len(scene.router.orders) == 3
    recorded = "select count(*) as n from alert_transition where reason = 'response_expired'"
    assert [row.n for row in rows_of(scene.engine, 1, recorded)] == [1]
    scene.runner.notify_due()
    told = "select body->'lines' as lines from delivery where event_type = 'finding.updated'"
    (reminder,) = rows_of(scene.engine, 1, told)
    assert "what was done about it has run out" in str(reminder.lines)


def test_stopped_actions_are_not_asked_for_and_what_waits_is_withdrawn(scene: Scene) -> None:
    scene.rules()
    scene.measure(0.5)
    scene.runner.respond_due()
    switch(scene, stopped=True)
    scene.run()

    assert scene.router.orders == []
    states = rows_of(scene.engine, 1, "select state from delivery where receiver = 'router'")
    assert [each.state for each in states] == ["dead"]
    assert [reason for _, reason, _ in scene.actions()] == ["stopped"]

    switch(scene, stopped=False)
    scene.run()

    assert [each["dry_run"] for each in scene.router.orders] == [True, False]


def switch(scene: Scene, *, stopped: bool) -> None:
    with transaction(scene.engine, 1, Role.WORKER) as connection:
        set_switch(connection, 1, stopped=stopped, by="ada", reason="drill", now=scene.clock())


def test_an_expiry_waits_while_actions_are_stopped(scene: Scene) -> None:
    scene.rules(f"{IN_EARNEST}, expires_after: 1h")
    scene.measure(0.5)
    scene.run()
    switch(scene, stopped=True)
    scene.later(hours=2)
    scene.run()
    assert len(scene.router.orders) == 2

    switch(scene, stopped=False)
    scene.run()

    assert len(scene.router.orders) == 3


def test_an_order_that_was_not_delivered_in_time_is_withdrawn_and_counted(scene: Scene) -> None:
    scene.router.receiver.answer = answer_with(503)
    scene.rules()
    scene.measure(0.5)
    scene.run()
    assert overdue(scene) == {}
    scene.later(minutes=6)
    scene.run()
    scene.router.receiver.answer = scene.router.answer
    scene.later(hours=1)
    before = len(scene.router.orders)
    scene.run()

    assert len(scene.router.orders) == before
    assert overdue(scene) == {"credit": 1}
    assert scene.actions() == [("requested", None, True), ("refused", "dry_run_failed", False)]


def overdue(scene: Scene) -> dict[str, int]:
    with transaction(scene.engine, 1, Role.WORKER) as connection:
        return overdue_actions(connection, 1, scene.clock())


def test_an_order_that_is_refused_for_good_is_overdue_at_once(scene: Scene) -> None:
    scene.router.receiver.answer = answer_with(401, b"who are you")
    scene.rules()
    scene.measure(0.5)
    scene.run()

    assert overdue(scene) == {"credit": 1}
    assert "not delivered: refused: answered 401 who are you" in told_of_first(scene)


def told_of_first(scene: Scene) -> str:
    query = "select body->>'text' as told from response_action order by id limit 1"
    return str(rows_of(scene.engine, 1, query)[0].told)


def test_an_outcome_can_be_reported_later_and_only_one(scene: Scene) -> None:
    scene.router.say = lambda order: None
    scene.rules()
    scene.measure(0.5)
    scene.run()
    scene.later(minutes=6)
    assert overdue(scene) == {"credit": 1}

    done = OutcomeReport(ActionOutcome.DONE, "moved", {"weight": 3})
    for _ in range(2):
        found = report_outcome(scene.engine, 1, 1, done, "router", scene.clock())
    with pytest.raises(ActionNotOpen, match="its outcome is done"):
        report_outcome(
            scene.engine, 1, 1, OutcomeReport(ActionOutcome.FAILED), "ada", scene.clock()
        )

    assert (found.state, found.detail, found.former) == ("done", "moved", {"weight": 3})
    assert overdue(scene) == {}


def test_nothing_is_done_about_an_alert_that_is_kept_quiet(scene: Scene) -> None:
    scene.rules()
    scene.measure(0.5)
    until = scene.clock.now + timedelta(hours=1)
    snooze_alert(scene.engine, 1, 1, until, "ada@example.org", "known", scene.clock())
    scene.run()
    assert scene.actions() == [("refused", "kept_quiet", False)]

    scene.later(hours=2)
    scene.run()

    assert len(scene.router.orders) == 2


def test_a_silence_holds_actions_back_too(scene: Scene) -> None:
    scene.rules()
    with transaction(scene.engine, 1, Role.WORKER) as connection:
        connection.execute(
            sa.text(
                "insert into silence (project_id, matchers, author, reason, starts_at, ends_at)"
                ' values (1, \'[{"label": "owner", "patterns": ["risk-ml"]}]\', \'ada\', \'x\','
                " :at, :until)"
            ),
            {"at": scene.clock.now, "until": scene.clock.now + timedelta(hours=1)},
        )
    scene.measure(0.5)
    scene.run()

    assert scene.actions() == [("refused", "kept_quiet", False)]


def test_an_alert_out_of_scope_is_left_alone(scene: Scene) -> None:
    scene.rules(IN_EARNEST.replace("model: credit", "model: loans"))
    scene.measure(0.5)
    scene.run()

    assert scene.actions() == [("refused", "out_of_scope", False)]


def test_a_second_worker_asks_for_nothing_twice(scene: Scene) -> None:
    scene.rules()
    scene.measure(0.5)
    with ThreadPoolExecutor(4) as pool:
        asked = list(pool.map(lambda _: scene.runner.respond_due(), range(8)))

    assert sum(asked) == 1


def test_an_alert_in_scope_acts_though_others_on_its_target_are_not(scene: Scene) -> None:
    scene.rules(IN_EARNEST.replace("model: credit", "column: city"))
    scene.measure(0.5)
    scene.measure(0.5, column="city")
    scene.run()

    assert [each["alert"]["labels"]["column"] for each in scene.router.orders] == ["city", "city"]


def test_an_alert_that_was_taken_on_acts_though_others_on_its_target_wait(scene: Scene) -> None:
    scene.rules(f"{IN_EARNEST}, needs_acknowledgement: true")
    scene.measure(0.5)
    scene.measure(0.5, column="city")
    acknowledge_alert(scene.engine, 1, 2, "ada@example.org", "", scene.clock())
    scene.run()

    assert [each["alert"]["number"] for each in scene.router.orders] == [2, 2]


def test_pages_and_api_have_the_rights_that_responding_needs(scene: Scene) -> None:
    scene.router.say = lambda order: None
    scene.rules()
    scene.measure(0.5)
    outside, role = scene.runner.outside, Role.DASHBOARD
    asked = run_response(
        scene.engine, 1, 1, "ada@example.org", scene.clock(), outside, dry_run=True, role=role
    )
    scene.runner.deliver_due()
    done = OutcomeReport(ActionOutcome.DONE)
    report_outcome(scene.engine, 1, asked.number, done, "ada", scene.clock(), role=role)
    assert stop_actions(scene.engine, 1, "ada", "enough", scene.clock(), role=role) == []
    refused = run_response(scene.engine, 1, 1, "ada@example.org", scene.clock(), outside, role=role)
    resume_actions(scene.engine, 1, "ada", "go on", scene.clock(), role=role)

    assert [state for state, _, _ in scene.actions()] == ["done", "refused"]
    assert (refused.reason, refused.requested_by) == ("stopped", "ada@example.org")


def test_what_a_person_ran_counts_as_the_action_of_the_alert(scene: Scene) -> None:
    scene.rules()
    scene.measure(0.5)
    run_response(scene.engine, 1, 1, "ada@example.org", scene.clock(), scene.runner.outside)
    scene.run()

    assert [(each["dry_run"], each["requested_by"]) for each in scene.router.orders] == [
        (False, "ada@example.org")
    ]


def test_a_receiver_that_is_gone_from_the_rules_leaves_the_return_overdue(scene: Scene) -> None:
    scene.rules(f"{IN_EARNEST}, expires_after: 1h")
    scene.measure(0.5)
    scene.run()
    renamed = RULES.replace("name: router", "name: other").replace(
        "receiver: router", "receiver: other"
    )
    apply_alert_rules(
        scene.engine, 1, renamed.format(limits=IN_EARNEST), name="x", by="ada", now=scene.clock()
    )
    scene.later(hours=2)
    scene.run()

    assert scene.actions()[2:] == [("requested", None, False)]
    assert overdue(scene) == {"credit": 1}
