"""Mantel-Haenszel and standardised rates: published admissions, slow forms, and coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from monitor.checks.stratified import (
    cmh,
    informative,
    standardised_difference,
    standardised_mean,
    standardised_rate,
)
from monitor.profiles.arrays import Integers

# Admissions to Berkeley in 1973 by department A to F (Bickel, Hammel and O'Connell 1975; R's
# data set UCBAdmissions): admitted and rejected, men first.
ADMISSIONS = np.array(
    [
        [[512, 313], [89, 19]],
        [[353, 207], [17, 8]],
        [[120, 205], [202, 391]],
        [[138, 279], [131, 244]],
        [[53, 138], [94, 299]],
        [[22, 351], [24, 317]],
    ],
    np.int64,
)


def test_admissions_look_unfair_only_without_the_departments() -> None:
    crude = ADMISSIONS.sum(axis=0)
    assert crude[0, 0] / crude[0].sum() == pytest.approx(0.4452, abs=5e-5)
    assert crude[1, 0] / crude[1].sum() == pytest.approx(0.3035, abs=5e-5)
    held = cmh(ADMISSIONS)
    assert held.statistic == pytest.approx(1.5246, abs=5e-5)
    assert held.statistic_corrected == pytest.approx(1.4269, abs=5e-5)
    assert held.p_value == pytest.approx(0.2323, abs=5e-5)
    assert held.odds_ratio == pytest.approx(0.9047, abs=5e-5)
    assert held.risk_difference == pytest.approx(-0.0184, abs=5e-5)
    assert held.low < held.risk_difference < held.high
    assert held.low < 0 < held.high


def test_admissions_on_the_mix_of_all_applicants() -> None:
    applicants = ADMISSIONS.sum(axis=(1, 2))
    men, women = (
        standardised_rate(ADMISSIONS[:, side, 0], ADMISSIONS[:, side].sum(axis=1), applicants)
        for side in (0, 1)
    )
    assert men.value == pytest.approx(0.3873, abs=5e-5)
    assert women.value == pytest.approx(0.4300, abs=5e-5)
    apart = standardised_difference(men, women)
    assert apart.value == pytest.approx(men.value - women.value)
    assert apart.low < apart.value < apart.high


def _slow_statistic(tables: Integers, half: float) -> float:
    """The statistic from moments over scipy's hypergeometric masses, stratum by stratum."""
    apart = variance = 0.0
    for (a, b), (c, d) in tables.tolist():
        if a + b == 0 or c + d == 0:
            continue
        values = np.arange(a + b + 1)
        weights = stats.hypergeom(a + b + c + d, a + c, a + b).pmf(values)
        expected = float(weights @ values)
        apart += a - expected
        variance += float(weights @ (values - expected) ** 2)
    return max(0.0, abs(apart) - half) ** 2 / variance if variance > 1e-12 else 0.0


@given(
    st.lists(st.lists(st.integers(0, 30), min_size=4, max_size=4), min_size=1, max_size=6).map(
        lambda rows: np.array(rows, np.int64).reshape(-1, 2, 2)
    )
)
def test_statistics_equal_hypergeometric_moments(tables: Integers) -> None:
    if not informative(tables).any():
        with pytest.raises(AssertionError, match="no stratum"):
            cmh(tables)
        return
    held = cmh(tables)
    assert held.statistic == pytest.approx(_slow_statistic(tables, 0.0), abs=1e-8)
    assert held.statistic_corrected == pytest.approx(_slow_statistic(tables, 0.5), abs=1e-8)
    swapped = cmh(tables[:, ::-1])
    assert swapped.risk_difference == pytest.approx(-held.risk_difference, abs=1e-12)
    assert -1 <= held.low <= held.risk_difference <= held.high <= 1


def test_one_stratum_is_the_plain_difference_and_odds_ratio() -> None:
    held = cmh(np.array([[[30, 70], [20, 80]]]))
    assert held.risk_difference == pytest.approx(0.10)
    assert held.odds_ratio == pytest.approx(30 * 80 / (20 * 70))


def test_nothing_happened_is_no_difference() -> None:
    held = cmh(np.array([[[0, 40], [0, 60]]]))
    assert (held.statistic, held.p_value, held.odds_ratio) == (0.0, 1.0, None)
    assert held.risk_difference == 0.0


def test_means_on_a_mix_equal_the_plain_formula() -> None:
    rng = np.random.default_rng(3)
    parts = [rng.normal(size, 1 + size, 20 + 5 * size) for size in range(3)]
    held = standardised_mean(
        np.array([part.sum() for part in parts]),
        np.array([(part**2).sum() for part in parts]),
        np.array([len(part) for part in parts]),
        np.array([2, 1, 1]),
    )
    mix = (0.5, 0.25, 0.25)
    value = sum(w * part.mean() for w, part in zip(mix, parts, strict=True))
    variance = sum(w**2 * part.var(ddof=1) / len(part) for w, part in zip(mix, parts, strict=True))
    assert held.value == pytest.approx(value)
    assert (held.high - held.value) / np.sqrt(variance) == pytest.approx(1.96, abs=0.08)


def test_one_stratum_means_have_the_t_interval() -> None:
    values = np.random.default_rng(5).normal(2, 1, 12)
    held = standardised_mean(
        np.array([values.sum()]), np.array([(values**2).sum()]), np.array([12]), np.array([7])
    )
    known = stats.ttest_1samp(values, 0).confidence_interval()
    assert (held.low, held.high) == pytest.approx((known.low, known.high))


def test_weights_need_rows() -> None:
    with pytest.raises(AssertionError, match="needs 1 rows"):
        standardised_rate(np.array([1, 0]), np.array([4, 0]), np.array([1, 1]))
    held = standardised_rate(np.array([1, 0]), np.array([4, 0]), np.array([1, 0]))
    assert held.value == 0.25


@pytest.mark.parametrize("strata", [((60, 0.1), (40, 0.3)), ((15, 0.2),) * 12, ((4, 0.3),) * 40])
def test_risk_difference_intervals_cover(strata: tuple[tuple[int, float], ...]) -> None:
    rng, runs, true = np.random.default_rng(7), 1500, 0.08
    n = np.array([size for size, _ in strata])
    base = np.array([rate for _, rate in strata])
    a = rng.binomial(n, base + true, (runs, len(n)))
    c = rng.binomial(2 * n, base, (runs, len(n)))
    held = 0
    for compared, reference in zip(a, c, strict=True):
        table = np.stack(
            [np.stack([compared, n - compared], 1), np.stack([reference, 2 * n - reference], 1)], 1
        )
        limits = cmh(table)
        held += limits.low <= true <= limits.high
    assert 0.93 <= held / runs <= 0.98


@pytest.mark.parametrize("rates", [(0.05, 0.3), (0.5, 0.7), (0.9, 0.97)])
def test_standardised_rate_intervals_cover(rates: tuple[float, float]) -> None:
    rng, runs = np.random.default_rng(11), 1500
    n, mix = np.array([60, 120]), np.array([3, 1])
    true = float(mix @ np.array(rates)) / 4
    held = differ = 0
    for _ in range(runs):
        one = standardised_rate(rng.binomial(n, rates), n, mix)
        two = standardised_rate(rng.binomial(2 * n, rates), 2 * n, mix)
        apart = standardised_difference(one, two)
        held += one.low <= true <= one.high
        differ += apart.low <= 0 <= apart.high
    assert 0.93 <= held / runs <= 0.98
    assert 0.93 <= differ / runs <= 0.98


def test_standardised_mean_intervals_cover() -> None:
    rng, runs, held = np.random.default_rng(13), 1500, 0
    n, mix = np.array([10, 25, 50]), np.array([1, 2, 1])
    true = float(mix @ np.array([1.0, 2.0, 4.0])) / 4
    for _ in range(runs):
        parts = [rng.normal(mean, mean, k) for mean, k in zip((1.0, 2.0, 4.0), n, strict=True)]
        sums = np.array([part.sum() for part in parts])
        squares = np.array([(part**2).sum() for part in parts])
        limits = standardised_mean(sums, squares, n, mix)
        held += limits.low <= true <= limits.high
    assert 0.93 <= held / runs <= 0.98
