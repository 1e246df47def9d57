"""Gaps between groups: plain formulas, floors, coverage; and the shrinkage of rates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from monitor.checks.groups.counts import Rate
from monitor.checks.groups.gaps import gap_limits, gap_outcomes
from monitor.checks.groups.ranking import told_rate
from monitor.checks.intervals import newcombe_limits
from monitor.checks.shrinkage import empirical_bayes_shrunk
from monitor.measurement import Measured, TooFew
from tests.unit.checks.groups.makers import answers, labelled, scored


def test_worked_shrinkage() -> None:
    shrunk = empirical_bayes_shrunk([3, 12, 45, 8, 90], [10, 60, 200, 20, 500])
    assert shrunk.mean == pytest.approx(0.20, abs=5e-3)
    assert shrunk.variance == pytest.approx(0.0014005, abs=5e-8)
    assert shrunk.strength == pytest.approx(113.25, abs=5e-3)
    assert shrunk.rates == pytest.approx((0.2081, 0.2000, 0.2160, 0.2300, 0.1837), abs=5e-5)


def test_shrunk_rates_rank_groups_by_all_of_them() -> None:
    groups = [
        answers(str(k), x, n)
        for k, (x, n) in enumerate(((3, 10), (12, 60), (45, 200), (8, 20), (90, 500), (0, 0)))
    ]
    told = told_rate("2", "favourable", groups)
    assert told["shrunk"] == pytest.approx(0.2160, abs=5e-5)
    assert told["rate"] == 0.225
    assert told_rate("5", "favourable", groups) == {"group": "5", "events": 0, "denominator": 0}


def test_gaps_are_differences_of_rates_with_newcombes_limits() -> None:
    groups = [labelled("a", 40, 10, 20, 50), labelled("b", 90, 30, 10, 170)]
    found = gap_outcomes(groups)
    gap = found["true_positive_gap"]["a"]
    assert isinstance(gap, Measured)
    assert gap.value == pytest.approx(40 / 60 - 90 / 100)
    assert (gap.low, gap.high) == pytest.approx(newcombe_limits(40, 60, 90, 100))
    assert gap.detail["verdict"] == "differs"
    assert found["false_positive_gap"]["a"].value == pytest.approx(10 / 60 - 30 / 200)
    assert found["accuracy_gap"]["a"].value == pytest.approx(90 / 120 - 260 / 300)
    assert found["accuracy_gap"]["b"].detail["verdict"] == "reference"
    assert found["accuracy_gap"]["b"].value == 0.0


def test_with_more_groups_the_level_rises() -> None:
    groups = [labelled(name, 40, 10, 20, 50) for name in "abcde"] + [labelled("z", 90, 9, 9, 90)]
    gap = gap_outcomes(groups)["accuracy_gap"]["a"]
    assert gap.detail["interval_level"] == pytest.approx(0.99)
    assert (gap.low, gap.high) == pytest.approx(newcombe_limits(90, 120, 180, 198, 0.99))


def test_floors_of_gaps() -> None:
    groups = [
        labelled("a", 3, 10, 1, 46),
        labelled("b", 90, 30, 10, 170),
        labelled("c", 9, 9, 9, 9),
    ]
    found = gap_outcomes(groups)
    assert found["true_positive_gap"]["a"] == TooFew(
        4, 5, "positive labels of the group", {"group": "a"}
    )
    assert isinstance(found["false_positive_gap"]["a"], Measured)
    assert found["accuracy_gap"]["c"] == TooFew(
        36, 50, "labelled rows of the group", {"group": "c"}
    )
    assert found["calibration_gap"]["b"].needed == 500
    few = gap_outcomes([labelled("a", 9, 9, 9, 9), labelled("b", 9, 9, 9, 8)])
    assert few["accuracy_gap"]["b"].n == 35
    only = gap_outcomes([labelled("a", 40, 10, 20, 50), labelled("b", 9, 9, 9, 8)])
    assert only["accuracy_gap"]["a"] == TooFew(1, 2, "groups with enough labels")
    assert gap_outcomes([]) == {}


def _scored(rng: np.random.Generator, name: str, n: int, shift: float):
    score = special.expit(rng.normal(0, 1.2, n))
    return scored(name, score, (rng.random(n) < special.expit(special.logit(score) + shift)) * 1)


def test_calibration_gap_is_welchs() -> None:
    rng = np.random.default_rng(1)
    score = [rng.random(n) for n in (600, 900)]
    label = [(rng.random(len(s)) < s).astype(int) for s in score]
    groups = [scored(name, s, y) for name, s, y in zip("ab", score, label, strict=True)]
    gap = gap_outcomes(groups)["calibration_gap"]["a"]
    errors = [y - s for s, y in zip(score, label, strict=True)]
    known = stats.ttest_ind(*errors, equal_var=False).confidence_interval()
    assert gap.value == pytest.approx(errors[0].mean() - errors[1].mean())
    assert (gap.low, gap.high) == pytest.approx((known.low, known.high))


@pytest.mark.parametrize(
    ("rates", "least"),
    [((0.8, 0.9), 12), ((0.7, 0.7, 0.8, 0.6), 20), ((0.95, 0.95, 0.97), 150), ((0.5, 0.6), 5)],
)
def test_gap_intervals_cover_all_groups_together(rates: tuple[float, ...], least: int) -> None:
    rng, runs, held = np.random.default_rng(5), 1000, 0
    positives = [least + 6 * place for place in range(len(rates))]
    for draw in rng.binomial(positives, rates, (runs, len(rates))).tolist():
        groups = [
            labelled(str(k), x, 10, p - x, 40 + k)
            for k, (x, p) in enumerate(zip(draw, positives, strict=True))
        ]
        gaps = gap_outcomes(groups)["true_positive_gap"]
        held += all(
            one.low is None or one.low <= rates[int(name)] - rates[-1] <= one.high
            for name, one in gaps.items()
        )
    assert 0.93 <= held / runs <= 0.98


@pytest.mark.parametrize("sizes", [(5, 5), (5, 11), (8, 12), (5, 40), (12, 19), (20, 25)])
def test_exact_coverage_of_gaps_of_few_rows(sizes: tuple[int, int]) -> None:
    n, m = sizes
    limits = [[gap_limits(Rate(x, n), Rate(y, m)) for y in range(m + 1)] for x in range(n + 1)]
    for p in (0.1, 0.3, 0.5, 0.6, 0.8):
        for q in (0.1, 0.3, 0.5, 0.6, 0.8):
            holds = np.array([[low <= p - q <= high for low, high in row] for row in limits])
            masses = np.outer(
                stats.binom.pmf(np.arange(n + 1), n, p), stats.binom.pmf(np.arange(m + 1), m, q)
            )
            assert (masses * holds).sum() >= 0.93


def test_calibration_gap_intervals_cover() -> None:
    rng, runs, held = np.random.default_rng(6), 400, 0
    for _ in range(runs):
        gap = gap_outcomes([_scored(rng, "a", 500, 0.0), _scored(rng, "b", 700, 0.0)])
        one = gap["calibration_gap"]["a"]
        held += one.low <= 0 <= one.high
    assert 0.93 <= held / runs <= 0.98
