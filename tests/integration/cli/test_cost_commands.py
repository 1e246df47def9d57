"""`inferwatch cost` and `inferwatch cascade` on a played day."""

from __future__ import annotations

import json

import pytest

from monitor.store.models import ModelContext
from tests.integration.cli.conftest import Run
from tests.integration.jobs.test_costs_and_cascade import SMALL, TOTAL, WRONG, N, played

__all__ = ["played"]

SPAN = ("--window", "2024-05-01/2024-05-02")


@pytest.mark.parametrize("played", ["label"], indirect=True)
def test_costs_are_told_with_their_condition(run: Run, played: ModelContext) -> None:
    text = run("cost", "credit", *SPAN).out
    for words in ("the prediction was right, by the label default", "EUR", "80.0%", "usage"):
        assert words in text
    (day,) = json.loads(run("cost", "credit", *SPAN, "--json").out)
    assert day["per_success"]["value"] == pytest.approx(TOTAL / (N - WRONG))
    assert day["per_success"]["success_share"] == pytest.approx(0.8)
    assert run("cost", "nobody").code == 2


@pytest.mark.parametrize("played", ["label"], indirect=True)
def test_routes_stand_beside_each_other(run: Run, played: ModelContext) -> None:
    told = json.loads(run("cascade", "credit", *SPAN, "--json").out)
    small, large = told["routes"]
    assert (small["route"], small["n"], large["n"]) == ("small", SMALL, N - SMALL)
    assert small["cost"] == pytest.approx(0.01 + 0.05)
    assert large["cost"] == pytest.approx(0.01 + 0.5)
    assert small["right"] == pytest.approx((SMALL - WRONG) / SMALL)
    assert large["right"] == pytest.approx(1.0)
    assert small["labelled"] == SMALL
    text = run("cascade", "credit", *SPAN).out
    assert "Router error: 26.7% of the 300 labelled requests that small kept are wrong." in text
    assert "kept against it 30" in text
    assert "shadow leg" in text
