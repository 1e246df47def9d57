"""Correlations from stored sums against those of the scores of the rows themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.checks.multivariate.correlations import LARGEST, PairWindows, correlations
from monitor.profiles.binning import fit_binning
from monitor.profiles.build import build_parts
from monitor.profiles.cells import NumberCells
from monitor.profiles.pairs import PAIR_N, PAIR_SUM, pair_views, score_means
from monitor.profiles.part import PartKind
from tests.unit.checks.multivariate.worlds import windows_of
from tests.unit.profiles.factories import contract_of, one_group, rows_of

NAMES = ("a", "b", "c")
CONTRACT = contract_of(*({"name": n, "type": "number", "nullable": True} for n in NAMES))


def profiled(values: dict[str, list[float | None]]) -> tuple[PairWindows, np.ndarray]:
    """Pair sums as the profile job makes them, and the scores of every row (NaN is missing)."""
    rows = rows_of(CONTRACT, values)
    binning = fit_binning(rows, CONTRACT)
    parts = build_parts(rows, binning, CONTRACT, rows.layout, one_group(rows), 1)[0]
    columns, pairs = parts[PartKind.COLUMNS], parts[PartKind.PAIRS]
    scores = []
    for name in NAMES:
        cells = binning.views[name]
        assert isinstance(cells, NumberCells)
        number = np.array([np.nan if v is None else v for v in values[name]], np.float64)
        scores.append(np.where(np.isnan(number), np.nan, cells.scores()[cells.assign(number)]))
    windows = PairWindows(
        pair_views(binning),
        pairs.dense[PAIR_SUM][None],
        pairs.dense[PAIR_N][None],
        score_means(columns, binning)[None],
    )
    return windows, np.array(scores)


@given(st.integers(0, 2**32 - 1), st.integers(40, 400), st.floats(-0.9, 0.9))
@settings(max_examples=25, deadline=None)
def test_r_is_that_of_the_scores(seed: int, n: int, r: float) -> None:
    rng = np.random.default_rng(seed)
    a, noise = rng.normal(size=(2, n))
    values = {
        "a": np.exp(a).tolist(),
        "b": (r * a + np.sqrt(1 - r * r) * noise).tolist(),
        "c": rng.poisson(2.0, n).astype(float).tolist(),
    }
    windows, scores = profiled(values)
    found = correlations(windows)
    wanted = np.corrcoef(scores)[np.triu_indices(3, 1)]
    np.testing.assert_allclose(found.r[0], np.clip(wanted, -LARGEST, LARGEST), atol=1e-9)
    assert found.n.tolist() == [[n, n, n]]


def test_missing_values_at_random_cost_rows_and_little_else() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 20_000).T
    gone = rng.random((2, len(a))) < 0.3
    values = {
        "a": [None if out else v for v, out in zip(a.tolist(), gone[0], strict=True)],
        "b": [None if out else v for v, out in zip(b.tolist(), gone[1], strict=True)],
        "c": [1.0] * len(a),
    }
    found = correlations(profiled(values)[0])
    both = int((~gone).all(axis=0).sum())
    assert found.n[0].tolist() == [both, *(~gone).sum(axis=1)]
    assert found.r[0, 0] == pytest.approx(0.6, abs=0.02)
    assert np.isnan(found.r[0, 1:]).all()  # a constant has no correlation


def test_a_shift_of_both_views_is_no_correlation_when_their_means_are_known() -> None:
    rng = np.random.default_rng(2)
    moved = windows_of([rng.normal(size=(5_000, 2)) + 1.0])
    assert abs(correlations(moved).r[0, 0]) < 0.05
    assert correlations(replace(moved, means=None)).r[0, 0] == pytest.approx(0.5, abs=0.05)


def test_fewer_views_keep_their_pairs() -> None:
    rng = np.random.default_rng(3)
    days = [rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5)) for _ in range(3)]
    fewer = windows_of(days).of(("x4", "x1", "gone"))
    alone = windows_of([day[:, [1, 4]] for day in days])
    assert fewer.views == ("x1", "x4")
    assert correlations(fewer).r.tolist() == correlations(alone).r.tolist()


def test_shapes_are_checked() -> None:
    with pytest.raises(AssertionError, match=r"2 views have sums and n of shape \(1, 3\)"):
        PairWindows(("a", "b"), np.zeros((1, 4), np.int64), np.zeros((1, 4), np.int64))
