"""Shares of output drift: the worked example, pairs, refusals and the interval's coverage."""

from __future__ import annotations

import time

import numpy as np
import pytest

from monitor.checks.context.explained import (
    OutputDidNotMove,
    OutputMoved,
    SampledColumn,
    explain_output,
)
from monitor.measurement import Failed, Measured, TooFew


def _ones(rows, ones):
    return np.repeat([1.0, 0.0], [ones, rows - ones])


# Output by category .1 and .3 on a mix of .5 and .5: mean .20. Now .1 and .35 on .2 and .8: .30.
# With the old mix the new output is .225, so 75 % goes with the mix and 25 % sits within.
def _worked():
    reference = np.repeat([0, 1], [500, 500])
    current = np.repeat([0, 1], [200, 800])
    then = np.concatenate((_ones(500, 50), _ones(500, 150)))
    now = np.concatenate((_ones(200, 20), _ones(800, 280)))
    return SampledColumn("channel", reference, current, 2), then, now


def test_the_worked_example():
    column, then, now = _worked()
    found = explain_output([column], then, now, seed=1)
    assert isinstance(found, OutputMoved)
    assert found.total.value == pytest.approx(0.10)
    share = found.columns[0].share
    assert isinstance(share, Measured)
    assert share.value == pytest.approx(0.75)
    assert found.columns[0].mean == pytest.approx(0.225)
    assert found.columns[0].effective_rows == pytest.approx(640)
    assert found.columns[0].unmatched == pytest.approx(0)
    assert (share.n, share.n_reference, share.level) == (1000, 1000, 0.95)
    assert share.low < 0.75 < share.high


def test_the_same_seed_gives_the_same_interval_and_another_a_near_one():
    column, then, now = _worked()
    first, again, other = (explain_output([column], then, now, seed=s) for s in (3, 3, 4))
    assert first == again
    assert other.columns[0].share.low == pytest.approx(first.columns[0].share.low, abs=0.08)
    assert other != first


def test_two_columns_that_carry_half_each_carry_all_as_a_pair():
    rng = np.random.default_rng(5)
    n = 4000
    a, b = rng.random(n) < 0.3, rng.random(n) < 0.3
    a_now, b_now = rng.random(n) < 0.7, rng.random(n) < 0.7
    columns = [
        SampledColumn("a", a.astype(int), a_now.astype(int), 2),
        SampledColumn("b", b.astype(int), b_now.astype(int), 2),
        SampledColumn("noise", rng.integers(0, 5, n), rng.integers(0, 5, n), 5),
    ]
    then = 1.0 * a + 1.0 * b + rng.normal(0, 1, n)
    now = 1.0 * a_now + 1.0 * b_now + rng.normal(0, 1, n)
    found = explain_output(columns, then, now, seed=2)
    shares = {frozenset(one.columns): one.share for one in found.columns + found.pairs}
    assert shares[frozenset("a")].value == pytest.approx(0.5, abs=0.08)
    assert shares[frozenset("b")].value == pytest.approx(0.5, abs=0.08)
    assert shares[frozenset(["noise"])].low < 0 < shares[frozenset(["noise"])].high
    assert shares[frozenset("ab")].value == pytest.approx(1.0, abs=0.1)
    assert set(found.pairs[0].columns) == {"a", "b"}
    assert found.columns[-1].columns == ("noise",)


def test_overlapping_columns_are_not_forced_to_add_up_to_one():
    column, then, now = _worked()
    copy = SampledColumn("copy", column.reference, column.current, 2)
    found = explain_output([column, copy], then, now, seed=1)
    assert [one.share.value for one in found.columns] == pytest.approx([0.75, 0.75])
    assert found.pairs[0].share.value == pytest.approx(0.75)


def test_an_output_that_did_not_move_has_no_shares():
    rng = np.random.default_rng(8)
    column = SampledColumn("x", rng.integers(0, 4, 900), rng.integers(0, 4, 900), 4)
    found = explain_output([column], rng.random(900), rng.random(900), seed=1)
    assert isinstance(found, OutputDidNotMove)
    assert found.total.low < 0 < found.total.high


def test_constant_outputs_that_agree_did_not_move():
    column = SampledColumn("x", np.zeros(200, int), np.ones(200, int), 2)
    found = explain_output([column], np.ones(200), np.ones(200), seed=1)
    assert isinstance(found, OutputDidNotMove)


def test_a_column_without_common_cells_is_too_few_and_stands_last():
    column, then, now = _worked()
    apart = SampledColumn("apart", np.zeros(1000, int), np.ones(1000, int), 2)
    found = explain_output([apart, column], then, now, seed=1)
    assert [one.columns[0] for one in found.columns] == ["channel", "apart"]
    assert isinstance(found.columns[1].share, TooFew)
    assert found.columns[1].unmatched == 1
    assert found.pairs == ()


def test_few_rows_and_broken_outputs_are_named():
    column = SampledColumn("x", np.zeros(99, int), np.zeros(200, int), 1)
    few = explain_output([column], np.zeros(99), np.zeros(200), seed=1)
    assert few == TooFew(99, 100, "sampled rows with an output")
    column = SampledColumn("x", np.zeros(200, int), np.zeros(200, int), 1)
    broken = explain_output([column], np.full(200, np.nan), np.zeros(200), seed=1)
    assert isinstance(broken, Failed)
    with pytest.raises(AssertionError, match="column x has 200 and 200 rows"):
        explain_output([column], np.zeros(300), np.zeros(200), seed=1)


# True share .75; 95 % intervals hold it in 60 repetitions at least 52 times (P < .005 otherwise).
def test_the_interval_covers_the_true_share():
    rng = np.random.default_rng(11)
    covered = 0
    for repetition in range(60):
        reference = (rng.random(600) < 0.5).astype(int)
        current = (rng.random(600) < 0.8).astype(int)
        then = (rng.random(600) < np.where(reference == 1, 0.3, 0.1)).astype(float)
        now = (rng.random(600) < np.where(current == 1, 0.35, 0.1)).astype(float)
        column = SampledColumn("x", reference, current, 2)
        found = explain_output([column], then, now, seed=repetition, draws=100)
        share = found.columns[0].share
        covered += share.low <= 0.75 <= share.high
    assert covered >= 52


def test_thirty_columns_of_a_days_sample_take_seconds_at_most():
    rng = np.random.default_rng(1)
    columns = [
        SampledColumn(f"c{k}", rng.integers(0, 50, 2000), rng.integers(0, 50, 2000), 50)
        for k in range(30)
    ]
    started = time.perf_counter()
    found = explain_output(columns, rng.random(2000), rng.random(2000) + 0.2, seed=1)
    assert isinstance(found, OutputMoved)
    assert time.perf_counter() - started < 10
