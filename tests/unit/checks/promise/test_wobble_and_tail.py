"""The wobble of healthy windows and the fitted tail, against plain loops and simulations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from monitor.checks.promise.baseline import Calibration
from monitor.checks.promise.calibrate import calibrated
from monitor.checks.promise.held_out import Learning
from monitor.checks.promise.scales import HOURLY, N_SCALES, SIX_HOURS
from monitor.checks.promise.tail import (
    GRID,
    RESAMPLES,
    TailFits,
    fit_tails,
    least_shape_of,
    p_on_curve,
    resampled_weeks,
    surprise_needed,
    tail_curve,
)
from monitor.checks.promise.views import View
from monitor.checks.promise.wobble import wobble_of
from tests.reference import slow_promise as slow
from tests.unit.checks.promise.factories import bare_baseline


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 200))
def test_the_wobble_is_that_of_plain_loops(seed, n):
    rng = np.random.default_rng(seed)
    degrees, rows = rng.integers(1, 20, n).astype(float), rng.uniform(50, 900, n)
    statistic = stats.chi2.rvs(degrees, random_state=rng) * rng.uniform(0.5, 4)
    found = wobble_of(statistic, degrees, rows)
    tau, spread, ratio, independent = slow.wobble(
        statistic.tolist(), degrees.tolist(), rows.tolist()
    )
    assert found.tau == pytest.approx(tau, rel=1e-9)
    assert found.spread == pytest.approx(spread, rel=1e-9)
    assert found.ratio == pytest.approx(ratio, rel=1e-9)
    assert found.n_independent == pytest.approx(independent, rel=1e-9)
    assert found.n_windows == n
    assert found.spread >= 1


# A mean that moves by N(0, s²) from window to window adds n·s² to the location statistic's mean of
# 1: τ estimates s². 400 draws of 168 windows: the mean within 4 standard errors. The lifted τ is an
# upper 90 % limit where wobble outweighs sampling (n·s² = 15: 0.0001 quantile of Binomial(400, .9)
# is 335); where it does not, the limit is nearer to 75 % and the fitted tail makes up for it.
@pytest.mark.parametrize(("variance", "least"), [(0.03, 335), (0.003, 260)])
def test_the_wobble_estimates_the_variance_of_the_mean_and_its_limit_covers_it(variance, least):
    rng = np.random.default_rng(10)
    n, rows = 168, np.full(168, 500.0)
    taus, covered = [], 0
    for _ in range(400):
        mean = rng.normal(0, np.sqrt(variance), n)
        z = rng.normal(np.sqrt(rows) * mean)
        found = wobble_of(z**2, np.ones(n), rows)
        taus.append(found.tau)
        covered += found.tau * found.spread >= variance
    assert np.mean(taus) == pytest.approx(variance, abs=4 * np.std(taus) / 20)
    assert covered >= least


# An autoregression with memory r has (1 - r)/(1 + r) as many independent values (Bartlett 1935).
def test_windows_that_remember_each_other_count_less():
    rng = np.random.default_rng(2)
    x = np.zeros(60_000)
    for at in range(1, len(x)):
        x[at] = 0.6 * x[at - 1] + rng.normal()
    found = wobble_of(x + 20, np.ones(len(x)), np.ones(len(x)))
    assert found.n_independent / len(x) == pytest.approx(0.25, rel=0.05)
    alike = wobble_of(np.ones(50), np.ones(50), np.ones(50))
    assert (alike.tau, alike.n_independent) == (0.0, 50)


# By hand: T/df has mean 3 at 100 effective rows: τ = 2/100.
def test_the_wobble_in_psi_units_a_degree_of_freedom():
    found = wobble_of(np.array([8.0, 16, 4, 20]), np.full(4, 4.0), np.full(4, 100.0))
    assert (found.ratio, found.tau) == (3.0, 0.02)
    assert wobble_of(np.array([1.0, 2, 1, 2]), np.full(4, 4.0), np.full(4, 100.0)).tau == 0.0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(4, 12), st.integers(10, 40))
def test_fitted_tails_are_those_of_resamples_written_out(seed, weeks, windows):
    rng = np.random.default_rng(seed)
    surprise = rng.exponential(1, weeks * windows) ** rng.uniform(0.8, 1.5)
    week = np.repeat(np.arange(weeks), windows)
    draws = resampled_weeks(weeks, rng)[:12]
    fits = fit_tails(surprise, week, draws)
    slowly = slow.resampled_tails(surprise.tolist(), week.tolist(), draws.tolist())
    for place, (threshold, mean, shape, share) in enumerate(slowly):
        assert fits.threshold[place] == pytest.approx(threshold, rel=1e-12)
        assert fits.mean_excess[place] == pytest.approx(mean, rel=1e-9)
        assert fits.shape[place] == pytest.approx(shape, rel=1e-9, abs=1e-9)
        assert fits.share[place] == pytest.approx(share, rel=1e-12)
    common = rng.uniform(-0.2, 0.5, len(draws))
    curve = tail_curve(fits, common)
    for at in range(0, len(GRID), 9):
        wanted = slow.tail_p(slowly, common.tolist(), float(GRID[at]))
        assert np.exp(curve[at]) == pytest.approx(wanted, rel=1e-7)


def test_weeks_are_drawn_whole_and_the_first_draw_is_the_weeks_themselves():
    draws = resampled_weeks(7, np.random.default_rng(5))
    assert draws.shape == (RESAMPLES + 1, 7)
    assert draws[0].tolist() == [1] * 7
    assert (draws.sum(axis=1) == 7).all()
    assert (draws == resampled_weeks(7, np.random.default_rng(5))).all()
    assert draws[1:].mean() == pytest.approx(1)


def test_resamples_without_a_window_say_nothing():
    """All windows in one week of four: a third of the resamples holds none of them."""
    surprise = np.random.default_rng(1).exponential(1, 100)
    fits = fit_tails(surprise, np.full(100, 2), resampled_weeks(4, np.random.default_rng(0)))
    curve = tail_curve(fits, fits.shape)
    assert np.isfinite(curve).all()
    assert (curve <= 1e-12).all()
    assert (np.diff(curve) <= 1e-12).all()
    assert np.exp(curve[-1]) > 0.2


def _curve(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    surprise, week = rng.exponential(1, 8 * 168), np.repeat(np.arange(8), 168)
    fits = fit_tails(surprise, week, resampled_weeks(8, rng))
    return tail_curve(fits, fits.shape)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_curves_fall_from_one_and_are_read_between_the_points(seed):
    curve = _curve(seed)
    assert curve[0] == pytest.approx(0, abs=1e-9)
    assert (np.diff(curve) <= 1e-12).all()
    curves, places = np.stack((curve, curve - 1)), np.zeros(3, np.int64)
    middle = (GRID[100] + GRID[101]) / 2
    found = p_on_curve(curves, places, np.array([GRID[100], middle, GRID[101]]))
    assert np.log(found) == pytest.approx((curve[100], (curve[100] + curve[101]) / 2, curve[101]))
    assert p_on_curve(curves, np.array([1]), np.array([GRID[7]])) == pytest.approx(
        np.exp(curve[7] - 1)
    )


def test_p_is_never_below_the_grids_last_value():
    curve = _curve(3)[None]
    place = np.zeros(4, np.int64)
    found = p_on_curve(curve, place, np.array([GRID[-1], 1e4, np.inf, np.nan]))
    assert found[:3] == pytest.approx(np.full(3, np.exp(curve[0, -1])))
    assert found[3] == pytest.approx(1.0)
    assert surprise_needed(curve[0], float(np.exp(curve[0, -1])) / 2) == float("inf")


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 50), st.floats(-9, -0.5))
def test_the_surprise_needed_inverts_the_curve(seed, log10_level):
    curve, level = _curve(seed), 10.0**log10_level
    needed = surprise_needed(curve, level)
    if np.isfinite(needed):
        found = p_on_curve(curve[None], np.zeros(1, np.int64), np.array([needed]))[0]
        assert found == pytest.approx(level, rel=1e-6)
    assert surprise_needed(curve, 1.0) == 0.0


# Honest surprises are exponential(1). The curve of 8 weeks must not be below their true tail far
# out: the held shape (0.2 at least) is what makes it cautious. 30 draws at surprise 9.6 = 1/14,400.
def test_the_curve_of_honest_surprises_is_cautious_far_out_and_right_near():
    curves = np.stack([_curve(seed) for seed in range(30)])
    place = np.arange(30)
    near = p_on_curve(curves, place, np.full(30, np.log(50)))
    assert np.mean(near) == pytest.approx(1 / 50, rel=0.25)
    far = p_on_curve(curves, place, np.full(30, np.log(14_400)))
    assert (far > 1 / 14_400).all()
    assert np.mean(far) < 30 / 14_400


def test_a_heavier_tail_needs_more_surprise():
    rng = np.random.default_rng(0)
    week, draws = np.repeat(np.arange(8), 168), resampled_weeks(8, rng)
    plain = rng.exponential(1, 8 * 168)
    heavy = stats.genpareto.rvs(0.4, size=8 * 168, random_state=rng)
    curves = [tail_curve(fits, fits.shape) for fits in (fit_tails(plain, week, draws),
                                                        fit_tails(heavy, week, draws))]  # fmt: skip
    assert surprise_needed(curves[1], 1e-4) > 1.5 * surprise_needed(curves[0], 1e-4)


# The shape is drawn half-way to the columns' mean and held to [0.2, 0.5]: by hand on one fit,
# p = share · (1 + ξ (s - u)/(mean (1 - ξ)))^(-1/ξ).
@pytest.mark.parametrize(
    ("own", "common", "held"), [(0.4, 0.2, 0.3), (-0.2, 0.0, 0.2), (0.5, 0.9, 0.5)]
)
def test_shapes_are_shared_and_held(own, common, held):
    one = TailFits(np.array([2.0]), np.array([1.5]), np.array([own]), np.array([0.1]))
    curve = tail_curve(one, np.array([common]))
    at = int(np.searchsorted(GRID, 10.0))
    p = 0.1 * (1 + held * 8 / (1.5 * (1 - held))) ** (-1 / held)
    assert np.exp(curve[at]) == pytest.approx(p)
    assert curve[: int(np.searchsorted(GRID, 2.0)) + 1].tolist() == [0.0] * 9


# Mean over the resamples plus 0.1, held to [0.1, 0.2], by hand; a lighter tail needs less surprise.
def test_many_columns_with_light_tails_allow_a_lighter_one():
    held = [least_shape_of(np.full(3, mean)) for mean in (-0.2, 0.0, 0.04, 0.1, 0.4)]
    assert held == pytest.approx([0.1, 0.1, 0.14, 0.2, 0.2])
    rng = np.random.default_rng(6)
    fits = fit_tails(
        rng.exponential(1, 8 * 168), np.repeat(np.arange(8), 168), resampled_weeks(8, rng)
    )
    common = np.zeros(RESAMPLES + 1)
    light, plain = tail_curve(fits, common, least_shape_of(common)), tail_curve(fits, common)
    assert surprise_needed(light, 1e-4) < surprise_needed(plain, 1e-4)
    assert p_on_curve(light[None], np.zeros(1, np.int64), np.array([9.2]))[0] > np.exp(-9.2)


# Made-up tails of all columns with shape -0.2, 0.04 or 0.4: their mean plus 0.1, held to [0.1,
# 0.2], bounds each curve from below where five columns or more have one and windows are short.
@pytest.mark.parametrize(("shape", "least"), [(-0.2, 0.1), (0.04, 0.14), (0.4, 0.2)])
@pytest.mark.parametrize("columns", [4, 5])
def test_five_columns_allow_lighter_tails_of_one_and_six_hours_only(shape, least, columns):
    (known,) = bare_baseline([("", "x")]).columns
    mean = np.array([1.0, 1.3])
    fits = TailFits(np.array([2.0, 2.2]), mean, np.full(2, shape), np.full(2, 0.1))
    learned = [
        Learning(known, tails={(View.MISSING, scale): fits for scale in range(N_SCALES)})
        for _ in range(columns)
    ]
    table = calibrated(learned)
    for scale in range(N_SCALES):
        short = scale in (HOURLY, SIX_HOURS)
        held = max(shape, least if short and columns >= 5 else 0.2)
        for place in range(columns):
            curve = table.curves[place, View.MISSING, scale]
            for at in range(60, len(GRID), 7):
                s = GRID[at] - fits.threshold
                p = 0.1 * stats.genpareto.sf(s, held, scale=mean * (1 - held))
                assert np.exp(curve[at]) == pytest.approx(p.mean(), rel=1e-9)
        kind = Calibration.TAIL if short else Calibration.TAIL_ALONE
        assert (table.kind[:, View.MISSING, scale] == kind).all()
