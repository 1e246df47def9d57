"""Agreement of classes and of ranked lists."""

from __future__ import annotations

import pytest

from monitor.checks.intervals import wilson_limits
from monitor.checks.paired.choices import agreement, same_order, top_overlap
from monitor.measurement import Measured, TooFew


def test_agreement_counts_swaps_and_missing():
    first = ["a", "a", "b", None, "b", None, "a"]
    second = ["a", "b", "b", None, None, "a", "b"]
    found = agreement(first, second)
    assert (found.n, found.equal, found.both_missing, found.one_missing) == (6, 2, 1, 2)
    assert found.swaps[0] == ("a", "b", 2)
    assert ("b", "(none)", 1) in found.swaps
    outcome = found.outcome()
    assert isinstance(outcome, Measured)
    assert outcome.value == pytest.approx(2 / 6)
    assert (outcome.low, outcome.high) == wilson_limits(2, 6)


def test_no_choice_at_all():
    assert agreement([None], [None]).outcome() == TooFew(0, 1, "pairs with a choice")
    assert agreement([], []).outcome() == TooFew(0, 1, "pairs with a choice")


def test_overlap_of_the_first_k():
    first = [("a", "b", "c"), ("x", "y"), (), ("p",)]
    second = [("c", "a", "d"), ("x", "y"), (), ("q", "p")]
    # k = 2: {a, b} and {c, a} share one of two; both of two; left out; {p} and {q, p} one of two
    assert top_overlap(first, second, 2) == pytest.approx((0.5 + 1 + 0.5) / 3)
    assert same_order(first, second) == 2
    assert top_overlap([()], [()], 3) is None
    with pytest.raises(AssertionError, match="at least one item"):
        top_overlap(first, second, 0)
