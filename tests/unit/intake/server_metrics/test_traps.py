"""Traps of servers' metrics, each under its number."""

from __future__ import annotations

from datetime import timedelta

import pytest

from monitor.intake.server_metrics.deltas import SeriesState, Step, advance
from monitor.intake.server_metrics.minutes import to_minutes
from monitor.intake.server_metrics.points import Amount, Buckets, MetricPoint, PointKind
from monitor.server_buckets import FinerThanBuckets, is_quantile_above, quantile_between
from monitor.server_readings import SERVER_READINGS
from tests.unit.intake.server_metrics.pages import LATER, START, TRITON, VLLM, pages, reading

QUIET = {"success": 100, "computed": 100, "runs": 100, "request_us": 1_000_000, "queue_us": 0,
         "compute_us": 900_000, "hits": 0, "waiting": 0}  # fmt: skip


def test_trap_10_an_answer_from_the_response_cache_is_no_faster_model() -> None:
    # 10 computed requests of 9 ms, and 30 answers from the cache that took 1 ms of the server.
    later = QUIET | {"success": 140, "computed": 110, "runs": 110, "hits": 30,
                     "compute_us": 990_000, "request_us": 1_130_000}  # fmt: skip
    _, second = pages(TRITON.format(**QUIET), TRITON.format(**later))
    whole, compute = reading(second, "request_time"), reading(second, "compute_time")
    hits = reading(second, "response_cache_hits")
    assert whole.total / whole.n == pytest.approx(3.25)  # "faster" than 10 ms before
    assert (compute.n, compute.total / compute.n) == (10, pytest.approx(9.0))  # the model is not
    assert (hits.total, hits.n) == (30, 40)
    assert "cache" in SERVER_READINGS["request_time"].blind_to
    assert "cache" in SERVER_READINGS["requests"].blind_to


def test_trap_11_a_failure_counter_that_misses_client_errors_says_so() -> None:
    # A malformed request was refused: neither counter moved.
    _, second = pages(TRITON.format(**QUIET), TRITON.format(**QUIET))
    assert reading(second, "server_failures").total == 0
    assert "malformed" in SERVER_READINGS["server_failures"].blind_to


def histogram(count: int, total: float, *, at: int, start: int = 0) -> MetricPoint:
    """A cumulative histogram with one edge, `at` seconds after the start of all."""
    return MetricPoint(
        "gen_ai.server.request.duration",
        PointKind.CUMULATIVE,
        START + timedelta(seconds=at),
        Amount(count, total, Buckets((0.5,), (count, 0))),
        (("gen_ai.request.model", "chat"),),
        START + timedelta(seconds=start),
    )


def test_trap_18_the_same_cumulative_histogram_sent_twice_is_added_once() -> None:
    flush, shutdown = histogram(3, 0.6, at=10), histogram(3, 0.6, at=11)
    first = to_minutes([flush], {})
    again = to_minutes([flush, shutdown], first.states)
    assert (reading(first, "request_time").n, reading(again, "request_time").n) == (3, 0)
    assert again.steps == {Step.SENT_AGAIN: 1, Step.ADDED: 1}
    assert reading(again, "request_time").total == 0


def test_trap_18_a_restart_begins_a_series_of_its_own_and_late_points_meet_the_old_one() -> None:
    before = to_minutes([histogram(3, 0.6, at=10)], {})
    restarted = to_minutes([histogram(2, 0.2, at=30, start=20)], before.states)
    assert reading(restarted, "request_time").n == 2
    assert reading(restarted, "restarts").total == 1
    late = to_minutes([histogram(4, 0.8, at=15)], {**before.states, **restarted.states})
    assert reading(late, "request_time").n == 1
    assert not any(key.reading == "restarts" for key in late.readings)


def test_trap_18_without_a_start_a_count_that_falls_has_begun_again() -> None:
    page = "# TYPE nv_energy_consumption counter\nnv_energy_consumption {}\n"
    _, second, third = pages(page.format(100), page.format(130), page.format(8))
    assert reading(second, "energy").total == 30
    assert reading(third, "energy").total == 8
    assert reading(third, "restarts").total == 1


def test_trap_18_deltas_that_overlap_are_added_once() -> None:
    def delta(start: int, end: int) -> MetricPoint:
        began, at = START + timedelta(seconds=start), START + timedelta(seconds=end)
        return MetricPoint("tgi_request_success", PointKind.DELTA, at, Amount(0, 5), (), began)

    first = advance(None, delta(0, 10))
    assert (first.step, first.added) == (Step.ADDED, Amount(0, 5))
    assert advance(first.state, delta(0, 10)).step is Step.SENT_AGAIN
    assert advance(first.state, delta(5, 15)).step is Step.SENT_AGAIN
    assert advance(first.state, delta(10, 20)).step is Step.ADDED


def test_trap_18_what_was_added_over_hours_says_nothing_of_a_minute() -> None:
    state = SeriesState(START, Amount(0, 5))
    late = MetricPoint("tgi_request_success", PointKind.CUMULATIVE, START + timedelta(hours=2),
                       Amount(0, 9_000))  # fmt: skip
    done = advance(state, late)
    assert (done.step, done.added, done.state.amount.total) == (Step.TOO_LONG_AGO, None, 9_000)


def test_trap_19_no_verdict_is_finer_than_a_bucket() -> None:
    quiet = {"waiting": 0, "queries": 0, "hits": 0}
    first = VLLM.format(**quiet, fast=0, count=0, seconds=0)
    second = VLLM.format(**quiet, fast=98, count=100, seconds=10)
    made = pages(first, second)[1]
    buckets = reading(made, "request_time").buckets
    assert buckets == Buckets((300.0, 500.0), (98, 2, 0))
    p95 = quantile_between(buckets.edges, buckets.counts, 0.95)
    assert p95 is not None
    assert p95.describe("ms") == "at most 300 ms"
    with pytest.raises(FinerThanBuckets, match="at most 300"):
        is_quantile_above(buckets.edges, buckets.counts, 0.95, 100)
    assert is_quantile_above(buckets.edges, buckets.counts, 0.95, 300) is False
    assert is_quantile_above(buckets.edges, buckets.counts, 0.99, 300) is True
    with pytest.raises(FinerThanBuckets, match="between 300 and 500"):
        is_quantile_above(buckets.edges, buckets.counts, 0.99, 400)


def test_trap_19_quantiles_beyond_the_last_edge_are_above_it_and_of_nothing_there_are_none() -> (
    None
):
    assert quantile_between((1.0,), (0, 0), 0.5) is None
    assert is_quantile_above((1.0,), (0, 0), 0.5, 3) is None
    beyond = quantile_between((1.0,), (1, 9), 0.5)
    assert beyond is not None
    assert beyond.describe("s") == "above 1 s"


def test_trap_19_buckets_with_other_edges_are_not_put_together() -> None:
    one = histogram(3, 0.6, at=10)
    other = MetricPoint(one.name, one.kind, LATER, Amount(5, 0.9, Buckets((0.5, 1.0), (4, 1, 0))),
                        one.labels, one.start)  # fmt: skip
    first = to_minutes([one], {})
    second = to_minutes([other], first.states)
    assert reading(second, "request_time").n == 2
    assert reading(second, "request_time").buckets is None
