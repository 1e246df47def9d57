"""Weighted estimates: worked numbers, exact enumeration of designs, coverage of the limits."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from monitor.checks.signals.design import (
    effective_size,
    horvitz_thompson_total,
    stratified_mean,
    weighted_mean,
)


def test_inverse_probability_weights_undo_an_uneven_look() -> None:
    # 500 fast of which 80 % are looked at (10 % wrong), 500 slow of which 20 % (30 % wrong):
    # unweighted .14, weighted .20, effective sample size 320 of 500
    values = np.repeat([1.0, 0, 1, 0], [40, 360, 30, 70])
    probability = np.repeat([0.8, 0.2], [400, 100])
    assert values.mean() == pytest.approx(0.14)
    assert weighted_mean(values, probability).mean == pytest.approx(0.20)
    assert effective_size(1 / probability) == pytest.approx(320)
    total, _ = horvitz_thompson_total(values, probability)
    assert total == pytest.approx(200)


def test_the_stratified_mean_and_variance_are_unbiased_over_every_sample() -> None:
    strata = [np.array([1.0, 4, 6]), np.array([2.0, 3, 9, 10])]
    population = np.array([3, 4])
    truth = np.concatenate(strata).mean()
    found = [
        stratified_mean(np.array([*a, *b]), np.array([0, 0, 1, 1]), population)
        for a in combinations(strata[0], 2)
        for b in combinations(strata[1], 2)
    ]
    means = np.array([one.mean for one in found])
    assert means.mean() == pytest.approx(truth)
    assert np.mean([one.variance for one in found]) == pytest.approx(np.var(means))


def test_horvitz_thompson_is_unbiased_over_every_poisson_sample() -> None:
    values, probability = np.array([2.0, 5, 11, 3]), np.array([0.2, 0.5, 0.9, 0.7])
    total = variance = second = 0.0
    for taken in product([False, True], repeat=4):
        mask = np.array(taken)
        chance = float(np.prod(np.where(mask, probability, 1 - probability)))
        value, spread = horvitz_thompson_total(values[mask], probability[mask])
        total += chance * value
        second += chance * value**2
        variance += chance * spread
    assert total == pytest.approx(values.sum())
    assert variance == pytest.approx(second - total**2)


def test_a_stratum_without_a_rating_is_told_and_one_with_a_single_rating_is_not_certain() -> None:
    values, strata = np.array([1.0, 2, 3, 9]), np.array([0, 0, 0, 1])
    found = stratified_mean(values, strata, np.array([60, 20, 20]))
    assert found.covered == pytest.approx(0.8)
    assert found.mean == pytest.approx(0.75 * 2 + 0.25 * 9)
    lone = (20 / 80) ** 2 * (1 - 1 / 20) * np.var(values, ddof=1)
    assert found.variance == pytest.approx(0.75**2 * (1 - 3 / 60) * 1 / 3 + lone)


def test_a_whole_population_leaves_no_doubt() -> None:
    values = np.array([1.0, 0, 1, 1])
    assert stratified_mean(values, np.array([0, 0, 1, 1]), np.array([2, 2])).variance == 0
    assert weighted_mean(values, np.ones(4)).variance == 0


def _covered(limits: tuple[float, float], truth: float) -> bool:
    return limits[0] <= truth <= limits[1]


def _require_coverage(hits: int, runs: int) -> None:
    error = 2.5 * np.sqrt(0.95 * 0.05 / runs)
    assert 0.93 - error <= hits / runs <= 0.98 + error, hits / runs


@pytest.mark.parametrize("n", [50, 200])
@pytest.mark.parametrize("share", [True, False])
def test_stratified_limits_hold_their_coverage(n: int, share: bool) -> None:
    rng = np.random.default_rng(n)
    population = np.array([3_000, 1_000, 400])
    levels = (0.1, 0.3, 0.6)
    rated = [
        (rng.random(size) < level).astype(float)
        if share
        else np.clip(np.round(rng.normal(5 - 3 * level, 1.2, size)), 1, 5)
        for size, level in zip(population, levels, strict=True)
    ]
    truth = float(np.concatenate(rated).mean())
    sizes = np.maximum(2, np.round(n * population / population.sum())).astype(int)
    strata, hits, runs = np.repeat(np.arange(3), sizes), 0, 1_000
    for _ in range(runs):
        values = np.concatenate(
            [rng.choice(r, k, False) for r, k in zip(rated, sizes, strict=True)]
        )
        found = stratified_mean(values, strata, population)
        hits += _covered(found.share_limits() if share else found.mean_limits(1, 5), truth)
    _require_coverage(hits, runs)


@pytest.mark.parametrize("n", [60, 200])
@pytest.mark.parametrize("share", [True, False])
def test_poisson_limits_hold_their_coverage(n: int, share: bool) -> None:
    rng = np.random.default_rng(n + 1)
    size = rng.choice([0.2, 1.0], 4_000, p=[0.7, 0.3])
    probability = n * size / size.sum()
    if share:
        values = (rng.random(4_000) < np.where(size == 1, 0.4, 0.15)).astype(float)
    else:
        values = np.clip(np.round(rng.normal(np.where(size == 1, 2.5, 4), 1)), 1, 5)
    hits, runs = 0, 1_500
    for _ in range(runs):
        taken = rng.random(4_000) < probability
        found = weighted_mean(values[taken], probability[taken])
        limits = found.share_limits() if share else found.mean_limits(1, 5)
        hits += _covered(limits, values.mean())
    _require_coverage(hits, runs)
