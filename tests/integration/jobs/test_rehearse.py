"""Rehearsals: the whole chain of a rule over real HTTP, and nothing that is left behind by it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from sqlalchemy.engine import Engine

from alerts.actions import ActionState
from alerts.rehearsal import Rehearsed
from monitor.errors import UnknownSubject
from monitor.jobs.rehearse import Drill, rehearse
from monitor.jobs.run import Runner
from monitor.reports.responses import response_status, rule_rehearsals_now
from monitor.store.actions import list_actions, overdue_actions
from monitor.store.engine import Role, transaction
from monitor.store.intake_store import IntakeStore
from monitor.store.models import ModelContext
from monitor.store.rehearsals import StoredRehearsal, rehearsal_words
from monitor.store.responding import stop_actions
from tests.factories import TestClock, rows_of
from tests.integration.jobs.actions import IN_EARNEST, Scene, routing, scene_of
from tests.unit.alerts.receiver import answer_with, listening


@pytest.fixture
def scene(
    engine: Engine, runner: Runner, clock: TestClock, store: IntakeStore, credit: ModelContext
) -> Iterator[Scene]:
    with routing() as router, listening() as people:
        made = scene_of(engine, runner, clock, store, credit, router, people)
        made.rules()
        yield made


def ada(receivers: Sequence[str]) -> str | None:
    return "ada@example.org"


def nobody(receivers: Sequence[str]) -> str | None:
    return None


def drilled(
    scene: Scene,
    rule: str = "drifted",
    who: Callable[[Sequence[str]], str | None] = ada,
) -> StoredRehearsal:
    """A rehearsal whose messages are sent while it waits."""

    def wait() -> None:
        scene.runner.deliver_due()
        scene.later(seconds=5)

    drill = Drill(rule, "grace", {}, who, wait, scene.clock)
    return rehearse(scene.engine, 1, drill, scene.runner.outside)


def steps(done: StoredRehearsal) -> list[tuple[str, bool]]:
    return [(each.step.value, each.passed) for each in done.steps]


def told(scene: Scene) -> list[dict[str, Any]]:
    return [json.loads(each.body) for each in scene.people.received]


def test_the_whole_chain_is_tried_and_every_step_recorded(scene: Scene) -> None:
    done = drilled(scene)

    assert done.passed
    assert steps(done) == [
        ("reading", True),
        ("alert", True),
        ("message", True),
        ("acknowledged", True),
        ("action", True),
        ("outcome", True),
        ("ended", True),
    ]
    assert "taken by on-call" in done.steps[2].text
    assert done.steps[5].text == "done by router"


def test_messages_and_order_say_that_they_are_a_drill(scene: Scene) -> None:
    drilled(scene)

    opened, ended = told(scene)
    assert [each["type"] for each in (opened, ended)] == ["finding.opened", "finding.resolved"]
    assert all("DRILL" in each["data"]["title"] for each in (opened, ended))
    assert all(each["data"]["drill"] for each in (opened, ended))
    assert "Rehearsal 1 by grace: nothing is wrong" in opened["data"]["note"]
    (order,) = scene.router.orders
    assert (order["drill"], order["dry_run"], order["alert"]["number"]) == (True, True, None)
    assert [each["number"] for each in order["deployments"]] == [2]


def test_a_drill_leaves_no_alert_and_does_not_count_as_an_action(scene: Scene) -> None:
    scene.rules(f"{IN_EARNEST}, cool_down: 6h, at_most_a_day: 1")
    drilled(scene)
    assert rows_of(scene.engine, 1, "select id from alert") == []
    status = response_status(scene.engine, 1, scene.clock())
    assert (status.in_force, status.overdue) == ((), ())

    scene.measure(0.5)
    scene.run()

    assert [each["drill"] for each in scene.router.orders] == [True, False, False]


def test_a_real_alert_of_the_rule_is_another_one_to_every_receiver(scene: Scene) -> None:
    drilled(scene)
    scene.measure(0.5)
    scene.runner.notify_due()
    scene.runner.deliver_due()

    drill, _, real = told(scene)
    assert drill["data"]["group"] != real["data"]["group"]
    ids = {each["data"]["alerts"][0]["finding_id"] for each in (drill, real)}
    assert len(ids) == 2


def test_a_receiver_that_does_not_answer_fails_the_rehearsal(scene: Scene) -> None:
    scene.people.answer = answer_with(500)

    done = drilled(scene)

    assert not done.passed
    assert ("message", False) in steps(done)
    assert "not taken by on-call within 60 s" in done.steps[2].text


def test_nobody_who_got_the_message_fails_the_rehearsal(scene: Scene) -> None:
    done = drilled(scene, who=nobody)

    assert not done.passed
    assert ("acknowledged", False) in steps(done)


@pytest.mark.parametrize(
    ("say", "told"),
    [
        ({"outcome": "refused", "detail": "no such deployment"}, "no such deployment"),
        (None, "none was reported within 60 s"),
    ],
)
def test_an_action_that_would_not_work_fails_the_rehearsal(
    scene: Scene, say: dict[str, Any] | None, told: str
) -> None:
    scene.router.say = lambda order: say

    done = drilled(scene)

    assert not done.passed
    assert told in next(each.text for each in done.steps if each.step == "outcome")
    with transaction(scene.engine, 1, Role.WORKER) as connection:
        scene.later(hours=1)
        assert overdue_actions(connection, 1, scene.clock()) == {}


def test_stopped_actions_are_not_drilled(scene: Scene) -> None:
    stop_actions(scene.engine, 1, "ada", "maintenance", scene.clock())

    done = drilled(scene)

    assert ("action", False) in steps(done)
    assert scene.router.orders == []
    with transaction(scene.engine, 1, Role.WORKER) as connection:
        (action,) = list_actions(connection, 1)
    assert (action.state, action.drill) == (ActionState.REFUSED, True)


def test_a_response_by_hand_needs_no_outcome(scene: Scene) -> None:
    done = drilled(scene, "by-hand")

    assert done.passed
    assert "retrain is carried out by hand" in next(
        each.text for each in done.steps if each.step == "action"
    )


def test_rules_are_known_as_never_rehearsed_passed_and_changed(scene: Scene) -> None:
    def standings() -> dict[str, Rehearsed]:
        found = {each.rule: each.standing for each in rule_rehearsals_now(scene.engine, 1)}
        assert found.pop("no-outcome-of-move-traffic") is Rehearsed.NEVER
        return found

    assert set(standings().values()) == {Rehearsed.NEVER}
    drilled(scene)
    assert standings() == {"drifted": Rehearsed.PASSED, "by-hand": Rehearsed.NEVER}
    scene.rules(IN_EARNEST.replace("to_percent: 5", "to_percent: 10"))
    assert standings() == {"drifted": Rehearsed.CHANGED, "by-hand": Rehearsed.NEVER}
    assert rehearsal_words(rule_rehearsals_now(scene.engine, 1)[0]).startswith("changed since")
    drilled(scene, who=nobody)
    assert standings()["drifted"] is Rehearsed.FAILED


def test_a_rule_that_is_not_in_force_can_not_be_rehearsed(scene: Scene) -> None:
    with pytest.raises(
        UnknownSubject, match="there are: drifted, by-hand, no-outcome-of-move-traffic"
    ):
        drilled(scene, "drited")
