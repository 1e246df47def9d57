"""Ratios of selection rates: worked figures, verdicts, floors, coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from monitor.checks.groups.counts import Rate
from monitor.checks.groups.joint import each_against_one, each_against_the_best
from monitor.checks.groups.selection import ratio_limits, selection_ratios, verdict_of
from monitor.measurement import Measured, TooFew
from tests.unit.checks.groups.makers import answers


def test_worked_ratio_with_its_log_interval() -> None:
    # By hand: log .75 ± 1.959964 sqrt(1/48 - 1/80 + 1/56 - 1/70).
    ratios = selection_ratios([answers("a", 48, 80), answers("b", 56, 70)], 0.8)
    found = ratios["a"]
    assert isinstance(found, Measured)
    assert found.value == pytest.approx(0.750)
    assert (found.low, found.high) == pytest.approx((0.606, 0.929), abs=5e-4)
    assert found.detail["verdict"] == "inconclusive"
    assert found.detail["reference"] == "b"
    assert (found.n, found.n_reference) == (80, 70)
    best = ratios["b"]
    assert isinstance(best, Measured)
    assert (best.value, best.low, best.detail["verdict"]) == (1.0, None, "reference")


def test_berkeley_women_against_men() -> None:
    # 557 of 1835 women and 1198 of 2691 men were admitted (R's UCBAdmissions).
    found = selection_ratios([answers("women", 557, 1835), answers("men", 1198, 2691)], 0.8)
    assert found["women"].value == pytest.approx(0.6818, abs=5e-5)
    assert found["women"].detail["verdict"] == "violates"


def test_verdicts_go_by_the_limits() -> None:
    assert verdict_of(0.5, 0.79, 0.8) == "violates"
    assert verdict_of(0.8, 1.1, 0.8) == "passes"
    assert verdict_of(0.79, 1.1, 0.8) == "inconclusive"
    assert verdict_of(0.5, 0.8, 0.8) == "inconclusive"


def test_small_groups_are_too_few_with_their_count_and_compare_with_nobody() -> None:
    found = selection_ratios(
        [answers("a", 10, 49), answers("b", 56, 70), answers("c", 49, 100)], 0.8
    )
    assert found["a"] == TooFew(49, 50, "answers of the group", {"group": "a"})
    assert found["c"].detail["compared"] == 1
    alone = selection_ratios([answers("a", 10, 49), answers("b", 56, 70)], 0.8)
    assert alone["b"] == TooFew(1, 2, "groups with 50 answers")


def test_nobody_is_favoured() -> None:
    found = selection_ratios([answers("a", 0, 90), answers("b", 4, 70)], 0.8)
    assert found["a"] == TooFew(4, 5, "favourable answers of the best group", {"group": "a"})


def test_a_group_that_never_gets_it_violates() -> None:
    found = selection_ratios([answers("a", 0, 500), answers("b", 300, 500)], 0.8)["a"]
    assert isinstance(found, Measured)
    assert (found.value, found.low) == (0.0, 0.0)
    assert 0 < found.high < 0.02
    assert found.detail["verdict"] == "violates"


def test_limits_of_two_full_rates_come_from_wilson() -> None:
    low, high = ratio_limits(Rate(60, 60), Rate(80, 80))
    edge = 1 / (1 + 1.959964**2 / 60)  # Wilson's lower limit of n of n
    other = 1 / (1 + 1.959964**2 / 80)
    assert low == pytest.approx(edge, abs=1e-6)
    assert high == pytest.approx(1 / other, abs=1e-6)


def test_levels_of_several_groups() -> None:
    assert each_against_one(2) == each_against_the_best(2) == 0.95
    assert each_against_one(6) == pytest.approx(0.99)
    # Tables of the studentised range: q(.05; 3, inf) = 3.314.
    z = stats.norm.ppf(0.5 + each_against_the_best(3) / 2)
    assert z * np.sqrt(2) == pytest.approx(3.314, abs=5e-4)


@pytest.mark.parametrize(
    ("rates", "sizes"),
    [
        ((0.3, 0.3), (50, 50)),
        ((0.6, 0.8), (80, 70)),
        ((0.1, 0.25), (60, 200)),
        ((0.4, 0.4, 0.4, 0.4), (100, 100, 100, 100)),
        ((0.3, 0.5, 0.5), (80, 200, 150)),
    ],
)
def test_ratio_intervals_cover_all_groups_together(
    rates: tuple[float, ...], sizes: tuple[int, ...]
) -> None:
    rng, runs, held = np.random.default_rng(3), 2000, 0
    for draw in rng.binomial(sizes, rates, (runs, len(sizes))).tolist():
        groups = [
            answers(str(place), x, n) for place, (x, n) in enumerate(zip(draw, sizes, strict=True))
        ]
        found = selection_ratios(groups, 0.8)
        assert all(isinstance(one, Measured) for one in found.values())
        held += all(
            one.low is None
            or one.low
            <= rates[int(one.detail["group"])] / rates[int(one.detail["reference"])]
            <= one.high
            for one in found.values()
        )
    assert 0.93 <= held / runs <= 0.98


@pytest.mark.parametrize(("rate", "reference"), [(0.03, 0.2), (0.98, 0.97), (0.05, 0.05)])
def test_ratio_intervals_of_rare_answers_cover(rate: float, reference: float) -> None:
    rng, runs = np.random.default_rng(4), 2000
    x, y = rng.binomial(100, rate, runs), rng.binomial(150, reference, runs)
    kept = y >= 5
    limits = [
        ratio_limits(Rate(a, 100), Rate(b, 150))
        for a, b in zip(x[kept].tolist(), y[kept].tolist(), strict=True)
    ]
    share = np.mean([low <= rate / reference <= high for low, high in limits])
    assert 0.93 <= share <= 0.985
