"""How requests arrived: rate, peak, bursts, and how many were in the works at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

WINDOW_SECONDS = 300
WINDOWS_AN_HOUR = 12


@dataclass(frozen=True)
class FiveMinutes:
    """Requests that began in the five minutes number `place` since 1970, and their mean latency
    in seconds (None: not known).
    """

    place: int
    n: int
    mean_latency: float | None = None


@dataclass(frozen=True)
class Arrivals:
    """Requests per second on average and in the busiest five minutes; how bursty; how many at once.

    `dispersion`: 1 for independent arrivals, near 0 for regular ones, k for batches of k. None
    with fewer than two whole hours of traffic. `concurrency_*` None where no latency is known.
    """

    rate: float
    peak_rate: float
    dispersion: float | None
    concurrency_mean: float | None
    concurrency_p95: float | None


def arrivals(windows: Sequence[FiveMinutes], seconds: float) -> Arrivals:
    """Arrivals of windows with traffic, out of a span of `seconds` (the rest had none)."""
    n = sum(each.n for each in windows)
    at_once = np.sort([
        each.n * each.mean_latency / WINDOW_SECONDS
        for each in windows if each.mean_latency is not None
    ])  # fmt: skip
    known = len(at_once) > 0 and len(at_once) == len(windows)
    return Arrivals(
        rate=n / seconds,
        peak_rate=max((each.n for each in windows), default=0) / WINDOW_SECONDS,
        dispersion=dispersion(windows),
        concurrency_mean=float(at_once.sum() * WINDOW_SECONDS / seconds) if known else None,
        concurrency_p95=float(at_once[int(np.ceil(0.95 * len(at_once))) - 1]) if known else None,
    )


def dispersion(windows: Sequence[FiveMinutes]) -> float | None:
    """Variance over mean of five-minute counts within hours: Σ (n - n̄ₕ)² / (11 Σ n̄ₕ).

    Within hours, so that a daily cycle is no burst. The first and last hour are left out, as they
    may be cut. Little's law is not used here. Not for fewer than two whole hours with traffic.
    """
    ordered = sorted(windows, key=lambda each: each.place)
    hours = [
        (hour, [each.n for each in mine])
        for hour, mine in groupby(ordered, key=lambda each: each.place // WINDOWS_AN_HOUR)
    ][1:-1]
    if len(hours) < 2:
        return None
    squares = means = 0.0
    for _, counts in hours:
        full = np.zeros(WINDOWS_AN_HOUR)
        full[: len(counts)] = counts
        squares += float(((full - full.mean()) ** 2).sum())
        means += float(full.mean())
    return squares / ((WINDOWS_AN_HOUR - 1) * means)
