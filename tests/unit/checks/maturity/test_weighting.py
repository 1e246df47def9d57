"""Inverse-probability weights: the worked example, and whether the limits hold the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.checks.maturity.cohort import MaturityState, Stratum
from monitor.checks.maturity.weighting import (
    Weighed,
    Weight,
    weight_of,
    weighted_mean_outcome,
    weighted_share,
    weighted_share_outcome,
)
from monitor.measurement import Measured, TooFew
from tests.unit.checks.maturity.factories import curve_of

RUNS = 1500
LEAST, MOST = 0.93 - 0.012, 0.98 + 0.008


def exactly(value: float) -> Weight:
    return Weight(value, 0.0, False)


def test_the_worked_example_of_fast_and_slow_labels() -> None:
    """500 fast, 80 % labelled, error .10; 500 slow, 20 % labelled, error .30."""
    rows = [Weighed(1, exactly(1 / 0.8), 400, 40), Weighed(0, exactly(1 / 0.2), 100, 30)]
    found = weighted_share(rows)
    assert found is not None
    assert sum(one.events for one in rows) / found.rows == pytest.approx(0.14)
    assert found.value == pytest.approx(0.20)
    assert found.effective == pytest.approx(320)
    assert found.rows == 500
    assert found.low < 0.2 < found.high


def test_weights_come_from_the_curve_and_are_clipped() -> None:
    curve = curve_of({1: 0.02, 10: 0.6})
    early, late = Stratum(1, 24.0, 100, 2, curve), Stratum(1, 240.0, 100, 60, curve)
    clipped, plain = (
        weight_of(one, MaturityState.PARTIAL, one.labelled / one.n) for one in (early, late)
    )
    assert clipped is not None
    assert (clipped.value, clipped.clipped) == (pytest.approx(20.0), True)
    assert plain is not None
    assert plain.value == pytest.approx(1 / 0.6, rel=1e-3)
    assert not plain.clipped
    unknown = Stratum(1, 24.0, 100, 2, None)
    assert weight_of(unknown, MaturityState.TOO_EARLY, 0.02) is None


def test_a_final_cohort_needs_no_curve() -> None:
    final = weight_of(Stratum(1, 24.0, 100, 80, None), MaturityState.FINAL, 0.8)
    assert final == Weight(1 / 0.8, 0.0, False)


def test_floors_and_what_is_not_known() -> None:
    few = weighted_share_outcome([Weighed(1, exactly(1.0), 49, 40)], 49, "labelled rows")
    assert few == TooFew(49, 50, "labelled rows", few.detail)
    none = weighted_share_outcome(None, 500, "labelled rows")
    assert isinstance(none, TooFew)
    assert "curve" in none.reason
    enough = weighted_share_outcome([Weighed(1, exactly(1.0), 50, 40)], 50, "labelled rows")
    assert isinstance(enough, Measured)
    assert enough.detail["effective_n"] == pytest.approx(50)


@pytest.mark.parametrize(
    ("n", "known", "wrong"),
    [
        (150, (0.8, 0.2), (0.1, 0.3)),
        (200, (0.9, 0.1), (0.02, 0.3)),
        (120, (0.9, 0.6), (0.01, 0.05)),
        (60, (0.95, 0.9), (0.02, 0.02)),
        (1000, (0.8, 0.2), (0.1, 0.3)),
    ],
)
def test_limits_of_a_weighted_share_hold_the_truth(
    n: int, known: tuple[float, float], wrong: tuple[float, float]
) -> None:
    rng = np.random.default_rng(5)
    truth, hits, shown = 1 - sum(wrong) / 2, 0, 0
    for _ in range(RUNS):
        first = rng.binomial(n, 0.5)
        rows = []
        for kind, size in ((1, first), (0, n - first)):
            chance, error = known[1 - kind], wrong[1 - kind]
            labelled = rng.binomial(size, chance)
            right = rng.binomial(labelled, 1 - error)
            rows.append(Weighed(kind, exactly(1 / chance), int(labelled), int(right)))
        found = weighted_share(rows)
        if found is not None and found.rows >= 50:
            shown += 1
            hits += found.low <= truth <= found.high
    assert LEAST <= hits / shown <= MOST


def test_limits_of_a_weighted_recall_hold_the_truth_with_a_learned_curve() -> None:
    """Curves of 200 requests of each class: their own error is in the limits."""
    rng = np.random.default_rng(6)
    hits, runs, n = 0, RUNS, 600
    positive, known = {1: 0.6, 0: 0.1}, {1: 0.8, 0: 0.4}
    truth = 0.6 / 0.7
    for _ in range(runs):
        rows = []
        for kind in (1, 0):
            share = rng.binomial(200, known[kind]) / 200
            error = math.sqrt(share * (1 - share) / 200) / share
            labelled = rng.binomial(n // 2, known[kind])
            positives = int(rng.binomial(labelled, positive[kind]))
            rows.append(Weighed(kind, Weight(1 / share, error, False), positives, positives * kind))
        found = weighted_share(rows)
        assert found is not None
        hits += found.low <= truth <= found.high
    assert LEAST <= hits / runs <= MOST


def test_limits_of_a_weighted_mean_hold_the_truth() -> None:
    rng = np.random.default_rng(7)
    hits, runs, n = 0, RUNS, 400
    known, mean = {1: 0.8, 0: 0.25}, {1: 0.1, 0: 0.3}
    for _ in range(runs):
        sums = {}
        for kind in (1, 0):
            labelled = rng.random(n // 2) < known[kind]
            losses = rng.gamma(1.0, mean[kind], n // 2)
            group = rng.integers(0, 20, n // 2)
            rows = np.bincount(group[labelled], minlength=20).astype(float)
            total = np.bincount(group[labelled], losses[labelled], minlength=20)
            sums[kind] = [(exactly(1 / known[kind]), rows, total)]
        found = weighted_mean_outcome(sums, "labelled rows")
        assert isinstance(found, Measured)
        hits += found.low <= 0.2 <= found.high  # type: ignore[operator]
    assert LEAST <= hits / runs <= MOST


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.floats(1, 20), st.floats(0, 0.5), st.integers(0, 80),
                  st.floats(0, 1)),
        max_size=8,
    )
)  # fmt: skip
def test_any_rows_give_a_sound_share(rows: list[tuple[int, float, float, int, float]]) -> None:
    weighed = [
        Weighed(kind, Weight(weight, error, False), n, int(n * share))
        for kind, weight, error, n, share in rows
    ]
    found = weighted_share(weighed)
    assert (found is None) == (sum(one.rows for one in weighed) == 0)
    if found is not None:
        assert 0 <= found.low <= found.value <= found.high <= 1
        assert 0 < found.effective <= found.rows + 1e-9


def test_limits_of_a_weighted_share_know_that_rows_of_an_entity_agree():
    """400 rows of 80 entities; without the groups the limits would hold it in about 60 of 100."""
    weight, rng, runs = Weight(2.0, 0.0, False), np.random.default_rng(8), 600
    hits = {True: 0, False: 0}
    for _ in range(runs):
        group = np.repeat(rng.integers(0, 20, 80), 5)
        right = np.repeat(rng.random(80) < 0.8, 5)
        told = (np.bincount(group, minlength=20), np.bincount(group[right], minlength=20))
        for grouped in hits:
            one = Weighed(1, weight, 400, int(right.sum()), told if grouped else None)
            found = weighted_share([one])
            hits[grouped] += found.low <= 0.8 <= found.high
    assert 0.93 - 0.02 <= hits[True] / runs <= 0.98 + 0.02
    assert hits[False] / runs < 0.75
