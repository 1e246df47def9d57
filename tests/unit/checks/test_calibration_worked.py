"""One worked example of calibration through every part, null values of errors, and quantisation.

Values of the example come from separate row-level code (numpy, scipy.optimize).
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from monitor.checks.calibration_cells import score_cells
from monitor.checks.calibration_errors import (
    brier_parts,
    debiased,
    plain_error,
    plain_square,
    signed_root,
    smooth_error,
    swept_error,
)
from monitor.checks.calibration_tests import calibration_shift, hosmer_lemeshow
from monitor.checks.reliability import equal_mass_groups, reliability
from monitor.profiles.labels import UNIT
from tests.unit.checks.factories import binary
from tests.unit.checks.score_worlds import drawn, overconfident, perfect

# Scores .1, .3, .6, .9 of ten rows each with 2, 3, 5 and 8 positives.
SCORES = np.repeat([0.1, 0.3, 0.6, 0.9], 10)
LABELS = np.concatenate([np.repeat([1, 0], [k, 10 - k]) for k in (2, 3, 5, 8)])
COUNTS = binary(SCORES, LABELS)
CELLS = score_cells(COUNTS)
TABLE = reliability(COUNTS, equal_mass_groups(COUNTS, 4))


def test_sizes_of_the_example():
    assert plain_error(TABLE) == pytest.approx(0.075, abs=1e-8)
    assert plain_square(TABLE) == pytest.approx(0.0075, abs=1e-8)
    found = debiased(TABLE)
    assert found.value == pytest.approx(-0.0141667, abs=5e-8)
    assert found.limits[0] == 0
    assert swept_error(COUNTS) == (pytest.approx(0.075, abs=1e-8), 4)


def test_brier_score_of_the_example_and_its_parts():
    parts = brier_parts(CELLS)
    told = (parts.reliability, parts.resolution, parts.uncertainty)
    assert told == pytest.approx((0.0075, 0.0525, 0.2475), abs=1e-7)
    assert parts.brier == pytest.approx(0.2025, abs=1e-7)
    assert COUNTS.brier == pytest.approx(0.2025, abs=1e-8)


def test_shift_and_hosmer_lemeshow_of_the_example():
    shift = calibration_shift(CELLS)
    assert shift is not None
    assert shift.shift == pytest.approx(-0.159539, abs=5e-7)
    test = hosmer_lemeshow(TABLE)
    assert test is not None
    assert test.degrees == 4
    assert (test.statistic, test.p_value) == pytest.approx((2.638889, 0.619950), abs=5e-7)


def _smoothed(width: float, points: int = 20_000) -> float:
    """∫ |Σ K(t, f)(y - f)|/n dt with a Gaussian and its two images, on a fine grid."""
    at = (np.arange(points) + 0.5) / points
    kernel = np.zeros((points, len(SCORES)))
    for image in (SCORES, -SCORES, 2 - SCORES):
        kernel += np.exp(-(((at[:, None] - image) / width) ** 2) / 2)
    kernel /= width * np.sqrt(2 * np.pi)
    return float(np.mean(np.abs(kernel @ (LABELS - SCORES)))) / len(SCORES)


# relplot 1.0.3 gives 0.0750926 at this width: on its grid of 1,001 points the point at each border
# counts whole, which adds about half a grid step of the density there. The integral is 0.0749557.
def test_smooth_error_of_the_example():
    value, width = smooth_error(CELLS)
    assert width == pytest.approx(0.0751953, abs=5e-8)
    assert value == pytest.approx(_smoothed(width), abs=1e-7)
    assert value == pytest.approx(0.0750926, abs=2e-4)


# Errors of perfect scores at 15 groups: simulated averages over 200 draws each.
@pytest.mark.parametrize(
    ("n", "plain", "swept"), [(200, 0.0902, 0.053), (500, 0.0584, 0.038), (2_000, 0.0282, 0.023),
                              (10_000, 0.0129, 0.013)]
)  # fmt: skip
def test_errors_of_perfect_scores_are_not_zero_but_for_the_debiased_one(n, plain, swept):
    rng = np.random.default_rng(n)
    sizes, squares, sweeps = [], [], []
    for _ in range(60 if n > 1_000 else 150):
        score, label, _ = drawn(perfect, rng, n)
        counts = binary(score, label)
        table = reliability(counts, equal_mass_groups(counts, 15))
        sizes.append(plain_error(table))
        squares.append(debiased(table).value)
        sweeps.append(swept_error(counts)[0])
    assert np.mean(sizes) == pytest.approx(plain, rel=0.07)
    assert np.mean(sweeps) == pytest.approx(swept, rel=0.2)
    assert abs(signed_root(float(np.mean(squares)))) < 0.016


# relplot's averages: 0.041 and 0.023 for perfect scores; overconfident ones stay well above.
def test_smooth_errors_of_perfect_scores():
    rng = np.random.default_rng(3)
    for n, expected in ((500, 0.041), (2_000, 0.023)):
        cells = [score_cells(binary(*drawn(perfect, rng, n)[:2])) for _ in range(60)]
        assert np.mean([smooth_error(one)[0] for one in cells]) == pytest.approx(expected, rel=0.1)
    sure = score_cells(binary(*drawn(overconfident, rng, 10_000)[:2]))
    assert smooth_error(sure)[0] > 0.03


@pytest.fixture(scope="module")
def scores() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    score, label, _ = drawn(perfect, rng, 200_000)
    return score, label


# Rounding to a step d adds d²/12 to the Brier score of calibrated scores: 8e-6 at two decimals,
# 8e-4 at one.
@pytest.mark.parametrize(("decimals", "expected"), [(1, 8.9e-4), (2, 8e-6)])
def test_rounded_scores_cost_the_twelfth_of_the_step_squared(scores, decimals, expected):
    score, label = scores
    whole = float(np.mean((score - label) ** 2))
    rounded = np.round(score, decimals)
    cost = float(np.mean((rounded - label) ** 2)) - whole
    noise = float(np.std((rounded - label) ** 2 - (score - label) ** 2) / np.sqrt(len(score)))
    assert abs(cost - 10.0 ** (-2 * decimals) / 12) < 4 * noise
    assert abs(cost - expected) < 4 * noise
    assert binary(rounded, label).brier == pytest.approx(whole + cost, abs=1e-8)


def test_two_decimals_make_exact_zeros_and_ones_and_three_hardly_any(scores):
    score, _ = scores
    exact = {d: int(np.isin(np.round(score, d), (0.0, 1.0)).sum()) for d in (2, 3)}
    # P(chance below .005 or above .995) for logit N(0, 1.5): 4.2e-4 of 200,000 rows.
    assert 50 <= exact[2] <= 130
    assert exact[3] <= 3
    assert np.abs(np.round(score, 2) - score).max() <= 0.005 + 1e-12


def test_half_precision_moves_scores_by_less_than_their_cells(scores):
    score, label = scores
    half = score.astype(np.float16).astype(np.float64)
    assert np.abs(half - score).max() == pytest.approx(2.4e-4, rel=0.05)
    before, after = (reliability(c, equal_mass_groups(c, 15))
                     for c in (binary(score, label), binary(half, label)))  # fmt: skip
    assert plain_error(after) == pytest.approx(plain_error(before), abs=2.5e-4)
    single = score.astype(np.float32).astype(np.float64)
    assert np.abs(single - score).max() < 2**-24
    assert 1 / (2 * UNIT) < 2**-24  # the sums keep more than that
    assert special.logit(half.clip(1e-6, 1 - 1e-6)).max() < 14
