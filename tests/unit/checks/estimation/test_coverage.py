"""Coverage of the 95 % intervals: of the realised value, where P(y | x) is unchanged.

Each point is 150 to 200 samples: a Monte-Carlo standard error of at most 0.018 at 95 %.
"""

from __future__ import annotations

import numpy as np
import pytest

from monitor.checks.estimation.allowance import CheckedCohort, bias_allowance
from monitor.checks.estimation.binary import (
    VALUES,
    BinaryEstimate,
    BinaryOutcomes,
    binary_estimates,
    estimate,
    sigmas,
)
from monitor.checks.estimation.calibrator import LabelledScores, fit_with_draws
from monitor.checks.estimation.direct_loss import LossModel, expected_losses, fit_loss_model
from monitor.checks.estimation.multiclass import (
    ClassScores,
    MulticlassEstimate,
    multiclass_estimates,
)
from monitor.checks.estimation.realised import realised_multiclass
from monitor.checks.estimation.reweighted import Reweighted, reweighted_calibrator
from monitor.checks.estimation.reweighting import Likeness, likeness
from monitor.checks.estimation.served import ServedScores
from monitor.measurement import Measured
from tests.unit.checks.estimation.published import REFERENCE, car_loan, car_prices

LOW, HIGH, ERROR = 0.93, 0.98, 0.018
LARGEST_Z = 1.959964
Rows = tuple[np.ndarray, np.ndarray]


def in_bounds(hits: dict[str, list[bool]]) -> None:
    for name, seen in hits.items():
        share = float(np.mean(seen))
        assert LOW - 2 * ERROR <= share <= HIGH + 2 * ERROR, f"{name}: {share:.3f}"


def grouped(scores: np.ndarray, labels: np.ndarray) -> LabelledScores:
    """As the profile's score cells hold them."""
    cells = np.minimum((scores * 512).astype(int), 511)
    ones = np.bincount(cells, labels, 512).astype(np.int64)
    return LabelledScores.of_cells(ones, np.bincount(cells, minlength=512) - ones)


def sample(rng: np.random.Generator, n: int, shift: float) -> Rows:
    chance = 1 / (1 + np.exp(-rng.normal(-0.5 + shift, 1.2, n)))
    return np.round(chance**1.5, 3), (rng.random(n) < chance).astype(float)


def realised(scores: np.ndarray, labels: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    served = ServedScores.of_rows(scores, predicted)
    place = np.searchsorted(served.score, scores)
    seen = BinaryOutcomes(
        np.bincount(place, predicted * labels, len(served.score)),
        np.bincount(place, (1 - predicted) * labels, len(served.score)),
    )
    return {name: float(value(served, seen)) for name, value in VALUES.items()}


@pytest.mark.parametrize(
    ("n_reference", "n", "shift"),
    [(500, 50, 0.0), (500, 200, 0.6), (500, 2_000, 0.0), (2_000, 50, 0.6), (2_000, 1_000, 0.6),
     (20_000, 200, 0.0), (20_000, 3_000, 0.0)],
)  # fmt: skip
def test_binary(n_reference: int, n: int, shift: float) -> None:
    rng = np.random.default_rng(n_reference + n)
    hits: dict[str, list[bool]] = {name: [] for name in BinaryEstimate}
    for _ in range(150):
        fitted = fit_with_draws(grouped(*sample(rng, n_reference, 0.0)), rng, 50)
        scores, labels = sample(rng, n, shift)
        predicted = (scores >= 0.35).astype(float)
        served = ServedScores.of_rows(scores, predicted)
        truth = realised(scores, labels, predicted)
        for name, one in binary_estimates(served, fitted, rng, n_reference=n_reference).items():
            assert isinstance(one, Measured)
            hits[name].append(one.low <= truth[name] <= one.high)
    in_bounds(hits)


@pytest.mark.parametrize(("start", "n"), [(0, 100), (0, 200), (25_000, 100), (25_000, 500)])
def test_binary_on_the_car_loan_data(start: int, n: int) -> None:
    data, rng = car_loan(), np.random.default_rng(n + start)
    reference = slice(0, REFERENCE)
    labelled = LabelledScores.of_rows(data.score[reference], data.repaid[reference])
    fitted = fit_with_draws(labelled, rng, 100)
    order = REFERENCE + start + rng.permutation(25_000)
    hits: dict[str, list[bool]] = {name: [] for name in BinaryEstimate}
    for rows in np.split(order, 25_000 // n)[:200]:
        served = ServedScores.of_rows(data.score[rows], data.predicted[rows])
        truth = realised(data.score[rows], data.repaid[rows], data.predicted[rows])
        for name, one in binary_estimates(served, fitted, rng, n_reference=REFERENCE).items():
            assert isinstance(one, Measured)
            hits[name].append(one.low <= truth[name] <= one.high)
    for name, seen in hits.items():
        error = np.sqrt(0.05 * 0.95 / len(seen))
        assert LOW - 2 * error <= np.mean(seen) <= HIGH + 2 * error, name


def test_the_bias_of_the_drifted_data_is_in_the_allowance() -> None:
    # After row 25,000 estimates of accuracy are biased by -0.004. In cohorts of 5,000 rows chance
    # is smaller than that; the largest error of those that matured is allowed for.
    data, rng = car_loan(), np.random.default_rng(7)
    reference = slice(0, REFERENCE)
    labelled = LabelledScores.of_rows(data.score[reference], data.repaid[reference])
    fitted = fit_with_draws(labelled, rng, 100)
    with_it, without = [], []
    for _ in range(20):
        order = REFERENCE + 25_000 + rng.permutation(25_000)
        checked: list[CheckedCohort] = []
        for rows in np.split(order, 5):
            served = ServedScores.of_rows(data.score[rows], data.predicted[rows])
            right = realised(data.score[rows], data.repaid[rows], data.predicted[rows])
            error = estimate(served, fitted.calibrator)["accuracy"] - right["accuracy"]
            own = sigmas(served, fitted, rng)[BinaryEstimate.ACCURACY]
            allowance = bias_allowance(checked)
            if checked:
                without.append(abs(error) <= LARGEST_Z * own)
                with_it.append(abs(error) <= LARGEST_Z * np.hypot(own, allowance.sigma))
            checked.append(CheckedCohort(error, own))
    assert np.mean(without) < 0.9
    assert np.mean(with_it) >= 0.93


def test_a_bias_that_varies_is_allowed_for_as_a_spread() -> None:
    rng = np.random.default_rng(8)
    hits = []
    for _ in range(1_000):
        own = rng.uniform(0.005, 0.02, 21)
        errors = rng.normal(0, np.hypot(own, 0.012))
        past = [CheckedCohort(*each) for each in zip(errors[:20], own[:20], strict=True)]
        reach = LARGEST_Z * np.hypot(own[20], bias_allowance(past).sigma)
        hits.append(bool(abs(errors[20]) <= reach))
    assert LOW - 0.014 <= np.mean(hits) <= HIGH


def test_reweighted_where_inputs_moved_that_the_score_does_not_see() -> None:
    rng = np.random.default_rng(4)

    def rows(n: int, moved: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x, z = rng.normal(moved, 1, n), rng.normal(0, 1.2, n)
        chance = 1 / (1 + np.exp(-(0.9 * z - 0.5 * x)))
        score = np.round(1 / (1 + np.exp(-z)), 2)
        return x, score, (rng.random(n) < chance).astype(float)

    hits: dict[str, list[bool]] = {name: [] for name in BinaryEstimate}
    plain = []
    for turn in range(40):
        x, score, label = rows(2_500, 0.0)
        x_now, score_now, label_now = rows(400, 0.7)
        predicted = (score_now >= 0.5).astype(float)
        like = likeness(np.column_stack((x, score)), np.column_stack((x_now, score_now)), seed=turn)
        assert isinstance(like, Likeness)
        again = reweighted_calibrator(score, label, like.weight, rng, 40)
        assert isinstance(again, Reweighted)
        served = ServedScores.of_rows(score_now, predicted)
        truth = realised(score_now, label_now, predicted)
        for name, one in binary_estimates(served, again.fitted, rng, n_reference=2_500).items():
            assert isinstance(one, Measured)
            hits[name].append(one.low <= truth[name] <= one.high)
        unweighted = fit_with_draws(LabelledScores.of_rows(score, label), rng, 40)
        f1 = binary_estimates(served, unweighted, rng, n_reference=2_500)[BinaryEstimate.F1]
        assert isinstance(f1, Measured)
        plain.append(f1.low <= truth["f1"] <= f1.high)
    for name, seen in hits.items():
        assert np.mean(seen) >= LOW - 2 * 0.034, name
    assert np.mean(plain) < 0.9  # what reweighting is for


def test_multiclass() -> None:
    rng = np.random.default_rng(3)

    def rows(n: int) -> Rows:
        chance = rng.dirichlet((1.0, 0.7, 0.5), n)
        label = (rng.random((n, 1)) > np.cumsum(chance, axis=1)).sum(axis=1)
        sharp = chance**1.4
        return np.round(sharp / sharp.sum(axis=1, keepdims=True), 2), np.minimum(label, 2)

    hits: dict[str, list[bool]] = {name: [] for name in MulticlassEstimate}
    for _ in range(150):
        scores, label = rows(2_000)
        fitted = [
            fit_with_draws(
                LabelledScores.of_rows(scores[:, k], (label == k).astype(float)), rng, 30
            )
            for k in range(3)
        ]
        scores, label = rows(200)
        predicted = scores.argmax(axis=1)
        served = ClassScores(scores, predicted)
        found = multiclass_estimates(served, fitted, rng, n_reference=2_000)
        matrix = np.bincount(predicted * 3 + label, minlength=9).reshape(3, 3)
        truth, _ = realised_multiclass(matrix)
        for name, one in found.items():
            assert isinstance(one, Measured)
            hits[name].append(one.low <= truth[name] <= one.high)
    in_bounds(hits)


@pytest.fixture(scope="module")
def loss_model() -> LossModel:
    data = car_prices()
    rows = slice(0, data.n_reference, 4)
    model = fit_loss_model(data.features[rows], data.predicted[rows], data.price[rows], seed=1)
    assert isinstance(model, LossModel)
    return model


@pytest.mark.parametrize(("n", "cohorts"), [(50, 150), (400, 75)])
def test_direct_loss(loss_model: LossModel, n: int, cohorts: int) -> None:
    data, rng = car_prices(), np.random.default_rng(n)
    order = data.n_reference + rng.permutation(30_000)[: cohorts * n]
    hits: dict[str, list[bool]] = {"mae": [], "rmse": []}
    for rows in np.split(order, cohorts):
        found = expected_losses(loss_model, data.features[rows], data.predicted[rows], n)
        errors = data.predicted[rows] - data.price[rows]
        truth = {"mae": np.abs(errors).mean(), "rmse": np.sqrt((errors**2).mean())}
        for name, one in found.items():
            hits[name].append(abs(one.value - truth[name]) <= LARGEST_Z * one.sigma)
    for name, seen in hits.items():
        error = np.sqrt(0.05 * 0.95 / len(seen))
        assert LOW - 2 * error <= np.mean(seen) <= HIGH + 2 * error, name
