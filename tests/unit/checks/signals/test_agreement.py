"""Agreement of raters: published tables, an independent implementation, coverage of the limits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from monitor.checks.signals.agreement import (
    ac1,
    alpha,
    alpha_of_pairs,
    coincidence_table,
    distances,
    kappa,
    pair_table,
    with_limits,
)

GAP = np.nan
EVERY = (kappa, alpha_of_pairs, ac1)


def chance() -> np.random.Generator:
    return np.random.default_rng(11)


def nominal(k: int) -> np.ndarray:
    return 1.0 - np.eye(k)


def test_kappa_of_fleiss_cohen_and_everitt() -> None:
    # Fleiss, Levin and Paik (2003), Statistical Methods for Rates and Proportions, table 18.1:
    # 100 subjects diagnosed by two raters; kappa = (.89 - .66)/(1 - .66) = .68
    table = np.array([[75.0, 1, 4], [5, 4, 1], [0, 0, 10]])
    assert kappa(table, nominal(3)) == pytest.approx((0.89 - 0.66) / (1 - 0.66), abs=1e-12)


def test_kappa_and_its_error_as_sas_prints_them() -> None:
    # SAS/STAT, PROC FREQ, example "Computing a Kappa statistic": 88 skin conditions rated by two
    # dermatologists. Kappa .3449, ASE .0724, 95 % limits .2030 to .4868.
    table = np.array([[10.0, 4, 1, 0], [5, 10, 12, 2], [2, 4, 12, 5], [0, 2, 6, 13]])
    found = with_limits(table, nominal(4), kappa, chance())
    assert found is not None
    assert found.value == pytest.approx(0.3449, abs=5e-5)
    # limits of another kind, the same to within a tenth of their width at this size
    assert (found.low, found.high) == pytest.approx((0.2030, 0.4868), abs=0.02)
    linear = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    assert kappa(table, linear) == pytest.approx(0.5082, abs=5e-5)


@pytest.mark.parametrize("weights", [None, "quadratic"])
def test_kappa_equals_scikit_learns(weights: str | None) -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        first = rng.integers(0, 5, 60).astype(float)
        second = np.where(rng.random(60) < 0.6, first, rng.integers(0, 5, 60))
        table, values = pair_table(first, second)
        found = kappa(table, distances(values, squared=weights is not None))
        theirs = cohen_kappa_score(first.astype(int), second.astype(int), weights=weights)
        assert found == pytest.approx(theirs, abs=1e-12)


def test_alpha_of_krippendorffs_example() -> None:
    # Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", section E: 4 observers,
    # 12 units, gaps; nominal .743, interval .849.
    ratings = np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, GAP, GAP, GAP],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, GAP, 3],
            [GAP, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, GAP],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, GAP],
        ]
    ).T
    table, values = coincidence_table(ratings)
    assert table.sum() == pytest.approx(40)
    assert alpha(table, distances(values, squared=False)) == pytest.approx(0.743, abs=5e-4)
    assert alpha(table, distances(values, squared=True)) == pytest.approx(0.849, abs=5e-4)


def test_alpha_of_two_raters_by_both_ways() -> None:
    # Krippendorff (2011), section A: 10 units, 2 observers, binary: alpha .095
    first = np.array([0, 1, 0, 0, 0, 0, 0, 0, 1, 0.0])
    second = np.array([1, 1, 1, 0, 0, 1, 0, 0, 0, 0.0])
    table, values = pair_table(first, second)
    apart = distances(values, squared=False)
    assert alpha_of_pairs(table, apart) == pytest.approx(0.095, abs=5e-4)
    coincidences, _ = coincidence_table(np.column_stack([first, second]))
    assert alpha(coincidences, apart) == pytest.approx(alpha_of_pairs(table, apart))


def test_ac1_where_kappa_misleads() -> None:
    # Gwet (2008), "Computing inter-rater reliability and its variance in the presence of high
    # agreement": 118, 5, 2, 0 of 125: raw agreement .944, kappa -.0234, AC1 .9408.
    table = np.array([[118.0, 5], [2, 0]])
    assert kappa(table, nominal(2)) == pytest.approx(-0.0234, abs=5e-5)
    assert ac1(table, nominal(2)) == pytest.approx(0.9408, abs=5e-5)


def test_one_answer_throughout_has_no_kappa() -> None:
    table, values = pair_table(np.ones(40), np.ones(40))
    apart = distances(values, squared=False)
    assert [with_limits(table, apart, each, chance()) for each in EVERY] == [None] * 3


def test_perfect_agreement_has_a_lower_limit_below_one() -> None:
    rated = np.repeat([0.0, 1.0], 20)
    table, values = pair_table(rated, rated)
    found = with_limits(table, distances(values, squared=False), kappa, chance())
    assert found is not None
    assert found.value == found.high == 1.0
    # as good as certain to agree on 40 of 40: the share that differs is below 3.7/40 by "rule of
    # three", and kappa loses twice that share where both answers are as frequent
    assert 0.8 < found.low < 1 - 2 * 1 / 40


def rated_twice(
    rng: np.random.Generator, n: int, wrong: float, shares: list[float], *, ordered: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Two raters who see the truth, or (with `wrong`) anything: a neighbour where ordered."""
    k = len(shares)
    truth = rng.choice(k, n, p=shares)

    def rate() -> np.ndarray:
        slip = rng.choice([-1, 1], n) if ordered else rng.choice(k, n, p=shares) - truth
        return np.clip(truth + np.where(rng.random(n) < wrong, slip, 0), 0, k - 1).astype(float)

    return rate(), rate()


@pytest.mark.parametrize(
    ("wrong", "shares", "ordered"),
    [
        (0.1, [0.5, 0.5], False),
        (0.3, [0.5, 0.5], False),
        (0.05, [0.8, 0.2], False),
        (0.2, [0.2, 0.5, 0.3], False),
        (1.0, [0.89, 0.11], False),
        (1.0, [0.95, 0.05], False),
        (0.7, [0.89, 0.11], False),
        (0.2, [0.97, 0.03], False),
        (0.3, [0.1, 0.2, 0.3, 0.2, 0.2], True),
        (0.6, [0.1, 0.2, 0.3, 0.2, 0.2], True),
    ],
)
@pytest.mark.parametrize("n", [30, 100])
def test_limits_hold_their_coverage(
    n: int, wrong: float, shares: list[float], ordered: bool
) -> None:
    rng = np.random.default_rng(n)
    names = EVERY[:2] if ordered else EVERY
    table, values = pair_table(*rated_twice(rng, 200_000, wrong, shares, ordered=ordered))
    truth = [each(table, distances(values, squared=ordered)) for each in names]
    runs, hits = 300, np.zeros(len(names))
    for _ in range(runs):
        table, values = pair_table(*rated_twice(rng, n, wrong, shares, ordered=ordered))
        apart = distances(values, squared=ordered)
        for place, each in enumerate(names):
            found = with_limits(table, apart, each, rng)
            hits[place] += found is None or found.low <= truth[place] <= found.high
    error = 2.5 * np.sqrt(0.95 * 0.05 / runs)
    assert (hits / runs >= 0.93 - error).all(), hits / runs
    assert (hits / runs <= 0.98 + error).all(), hits / runs
