"""Bills by hand: every component against arithmetic in the test."""

from __future__ import annotations

import pytest

from monitor.checks.costs.bill import Bill, FieldSum, Usage, bill
from monitor.checks.costs.per_success import Successes, answered, costs_of
from monitor.contract_costs import Costs
from monitor.measurement import Failed, Measured, TooFew

HOUR = 3600.0


def costs(**more: object) -> Costs:
    return Costs.model_validate({"currency": "EUR", "success": "answered", **more})


def usage(requests: int = 100, seconds: float = HOUR, **sums: float) -> Usage:
    return Usage(requests, seconds, {name: FieldSum(v, requests) for name, v in sums.items()})


@pytest.mark.parametrize(
    ("units", "requests", "successes", "each"), [(100.0, 100, 80, 1.25), (120.0, 120, 100, 1.2)]
)
def test_a_hundred_units_for_eighty_successes_cost_more_each_than_120_for_100(
    units: float, requests: int, successes: int, each: float
) -> None:
    """Worked: 100 / 80 = 1.25 and 120 / 100 = 1.2: the dearer service is the cheaper one."""
    found = costs_of(bill(costs(), usage(requests, cost=units)), answered(requests, successes))
    assert isinstance(found["per_success"], Measured)
    assert found["per_success"].value == pytest.approx(each)
    assert found["per_success"].detail["condition"] == "an answer was given, right or wrong"


def test_cached_tokens_with_a_price_of_their_own_are_not_paid_twice() -> None:
    prices = [
        {"field": "prompt_tokens", "price": 3.0, "per": 1e6},
        {"field": "cached_tokens", "price": 0.3, "per": 1e6},
        {"field": "output_tokens", "price": 15.0, "per": 1e6},
    ]
    used = usage(prompt_tokens=1e6, cached_tokens=4e5, output_tokens=2e5)
    assert bill(costs(prices=prices), used).total == pytest.approx(0.6 * 3 + 0.4 * 0.3 + 0.2 * 15)
    without = bill(costs(prices=prices[::2]), used)
    assert without.total == pytest.approx(3 + 3)


def test_each_route_has_its_own_price() -> None:
    prices = [
        {"field": "output_tokens", "price": 1.0, "per": 1e6, "route": "small"},
        {"field": "output_tokens", "price": 10.0, "per": 1e6, "route": "large"},
    ]
    routes = {
        "small": {"output_tokens": FieldSum(8e5, 90)},
        "large": {"output_tokens": FieldSum(1e5, 10)},
    }
    assert bill(costs(prices=prices), Usage(100, HOUR, {}, routes)).total == pytest.approx(1.8)


def test_retries_review_and_idle_capacity_are_added_as_declared() -> None:
    declared = costs(retry_share=0.5, review_per_hour=60.0, capacity={"per_hour": 8.0, "slots": 4})
    used = usage(cost=50.0, retries=20, review_time=6 * 60_000.0, compute_time=1.5 * 3.6e6)
    found = bill(declared, used)
    assert found.components == pytest.approx(
        {
            "usage": 50.0,
            "retries": 0.5 * 0.5 * 20,
            "review": 0.1 * 60,
            "used capacity": 8 * 1.5 / 4,
            "idle capacity": 8 * 2.5 / 4,
        }
    )
    assert found.total == pytest.approx(50 + 5 + 6 + 8)


def test_energy_is_told_before_it_is_declared() -> None:
    power = {"busy_watts": 300, "idle_watts": 60, "slots": 2}
    told = bill(costs(power=power), usage(energy=5_000.0, latency=3.6e6))
    assert (told.energy, told.energy_idle) == (5_000.0, 0.0)
    declared = bill(costs(power=power), usage(latency=3.6e6))
    assert declared.energy == pytest.approx(300 * 3600 / 2)
    assert declared.energy_idle == pytest.approx(60 * 3600 / 2)
    assert bill(costs(), usage()).energy is None


def test_what_no_column_tells_is_named_and_never_guessed() -> None:
    declared = costs(prices=[{"field": "output_tokens", "price": 1.0}], review_per_hour=1.0)
    used = Usage(100, HOUR, {"output_tokens": FieldSum(10, 90, 10)})
    found = bill(declared, used)
    assert found.left_out == (
        "output_tokens: 10 of 100 requests",
        "review_time: not told for this window",
    )


def test_an_unknown_share_of_successes_gives_no_cost_of_one() -> None:
    made = Bill(100, {"usage": 10.0})
    few = costs_of(made, Successes("right", 100, TooFew(3, 30, "labels")))["per_success"]
    assert isinstance(few, TooFew)
    assert few.reason == "labels that tell success"
    none = costs_of(made, Successes("right", 100, Measured(0.0, 50, 0.0, 0.1, 0.95)))["per_success"]
    assert isinstance(none, Failed)
    assert costs_of(made, Successes("right", 100, Failed("x")))["per_success"] == Failed(
        "success is not known: x",
        {"components": {"usage": 10.0}, "shares": {"usage": 1.0}, "condition": "right",
         "requests": 100},
    )  # fmt: skip


def test_the_interval_is_that_of_the_share_turned_round() -> None:
    made = Bill(200, {"usage": 100.0})
    share = Measured(0.8, 150, 0.7, 0.9, 0.95)
    found = costs_of(made, Successes("right", 160, share))["per_success"]
    assert isinstance(found, Measured)
    assert found.value == pytest.approx(100 / (160 * 0.8))
    assert found.low == pytest.approx(100 / (160 * 0.9))
    assert found.high == pytest.approx(100 / (160 * 0.7))
    open_above = costs_of(made, Successes("right", 160, Measured(0.1, 9, 0.0, 0.3, 0.95)))
    assert open_above["per_success"].high is None
    assert open_above["per_success"].level is None


def test_no_request_has_no_cost() -> None:
    found = costs_of(Bill(0, {"usage": 0.0}), answered(0, 0))
    assert isinstance(found["per_request"], TooFew)
    assert isinstance(found["per_success"], TooFew)
