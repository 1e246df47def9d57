"""McNemar's test and the difference of paired shares."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.checks.paired.shares import (
    EXACT_BELOW,
    PairedCounts,
    PairedTest,
    mcnemar,
    paired_difference,
    paired_difference_limits,
)

# statsmodels 0.14: mcnemar([[both, only_first], [only_second, neither]], exact=…, correction=True)
EXACT = [
    ((59, 6, 16, 80), 0.052478790283203125),
    ((10, 5, 3, 8), 0.7265625),
    ((1, 1, 7, 12), 0.0703125),
]
CORRECTED = [
    ((101, 121, 59, 33), 5.450094825427117e-06),
    ((794, 86, 150, 570), 4.114562281345944e-05),
]

# Newcombe (1998), Statistics in Medicine 17, 2635-2650, method 10, printed to four digits for
# 36/12/2/0; Fagerland, Lydersen and Laake (2014), Statistics in Medicine 33, print -0.507 to -0.026
# for 1/1/7/12. Both give first - second.
METHOD_10 = [((36, 12, 2, 0), 0.0569, 0.3404, 5e-5), ((1, 1, 7, 12), -0.507, -0.026, 5e-4)]

COUNTS = st.builds(PairedCounts, *[st.integers(0, 400)] * 4)


@pytest.mark.parametrize(("cells", "p_value"), EXACT)
def test_few_discordant_pairs_are_tested_exactly(cells, p_value):
    found = mcnemar(PairedCounts(*cells))
    assert found.test is PairedTest.EXACT
    assert found.p_value == pytest.approx(p_value, rel=1e-12)


@pytest.mark.parametrize(("cells", "p_value"), CORRECTED)
def test_many_discordant_pairs_by_corrected_chi_square(cells, p_value):
    found = mcnemar(PairedCounts(*cells))
    assert found.test is PairedTest.CORRECTED
    assert found.p_value == pytest.approx(p_value, rel=1e-9)


def test_the_form_changes_at_25_discordant_pairs():
    assert mcnemar(PairedCounts(0, 10, EXACT_BELOW - 11, 0)).test is PairedTest.EXACT
    assert mcnemar(PairedCounts(0, 10, EXACT_BELOW - 10, 0)).test is PairedTest.CORRECTED


def test_no_discordant_pair_says_nothing():
    assert mcnemar(PairedCounts(90, 0, 0, 10)).p_value == 1.0
    assert mcnemar(PairedCounts(0, 0, 0, 0)).p_value == 1.0


@pytest.mark.parametrize("total", [5, 12, 24, 25, 60, 200])
def test_mcnemar_keeps_its_level(total):
    """Exactly, over all ways in which discordant pairs of equal sides can fall."""
    alarms = sum(
        math.comb(total, b) / 2**total
        for b in range(total + 1)
        if mcnemar(PairedCounts(0, b, total - b, 0)).p_value <= 0.05
    )
    assert alarms <= 0.05


@pytest.mark.parametrize(("cells", "low", "high", "printed"), METHOD_10)
def test_limits_of_method_10_as_published(cells, low, high, printed):
    both, first, second, neither = cells
    found = paired_difference_limits(PairedCounts(both, second, first, neither))
    assert found == (pytest.approx(low, abs=printed), pytest.approx(high, abs=printed))


@given(counts=COUNTS.filter(lambda each: each.n > 0))
def test_limits_hold_the_difference_and_turn_with_the_sides(counts):
    low, high = paired_difference_limits(counts)
    assert -1 <= low <= paired_difference(counts) + 1e-12
    assert paired_difference(counts) - 1e-12 <= high <= 1
    turned = PairedCounts(counts.both, counts.only_second, counts.only_first, counts.neither)
    assert paired_difference_limits(turned) == (pytest.approx(-high), pytest.approx(-low))
    assert mcnemar(turned).p_value == mcnemar(counts).p_value


def test_counts_of_two_lists():
    first = np.array([True, True, False, False, True])
    second = np.array([True, False, True, False, False])
    assert PairedCounts.of(first, second) == PairedCounts(1, 2, 1, 1)
    with pytest.raises(AssertionError, match="equal number"):
        PairedCounts.of(first, second[:3])
    with pytest.raises(AssertionError, match="not negative"):
        PairedCounts(-1, 0, 0, 0)
    with pytest.raises(AssertionError, match="at least one pair"):
        paired_difference(PairedCounts(0, 0, 0, 0))


SHARES = [(0.8, 0.06, 0.04, 0.1), (0.4, 0.2, 0.1, 0.3), (0.6, 0.15, 0.15, 0.1)]


@pytest.mark.parametrize(("n", "shares"), list(itertools.product((50, 200, 1_000), SHARES)))
def test_coverage_of_method_10(n, shares):
    rng = np.random.default_rng(n)
    drawn, times = np.unique(rng.multinomial(n, shares, 10_000), axis=0, return_counts=True)
    truth = shares[2] - shares[1]
    covered = 0
    for cells, count in zip(drawn.tolist(), times.tolist(), strict=True):
        low, high = paired_difference_limits(PairedCounts(*cells))
        covered += count * (low <= truth <= high)
    assert 0.93 <= covered / 10_000 <= 0.982
