"""Drawing for review: probabilities are what they are said to be, and chance repeats itself."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from monitor.checks.signals.sampling import (
    TooSmall,
    allocation,
    draw_poisson,
    draw_stratified,
    inclusion,
    near_threshold,
    random_numbers,
    raters_of_items,
)


def test_random_numbers_are_uniform_and_depend_on_id_time_and_seed() -> None:
    ids, times = pa.array([f"r{k}" for k in range(20_000)]), np.arange(20_000) * 1_000_000
    found = random_numbers(ids, times, 1)
    assert stats.kstest(found, "uniform").pvalue > 0.001
    assert abs(np.corrcoef(found, random_numbers(ids, times, 2))[0, 1]) < 0.03
    same_id = random_numbers(pa.array(["r"] * 20_000), times, 1)
    assert stats.kstest(same_id, "uniform").pvalue > 0.001
    order = np.random.default_rng(1).permutation(20_000)
    moved = random_numbers(ids.take(pa.array(order)), times[order], 1)
    assert (moved == found[order]).all()
    assert random_numbers(pa.array(["r-1"]), np.array([5]), 7)[0] == pytest.approx(
        random_numbers(pa.array(["r-1", "x"]), np.array([5, 6]), 7)[0]
    )


@given(st.lists(st.integers(1, 5_000), min_size=1, max_size=12), st.integers(1, 400))
def test_allocation_adds_up_and_leaves_no_stratum_out(strata: list[int], size: int) -> None:
    population = np.array(strata)
    least = np.minimum(population, 2)
    if least.sum() > min(size, population.sum()):
        with pytest.raises(TooSmall) as small:
            allocation(population, size)
        assert small.value.needed == least.sum()
        return
    taken = allocation(population, size)
    assert taken.sum() == min(size, population.sum())
    assert (taken >= least).all()
    assert (taken <= population).all()


def test_allocation_is_in_proportion() -> None:
    assert allocation(np.array([700, 200, 100]), 50).tolist() == [35, 10, 5]
    assert allocation(np.array([9_990, 10]), 20).tolist() == [18, 2]


def test_every_row_of_a_stratum_is_drawn_as_often_as_said() -> None:
    strata = np.repeat([0, 1], [30, 10])
    sizes = np.array([6, 5])
    rng, drawn = np.random.default_rng(4), np.zeros(40)
    for _ in range(4_000):
        found = draw_stratified(rng.random(40), strata, sizes)
        assert np.bincount(strata[found.rows]).tolist() == [6, 5]
        drawn[found.rows] += 1
    expected = np.repeat([6 / 30, 5 / 10], [30, 10])
    assert np.abs(drawn / 4_000 - expected).max() < 0.04


def test_poisson_draws_each_row_as_often_as_said() -> None:
    measure = np.array([0.1] * 30 + [1.0] * 10)
    rng, drawn, said = np.random.default_rng(5), np.zeros(40), inclusion(measure, 8)
    for _ in range(4_000):
        found = draw_poisson(rng.random(40), measure, 8)
        assert (found.probability == said[found.rows]).all()
        drawn[found.rows] += 1
    assert said.sum() == pytest.approx(8)
    assert np.abs(drawn / 4_000 - said).max() < 0.04


@given(st.lists(st.floats(0.1, 1.0), min_size=1, max_size=60), st.integers(1, 80))
def test_probabilities_add_up_to_the_size_and_keep_their_order(
    measures: list[float], size: int
) -> None:
    measure = np.array(measures)
    found = inclusion(measure, size)
    assert found.sum() == pytest.approx(min(size, len(measure)))
    assert (found > 0).all()
    assert (found <= 1).all()
    order = np.argsort(measure)
    assert (np.diff(found[order]) >= -1e-12).all()


def test_scores_near_the_threshold_count_more_and_none_counts_for_nothing() -> None:
    measure = near_threshold(np.array([0.5, 0.6, 1.0, np.nan]), 0.5)
    assert measure.tolist() == pytest.approx(
        [1.0, 0.1 + 0.9 * np.exp(-1), 0.1 + 0.9 * np.exp(-5), 0.1]
    )


@given(st.integers(1, 80), st.integers(1, 5), st.floats(0, 1), st.integers(0, 9))
def test_the_work_is_spread_evenly(n: int, raters: int, double: float, seed: int) -> None:
    names = tuple("abcde"[:raters])
    found = raters_of_items(n, names, double, np.random.default_rng(seed))
    assert found == raters_of_items(n, names, double, np.random.default_rng(seed))
    twice = round(n * double) if raters > 1 else 0
    assert Counter(map(len, found)) == Counter({1: n - twice, 2: twice} if twice else {1: n})
    assert all(len(set(one)) == len(one) for one in found)
    work = Counter(name for one in found for name in one)
    assert max(work.values()) - min(work[name] for name in names) <= 1
