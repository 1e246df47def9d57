"""What keeps what quiet: equal labels, the usual three, circles and chains."""

from __future__ import annotations

import pytest

from alerts.inhibition import USUAL_INHIBITIONS, Inhibition, Inhibitors
from alerts.rules import Matcher


def facts(**given: str) -> dict[str, str]:
    return {"project": "p", "model": "m1", **given}


def kept_quiet(
    inhibitions: tuple[Inhibition, ...], firing: dict[str, dict[str, str]]
) -> dict[str, str]:
    """Which alert is kept quiet by which."""
    inhibitors = Inhibitors(inhibitions, firing)
    found = {name: inhibitors.holder_of(name, labels) for name, labels in firing.items()}
    return {name: held[1] for name, held in found.items() if held is not None}


@pytest.mark.parametrize(
    ("source", "kept", "free"),
    [
        ({"method": "label_age"}, {"check": "quality"}, {"check": "drift"}),
        ({"method": "label_age"}, {"check": "calibration"}, {"check": "serving"}),
        ({"check": "label_feed", "method": "silence"}, {"check": "quality"}, {"check": "drift"}),
        ({"method": "request_age"}, {"check": "drift"}, {"check": "quality"}),
        ({"method": "request_age"}, {"check": "incident"}, {"check": "violations"}),
        (
            {"method": "schema_break", "column": "age"},
            {"check": "drift", "column": "age"},
            {"check": "drift", "column": "city"},
        ),
    ],
)
def test_the_usual_inhibitions_keep_followers_quiet_on_the_same_model_only(
    source: dict[str, str], kept: dict[str, str], free: dict[str, str]
) -> None:
    firing = {
        "source": facts(**{"check": "condition", **source}),
        "kept": facts(**kept),
        "free": facts(**free),
        "elsewhere": {**facts(**kept), "model": "m2"},
    }
    assert kept_quiet(USUAL_INHIBITIONS, firing) == {"kept": "source"}


def of(name: str, source: str, target: str) -> Inhibition:
    return Inhibition(
        name, (Matcher("rule", (source,)),), (Matcher("rule", (target,)),), ("model",)
    )


def firing(*rules: str) -> dict[str, dict[str, str]]:
    return {rule: facts(rule=rule) for rule in rules}


def test_a_label_that_one_side_lacks_is_no_match() -> None:
    one = Inhibition("x", (Matcher("rule", ("a",)),), (Matcher("rule", ("b",)),), ("segment",))
    assert kept_quiet((one,), firing("a", "b")) == {}
    both = {"a": facts(rule="a", segment="eu"), "b": facts(rule="b", segment="eu")}
    assert kept_quiet((one,), both) == {"b": "a"}


def test_an_alert_that_fits_both_sides_is_not_kept_quiet_by_its_like() -> None:
    one = Inhibition("x", (Matcher("rule", ("a*",)),), (Matcher("rule", ("a*", "b")),), ("model",))
    assert kept_quiet((one,), firing("a1", "a2", "b")) == {"b": "a1"}


def test_of_two_that_keep_each_other_quiet_one_is_told() -> None:
    circle = (of("x", "a", "b"), of("y", "b", "a"))
    assert len(kept_quiet(circle, firing("a", "b"))) == 1


@pytest.mark.parametrize("order", ["abc", "cab", "bca", "acb", "bac", "cba"])
def test_in_a_circle_of_three_every_quiet_one_has_a_cause_that_is_told(order: str) -> None:
    circle = (of("x", "a", "b"), of("y", "b", "c"), of("z", "c", "a"))
    quiet = kept_quiet(circle, firing(*order))
    assert quiet
    assert all(cause not in quiet for cause in quiet.values())


def test_what_is_quiet_itself_keeps_nothing_quiet() -> None:
    chain = (of("x", "a", "b"), of("y", "b", "c"))
    assert kept_quiet(chain, firing("a", "b", "c")) == {"b": "a"}
    assert kept_quiet(chain, firing("b", "c")) == {"c": "b"}
