"""Requests for actions held against their limits, and answers read."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerts.action_message import ActionOrder, AlertFacts, action_message
from alerts.actions import (
    ALLOWED,
    ActionOutcome,
    ActionRequest,
    ActionState,
    Decision,
    OutcomeReport,
    PastAction,
    Refusal,
    ServingDeployment,
    decide,
    may_run,
    read_answer,
    report_of,
)
from alerts.codec import message_from_json, message_to_json
from alerts.config import AlertConfig
from alerts.message_body import encode_body
from alerts.messages import Message
from alerts.model import Alert, AlertState, Labels, ResponseAction
from alerts.owners import Owner, Person
from alerts.responses import AutomaticAction, DefinedResponse
from alerts.rules import Matcher
from tests.unit.alerts.factories import NOW

ALERT = Alert(
    "f" * 64, "drifted", Labels.of(model="delay", deployment="3"), AlertState.FIRING, episode=1
)
LIMITS = AutomaticAction("router", dry_run=False, to_percent=5, at_most_percent=40)
CANARY = ServingDeployment(3, "canary", {"precision": "int8"})
HOUR = timedelta(hours=1)
CONFIG = AlertConfig(
    owners=(
        Owner("flight-ml", ("ada@example.org", "Grace"), "on-call",
              (Person("Grace", "grace@example.org"),)),
        Owner("other", ("eve@example.org",), "on-call"),
    ),
    receivers=(),
    rules=(),
)  # fmt: skip


def response(
    action: ResponseAction = ResponseAction.REDUCE_TRAFFIC, **limits: Any
) -> DefinedResponse:
    return DefinedResponse("move", action, automatic=replace(LIMITS, **limits))


def judged(
    what: DefinedResponse | None = None,
    past: tuple[PastAction, ...] = (),
    *,
    stopped: bool = False,
    **parts: Any,
) -> Decision:
    wanted: dict[str, Any] = {"deployments": (CANARY,), "share": 25.0, **parts}
    request = ActionRequest(what or response(), wanted.pop("alert", ALERT), **wanted)
    return decide(CONFIG, request, past, stopped=stopped, now=NOW)


def test_a_request_within_all_limits_is_allowed() -> None:
    assert judged() == ALLOWED


@pytest.mark.parametrize(
    ("found", "reason", "told"),
    [
        (lambda: judged(stopped=True), Refusal.STOPPED, "respond resume"),
        (
            lambda: judged(DefinedResponse("plain", ResponseAction.RETRAIN)),
            Refusal.NOT_AUTOMATIC,
            "by hand",
        ),
        (
            lambda: judged(replace(response(), may_run=("flight-ml",)), by="eve@example.org"),
            Refusal.MAY_NOT_RUN,
            "eve@example.org may not run move; these may: flight-ml",
        ),
        (
            lambda: judged(alert=replace(ALERT, state=AlertState.RESOLVED)),
            Refusal.NOT_FIRING,
            "the alert is resolved",
        ),
        (lambda: judged(quiet="snoozed"), Refusal.KEPT_QUIET, "the alert is snoozed"),
        (
            lambda: judged(response(scope=(Matcher("model", ("fraud",)),))),
            Refusal.OUT_OF_SCOPE,
            "limited to model fraud, and the alert has delay",
        ),
        (lambda: judged(deployments=()), Refusal.NO_DEPLOYMENT, "nothing to move traffic to"),
        (lambda: judged(share=None), Refusal.SHARE_UNKNOWN, "not known"),
        (lambda: judged(share=4.0), Refusal.NOTHING_TO_TAKE, "have 4.0 % of the traffic"),
        (lambda: judged(share=46.0), Refusal.TOO_MUCH_TRAFFIC, "41.0 % of all traffic"),
        (
            lambda: judged(past=(PastAction("delay", "other", NOW - 5 * HOUR),)),
            Refusal.COOL_DOWN,
            "cools down until 2026-03-03 01:00 UTC",
        ),
        (
            lambda: judged(past=(PastAction("fraud", "move", NOW - 23 * HOUR),)),
            Refusal.DAILY_LIMIT,
            "may run again from 2026-03-03 01:00 UTC on",
        ),
    ],
)
def test_each_limit_refuses_with_its_reason_and_numbers(
    found: Any, reason: Refusal, told: str
) -> None:
    decision = found()

    assert (decision.state, decision.reason) == (ActionState.REFUSED, reason)
    assert told in decision.text


def test_limits_end_on_the_moment() -> None:
    assert judged(share=45.0) == ALLOWED
    assert judged(past=(PastAction("delay", "other", NOW - 6 * HOUR),)) == ALLOWED
    assert judged(past=(PastAction("fraud", "move", NOW - 24 * HOUR),)) == ALLOWED


def test_an_acknowledgement_is_waited_for_by_rules_and_not_by_people() -> None:
    asks = response(needs_acknowledgement=True)
    taken_on = replace(ALERT, acknowledged_by="ada")

    assert judged(asks).state is ActionState.WAITING
    assert judged(asks, alert=taken_on) == ALLOWED
    assert judged(asks, by="ada@example.org") == ALLOWED


def test_a_person_may_act_on_what_is_kept_quiet_or_still_pending() -> None:
    assert judged(quiet="snoozed", by="ada") == ALLOWED
    assert judged(alert=replace(ALERT, state=AlertState.PENDING), by="ada") == ALLOWED


def test_a_roll_back_takes_all_traffic_and_is_held_to_the_same_limit() -> None:
    back = response(ResponseAction.ROLL_BACK, to_percent=None)

    assert judged(back, share=40.0) == ALLOWED
    assert judged(back, share=40.1).reason is Refusal.TOO_MUCH_TRAFFIC
    assert judged(back, deployments=(), share=100.0).reason is Refusal.TOO_MUCH_TRAFFIC


def test_a_response_that_moves_no_traffic_needs_no_share() -> None:
    assert judged(response(ResponseAction.RETRAIN), share=None, deployments=()) == ALLOWED


def test_a_drill_is_held_up_by_the_switch_scope_and_person_only() -> None:
    past = (PastAction("delay", "move", NOW),)
    free: dict[str, Any] = {"drill": True, "share": None, "deployments": ()}

    assert judged(past=past, **free) == ALLOWED
    assert judged(stopped=True, **free).reason is Refusal.STOPPED
    scoped = response(scope=(Matcher("model", ("fraud",)),))
    assert judged(scoped, **free).reason is Refusal.OUT_OF_SCOPE


@given(
    share=st.floats(0, 100),
    kept=st.floats(0, 100),
    most=st.floats(0, 100),
    a_day=st.integers(1, 4),
    cool=st.integers(0, 48),
    ages=st.lists(st.floats(0.01, 60), max_size=6),
    own=st.booleans(),
)
def test_nothing_that_is_allowed_exceeds_a_limit(
    share: float, kept: float, most: float, a_day: int, cool: int, ages: list[float], own: bool
) -> None:
    limits = response(
        to_percent=kept, at_most_percent=most, at_most_a_day=a_day, cool_down=cool * HOUR
    )
    past = tuple(PastAction("delay" if own else "x", "move", NOW - age * HOUR) for age in ages)

    if judged(limits, past, share=share) == ALLOWED:
        assert 0 < share - kept <= most
        assert sum(age < 24 for age in ages) < a_day
        assert not own or all(age * HOUR >= cool * HOUR for age in ages)


@pytest.mark.parametrize(
    ("by", "allowed"),
    [
        ("ada@example.org", True),
        ("Grace", True),
        ("grace@example.org", True),
        ("flight-ml", True),
        ("eve@example.org", False),
        ("", False),
    ],
)
def test_owners_and_their_people_may_run_a_response(by: str, allowed: bool) -> None:
    assert may_run(CONFIG, replace(response(), may_run=("flight-ml",)), by) is allowed


def test_a_person_named_by_address_may_run_it_under_either_name() -> None:
    named = replace(response(), may_run=("grace@example.org",))

    assert may_run(CONFIG, named, "Grace")
    assert not may_run(CONFIG, named, "ada@example.org")


def test_anybody_may_run_a_response_that_names_nobody() -> None:
    assert may_run(CONFIG, response(), "somebody")


def test_an_answer_tells_outcome_detail_and_former_state() -> None:
    told = '{"outcome": "done", "detail": "moved\\n it", "former": {"weights": {"3": 25}}}'

    assert read_answer(told) == OutcomeReport(
        ActionOutcome.DONE, "moved it", {"weights": {"3": 25}}
    )


@pytest.mark.parametrize(
    "told",
    ["", "ok", "[]", "null", '"done"', "{}", '{"outcome": "maybe"}', '{"outcome": ["done"]}',
     '{"outcome": "done", "former": 3}', '{"outcome": "done", "former": {"a": "\\u0000"}}',
     '{"outcome": "done", "former": {"a": NaN}}', "[" * 100_000,
     '{"outcome": "done", "former": {"a": "' + "x" * 4000 + '"}}'],
)  # fmt: skip
def test_an_answer_without_a_usable_outcome_tells_none(told: str) -> None:
    assert read_answer(told) is None


def test_every_mistake_of_a_report_is_named() -> None:
    with pytest.raises(ValueError, match=r"outcome must be one of .*; detail must .*; former must"):
        report_of({"outcome": "well", "detail": 3, "former": []})


def order(**parts: Any) -> ActionOrder:
    given: dict[str, Any] = {
        "number": 7, "project": "air", "model": "delay", "response": "move",
        "action": ResponseAction.REDUCE_TRAFFIC, "receiver": "router", "deployments": (CANARY,),
        "to_percent": 5.0, "from_percent": 25.0, "dry_run": False, "drill": False,
        "requested_by": "rule drifted", "answer_by": NOW,
        "alert": AlertFacts(12, "drifted", "abc-1", {"column": "x"}), "outcome_url": "http://a/7",
    }  # fmt: skip
    return ActionOrder(**(given | parts))


def data_of(message: Message) -> dict[str, Any]:
    """What programs read."""
    data: dict[str, Any] = json.loads(encode_body(message.body))["data"]
    return data


def test_drills_and_dry_runs_are_marked_in_title_and_body() -> None:
    plain, drill = (
        action_message(order(), NOW),
        action_message(order(drill=True, dry_run=True), NOW),
    )

    assert plain.title == "delay: reduce traffic (action 7)"
    assert drill.title == "[DRILL] [dry run] delay: reduce traffic (action 7)"
    data = data_of(drill)
    assert (data["drill"], data["dry_run"]) == (True, True)
    assert drill.drill
    assert message_from_json(message_to_json(drill)) == drill


def test_the_largest_order_stays_below_the_size_of_a_webhook() -> None:
    tags = {f"tag_{number}": "ß" * 1000 for number in range(60)}
    many = tuple(ServingDeployment(number, "n" * 1000, tags) for number in range(200))
    labels = {f"label_{number}": "ä" * 1000 for number in range(60)}
    facts = AlertFacts(1, "r" * 999, "id", labels, "s" * 9999, "l" * 9999)

    message = action_message(order(deployments=many, alert=facts, former={"x": "y" * 3900}), NOW)

    assert len(encode_body(message.body)) < 20_000
    assert [each["number"] for each in data_of(message)["deployments"]] == list(range(200))
