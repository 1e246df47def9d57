"""When a difference is better, worse or none."""

from __future__ import annotations

import pytest

from monitor.checks.comparison.verdicts import Reach, Verdict, overall, verdict_of, widened
from monitor.measurement import Direction

UP, DOWN, BOTH = Direction.HIGHER_IS_WORSE, Direction.LOWER_IS_WORSE, Direction.TWO_SIDED


@pytest.mark.parametrize(
    ("low", "high", "direction", "expected"),
    [
        (0.03, 0.05, DOWN, Verdict.BETTER),
        (0.03, 0.05, UP, Verdict.WORSE),
        (-0.05, -0.03, DOWN, Verdict.WORSE),
        (-0.05, -0.03, UP, Verdict.BETTER),
        (0.03, 0.05, BOTH, Verdict.DIFFERENT),
        (-0.01, 0.01, DOWN, Verdict.NO_DIFFERENCE),
        (0.005, 0.015, DOWN, Verdict.NO_DIFFERENCE),  # sure, and too small to matter
        (-0.02, 0.02, UP, Verdict.NO_DIFFERENCE),
        (-0.021, 0.02, UP, Verdict.INCONCLUSIVE),
        (-0.01, 0.05, DOWN, Verdict.INCONCLUSIVE),
        (0.01, 0.03, DOWN, Verdict.BETTER),
    ],
)
def test_one_metric(low: float, high: float, direction: Direction, expected: Verdict) -> None:
    reach = Reach((low + high) / 2, low, high, low, high)
    assert verdict_of(reach, 0.02, direction) is expected


def test_several_metrics_widen_the_interval() -> None:
    one, ten = widened(0.1, 0.05, 0.2, 1), widened(0.1, 0.05, 0.2, 10)
    assert (one.wide_low, one.wide_high) == pytest.approx((0.05, 0.2))
    # z(0.9975) / z(0.975) = 2.807034 / 1.959964
    assert ten.wide_low == pytest.approx(0.1 - 0.05 * 1.4321865, abs=1e-6)
    assert ten.wide_high == pytest.approx(0.1 + 0.1 * 1.4321865, abs=1e-6)


B, W, N, OPEN, D = (
    Verdict.BETTER, Verdict.WORSE, Verdict.NO_DIFFERENCE, Verdict.INCONCLUSIVE, Verdict.DIFFERENT,
)  # fmt: skip


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([B, N, OPEN], B),
        ([W, N, OPEN], W),
        ([B, W], OPEN),
        ([N, N, N], N),
        ([N, N, D], N),
        ([N, OPEN], OPEN),
        ([D], OPEN),
        ([], OPEN),
        ([B, Verdict.CONFOUNDED], Verdict.CONFOUNDED),
    ],
)
def test_over_all_metrics(verdicts: list[Verdict], expected: Verdict) -> None:
    assert overall(verdicts) is expected
