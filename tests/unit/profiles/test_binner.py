"""The cell table equals a binary search on every value, edges and their neighbours included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from monitor.profiles.binner import Binner

finite = st.floats(allow_nan=False, allow_infinity=False)
edge_lists = st.one_of(
    st.lists(finite, min_size=1, max_size=126, unique=True),
    st.lists(st.floats(-3, 3), min_size=1, max_size=126, unique=True),
    st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=63, unique=True).map(
        lambda values: [*values, *np.nextafter(values, np.inf)]
    ),
)


@settings(max_examples=150)
@given(edge_lists, arrays(np.float64, st.integers(0, 60)))
def test_equals_searchsorted(edges: list[float], values: np.ndarray) -> None:
    cuts = np.unique(np.asarray(edges) + 0.0)
    probes = np.concatenate(
        [
            values,
            cuts,
            np.nextafter(np.maximum(cuts, -1e308), -np.inf),
            np.nextafter(np.minimum(cuts, 1e308), np.inf),
            [np.inf, -np.inf, 0.0, -0.0, 5e-324, -5e-324],
        ]
    )
    expected = np.searchsorted(cuts, probes, "right")
    expected[np.isnan(probes)] = len(cuts) + 1
    found = Binner(cuts).assign(probes)
    assert found.dtype == np.int32
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("spread", [1e-300, 1.0, 1e9, 1e307])
@pytest.mark.parametrize("shape", ["normal", "skewed", "clustered"])
def test_equals_searchsorted_on_many_rows(shape: str, spread: float) -> None:
    rng = np.random.default_rng(7)
    sample = {
        "normal": rng.normal(size=20_000),
        "skewed": rng.lognormal(0, 4, 20_000) / 1e6,
        "clustered": np.round(rng.normal(size=20_000), 1),
    }[shape] * spread
    edges = np.unique(np.quantile(sample, np.linspace(0, 1, 100), method="inverted_cdf"))
    assert np.array_equal(Binner(edges).assign(sample), np.searchsorted(edges, sample, "right"))


def test_all_missing_and_no_rows() -> None:
    binner = Binner(np.arange(20.0))
    assert binner.assign(np.full(3, np.nan)).tolist() == [21, 21, 21]
    assert binner.assign(np.zeros(0)).tolist() == []
