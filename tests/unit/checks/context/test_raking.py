"""Raking: margins match, weights have the form of the method, gaps are told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.checks.context.raking import (
    MAX_WEIGHT,
    Combinations,
    effective_rows,
    raked_weights,
    unmatched_share,
)


def _counts(combinations):
    return np.bincount(combinations.of_row, minlength=combinations.n)


def test_one_margin_is_target_share_over_own_share():
    rows = Combinations.of([np.repeat([0, 1], [200, 800])], [2])
    weights = raked_weights(rows, _counts(rows), [np.array([0.5, 0.5])])
    assert weights.tolist() == pytest.approx([0.5 / 0.2, 0.5 / 0.8])
    # (Σw)²/Σw² over rows: 1000² / (200 · 2.5² + 800 · 0.625²) = 640.
    assert effective_rows(_counts(rows), weights) == pytest.approx(640)


def test_combinations_give_each_row_its_cells():
    first, second = np.array([2, 0, 2, 1]), np.array([1, 4, 1, 0])
    rows = Combinations.of([first, second], [3, 5])
    assert rows.n == 3
    assert rows.cells[0][rows.of_row].tolist() == first.tolist()
    assert rows.cells[1][rows.of_row].tolist() == second.tolist()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_two_margins_match_and_weights_are_a_product(seed):
    rng = np.random.default_rng(seed)
    cells = [rng.integers(0, 3, 400), rng.integers(0, 4, 400)]
    rows = Combinations.of(cells, [3, 4])
    targets = [rng.dirichlet([8] * 3), rng.dirichlet([8] * 4)]
    counts = _counts(rows)
    weights = raked_weights(rows, counts, targets)
    assert unmatched_share(rows, counts, weights, targets) < 1e-6
    table = np.zeros((3, 4))
    table[rows.cells[0], rows.cells[1]] = np.log(weights)
    interaction = table - table.mean(0) - table.mean(1)[:, None] + table.mean()
    assert np.abs(interaction).max() < 1e-6


def test_cells_without_rows_or_targets_are_told():
    rows = Combinations.of([np.repeat([0, 1], 50)], [3])
    targets = [np.array([0.6, 0.0, 0.4])]
    weights = raked_weights(rows, _counts(rows), targets)
    assert weights.tolist() == pytest.approx([2.0, 0.0])
    assert unmatched_share(rows, _counts(rows), weights, targets) == pytest.approx(0.4)


def test_no_common_cell_leaves_no_weight():
    rows = Combinations.of([np.zeros(10, np.int64)], [2])
    weights = raked_weights(rows, _counts(rows), [np.array([0.0, 1.0])])
    assert weights.tolist() == [0.0]
    assert effective_rows(_counts(rows), weights) == 0
    assert unmatched_share(rows, _counts(rows), weights, [np.array([0.0, 1.0])]) == 1


def test_heavy_weights_are_cut_and_the_gap_is_told():
    rows = Combinations.of([np.repeat([0, 1], [1, 999])], [2])
    targets = [np.array([0.5, 0.5])]
    weights = raked_weights(rows, _counts(rows), targets)
    assert weights.max() == MAX_WEIGHT
    assert unmatched_share(rows, _counts(rows), weights, targets) > 0.4
