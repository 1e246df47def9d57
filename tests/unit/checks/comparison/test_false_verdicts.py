"""How often a verdict over several metrics is wrong, and how often a real difference is found."""

from __future__ import annotations

import numpy as np

from monitor.checks.comparison.cells import Metric, RateTable
from monitor.checks.comparison.compare import Options, compare
from monitor.checks.comparison.factors import contrast
from monitor.checks.comparison.verdicts import Verdict
from monitor.deployment import Tags
from monitor.measurement import Direction
from tests.unit.checks.comparison.factories import cells, value_table

FOUND = contrast({1: Tags.of({"precision": "a"})}, {2: Tags.of({"precision": "b"})})
RATES = (
    Metric("accuracy", "share", Direction.LOWER_IS_WORSE, "labelled requests"),
    Metric("recall", "share", Direction.LOWER_IS_WORSE, "positive labels"),
    Metric("error_rate", "share", Direction.HIGHER_IS_WORSE, "requests"),
)
GRID = np.exp(np.linspace(-4, 5, 400))
SLOTS = 24


def verdict(rng: np.random.Generator, *, right: float, ratio: float) -> Verdict:
    """A day of hours in two slices; b is right by `right` more often, and `ratio` times as slow."""
    n = rng.poisson(15, (2 * SLOTS, 2))
    chances = ((0.7, 0.7 + right), (0.5, 0.5 + right), (0.05, 0.05))
    rates = [
        RateTable(metric, rng.binomial(n, chance), n)
        for metric, chance in zip(RATES, chances, strict=True)
    ]
    rows = []
    for hour, (a, b) in enumerate(n.tolist()):
        if hour % 2 == 0:
            slow = rng.normal(0, 0.1)
        own = rng.normal((0, np.log(ratio)), 0.03)
        rows.append(
            tuple(
                GRID[np.searchsorted(GRID, np.exp(rng.normal(slow + own[side], 0.4, count)))]
                for side, count in enumerate((a, b))
            )
        )
    found = cells(
        np.repeat(np.arange(SLOTS), 2).tolist(), [0, 1] * SLOTS, n,
        rates=rates, values=[value_table(rows, (0.5,))],
    )  # fmt: skip
    return compare(FOUND, {"precision": found}, Options(), rng).verdict


def test_without_any_difference_a_winner_is_seldom_named() -> None:
    rng = np.random.default_rng(31)
    found = [verdict(rng, right=0.0, ratio=1.0) for _ in range(150)]
    wrong = sum(one in (Verdict.BETTER, Verdict.WORSE) for one in found) / 150
    assert wrong <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)


def test_a_real_difference_is_named_by_its_side() -> None:
    rng = np.random.default_rng(32)
    better = [verdict(rng, right=0.15, ratio=1.0) for _ in range(20)]
    worse = [verdict(rng, right=0.0, ratio=1.4) for _ in range(20)]
    mixed = [verdict(rng, right=0.15, ratio=1.4) for _ in range(20)]
    assert better.count(Verdict.BETTER) >= 18
    assert worse.count(Verdict.WORSE) >= 18
    assert mixed.count(Verdict.INCONCLUSIVE) >= 18
