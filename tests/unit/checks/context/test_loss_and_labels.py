"""Loss split (DISDE) and label shift (BBSE): worked figures, properties, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from monitor.checks.context.disde import LossChange, loss_change, loss_parts
from monitor.checks.context.label_shift import LabelShift, label_shift, label_shift_weights
from monitor.measurement import Failed, TooFew

P, Q = np.array([0.5, 0.4, 0.1]), np.array([0.2, 0.4, 0.4])
R_P, R_Q = np.array([0.10, 0.20, 0.30]), np.array([0.12, 0.25, 0.45])


# S is pq/(p + q) = (1/7, 1/5, 2/25) scaled to 1; parts by hand from the definition.
def test_loss_parts_of_the_worked_example():
    parts = loss_parts(P, Q, R_P, R_Q)
    assert parts.shared.tolist() == pytest.approx([0.337838, 0.472973, 0.189189], abs=5e-7)
    assert parts.harder_mix == pytest.approx(0.0251351, abs=5e-8)
    assert parts.within == pytest.approx(0.0587838, abs=5e-8)
    assert parts.new_or_rare == pytest.approx(0.0600811, abs=5e-8)
    assert parts.total == pytest.approx(0.144)


_POSITIVE = arrays.arrays(np.float64, 5, elements=st.floats(0, 1, allow_subnormal=False))


@settings(max_examples=100, deadline=None)
@given(_POSITIVE, _POSITIVE, _POSITIVE, _POSITIVE)
def test_loss_parts_add_up_to_the_change(p, q, then, now):
    p, q = p + 1e-3, q + 1e-3
    p, q = p / p.sum(), q / q.sum()
    parts = loss_parts(p, q, then, now)
    assert parts.total == pytest.approx(q @ now - p @ then, abs=1e-12)
    assert parts.shared.sum() == pytest.approx(1)


def test_no_shared_cell_has_no_parts():
    assert loss_parts(np.array([1.0, 0]), np.array([0, 1.0]), R_P[:2], R_Q[:2]) is None
    cells, losses = np.zeros(200, int), np.zeros(200)
    assert isinstance(
        loss_change(cells, losses, cells + 1, losses, n_cells=2, seed=1, draws=5), Failed
    )


def _labelled(shares, loss, n):
    cells, losses = [], []
    for cell, (share, rate) in enumerate(zip(shares, loss, strict=True)):
        rows = round(share * n)
        cells += [cell] * rows
        losses += [1.0] * round(rate * rows) + [0.0] * (rows - round(rate * rows))
    return np.array(cells), np.array(losses)


def test_loss_change_of_rows_is_the_worked_example_with_limits():
    cells, losses = _labelled(P, R_P, 1000)
    cells_now, losses_now = _labelled(Q, R_Q, 1000)
    found = loss_change(cells, losses, cells_now, losses_now, n_cells=3, seed=4)
    assert isinstance(found, LossChange)
    assert found.harder_mix.value == pytest.approx(0.0251351, abs=5e-8)
    assert found.within.value == pytest.approx(0.0587838, abs=5e-8)
    assert found.new_or_rare.value == pytest.approx(0.0600811, abs=5e-8)
    # Welch's standard error of the difference of means, .0186; the bootstrap's must be close.
    error = np.sqrt(losses.var() / 1000 + losses_now.var() / 1000)
    assert found.total.high - found.total.low == pytest.approx(2 * 1.96 * error, rel=0.2)
    assert found == loss_change(cells, losses, cells_now, losses_now, n_cells=3, seed=4)


def test_loss_change_wants_a_hundred_labels():
    few = loss_change(np.zeros(99, int), np.zeros(99), *_labelled(P, R_P, 1000), n_cells=3, seed=1)
    assert few == TooFew(99, 100, "labelled rows")


# By hand: C w = μ is solved by w = (4/7, 10/7); class shares .5 · w.
def test_label_shift_of_the_worked_example():
    confusion = np.array([[0.45, 0.10], [0.05, 0.40]])
    weights = label_shift_weights(confusion, np.array([0.4, 0.6]))
    assert weights.tolist() == pytest.approx([4 / 7, 10 / 7])
    counts = np.array([[4500, 1000], [500, 4000]])
    found = label_shift(counts, np.array([4000, 6000]), seed=1)
    assert isinstance(found, LabelShift)
    assert [one.value for one in found.weights] == pytest.approx([0.571429, 1.428571], abs=5e-7)
    assert [one.value for one in found.share_now] == pytest.approx([0.285714, 0.714286], abs=5e-7)
    assert found.share_then == pytest.approx((0.5, 0.5))
    assert found.clipped == ()
    assert found.share_now[0].low < 2 / 7 < found.share_now[0].high
    assert (found.weights[0].n, found.weights[0].n_reference) == (10_000, 10_000)


def test_label_shift_recovers_shares_of_three_classes():
    rng = np.random.default_rng(3)
    given_class = np.array([[0.8, 0.1, 0.2], [0.1, 0.7, 0.1], [0.1, 0.2, 0.7]])
    then, now = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    confusion = rng.multinomial(20_000, (given_class * then).ravel()).reshape(3, 3)
    predicted = rng.multinomial(20_000, given_class @ now)
    found = label_shift(confusion, predicted, seed=2)
    for one, true in zip(found.share_now, now, strict=True):
        assert one.low - 0.01 < true < one.high + 0.01
        assert one.value == pytest.approx(true, abs=0.03)


def test_label_shift_refuses_what_it_cannot_solve():
    blind = np.array([[500, 500], [500, 500]])
    assert isinstance(label_shift(blind, np.array([500, 500]), seed=1), Failed)
    rare = np.array([[900, 20], [80, 29]])
    assert label_shift(rare, np.array([500, 500]), seed=1) == TooFew(
        49, 50, "reference labels of the rarest class"
    )
    good = np.array([[450, 100], [50, 400]])
    assert label_shift(good, np.array([50, 49]), seed=1) == TooFew(99, 100, "current predictions")


def test_an_estimate_below_zero_is_shown_as_zero_and_told():
    found = label_shift(np.array([[450, 100], [50, 400]]), np.array([50, 950]), seed=1)
    assert found.clipped == (0,)
    assert found.share_now[0].value == 0
    assert found.share_now[1].value == pytest.approx(1)
