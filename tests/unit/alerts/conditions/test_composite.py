"""Composites: and, or, unless, on the labels that the parts have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alerts.conditions.composite import Composite
from alerts.deeds import close
from alerts.lifecycle import step
from alerts.model import Alert, AlertState, DataState, Labels, Reading, ResolvedReason
from alerts.rules import Matcher, Rule
from tests.unit.alerts.factories import NOW, config, hour, reading, rule

DRIFT = rule(name="drift", when=(Matcher("check", ("drift",)),), component=True)
LOSS = rule(name="loss", when=(Matcher("check", ("quality",)),), component=True)
BLIND = rule(name="blind", when=(Matcher("check", ("labels",)),), component=True)


def both(**fields: object) -> Rule:
    condition = Composite(**{"all_of": ("drift", "loss"), "unless": ("blind",), **fields})  # type: ignore[arg-type]
    return rule(name="both", when=(), condition=condition)


def of(check: str, at: int, value: float | None, **labels: str) -> Reading:
    named = Labels.of(**{"project": "air", "model": "delay", "check": check, **labels})
    return reading(at, value, labels=named)


class Desk:
    """Alerts as they are, and every transition of the composite so far."""

    def __init__(self, *rules: Rule) -> None:
        self.config = config(*rules)
        self.alerts: dict[str, Alert] = {}
        self.told: list[str] = []

    def take(self, *readings: Reading) -> None:
        result = step(self.config, self.alerts, readings, NOW)
        self.alerts |= result.alerts
        self.told += [each.reason.value for each in result.transitions if each.rule == "both"]

    def states(self, name: str = "both") -> list[tuple[dict[str, str], AlertState]]:
        mine = [each for each in self.alerts.values() if each.rule == name]
        return [(dict(each.labels), each.state) for each in mine]

    def state(self) -> AlertState | None:
        return self.states()[0][1] if self.states() else None


def test_all_parts_must_fire_on_the_same_model() -> None:
    desk = Desk(DRIFT, LOSS, BLIND, both())
    desk.take(of("drift", 1, 0.5, column="age"), of("quality", 1, 0.1))
    assert desk.state() is None
    desk.take(of("quality", 2, 0.5, model="other"))
    assert desk.state() is None
    desk.take(of("quality", 3, 0.5))
    assert desk.states() == [({"project": "air", "model": "delay"}, AlertState.FIRING)]
    desk.take(of("drift", 4, 0.1, column="age"))
    assert desk.state() is AlertState.RESOLVED
    assert desk.told == ["breach_held", "recovered"]


def test_unless_holds_it_down_and_ends_it() -> None:
    desk = Desk(DRIFT, LOSS, BLIND, both())
    desk.take(of("labels", 1, 0.5), of("drift", 1, 0.5), of("quality", 1, 0.5))
    assert desk.state() is None
    desk.take(of("labels", 2, 0.1))
    assert desk.state() is AlertState.FIRING
    desk.take(of("labels", 3, 0.5))
    assert desk.state() is AlertState.RESOLVED


def test_any_of_asks_for_one() -> None:
    desk = Desk(DRIFT, LOSS, BLIND, both(all_of=("drift",), any_of=("loss", "blind"), unless=()))
    desk.take(of("drift", 1, 0.5))
    assert desk.state() is None
    desk.take(of("labels", 2, 0.5))
    assert desk.state() is AlertState.FIRING


def test_alerts_that_lack_a_label_take_no_part() -> None:
    desk = Desk(DRIFT, LOSS, both(on=("model", "deployment"), unless=()))
    desk.take(of("drift", 1, 0.5), of("quality", 1, 0.5))
    assert desk.states() == []
    desk.take(of("drift", 2, 0.5, deployment="3"), of("quality", 2, 0.5, deployment="2"))
    assert desk.states() == []
    desk.take(of("quality", 3, 0.5, deployment="3"))
    [(labels, state)] = desk.states()
    assert (labels["deployment"], state) == ("3", AlertState.FIRING)


def test_a_part_without_data_keeps_its_state_and_ends_nothing() -> None:
    desk = Desk(DRIFT, LOSS, both(unless=()))
    desk.take(of("drift", 1, 0.5), of("quality", 1, 0.5))
    desk.take(of("drift", 2, None), of("quality", 2, None))
    assert desk.state() is AlertState.FIRING
    assert desk.told == ["breach_held"]


def test_a_part_judged_late_on_an_old_window_still_counts() -> None:
    """Drift is known by the hour, quality of the same day much later."""
    desk = Desk(DRIFT, LOSS, both(unless=()))
    desk.take(of("drift", 20, 0.5))
    desk.take(of("quality", 3, 0.5))
    assert desk.state() is AlertState.FIRING
    desk.take(of("drift", 21, 0.5))
    desk.take(of("quality", 4, 0.1))  # older than what the composite was judged by
    assert desk.state() is AlertState.RESOLVED
    [ended] = [each for each in desk.alerts.values() if each.rule == "both"]
    assert ended.resolved_at == hour(21)


def test_the_same_readings_twice_change_nothing() -> None:
    desk = Desk(DRIFT, LOSS, both(unless=()))
    readings = [of("drift", 1, 0.5), of("quality", 1, 0.5)]
    desk.take(*readings)
    before = dict(desk.alerts)
    desk.take(*readings)
    assert desk.alerts == before


@pytest.mark.parametrize("apart", [False, True])
def test_a_composite_may_have_to_last_for_several_windows(apart: bool) -> None:
    desk = Desk(DRIFT, LOSS, replace(both(unless=()), hold=2))
    calls: Iterable[tuple[Reading, ...]]
    one = (of("drift", 1, 0.5), of("quality", 1, 0.5))
    calls = [(each,) for each in one] if apart else [one]
    for readings in calls:
        desk.take(*readings)
    assert desk.state() is AlertState.PENDING
    desk.take(of("drift", 2, 0.5))
    assert desk.state() is AlertState.FIRING


def test_a_part_closed_by_hand_ends_it_with_the_next_window() -> None:
    desk = Desk(DRIFT, LOSS, both(unless=()))
    desk.take(of("drift", 1, 0.5), of("quality", 1, 0.5))
    [drift] = [each for each in desk.alerts.values() if each.rule == "drift"]
    closed, _ = close(drift, ResolvedReason.CLOSED_BY_HAND, NOW, by="ada")
    desk.alerts[closed.fingerprint] = closed
    desk.take(of("quality", 2, 0.5))
    assert desk.state() is AlertState.RESOLVED


def test_what_it_was_made_of_stands_in_its_reading() -> None:
    desk = Desk(DRIFT, LOSS, BLIND, both())
    desk.take(of("drift", 1, 0.5), of("quality", 1, 0.5))
    [alert] = [each for each in desk.alerts.values() if each.rule == "both"]
    assert alert.data_state is DataState.OK
    assert alert.last_judged is not None
    assert alert.last_judged.text == "firing: drift, loss"
    assert dict(alert.last_judged.evidence) == {
        "drift": "firing", "loss": "firing", "blind": "no alert"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (Composite(all_of=("a", "b")), "a and b fire"),
        (Composite(any_of=("a", "b")), "a or b fires"),
        (Composite(all_of=("a",), unless=("b",)), "a fires, unless b fires"),
        (
            Composite(all_of=("a", "b"), any_of=("c", "d"), unless=("e", "f")),
            "a and b fire, and c or d fires, unless e or f fires",
        ),
    ],
)
def test_it_is_told_in_words(condition: Composite, said: str) -> None:
    assert condition.describe() == said


def test_a_composite_matches_no_reading() -> None:
    assert not both().matches(Labels.of(model="delay"))


SHAPES = (
    {"all_of": ("drift", "loss"), "unless": ()},
    {"all_of": ("drift",), "any_of": ("loss", "blind"), "unless": ()},
    {"all_of": (), "any_of": ("drift", "loss"), "unless": ("blind",)},
    {"all_of": ("drift",), "unless": ("loss", "blind")},
)


@given(
    shape=st.sampled_from(SHAPES),
    told=st.lists(
        st.tuples(
            st.sampled_from(["drift", "quality", "labels"]),
            st.sampled_from(["a", "b"]),
            st.sampled_from([0.1, 0.5, None]),
            st.integers(0, 3),
        ),
        max_size=25,
    ),
)
@settings(max_examples=200, deadline=None)
def test_it_fires_exactly_while_its_sentence_is_true(
    shape: dict[str, tuple[str, ...]], told: list[tuple[str, str, float | None, int]]
) -> None:
    """Whatever comes in whatever order, late windows among it: the alerts decide, on each model."""
    desk = Desk(DRIFT, LOSS, BLIND, both(**shape))
    for number, (check, model, value, late) in enumerate(told, start=5):
        desk.take(of(check, number - late, value, model=model))
        for each in ("a", "b"):
            firing = {
                alert.rule
                for alert in desk.alerts.values()
                if alert.labels["model"] == each and alert.is_firing
            }
            wanted = (
                firing.issuperset(shape.get("all_of", ()))
                and (not shape.get("any_of") or not firing.isdisjoint(shape["any_of"]))
                and firing.isdisjoint(shape.get("unless", ()))
                and bool(firing)
            )
            assert ("both" in firing) is wanted, (each, firing)
