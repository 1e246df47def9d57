"""Worked numbers of the statistics behind drift: one example through every part, published critical
values, power and size. Numbers come from the formulas evaluated once with SciPy 1.17.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from monitor.checks.drift.chi_square import chi_square_statistic
from monitor.checks.drift.jensen_shannon import jensen_shannon_divergence
from monitor.checks.drift.kolmogorov_smirnov import KolmogorovSmirnov, largest_gap
from monitor.checks.drift.psi import expected_stability, population_stability
from monitor.checks.effect import chi_square_p_value, effect_size
from monitor.checks.intervals import noncentrality_limits
from monitor.checks.promise.column import CellOrder, Layouts
from monitor.checks.promise.expect import WindowRows
from monitor.checks.promise.views import View, largest_cell, statistics, surprise_of
from monitor.measurement import Measured
from monitor.profiles.cells import NumberCells
from tests.unit.checks.factories import from_counts

REFERENCE, WINDOW = np.array([500.0, 300, 150, 50]), np.array([90.0, 70, 30, 10])
N, M = 1000.0, 200.0
EFFECTIVE = N * M / (N + M)
POOL = (REFERENCE + WINDOW) / (N + M)


def _windows(observed: np.ndarray, expected: np.ndarray, inflation: float = 1.0) -> WindowRows:
    """Windows of data cells with an empty missing cell."""
    seen, wanted = (np.column_stack((one, np.zeros(len(one)))) for one in (observed, expected))
    n = len(seen)
    return WindowRows(
        seen, wanted, seen.sum(axis=1), np.full(n, inflation), np.zeros(n, np.int64),
        np.ones(n, bool),
    )  # fmt: skip


def _layouts(totals: np.ndarray) -> Layouts:
    return Layouts.of([CellOrder.of(column_is_number=True, totals=np.append(totals, 0))])


# PSI, 8·JSD and X2 estimate the same number; to second order n_eff·PSI = 8·n_eff·JSD = X2.
def test_the_distances_of_the_example_agree_to_second_order():
    psi = population_stability(REFERENCE, WINDOW, 0)
    divergence = jensen_shannon_divergence(REFERENCE, WINDOW)
    statistic, degrees = chi_square_statistic(REFERENCE, WINDOW)
    assert EFFECTIVE * 6 == 1_000
    assert EFFECTIVE * psi == pytest.approx(2.162593, abs=5e-7)
    assert 8 * EFFECTIVE * divergence == pytest.approx(2.160917, abs=5e-7)
    assert statistic == pytest.approx(2.198809, abs=5e-7)
    assert np.sqrt(divergence) == pytest.approx(0.0402578, abs=5e-8)
    assert largest_gap(REFERENCE, WINDOW) == pytest.approx(0.05)
    effect = effect_size(statistic, degrees, EFFECTIVE)
    assert effect.value == pytest.approx((2.198809 - 3) / EFFECTIVE, abs=1e-8)
    assert effect.value < 0 < psi < 0.018  # below what sampling alone makes: 3·(1/n + 1/m)


# 95, 99 and 99.99 % limits of PSI under no change, as the tail of chi-square at n_eff·PSI.
@pytest.mark.parametrize(("limit", "tail"), [(0.0469, 0.05), (0.0681, 0.01), (0.1266, 0.0001)])
def test_null_limits_of_the_example(limit, tail):
    assert chi_square_p_value(limit * EFFECTIVE, 3) == pytest.approx(tail, rel=0.01)


# z_loc 0.84419 (p 0.39856), z_scale -1.04343, cells (-1.29117, 1.39777, 0, 0): a window that is
# part of its own pool has variance n/(n + m) of a fresh one. Scores come from a thousand such
# references, so that the half row that the product adds to each cell does not show.
def test_location_spread_and_cells_of_the_example():
    layouts = _layouts((1_000 * REFERENCE).astype(np.int64))
    windows = _windows(WINDOW[None], M * POOL[None], inflation=N / (N + M))
    found = statistics(windows, layouts)
    t = found.statistic[:, 0]
    p = np.exp(-surprise_of(t[:3], found.degrees[:3, 0]))
    assert t[View.OMNIBUS] == pytest.approx(2.198809, abs=5e-7)
    assert p[View.OMNIBUS] == pytest.approx(0.532183, abs=5e-7)
    assert np.sqrt(t[View.LOCATION]) == pytest.approx(0.84419, abs=1e-5)
    assert p[View.LOCATION] == pytest.approx(0.39856, abs=1e-5)
    assert np.sqrt(t[View.SPREAD]) == pytest.approx(1.04343, abs=1e-5)
    cells = largest_cell(windows, layouts, np.zeros(1))
    assert cells.cell[0] == 1
    error = np.sqrt(EFFECTIVE * POOL[1] * (1 - POOL[1]))
    assert cells.excess[0] / error == pytest.approx(1.39777, abs=5e-6)


# Mean and variance of PSI under no change: (B - 1)(1/n + 1/m) and twice that times (1/n + 1/m).
def test_null_moments_of_the_index():
    rng = np.random.default_rng(1)
    shares = np.full(10, 0.1)
    drawn = [
        population_stability(
            rng.multinomial(20_000, shares).astype(float),
            rng.multinomial(2_000, shares).astype(float),
            0,
        )
        for _ in range(4_000)
    ]
    step = 1 / 20_000 + 1 / 2_000
    assert np.mean(drawn) == pytest.approx(9 * step, rel=0.03)
    assert np.var(drawn) == pytest.approx(2 * 9 * step**2, rel=0.12)
    assert expected_stability(shares, 20_000, 2_000) == pytest.approx(9 * step, rel=0.01)


# Critical values of PSI against a fixed baseline on ten cells at 95 % (Yurdakul 2018), and the
# normal approximation (B - 1)/m + 1.645·sqrt(2(B - 1))/m at m = 400.
@pytest.mark.parametrize(("m", "critical"), [(100, 0.169), (200, 0.085), (400, 0.042),
                                             (1000, 0.017)])  # fmt: skip
def test_published_critical_values(m, critical):
    assert stats.chi2.isf(0.05, 9) / m == pytest.approx(critical, abs=5e-4)
    assert chi_square_p_value(critical * m, 9) == pytest.approx(0.05, abs=0.004)
    assert effect_size(critical * m, 9, m).value == pytest.approx(critical - 9 / m)


def test_the_normal_approximation_is_too_bold():
    normal = 9 / 400 + stats.norm.isf(0.05) * np.sqrt(18) / 400
    assert normal == pytest.approx(0.0400, abs=1e-4)
    assert chi_square_p_value(normal * 400, 9) > 0.06


# n = 20,000, m = 2,000, ten cells: p-values of "no drift", and of "at most 0.02" by the noncentral
# chi-square. The product prints limits instead: p of "at most δ" is the level at which the lower
# limit is δ.
@pytest.mark.parametrize(
    ("psi", "no_drift", "at_most", "digits"),
    [(0.01, 0.033, 0.995, 0.02), (0.02, 3.4e-5, 0.747, 0.02), (0.05, 1.1e-15, 0.0014, 0.05),
     (0.1, 2e-34, 1.1e-12, 0.1)],
)  # fmt: skip
def test_drift_bigger_than_a_size(psi, no_drift, at_most, digits):
    effective = 20_000 * 2_000 / 22_000
    assert chi_square_p_value(effective * psi, 9) == pytest.approx(no_drift, rel=0.2)
    exact = stats.ncx2.sf(effective * psi, 9, effective * 0.02)
    assert exact == pytest.approx(at_most, rel=digits)
    if 1e-6 < exact < 0.5:
        low, _ = noncentrality_limits(effective * psi, 9, 1 - 2 * exact)
        assert low / effective == pytest.approx(0.02, rel=1e-4)
    effect = effect_size(effective * psi, 9, effective)
    assert (effect.low > 0.02) == (at_most < 0.025)


# PSI at which "no drift" is rejected at 6.94e-5 falls towards 0 with the rows; hence the gate.
@pytest.mark.parametrize(
    ("m", "critical"), [(100, 0.348), (500, 0.071), (2_000, 0.0190), (20_000, 0.0035),
                        (200_000, 0.0019)],
)  # fmt: skip
def test_many_rows_make_any_drift_sure(m, critical):
    effective = 20_000 * m / (20_000 + m)
    assert chi_square_p_value(critical * effective, 9) == pytest.approx(6.94e-5, rel=0.25)


# Power at level 0.001 of windows of 500 rows on 24 tail-aware cells against a large baseline: no
# view sees everything, and each sees what the others miss. 400 windows a case: a standard error of
# at most 0.025; 0.1 allows for what differs in pooling and in the cell's exact tail.
INNER = np.array([0.001, 0.01, *np.arange(1, 20) / 20, 0.99, 0.999])
SHARES = np.diff(np.concatenate(([0.0], INNER, [1.0])))


def _normal_shares(mean: float = 0.0, sd: float = 1.0) -> np.ndarray:
    below = stats.norm.cdf((stats.norm.ppf(INNER) - mean) / sd)
    return np.diff(np.concatenate(([0.0], below, [1.0])))


def _power(shares: np.ndarray, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    windows = _windows(
        rng.multinomial(500, shares, 400).astype(float), np.tile(500 * SHARES, (400, 1))
    )
    layouts = _layouts((1e6 * SHARES).astype(np.int64))
    found = statistics(windows, layouts)
    surprise = [surprise_of(found.statistic[v], found.degrees[v]) for v in (0, 1, 2)]
    surprise.append(largest_cell(windows, layouts, np.zeros(400)).surprise)
    return (np.stack(surprise) >= -np.log(0.001)).mean(axis=1)


BEYOND = SHARES * 0.98 + 0.02 * (np.arange(len(SHARES)) == len(SHARES) - 1)


@pytest.mark.parametrize(
    ("shares", "location", "spread"),
    [(_normal_shares(0.15), 0.52, 0.01), (_normal_shares(0.25), 0.99, 0.02),
     (_normal_shares(sd=1.15), 0.01, 0.90), (BEYOND, 0.05, 0.49)],
    ids=["mean +0.15", "mean +0.25", "sd x1.15", "2 % beyond p99.9"],
)  # fmt: skip
def test_power_of_location_and_spread(shares, location, spread):
    found = _power(shares)
    assert found[View.LOCATION] == pytest.approx(location, abs=0.1)
    assert found[View.SPREAD] == pytest.approx(spread, abs=0.1)


def test_power_of_omnibus_and_cell():
    beyond, small, nothing = _power(BEYOND), _power(_normal_shares(0.15)), _power(SHARES)
    assert beyond[View.CELL] == pytest.approx(0.98, abs=0.05)
    assert small[View.CELL] < 0.05
    assert small[View.OMNIBUS] == pytest.approx(0.1, abs=0.1)
    assert _power(_normal_shares(0.25))[View.OMNIBUS] > 0.4
    assert (nothing <= 0.0126).all()  # 5 of 400 at a level of 0.001 are beyond 0.9999


# Counts are exact, so a test keeps its size however large the samples are: 300 pairs of the same
# normal column, 50,000 against 5,000 rows; alarms at 5 % at most the 0.9999 binomial quantile.
# (The same test on a randomised sketch of accuracy 1 % has 29 %.)
def test_the_size_of_kolmogorov_smirnov_on_exact_counts():
    rng = np.random.default_rng(3)
    cells = NumberCells(tuple(stats.norm.ppf(INNER).tolist()))
    method, alarms = KolmogorovSmirnov(), 0
    for _ in range(300):
        reference, window = rng.multinomial(50_000, SHARES), rng.multinomial(5_000, SHARES)
        outcome = method.compare(
            method.fit(from_counts([*reference, 0], cells)), from_counts([*window, 0], cells)
        )
        assert isinstance(outcome, Measured)
        alarms += outcome.detail["p_value"] < 0.05
    assert alarms <= stats.binom.ppf(0.9999, 300, 0.05)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.permutations(range(6)))
def test_merging_in_any_order_gives_the_same_statistics_to_the_last_bit(seed, order):
    rng = np.random.default_rng(seed)
    parts = rng.multinomial(90, SHARES, 6)
    merged, turned = parts[0] * 0, parts[0] * 0
    for place in range(6):
        merged = merged + parts[place]
        turned = turned + parts[order[place]]
    layouts, expected = _layouts((1e6 * SHARES).astype(np.int64)), 540 * SHARES[None]
    one, two = (
        statistics(_windows(counts[None].astype(float), expected), layouts)
        for counts in (merged, turned)
    )
    assert one.statistic.tobytes() == two.statistic.tobytes()
