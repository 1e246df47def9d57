"""Held-out null windows stay quiet, a turned correlation is found, and the fit is quick."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from monitor.checks.multivariate.correlations import PairWindows
from monitor.checks.multivariate.pairs import (
    PairsBaseline,
    PairsVerdict,
    compare_pairs,
    fit_pairs,
)
from monitor.measurement import TooFew
from tests.unit.checks.multivariate.worlds import (
    VIEWS,
    Day,
    correlated,
    independent,
    moving_means,
    windows_of,
)

HISTORY = 56
WEEKS = np.arange(HISTORY) // 7


def cut(windows: PairWindows, start: int, stop: int) -> PairWindows:
    means = None if windows.means is None else windows.means[start:stop]
    return PairWindows(windows.views, windows.sums[start:stop], windows.n[start:stop], means)


def fitted(windows: PairWindows, weeks: np.ndarray = WEEKS) -> PairsBaseline:
    baseline = fit_pairs(windows, weeks)
    assert isinstance(baseline, PairsBaseline)
    return baseline


def compared(baseline: PairsBaseline, window: PairWindows, gate: float = 0.1) -> PairsVerdict:
    verdict = compare_pairs(baseline, window, gate)
    assert isinstance(verdict, PairsVerdict)
    return verdict


def null_p_values(day: Day, seed: int, worlds: int, ahead: int = 10) -> np.ndarray:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(worlds):
        windows = windows_of([day(rng) for _ in range(HISTORY + ahead)])
        baseline = fitted(cut(windows, 0, HISTORY))
        for k in range(HISTORY, HISTORY + ahead):
            found.append(compared(baseline, cut(windows, k, k + 1), gate=0.0).p_value)
    return np.array(found)


@pytest.mark.parametrize(
    "day",
    [
        pytest.param(independent(300), id="independent"),
        pytest.param(correlated(300, 0.5, wobble=0.1), id="wobbling"),
        pytest.param(moving_means(300), id="moving means"),
    ],
)
def test_held_out_null_windows_exceed_no_level(day: Day) -> None:
    p_values = null_p_values(day, seed=7, worlds=25)
    for level in (0.05, 0.01, 0.001):
        limit = stats.binom.ppf(0.999, len(p_values), level)
        assert np.sum(p_values <= level) <= limit, level


def test_without_the_wobble_the_same_windows_would_alarm() -> None:
    """The reason for tau: sampling noise alone calls most wobbling days a change."""
    rng = np.random.default_rng(8)
    day = correlated(2_000, 0.5, wobble=0.1)
    windows = windows_of([day(rng) for _ in range(HISTORY + 20)])
    baseline = fitted(cut(windows, 0, HISTORY))
    later = [cut(windows, k, k + 1) for k in range(HISTORY, HISTORY + 20)]
    assert sum(compared(baseline, window, 0.0).p_value < 0.01 for window in later) <= 1
    still = replace(baseline.wobble, tau2=np.zeros(190), degrees=np.full(190, 1e9))
    alone = replace(baseline, wobble=still)
    assert sum(compared(alone, window, 0.0).p_value < 0.01 for window in later) >= 10


@pytest.mark.parametrize(
    ("n", "before", "after", "largest_p"),
    [
        (500, 0.6, -0.6, 1e-15),
        (100, 0.6, -0.6, 1e-8),
        (500, 0.3, -0.3, 1e-6),
        (500, 0.4, 0.0, 1e-4),
    ],
)
def test_a_turned_correlation_is_found_with_its_pair(
    n: int, before: float, after: float, largest_p: float
) -> None:
    rng = np.random.default_rng(9)
    for _ in range(5):
        days = [correlated(n, before)(rng) for _ in range(HISTORY)]
        baseline = fitted(windows_of(days))
        verdict = compared(baseline, windows_of([correlated(n, after)(rng)]))
        worst = verdict.changes[0]
        assert verdict.p_value < largest_p
        assert (worst.first, worst.second) == ("x10", "x11")
        assert worst.r_then == pytest.approx(before, abs=0.05)
        assert worst.r_now == pytest.approx(after, abs=4 / np.sqrt(n))
        assert worst.change == pytest.approx(abs(worst.r_now - worst.r_then))


def test_weekly_windows_with_eight_weeks() -> None:
    rng = np.random.default_rng(10)
    quiet, turned = correlated(3_500, 0.5, wobble=0.05), correlated(3_500, 0.0, wobble=0.05)
    weeks = np.arange(8)
    found = []
    for _ in range(30):
        windows = windows_of([quiet(rng) for _ in range(9)])
        baseline = fitted(cut(windows, 0, 8), weeks)
        found.append(compared(baseline, cut(windows, 8, 9), 0.0).p_value)
        assert compared(baseline, windows_of([turned(rng)])).p_value < 0.01
    assert np.sum(np.array(found) < 0.05) <= stats.binom.ppf(0.999, 30, 0.05)


def test_a_change_below_the_gate_does_not_count() -> None:
    rng = np.random.default_rng(11)
    baseline = fitted(windows_of([correlated(20_000, 0.5)(rng) for _ in range(HISTORY)]))
    window = windows_of([correlated(20_000, 0.43)(rng)])
    assert compared(baseline, window, gate=0.02).p_value < 1e-4
    gated = compared(baseline, window)
    assert gated.p_value == 1.0
    outcome = gated.outcome()
    assert outcome.value == gated.changes[0].change
    assert outcome.n == 20_000
    assert outcome.detail["p_value"] == 1.0
    assert len(outcome.detail["pairs"]) == 5
    assert gated.n_pairs == len(VIEWS) * (len(VIEWS) - 1) // 2


def test_too_few_windows_or_rows_are_told() -> None:
    rng = np.random.default_rng(12)
    days = windows_of([rng.normal(size=(100, 3)) for _ in range(14)])
    short = fit_pairs(cut(days, 0, 7), np.arange(7) // 4)
    assert short == TooFew(7, 8, "baseline windows of a pair of views")
    assert isinstance(fit_pairs(days, np.zeros(14, np.int64)), TooFew)
    thin = windows_of([rng.normal(size=(29, 3))])
    baseline = fitted(days, np.arange(14) // 7)
    assert compare_pairs(baseline, thin) == TooFew(
        29, 30, "rows with both values of a pair of views"
    )
    with pytest.raises(AssertionError, match="over the views of its baseline"):
        compare_pairs(baseline, days.of(("x0", "x1")))


def test_constant_and_identical_views_do_no_harm() -> None:
    rng = np.random.default_rng(13)

    def day() -> np.ndarray:
        values = rng.normal(size=(200, 4))
        values[:, 1] = values[:, 0]
        values[:, 3] = 2.0
        return values

    baseline = fitted(windows_of([day() for _ in range(HISTORY)]))
    assert len(baseline.chosen) == 3  # no pair with the constant
    verdict = compared(baseline, windows_of([day()]))
    assert verdict.p_value == 1.0
    broken = windows_of([rng.normal(size=(200, 4))])
    assert compared(baseline, broken).p_value < 1e-10


def test_twenty_views_and_56_windows_are_fitted_within_50_ms() -> None:
    rng = np.random.default_rng(14)
    windows = windows_of([independent(100)(rng) for _ in range(HISTORY)])
    times = []
    for _ in range(5):
        start = time.perf_counter()
        fit_pairs(windows, WEEKS)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.05
