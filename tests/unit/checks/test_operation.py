"""Outcomes, retries, cold starts and good answers of a serving part."""

from __future__ import annotations

from typing import Any

import pytest

from monitor.checks.operation import cold_and_warm, operation_rates, outcome_shares
from monitor.contract_quality import ServiceObjective
from monitor.measurement import Measured, Outcome, TooFew
from monitor.profiles.part import Part
from monitor.profiles.serving import build_serving_parts
from tests.unit.profiles.factories import contract_of, one_group, rows_of

CONTRACT = contract_of(
    {"name": "latency", "type": "number", "role": "timing", "nullable": True},
    {"name": "tries", "type": "integer", "role": "count", "field": "retries", "nullable": True},
    {"name": "cold_start", "type": "boolean", "nullable": True},
    objective={"column": "latency", "at_most": 200},
)


def part_of(outcome: list[int], **values: list[Any]) -> Part:
    every: dict[str, list[Any]] = {c.name: [None] * len(outcome) for c in CONTRACT.columns}
    rows = rows_of(CONTRACT, every | values, outcome=outcome)
    return build_serving_parts(rows, CONTRACT, rows.layout, one_group(rows), 1)[0]


def value(outcome: Outcome) -> float:
    assert isinstance(outcome, Measured)
    return outcome.value


def test_each_outcome_has_its_share_with_limits() -> None:
    found = outcome_shares(part_of([1] * 80 + [4] * 10 + [5] * 4 + [6] * 3 + [7] * 2 + [8]))
    told = {name: value(outcome) for name, outcome in found.items()}
    assert told == {
        "answered_share": 0.8, "refused_share": 0.0, "failed_share": 0.1, "timed_out_share": 0.04,
        "cancelled_share": 0.03, "fell_back_share": 0.02, "cached_share": 0.01,
    }  # fmt: skip
    failed = found["failed_share"]
    assert isinstance(failed, Measured)
    assert (failed.low, failed.high) == (pytest.approx(0.0552, abs=1e-4),
                                         pytest.approx(0.1744, abs=1e-4))  # fmt: skip


def test_retries_count_only_requests_that_tell_theirs() -> None:
    part = part_of([1] * 5, tries=[0, 1, 3, None, 0])
    found = operation_rates(part, CONTRACT, 60)["retry_share"]
    assert isinstance(found, Measured)
    assert (found.value, found.n) == (0.5, 4)


def test_good_answers_are_a_rate_and_everything_else_is_a_miss() -> None:
    part = part_of([1, 1, 1, 8, 4, 6], latency=[100.0, 200.0, 201.0, 5.0, 1.0, None])
    found = operation_rates(part, CONTRACT, 60)
    assert value(found["goodput"]) == pytest.approx(3 / 60)
    assert value(found["objective_missed"]) == 0.5
    assert found["objective_missed"].detail == {"count": 3}


def test_counts_of_another_objective_are_too_few_not_zero() -> None:
    other = CONTRACT.model_copy(
        update={"objective": ServiceObjective(column="latency", at_most=300)}
    )
    found = operation_rates(part_of([1], latency=[1.0]), other, 60)
    assert isinstance(found["goodput"], TooFew)
    assert isinstance(found["objective_missed"], TooFew)


def test_cold_and_warm_requests_have_percentiles_of_their_own() -> None:
    n = 200
    part = part_of(
        [1] * n,
        latency=[9_000.0 if k % 8 == 0 else 100.0 for k in range(n)],
        cold_start=[k % 8 == 0 for k in range(n)],
    )
    found = cold_and_warm(part, CONTRACT)
    assert value(found["cold_p50", "latency"]) == pytest.approx(9_000, rel=0.01)
    assert value(found["warm_p95", "latency"]) == pytest.approx(100, rel=0.01)
    assert isinstance(found["cold_p99", "latency"], TooFew), "25 cold requests have no p99"
    assert value(operation_rates(part, CONTRACT, 60)["cold_start_share"]) == 1 / 8


def test_a_window_without_requests_has_no_shares() -> None:
    for outcome in operation_rates(Part(), CONTRACT, 60).values():
        assert isinstance(outcome, TooFew)
    assert {type(each) for each in cold_and_warm(Part(), CONTRACT).values()} == {TooFew}


def test_a_contract_without_such_columns_has_outcomes_only() -> None:
    plain = contract_of({"name": "x", "type": "number"})
    assert set(operation_rates(Part(), plain, 60)) == set(outcome_shares(Part()))
    assert cold_and_warm(Part(), plain) == {}
