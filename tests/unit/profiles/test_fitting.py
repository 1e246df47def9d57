"""Cells chosen from a reference."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from monitor.profiles.cells import MAX_EDGES, NumberKind
from monitor.profiles.fitting import fit_category_cells, fit_number_cells


def test_few_values_get_a_cell_each() -> None:
    cells = fit_number_cells(np.array([3.0, 1.0, 3.0, 2.5, np.nan]))
    above = [float(np.nextafter(v, np.inf)) for v in (1.0, 2.5, 3.0)]
    assert cells.edges == (1.0, above[0], 2.5, above[1], 3.0, above[2])
    assert [cells.labels()[k] for k in (1, 3, 5)] == ["1", "2.5", "3"]


def test_many_values_give_vigintiles_and_tails() -> None:
    values = np.random.default_rng(1).permutation(np.arange(1.0, 10_001.0))
    edges = fit_number_cells(values).edges
    # inverse of the empirical distribution function: the k-th smallest of 10,000 at k / 10,000
    vigintiles = [500.0 * k for k in range(1, 20)]
    expected = [1.0, 10.0, 100.0, *vigintiles, 9_900.0, 9_990.0, np.nextafter(10_000.0, np.inf)]
    assert list(edges) == expected


def test_special_values_stand_alone() -> None:
    rng = np.random.default_rng(2)
    values = np.concatenate([rng.normal(size=900), np.full(60, -999.0), np.full(40, 0.0)])
    cells = fit_number_cells(values)
    counts = np.bincount(cells.assign(values), minlength=cells.n_cells)
    labels = cells.labels()
    assert counts[labels.index("-999")] == 60
    assert counts[labels.index("0")] == 40
    # 2 % exactly is not special
    plain = np.concatenate([np.arange(1.0, 99.0), [0.0, 0.0]])
    assert "0" not in fit_number_cells(plain).labels()


def test_row_order_is_of_no_account() -> None:
    values = np.random.default_rng(3).lognormal(size=3_000)
    values[::7] = np.nan
    assert fit_number_cells(values) == fit_number_cells(values[::-1].copy())


@given(arrays(np.float64, st.integers(0, 80)))
def test_any_input_gives_usable_cells(values: np.ndarray) -> None:
    cells = fit_number_cells(values)
    assert len(cells.edges) <= MAX_EDGES
    assert len(cells.labels()) == cells.n_cells == len(cells.scores())
    assert cells.scale > 0
    assert np.isfinite([cells.scale, cells.centre, cells.reference_sd]).all()
    counted = np.bincount(cells.assign(values), minlength=cells.n_cells)
    assert counted.sum() == len(values)
    finite = values[np.isfinite(values)]
    if len(finite) and np.abs(finite).max() < 1e308:
        outer = counted[0] + counted[-2]
        assert outer == np.isinf(values).sum()  # the reference itself lies between the outer cells


def test_constant_and_all_missing_references() -> None:
    constant = fit_number_cells(np.full(50, 5e-9))
    assert (constant.centre, constant.scale, constant.reference_sd) == (5e-9, 5e-9, 0.0)
    assert constant.assign(np.array([5e-9, 4e-9, 6e-9])).tolist() == [1, 0, 2]
    empty = fit_number_cells(np.full(5, np.nan))
    assert empty.edges == (0.0,)
    assert empty.assign(np.array([np.nan])).tolist() == [2]


def test_booleans_have_both_cells_even_when_one_never_occurred() -> None:
    cells = fit_number_cells(np.zeros(10), NumberKind.BOOLEAN)
    assert cells.assign(np.array([0.0, 1.0])).tolist() == [1, 3]


def test_a_stray_sentinel_does_not_coarsen_the_sums() -> None:
    values = np.concatenate([np.random.default_rng(4).normal(size=10_000), [1e15]])
    assert 0.9 < fit_number_cells(values).scale < 1.1


def test_five_hundred_categories() -> None:
    values = [f"v{k:03d}" for k in range(500) for _ in range(600 - k)]
    cells = fit_category_cells(pa.array(values))
    assert cells.top == tuple(f"v{k:03d}" for k in range(50))
    assert cells.known == tuple(f"v{k:03d}" for k in range(50, 500))
    assert cells.complete
    assert cells.assign(["v000", "v049", "v050", "v499", "v500"]).tolist() == [0, 49, 50, 50, 51]


def test_ties_are_broken_by_the_text_and_too_many_values_are_admitted() -> None:
    assert fit_category_cells(pa.array(["b", "a", "c", None])).top == ("a", "b", "c")
    many = fit_category_cells(pa.array([f"{k:05d}" for k in range(10_051)]))
    assert not many.complete
    assert len(many.known) == 10_000
    assert fit_category_cells(pa.array([None], pa.string())).top == ()
