"""A measured number is finite and names what it is about, or it is not made."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError

import pytest

from monitor.measurement import Failed, Measured, Subject, TooFew
from monitor.store.measurements import finite


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", ["value", "low", "high", "level"])
def test_nothing_but_finite_numbers(bad: float, place: str) -> None:
    numbers = {"value": 1.0, "low": 0.5, "high": 1.5, "level": 0.95, place: bad}
    with pytest.raises(AssertionError, match="finite"):
        Measured(n=10, **numbers)


def test_an_interval_may_be_missing() -> None:
    assert Measured(0.0, 0).low is None


def test_a_subject_names_its_deployments_in_order() -> None:
    assert Subject((3, 1, 2), "live").deployment_ids == (1, 2, 3)
    with pytest.raises(AssertionError, match="names the deployments"):
        Subject((), "live")


def test_outcomes_can_not_be_changed() -> None:
    for outcome in (Measured(1.0, 1), TooFew(1, 2), Failed("no")):
        with pytest.raises(FrozenInstanceError):
            outcome.detail = {}  # type: ignore[misc]


def test_details_lose_what_json_has_no_word_for() -> None:
    detail = {"a": math.nan, "b": [1.0, math.inf, {"c\0d": "x\0y"}], "e": 5, "f": True, "g": None}
    assert finite(detail) == {
        "a": None,
        "b": [1.0, None, {"cd": "x�y"}],
        "e": 5,
        "f": True,
        "g": None,
    }
