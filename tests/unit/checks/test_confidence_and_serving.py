"""Confidence of scores, latency percentiles, rates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from monitor.checks.confidence import mean_confidence, score_confidence
from monitor.checks.serving import percentiles, percentiles_of, request_rate, serving_rates
from monitor.measurement import Measured, TooFew
from monitor.profiles.log_cells import log_keys
from monitor.profiles.part import Part
from monitor.records import RequestOutcome
from tests.unit.checks.factories import binary, numbers, value_cells


def _serving_part(values: np.ndarray, outcomes: dict[RequestOutcome, int]) -> Part:
    keys, rest = log_keys(values)
    distinct, place = np.unique(keys, return_inverse=True)
    table = np.zeros((len(distinct), 2), np.int64)
    np.add.at(table, place, np.column_stack((np.ones(len(rest), np.int64), rest)))
    counts = np.zeros(16, np.int64)
    for outcome, count in outcomes.items():
        counts[int(outcome)] = count
    return Part({"outcome": counts}, {"log/latency_ms": (distinct, table)})


# Ranks by the order-statistic formula: n = 1000 gives (469, 532), (936, 964), (983, 997).
def test_percentiles_hold_the_rows_own_within_a_cell():
    rows = np.sort(np.random.default_rng(51).lognormal(3, 0.6, 1_000))
    outcomes = percentiles(_serving_part(rows, {}), "latency_ms")
    for name, rank, low, high in (
        ("p50", 500, 469, 532),
        ("p95", 950, 936, 964),
        ("p99", 990, 983, 997),
    ):
        outcome = outcomes[name]
        assert isinstance(outcome, Measured)
        assert outcome.value == pytest.approx(rows[rank - 1], rel=1 / 128)
        assert outcome.low == pytest.approx(rows[low - 1], rel=1 / 128)
        assert outcome.high == pytest.approx(rows[high - 1], rel=1 / 128)
        assert outcome.detail["rank_low"] == low


def test_p99_of_two_hundred_rows_has_no_upper_limit():
    outcomes = percentiles_of(np.arange(1.0, 201.0), np.ones(200, np.int64))
    outcome = outcomes["p99"]
    assert isinstance(outcome, Measured)
    assert (outcome.value, outcome.low, outcome.high) == (198.0, 195.0, None)


def test_percentiles_of_few_or_no_rows():
    outcomes = percentiles_of(np.array([5.0]), np.array([99]))
    assert isinstance(outcomes["p95"], Measured)
    assert outcomes["p99"] == TooFew(99, 100, "rows with a value", {"provisional": 5.0})
    nothing = percentiles(_serving_part(np.zeros(0), {}), "latency_ms")
    assert {outcome.reason for outcome in nothing.values()} == {"no values"}
    assert percentiles(Part({}, {}), "latency_ms")["p50"] == TooFew(0, 20, "no values")


def test_coverage_of_the_median_limits():
    rng = np.random.default_rng(52)
    held = 0
    for _ in range(400):
        outcome = percentiles_of(np.sort(rng.normal(size=101)), np.ones(101, np.int64))["p50"]
        assert isinstance(outcome, Measured)
        held += outcome.low <= 0 <= outcome.high
    assert held >= stats.binom.ppf(0.001, 400, 0.95)


def test_rates_by_outcome():
    part = _serving_part(
        np.ones(3),
        {
            RequestOutcome.ANSWERED: 90,
            RequestOutcome.FAILED: 3,
            RequestOutcome.TIMED_OUT: 2,
            RequestOutcome.ABSTAINED: 5,
        },
    )
    outcomes = serving_rates(part, 300.0)
    assert outcomes["error_rate"].value == 0.05
    assert outcomes["abstention_rate"].value == 0.05
    assert outcomes["request_rate"].value == pytest.approx(1 / 3)
    assert outcomes["error_rate"].detail["by_outcome"]["timed_out"] == 2


def test_no_requests_are_a_measured_rate_and_too_few_for_shares():
    outcomes = serving_rates(Part({}, {}), 300.0)
    rate = outcomes["request_rate"]
    assert isinstance(rate, Measured)
    # Exact Poisson: -ln(0.025)/300.
    assert (rate.value, rate.high) == (0.0, pytest.approx(3.688879454 / 300))
    assert isinstance(outcomes["error_rate"], TooFew)
    with pytest.raises(AssertionError, match="longer than 0"):
        request_rate(1, 0.0)


def test_confidence_of_scores_is_that_of_the_rows():
    rng = np.random.default_rng(53)
    score = rng.beta(2, 2, 3_000)
    outcomes = score_confidence(binary(score, [None] * 3_000), 0.5)
    assert outcomes["mean_score"].value == pytest.approx(score.mean(), abs=1 / 1024)
    near = np.mean(np.abs(score - 0.5) <= 0.05)
    assert outcomes["near_threshold"].value == pytest.approx(near, abs=0.005)
    entropy = stats.entropy(np.vstack((score, 1 - score)), base=2).mean()
    assert outcomes["entropy"].value == pytest.approx(entropy, abs=1e-3)
    for outcome in outcomes.values():
        assert outcome.low < outcome.value < outcome.high


def test_mean_confidence_and_too_few():
    cells = value_cells([0.2, 0.8])
    outcome = mean_confidence(numbers([0.2, 0.8] * 50, cells))
    assert isinstance(outcome, Measured)
    assert outcome.value == pytest.approx(0.5)
    assert isinstance(mean_confidence(numbers([0.2] * 10, cells)), TooFew)
    assert isinstance(mean_confidence(numbers([None], cells)), TooFew)
    for few in score_confidence(binary([], []), 0.5).values():
        assert few == TooFew(0, 30, "no scores", few.detail)
