"""Calibration: a worked example, public cases, null values by simulation, power of the tests."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special

from monitor.checks.calibration import calibration
from monitor.checks.calibration_errors import (
    debiased_square,
    plain_error,
    plain_error_of_perfect_model,
)
from monitor.checks.calibration_tests import cox, spiegelhalter
from monitor.checks.reliability import equal_mass_groups, reliability
from monitor.measurement import Failed, Measured, TooFew
from tests.unit.checks.factories import binary

# Scores .1, .3, .6, .9 of ten rows each with 2, 3, 5 and 8 positives.
SCORES = np.repeat([0.1, 0.3, 0.6, 0.9], 10)
LABELS = np.concatenate([np.repeat([1, 0], [k, 10 - k]) for k in (2, 3, 5, 8)])


# Values by separate row-level code (numpy, scipy.optimize) on the forty rows above.
def test_worked_example():
    counts = binary(SCORES, LABELS)
    table = reliability(counts, equal_mass_groups(counts, 10))
    assert table.rows.tolist() == [10, 10, 10, 10]
    assert plain_error(table) == pytest.approx(0.075, abs=1e-8)
    assert debiased_square(table)[0] == pytest.approx(-0.0141667, abs=5e-8)
    test = spiegelhalter(counts)
    assert test is not None
    assert (test.z, test.p_value) == pytest.approx((1.430194, 0.152661), abs=5e-6)
    rows, positives = np.full(4, 10.0), np.array([2.0, 3, 5, 8])
    fit = cox(rows, positives, np.array([0.1, 0.3, 0.6, 0.9]))
    assert not isinstance(fit, str)
    assert (fit.intercept, fit.slope) == pytest.approx((-0.166977, 0.644516), abs=5e-6)
    assert (fit.likelihood_ratio, fit.p_value) == pytest.approx((2.033128, 0.361836), abs=5e-6)
    assert counts.brier == pytest.approx(0.2025, abs=1e-8)


# Public case: all scores alike collapsed the bins.
def test_one_score_gives_one_group():
    counts = binary([0.3] * 8, [0, 0, 1, 0, 0, 1, 0, 0])
    table = reliability(counts, equal_mass_groups(counts, 10))
    assert len(table.rows) == 1
    assert (table.mean_score[0], table.observed[0]) == pytest.approx((0.3, 0.25), abs=1e-8)
    assert plain_error(table) == pytest.approx(0.05, abs=1e-8)
    outcome = calibration(counts)["expected_error"]
    assert isinstance(outcome, TooFew)
    assert (outcome.n, outcome.needed, outcome.reason) == (8, 500, "labels")
    assert outcome.detail["provisional"] == pytest.approx(0.05, abs=1e-8)
    assert isinstance(calibration(counts)["cox_slope"], TooFew)
    many = calibration(binary([0.3] * 800, [0, 0, 1, 0, 0, 1, 0, 0] * 100))
    assert isinstance(many["cox_slope"], Failed)
    assert isinstance(many["debiased_error"], Measured)


# For 15 groups of equal mass and scores expit(N(0, 1.5)) the formula gives 0.0913 at n = 200,
# simulation 0.0902; at n = 2,000 simulation gives 0.0282.
def test_plain_error_of_a_perfect_model_is_what_the_formula_says():
    rng = np.random.default_rng(12)
    for n, simulated in ((200, 0.0902), (2_000, 0.0282)):
        errors, nulls = [], []
        for _ in range(150):
            score = special.expit(1.5 * rng.normal(size=n))
            counts = binary(score, (rng.random(n) < score).astype(int))
            table = reliability(counts, equal_mass_groups(counts, 15))
            errors.append(plain_error(table))
            nulls.append(plain_error_of_perfect_model(table))
        assert np.mean(errors) == pytest.approx(simulated, rel=0.06)
        assert np.mean(nulls) == pytest.approx(np.mean(errors), rel=0.06)


def test_the_debiased_error_is_zero_on_average_for_a_perfect_model():
    rng = np.random.default_rng(13)
    squares, held = [], 0
    for _ in range(300):
        score = special.expit(1.5 * rng.normal(size=1_000))
        counts = binary(score, (rng.random(1_000) < score).astype(int))
        square, error = debiased_square(reliability(counts, equal_mass_groups(counts, 10)))
        squares.append(square)
        held += abs(square) <= 1.96 * error
    assert abs(np.mean(squares)) < 4 * np.std(squares) / np.sqrt(len(squares))
    assert held >= 255


def test_cox_agrees_with_a_general_optimiser():
    rng = np.random.default_rng(14)
    logit = rng.normal(size=40) * 1.5
    rows = rng.integers(5, 60, 40).astype(float)
    positives = rng.binomial(rows.astype(int), special.expit(0.3 + 0.7 * logit)).astype(float)
    fit = cox(rows, positives, special.expit(logit))
    assert not isinstance(fit, str)

    def loss(parameters):
        linear = parameters[0] + parameters[1] * logit
        return np.sum(rows * np.logaddexp(0, linear) - positives * linear)

    best = optimize.minimize(loss, [0.0, 1.0], tol=1e-12)
    assert (fit.intercept, fit.slope) == pytest.approx(best.x, abs=1e-4)
    assert fit.likelihood_ratio == pytest.approx(2 * (loss([0.0, 1.0]) - best.fun), abs=1e-6)
    assert fit.slope_standard_error == pytest.approx(np.sqrt(best.hess_inv[1, 1]), rel=0.1)


# Overconfident scores (true slope 0.75) at 2,000 labels: both tests see them in nearly all draws.
def test_overconfidence_is_found_and_calibrated_scores_are_not():
    rng = np.random.default_rng(15)
    found, alarms = 0, 0
    for _ in range(60):
        logit = 1.5 * rng.normal(size=2_000)
        chance = rng.random(2_000)
        over = calibration(binary(special.expit(logit), chance < special.expit(0.75 * logit)))
        good = calibration(binary(special.expit(logit), chance < special.expit(logit)))
        for name in ("cox_slope", "spiegelhalter"):
            assert isinstance(over[name], Measured)
            found += over[name].detail["p_value"] < 0.01
            alarms += good[name].detail["p_value"] < 0.01
        assert over["cox_slope"].value < 1
    assert found >= 108
    assert alarms <= 7


def test_separated_labels_fail_with_a_reason_and_without_a_warning():
    score = np.concatenate((np.linspace(0.01, 0.4, 300), np.linspace(0.6, 0.99, 300)))
    outcome = calibration(binary(score, score > 0.5))["cox_slope"]
    assert isinstance(outcome, Failed)
    assert "separates" in outcome.reason


def test_floors_of_labels_and_of_the_rarer_class():
    rng = np.random.default_rng(16)
    score = rng.random(700)
    rare = np.zeros(700, int)
    rare[:49] = 1
    outcome = calibration(binary(score, rare))["debiased_error"]
    assert isinstance(outcome, TooFew)
    assert (outcome.n, outcome.needed) == (49, 50)
    assert "rarer class" in outcome.reason
    for outcome in calibration(binary([], [])).values():
        assert isinstance(outcome, TooFew)


def test_scores_of_exactly_zero_and_one_are_clipped_and_counted():
    score = np.array([0.0, 1.0] * 50 + [0.2, 0.8] * 300)
    label = np.array([0, 1] * 50 + [0, 1] * 250 + [1, 0] * 50)
    outcome = calibration(binary(score, label))["cox_slope"]
    assert isinstance(outcome, Measured)
    assert outcome.detail["clipped"] == 100
