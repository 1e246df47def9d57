"""Arrivals: regular ones have no dispersion, independent ones 1, batches of k have k."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.checks.workload.arrivals import FiveMinutes, arrivals, dispersion

HOURS, A_DAY = 2_000, 288


def windows(counts: np.ndarray, latency: float | None = None) -> list[FiveMinutes]:
    return [FiveMinutes(place, int(n), latency) for place, n in enumerate(counts) if n]


def test_independent_arrivals_have_dispersion_one_whatever_the_hour_of_the_day() -> None:
    rng = np.random.default_rng(4)
    rate = 200 * (1.2 + np.sin(2 * np.pi * (np.arange(HOURS * 12) // 12) / 24))
    assert dispersion(windows(rng.poisson(rate))) == pytest.approx(1.0, abs=0.05)


def test_batches_of_eight_have_dispersion_eight_and_a_steady_stream_none() -> None:
    rng = np.random.default_rng(5)
    assert dispersion(windows(8 * rng.poisson(30, HOURS * 12))) == pytest.approx(8.0, rel=0.05)
    assert dispersion(windows(np.full(HOURS * 12, 30))) == 0.0


def test_five_minutes_without_a_request_count_as_none() -> None:
    counts = np.tile([12] + [0] * 11, 6)
    mean = 1.0
    expected = 4 * ((12 - mean) ** 2 + 11 * mean**2) / (11 * 4 * mean)
    assert dispersion(windows(counts)) == pytest.approx(expected)


def test_too_little_traffic_has_no_dispersion() -> None:
    assert dispersion(windows(np.full(36, 5))) is None


def test_concurrency_is_rate_times_latency() -> None:
    found = arrivals(windows(np.full(A_DAY, 600), latency=1.5), 86_400)
    assert found.rate == pytest.approx(2.0)
    assert found.concurrency_mean == pytest.approx(3.0)
    assert found.concurrency_p95 == pytest.approx(3.0)


def test_a_window_without_a_known_latency_leaves_concurrency_unknown() -> None:
    found = arrivals([FiveMinutes(0, 10, 1.0), FiveMinutes(1, 10, None)], 600)
    assert (found.concurrency_mean, found.concurrency_p95) == (None, None)
    assert found.peak_rate == pytest.approx(10 / 300)
