"""Estimates against a slow second implementation, their floors, gates and the bias allowance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from monitor.checks.estimation.allowance import AllowanceKind, CheckedCohort, bias_allowance
from monitor.checks.estimation.binary import BinaryEstimate, binary_estimates, estimate
from monitor.checks.estimation.calibrator import (
    Calibrator,
    LabelledScores,
    fit_calibrator,
    fit_with_draws,
    too_few_labels,
)
from monitor.checks.estimation.multiclass import (
    MulticlassEstimate,
    chances,
    expected_accuracy,
    expected_macro_f1,
)
from monitor.checks.estimation.realised import realised_multiclass
from monitor.checks.estimation.reweighted import reweighted_calibrator
from monitor.checks.estimation.reweighting import foreign_reason, likeness
from monitor.checks.estimation.served import ServedScores
from monitor.checks.estimation.support import held_out_test, score_support
from monitor.measurement import Failed, Measured, TooFew
from tests.reference.slow_estimates import chance_of, expected_measures, pooled_chances

SCORES = st.lists(st.integers(0, 20), min_size=4, max_size=30)


@settings(max_examples=60, deadline=None)
@given(SCORES, st.randoms(use_true_random=False))
def test_the_calibrator_is_isotonic_regression(steps, random) -> None:
    scores = np.array(steps) / 20
    labels = np.array([float(random.random() < 0.5) for _ in steps])
    weights = np.array([random.choice((0.5, 1.0, 3.0)) for _ in steps])
    fitted = fit_calibrator(LabelledScores.of_rows(scores, labels, weights))
    wanted = np.linspace(-0.1, 1.1, 41)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(scores, labels, sample_weight=weights)
    np.testing.assert_allclose(fitted.probability(wanted), theirs.predict(wanted), atol=1e-9)
    points = pooled_chances(scores.tolist(), labels.tolist(), weights.tolist())
    slow = [chance_of(float(score), points) for score in wanted]
    np.testing.assert_allclose(fitted.probability(wanted), slow, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(SCORES, st.randoms(use_true_random=False))
def test_estimates_are_those_of_the_slow_count_pair_by_pair(steps, random) -> None:
    scores = np.array(steps) / 20
    predicted = (scores >= 0.4).astype(float)
    labels = np.array([0.0, 1.0, *(float(random.random() < 0.5) for _ in steps[2:])])
    fitted = fit_calibrator(LabelledScores.of_rows(scores, labels))
    found = estimate(ServedScores.of_rows(scores, predicted), fitted)
    slow = expected_measures(
        scores.tolist(), predicted.tolist(), fitted.probability(scores).tolist()
    )
    assert {name.value: value for name, value in found.items()} == pytest.approx(slow, abs=1e-9)


def sample(n: int, seed: int, shift: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Scores and labels whose relation is always the same; `shift` moves the scores."""
    rng = np.random.default_rng(seed)
    chance = 1 / (1 + np.exp(-rng.normal(-0.5 + shift, 1.2, n)))
    return np.round(chance**1.5, 3), (rng.random(n) < chance).astype(float)


def served(scores: np.ndarray, threshold: float = 0.35) -> ServedScores:
    return ServedScores.of_rows(scores, (scores >= threshold).astype(float))


def test_floors_of_labels_and_rows() -> None:
    assert too_few_labels(250, 249) == TooFew(499, 500, "labels to calibrate on")
    assert too_few_labels(49, 5_000) == TooFew(49, 50, "labels of the rarer class to calibrate on")
    assert too_few_labels(50, 450) is None
    scores, labels = sample(2_000, 1)
    rng = np.random.default_rng(0)
    fitted = fit_with_draws(LabelledScores.of_rows(scores, labels), rng, 20)
    few = binary_estimates(served(scores[:49]), fitted, rng, n_reference=2_000)
    assert all(one == TooFew(49, 50, "scored requests") for one in few.values())
    enough = binary_estimates(served(scores[:50]), fitted, rng, n_reference=2_000)
    assert all(isinstance(one, Measured) for one in enough.values())
    low = np.full(60, float(scores.min()))
    rare = binary_estimates(served(low), fitted, rng, n_reference=2_000)
    assert isinstance(rare[BinaryEstimate.AUC], TooFew)
    assert isinstance(rare[BinaryEstimate.F1], TooFew)
    assert isinstance(rare[BinaryEstimate.ACCURACY], Measured)


def test_the_same_chance_gives_the_same_interval() -> None:
    scores, labels = sample(2_000, 1)
    found = []
    for _ in range(2):
        rng = np.random.default_rng(3)
        fitted = fit_with_draws(LabelledScores.of_rows(scores, labels), rng, 20)
        found.append(binary_estimates(served(scores[:100]), fitted, rng, n_reference=2_000))
    assert found[0] == found[1]


def test_scores_within_the_labelled_region_pass_and_beyond_it_do_not() -> None:
    scores, labels = sample(5_000, 1)
    labelled = LabelledScores.of_rows(scores, labels)
    inside = score_support(labelled, served(sample(300, 2)[0]))
    assert inside.withheld() is None
    assert inside.outside == 0.0
    moved = score_support(labelled, served(sample(300, 3, shift=1.0)[0]))
    assert moved.withheld() is None  # more of what was seen is still what was seen
    low = LabelledScores.of_rows(scores[scores < 0.5], labels[scores < 0.5])
    foreign = score_support(low, served(sample(300, 2)[0]))
    share = float(np.mean(sample(300, 2)[0] >= 0.5))
    assert foreign.outside == pytest.approx(share, abs=0.05)
    stopped = foreign.withheld()
    assert isinstance(stopped, Failed)
    assert stopped.reason.startswith("outside the region where this estimate was checked")


def test_the_share_outside_may_be_five_percent_and_no_more() -> None:
    assert foreign_reason(0.05) is None
    assert isinstance(foreign_reason(0.0501), Failed)


def days_of(
    first: int, count: int, turned: float = 0.0, wobble: float = 0.0, n: int = 500
) -> list[LabelledScores]:
    """Days of one relation; a share of the labels turned round, days that differ by `wobble`."""
    found = []
    for seed in range(first, first + count):
        rng = np.random.default_rng([7, seed])
        chance = 1 / (1 + np.exp(-rng.normal(-0.5, 1.2, n)))
        score = np.round(chance**1.5, 3)
        label = rng.random(n) < np.clip(chance + rng.normal(0, wobble), 0, 1)
        label = np.where(rng.random(n) < turned, ~label, label)
        found.append(LabelledScores.of_rows(score, label.astype(float)))
    return found


def test_a_held_out_test_fails_on_a_change_that_matters_only() -> None:
    older = days_of(0, 21)
    same = held_out_test(older, days_of(100, 7))
    assert same is not None
    assert same.withheld() is None
    changed = held_out_test(older, days_of(200, 7, turned=0.25))
    assert changed is not None
    assert changed.error > 0.05
    assert isinstance(changed.withheld(), Failed)
    little = held_out_test(older, days_of(300, 7, turned=0.04))
    assert little is not None
    assert little.withheld() is None
    assert held_out_test(older, days_of(400, 7, n=60)) is None
    assert held_out_test(older[:6], days_of(100, 7)) is None


def test_days_that_differ_by_nature_do_not_contradict_the_calibrator() -> None:
    withheld = [
        held_out_test(days_of(k, 21, wobble=0.1), days_of(k + 21, 7, wobble=0.1)).withheld()
        for k in range(0, 60 * 28, 28)
    ]
    assert sum(one is not None for one in withheld) <= 2


def test_held_out_p_values_are_small_as_often_as_they_may_be() -> None:
    found = [
        held_out_test(days_of(k, 21, n=150), days_of(k + 21, 7, n=150)).p_value
        for k in range(0, 150 * 28, 28)
    ]
    assert np.mean(np.array(found) < 0.05) <= 0.05 + 2 * 0.018


def test_allowance_is_none_then_the_largest_then_what_chance_leaves() -> None:
    assert bias_allowance([]).kind is AllowanceKind.NONE
    few = bias_allowance([CheckedCohort(-0.03, 0.01), CheckedCohort(0.01, 0.01)])
    assert few.kind is AllowanceKind.LARGEST
    # joined to a sigma of .01 the reach is 1.96 · .01 + .03
    assert 1.959964 * math.hypot(0.01, few.sigma) == pytest.approx(0.0196 + 0.03, abs=1e-5)
    rng = np.random.default_rng(0)
    pure = bias_allowance([CheckedCohort(e, 0.01) for e in rng.normal(0, 0.01, 2_000)])
    assert pure.kind is AllowanceKind.SPREAD
    assert pure.sigma < 0.003
    biased = bias_allowance([CheckedCohort(e + 0.02, 0.01) for e in rng.normal(0, 0.01, 2_000)])
    assert biased.sigma == pytest.approx(0.02, abs=0.001)
    assert biased.largest > 0.03


def test_likeness_of_one_source_and_of_two() -> None:
    rng = np.random.default_rng(1)
    then, now = rng.normal(0, 1, (1_500, 3)), rng.normal(0, 1, (800, 3))
    same = likeness(then, now, seed=1)
    assert not isinstance(same, TooFew)
    assert same.area == pytest.approx(0.5, abs=0.04)
    assert not same.told_apart
    assert same.foreign == 0.0
    moved = likeness(then, now + np.array([1.0, 0, 0]), seed=1)
    assert not isinstance(moved, TooFew)
    assert moved.told_apart
    # the known ratio of two normal densities is exp(x - 1/2)
    known = np.exp(then[:, 0] - 0.5)
    assert np.corrcoef(np.log(moved.weight), np.log(known))[0, 1] > 0.8
    far = likeness(then, now + np.array([8.0, 0, 0]), seed=1)
    assert not isinstance(far, TooFew)
    assert far.foreign > 0.9
    assert likeness(then[:199], now, seed=1) == TooFew(199, 200, "sampled rows to compare")


def test_reweighting_corrects_what_the_score_does_not_see() -> None:
    # P(y | x, score) is unchanged, P(y | score) is not: x is not in the score and has moved.
    rng = np.random.default_rng(2)

    def rows(n: int, share: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x = (rng.random(n) < share).astype(float)
        score = np.round(rng.beta(1, 1, n), 3)
        return x, score, (rng.random(n) < np.clip(score - 0.3 * x, 0, 1)).astype(float)

    x, score, label = rows(6_000, 0.3)
    x_now, score_now, truth = rows(4_000, 0.9)
    like = likeness(np.column_stack((x, score)), np.column_stack((x_now, score_now)), seed=1)
    assert not isinstance(like, TooFew)
    found = reweighted_calibrator(score, label, like.weight, rng)
    assert not isinstance(found, TooFew)
    cohort = served(score_now, 0.5)
    realised = np.mean((score_now - truth) ** 2)
    plain = estimate(cohort, fit_calibrator(LabelledScores.of_rows(score, label)))
    again = estimate(cohort, found.fitted.calibrator)
    assert abs(plain[BinaryEstimate.BRIER] - realised) > 0.015
    assert abs(again[BinaryEstimate.BRIER] - realised) < 0.006


def test_reweighting_that_leaves_too_few_rows_says_so() -> None:
    scores, labels = sample(2_000, 1)
    weight = np.where(np.arange(2_000) < 300, 20.0, 0.01)
    found = reweighted_calibrator(scores, labels, weight, np.random.default_rng(0))
    assert isinstance(found, TooFew)
    assert 250 < found.n < 500


def test_multiclass_estimates_by_hand() -> None:
    # Two rows, three classes, calibrated chances as given.
    chance = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3]])
    predicted = np.array([0, 1])
    assert expected_accuracy(chance, predicted) == pytest.approx(0.55)
    # class 0: 2·.6/(1 + .8); class 1: 2·.5/(1 + .8); class 2 is never predicted: 0/.4
    assert expected_macro_f1(chance, predicted) == pytest.approx((1.2 / 1.8 + 1 / 1.8 + 0) / 3)
    matrix = np.array([[3, 1, 0], [0, 4, 1], [1, 0, 0]])
    found, n = realised_multiclass(matrix)
    assert n == 10
    assert found[MulticlassEstimate.ACCURACY] == pytest.approx(0.7)
    # 2·3/(4 + 4), 2·4/(5 + 5), 0
    assert found[MulticlassEstimate.MACRO_F1] == pytest.approx((0.75 + 0.8 + 0) / 3)


def test_multiclass_chances_add_up_to_one_and_are_alike_where_nothing_is_known() -> None:
    straight = Calibrator(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    found = chances(np.array([[0.5, 0.25, 0.5], [0.0, 0.0, 0.0]]), [straight] * 3)
    np.testing.assert_allclose(found, [[0.4, 0.2, 0.4], [1 / 3, 1 / 3, 1 / 3]])
