"""Which messages are owed, to whom, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from alerts.config import AlertConfig, Receiver
from alerts.delivery_policy import DeliveryPolicy, Storm
from alerts.groups import Change, Group
from alerts.lifecycle import step
from alerts.model import Alert, AlertState, Labels, Reading, ResponseAction, Severity
from alerts.notify.plan import Known, plan
from alerts.owners import Owner
from alerts.rules import Bounds

from .factories import NOW, config, reading, rule


class Desk:
    """Steps through readings and keeps what a store would: alerts and what was told."""

    def __init__(self, setup: AlertConfig) -> None:
        self.setup = setup
        self.alerts: dict[str, Alert] = {}

    def take(self, *readings: Reading) -> tuple[Group, ...]:
        result = step(self.setup, self.alerts, readings, NOW)
        self.alerts |= result.alerts
        rules = {each.name: each for each in self.setup.rules}
        known = [Known(each, rules[each.rule]) for each in self.alerts.values()]
        made = plan(self.setup, known, (), NOW)
        for fingerprint, told in made.told.items():
            self.alerts[fingerprint] = replace(self.alerts[fingerprint], told=told)
        return made.groups


def events(groups: Sequence[Group]) -> list[str]:
    return [each.event.value for each in groups]


def of(model: str, column: str) -> Labels:
    return Labels.of(project="air", model=model, method="psi", column=column)


FLAPPING = [(9, 0.3), (10, 0.1), (11, 0.3), (12, 0.1), (13, 0.3)]


def test_a_flapping_alert_is_told_each_time_it_fires() -> None:
    for send_resolved in (True, False):
        desk = Desk(config(send_resolved=send_resolved))
        told = {at: events(desk.take(reading(at, value))) for at, value in FLAPPING}
        openings = [at for at, names in told.items() if "finding.opened" in names]
        assert openings == [9, 11, 13]
        ends = [at for at, names in told.items() if "finding.resolved" in names]
        assert ends == ([10, 12] if send_resolved else [])


def test_an_episode_that_stays_open_is_told_once() -> None:
    desk = Desk(config(rule(keep_firing_for=2)))
    told = {at: events(desk.take(reading(at, value))) for at, value in FLAPPING}
    assert told == {9: ["finding.opened"], 10: [], 11: [], 12: [], 13: []}


def test_no_message_for_a_window_without_data_and_one_end_after_it() -> None:
    desk = Desk(config(rule(condition=Bounds(upper=0.1))))
    told = [
        events(desk.take(each))
        for each in (reading(1, 0.2, n=10), reading(2, None), reading(3, 0.05, n=20))
    ]
    assert told == [["finding.opened"], [], ["finding.resolved"]]


def test_three_alerts_of_one_model_are_one_message() -> None:
    desk = Desk(config())
    groups = desk.take(*(reading(1, 0.3, labels=of("m1", each)) for each in ("a", "b", "c")))
    assert events(groups) == ["finding.opened"]
    assert [each.alert.labels["column"] for each in groups[0].entries] == ["a", "b", "c"]
    assert len(groups[0].new) == 3


def test_models_responses_and_receivers_part_messages() -> None:
    setup = AlertConfig(
        owners=(Owner("one", ("a@b.c",), "on-call"),),
        receivers=(Receiver("on-call", "webhook"), Receiver("office", "webhook")),
        rules=(
            rule(name="first", owner="one"),
            rule(name="second", owner="one", response=ResponseAction.RETRAIN),
            rule(name="third", owner="one", receiver="office"),
        ),
        delivery=DeliveryPolicy(storm=Storm(messages=4)),
    )
    groups = Desk(setup).take(
        reading(1, 0.3, labels=of("m1", "a")), reading(1, 0.3, labels=of("m2", "a"))
    )
    keys = [(each.key.get("model"), each.key.get("response"), each.key.receiver) for each in groups]
    assert keys == [
        ("m1", "investigate", "office"),
        ("m2", "investigate", "office"),
        ("m1", "investigate", "on-call"),
        ("m1", "retrain", "on-call"),
        ("m2", "investigate", "on-call"),
        ("m2", "retrain", "on-call"),
    ]


def test_an_end_never_goes_out_alone() -> None:
    desk = Desk(config())
    groups = desk.take(reading(1, 0.3), reading(2, 0.1))
    assert events(groups) == ["finding.opened", "finding.resolved"]
    assert desk.take() == ()


def test_a_pending_alert_that_passes_is_not_told() -> None:
    desk = Desk(config(rule(hold=2)))
    assert [desk.take(reading(at, value)) for at, value in [(1, 0.3), (2, 0.1)]] == [(), ()]


def test_catching_up_tells_the_newest_episode_only_and_ends_the_one_told_before() -> None:
    desk = Desk(config())
    desk.take(reading(8, 0.3))
    groups = desk.take(*(reading(at + 1, value) for at, value in FLAPPING), reading(9, 0.1))
    assert events(groups) == ["finding.resolved", "finding.opened"]
    assert groups[0].new[0].episode == 1
    assert groups[1].new[0].episode == 4
    alert = next(iter(desk.alerts.values()))
    assert alert.state is AlertState.FIRING


def test_the_same_state_planned_again_owes_nothing() -> None:
    desk = Desk(config())
    assert events(desk.take(reading(1, 0.3))) == ["finding.opened"]
    assert desk.take() == ()


def test_what_is_new_stands_first_and_what_is_open_follows() -> None:
    setup = config(
        rule(name="notice", severity=Severity.NOTICE),
        rule(name="page", severity=Severity.PAGE, condition=Bounds(upper=0.5)),
    )
    desk = Desk(setup)
    desk.take(reading(1, 0.3, labels=of("m1", "a")))
    (message,) = desk.take(
        reading(2, 0.3, labels=of("m1", "a")), reading(2, 0.9, labels=of("m1", "b"))
    )
    shown = [
        (each.rule.name, each.alert.labels["column"], each.change is not Change.NONE)
        for each in message.entries
    ]
    assert shown == [("page", "b", True), ("notice", "b", True), ("notice", "a", False)]
