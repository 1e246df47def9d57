"""Numbers of another workload are refused, each reason told; unknown is never alike."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from monitor.checks.workload.arrivals import Arrivals
from monitor.checks.workload.card import Card, Spread, judge_target, spread
from monitor.checks.workload.comparable import (
    UnreadableCard,
    number_pairs,
    read_card,
    reasons_against,
)
from monitor.contract_workload import Target

LENGTH = Spread("tokens", 1000, 1000, 120.0, 20.0, 100.0, 400.0, 900.0)
TIME = Spread("ms", 1000, 1000, 250.0, 100.0, 200.0, 600.0, 900.0)
CARD = Card(
    model="chat", start="2026-03-01T00:00:00+00:00", end="2026-03-08T00:00:00+00:00", leg="live",
    n=1000, scenario="server", deployments=(1,), tags={"accelerator": "L4"},
    arrivals=Arrivals(2.0, 5.0, 1.1, 3.0, 6.0), lengths={"prompt_tokens": LENGTH},
    timings={"latency": TIME},
)  # fmt: skip


def test_a_card_read_back_from_its_json_is_the_same_and_comparable() -> None:
    read = read_card(json.loads(json.dumps(CARD.as_json())))
    assert read == CARD
    assert reasons_against(CARD, read) == []
    pairs = number_pairs(CARD, replace(CARD, timings={"latency": replace(TIME, p50=100.0)}))
    assert [(pair.name, pair.ratio) for pair in pairs] == [("latency p50", 2.0), ("latency p95", 1)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lengths": {"prompt_tokens": replace(LENGTH, p50=4000.0, p95=6000.0)}}, "prompt_tokens"),
        ({"lengths": {}}, "prompt_tokens is not known there"),
        ({"lengths": {"prompt_tokens": replace(LENGTH, unit="words")}}, "in words there"),
        ({"lengths": {"prompt_tokens": replace(LENGTH, n=500)}}, "missing for 50%"),
        ({"scenario": "offline"}, "offline there"),
        ({"scenario": None}, "scenario"),
        ({"arrivals": None}, "arrivals are not known"),
        ({"arrivals": Arrivals(20.0, 50.0, 1.1, 3.0, 6.0)}, "requests per second: 2 here and 20"),
        ({"arrivals": Arrivals(2.0, 5.0, 40.0, 3.0, 6.0)}, "dispersion"),
        ({"arrivals": Arrivals(2.0, 5.0, 1.1, None, None)}, "mean concurrency is not known there"),
        ({"tags": {"accelerator": "H100"}}, "accelerator is L4 here and H100 there"),
        ({"tags": {}}, "accelerator is not known there"),
    ],
    ids=lambda value: value if isinstance(value, str) else "with",
)
def test_another_workload_is_refused_with_its_reason(change: dict, words: str) -> None:
    assert any(words in reason for reason in reasons_against(CARD, replace(CARD, **change)))


def test_two_cards_that_know_nothing_are_not_alike() -> None:
    empty = Card("a", "", "", "live", 0, None)
    assert len(reasons_against(empty, empty)) == 4


def test_what_is_no_card_is_told_with_its_places() -> None:
    with pytest.raises(UnreadableCard, match=r"n: .*integer"):
        read_card({**CARD.as_json(), "n": "many"})
    with pytest.raises(UnreadableCard, match="model: Field required"):
        read_card({})
    with pytest.raises(UnreadableCard, match="version: it is 9"):
        read_card({**CARD.as_json(), "version": 9})


def test_only_an_interval_on_one_side_of_the_limit_decides_a_target() -> None:
    rng = np.random.default_rng(1)
    values, counts = np.unique(np.round(rng.lognormal(5, 0.5, 5_000)), return_counts=True)
    p95 = float(np.quantile(np.repeat(values, counts), 0.95))
    for limit, verdict in ((p95 * 1.5, "met"), (p95 * 0.7, "missed"), (p95, "undecided")):
        assert (
            judge_target(Target(column="latency", at_most=limit), values, counts).verdict == verdict
        )
    least = judge_target(Target(column="rate", at_least=p95 * 0.7), values, counts)
    assert least.verdict == "met"
    few = judge_target(Target(column="latency", at_most=1.0), values[:3], np.array([1, 1, 1]))
    assert few.verdict == "not_measured"
    assert few.reason


def test_quantiles_of_cells_are_those_of_the_rows() -> None:
    rows = np.sort(np.random.default_rng(3).integers(1, 50, 999)).astype(float)
    values, counts = np.unique(rows, return_counts=True)
    made = spread(values, counts, "tokens", 1_000)
    assert made is not None
    ordered = [rows[int(np.ceil(share * 999)) - 1] for share in (0.05, 0.5, 0.95, 0.99)]
    assert [made.p5, made.p50, made.p95, made.p99] == ordered
    assert made.mean == pytest.approx(rows.mean())
