"""Numbering values is what numpy.unique gives, however far apart the values lie."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.profiles.arrays import numbered

CLOSE = st.integers(-50, 50)
FAR = st.integers(-(2**62), 2**62)


@given(st.lists(CLOSE | FAR, max_size=60))
def test_equals_unique(values: list[int]) -> None:
    given_values = np.array(values, np.int64)
    distinct, places = numbered(given_values)
    wanted, wanted_places = np.unique(given_values, return_inverse=True)
    assert distinct.tolist() == wanted.tolist()
    assert places.tolist() == wanted_places.tolist()


@pytest.mark.parametrize("high", [1, 65_535, 65_536, 1_000_000])
def test_types_and_values_on_both_ways(high: int) -> None:
    values = np.array([high, 0, high, 0, 0], np.int64)
    distinct, places = numbered(values)
    assert distinct.dtype == places.dtype == np.int64
    assert distinct[places].tolist() == values.tolist()
