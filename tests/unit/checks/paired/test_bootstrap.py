"""The bootstrap of mean differences: coverage, floors and clusters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from monitor.checks.paired.bootstrap import (
    DRAWS,
    FEWEST_DIFFERING,
    FEWEST_UNITS,
    mean_difference,
)
from monitor.measurement import Measured, TooFew

Make = Callable[[np.random.Generator, int], np.ndarray]
WORLDS: dict[str, tuple[Make, float]] = {
    "normal": (lambda rng, n: rng.normal(0.2, 1, n), 0.2),
    "skewed": (lambda rng, n: rng.exponential(1, n) - rng.exponential(1.2, n), -0.2),
    "mostly zero": (lambda rng, n: (rng.random(n) < 0.35) * rng.normal(1, 1, n), 0.35),
    "right or wrong": (lambda rng, n: rng.choice([-1.0, 0.0, 1.0], n, p=[0.15, 0.6, 0.25]), 0.1),
}
REPEATS = 400


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("n", [50, 200])
def test_coverage(world, n):
    make, truth = WORLDS[world]
    source, covered, there = rng(), 0, 0
    for _ in range(REPEATS):
        found = mean_difference(make(source, n), source)
        if isinstance(found, Measured):
            there += 1
            covered += found.low <= truth <= found.high
    assert there > 0.95 * REPEATS
    # 0.95 within three Monte-Carlo errors of 0.011
    assert 0.917 <= covered / there <= 0.982


def test_coverage_with_entities():
    """Pairs of an entity move together; taken as independent they cover far too little."""
    source, by_entity, by_pair = rng(), 0, 0
    for _ in range(250):
        entity = source.integers(0, 60, 300)
        change = 0.1 + source.normal(0, 1, 60)[entity] + source.normal(0, 0.5, 300)
        found = mean_difference(change, source, entity)
        alone = mean_difference(change, source)
        assert isinstance(found, Measured)
        assert isinstance(alone, Measured)
        by_entity += found.low <= 0.1 <= found.high
        by_pair += alone.low <= 0.1 <= alone.high
    assert 0.91 <= by_entity / 250 <= 0.985
    assert by_pair / 250 < 0.8


def test_many_units_are_put_together_and_agree_with_the_normal_interval():
    source = rng()
    change = source.normal(0.01, 1, 50_000)
    found = mean_difference(change, source)
    assert isinstance(found, Measured)
    reach = 1.96 * change.std(ddof=1) / np.sqrt(50_000)
    assert found.value == pytest.approx(change.mean())
    assert found.low == pytest.approx(change.mean() - reach, abs=0.15 * reach)
    assert found.high == pytest.approx(change.mean() + reach, abs=0.15 * reach)
    assert (found.n, found.detail["units"]) == (50_000, 50_000)


def test_floors():
    assert mean_difference(np.zeros(0), rng()) == TooFew(0, FEWEST_UNITS, "pairs")
    few = mean_difference(np.ones(FEWEST_UNITS - 1), rng())
    assert isinstance(few, TooFew)
    assert (few.n, few.needed, few.detail["provisional"]) == (FEWEST_UNITS - 1, FEWEST_UNITS, 1.0)
    rare = np.zeros(1_000)
    rare[: FEWEST_DIFFERING - 1] = 1
    found = mean_difference(rare, rng())
    assert isinstance(found, TooFew)
    assert found.reason == "pairs that differ"
    one_entity = mean_difference(np.arange(500.0), rng(), np.zeros(500, np.int64))
    assert isinstance(one_entity, TooFew)
    assert (one_entity.n, one_entity.reason) == (1, "entities")


def test_equal_differences_have_no_spread():
    found = mean_difference(np.full(80, 0.25), rng())
    assert isinstance(found, Measured)
    assert (found.low, found.value, found.high) == (0.25, 0.25, 0.25)


def test_the_same_seed_gives_the_same_limits():
    change = rng().normal(0, 1, 300)
    assert mean_difference(change, rng()) == mean_difference(change, rng())


def test_missing_numbers_are_a_programming_error():
    with pytest.raises(AssertionError, match="finite"):
        mean_difference(np.array([1.0, np.nan]), rng())


def test_limits_equal_a_slow_bootstrap_t():
    """The same draws, unit by unit in plain Python (Efron and Tibshirani 1993, section 12.5)."""
    change = rng().normal(0.3, 1, 240)
    entity = np.arange(240) % 60 + (np.arange(240) % 7 == 0)
    found = mean_difference(change, np.random.default_rng(3), entity)
    assert isinstance(found, Measured)
    groups = [change[entity == name].tolist() for name in sorted(set(entity.tolist()))]
    source, pivots = np.random.default_rng(3), []
    mean, error = slow_mean_and_error(groups)
    left = DRAWS
    while left:
        rows = source.integers(0, len(groups), (min(200, left), len(groups)))
        left -= len(rows)
        for row in rows.tolist():
            drawn_mean, drawn_error = slow_mean_and_error([groups[place] for place in row])
            pivots.append((drawn_mean - mean) / drawn_error)
    low, high = np.quantile(pivots, [0.025, 0.975])
    assert found.low == pytest.approx(mean - high * error, rel=1e-9)
    assert found.high == pytest.approx(mean - low * error, rel=1e-9)


def slow_mean_and_error(groups: list[list[float]]) -> tuple[float, float]:
    """Ratio of sums and its linearised standard error."""
    n, g = sum(map(len, groups)), len(groups)
    mean = sum(map(sum, groups)) / n
    squares = sum((sum(group) - mean * len(group)) ** 2 for group in groups)
    return mean, (g / (g - 1) * squares) ** 0.5 / n
