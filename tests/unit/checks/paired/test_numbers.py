"""Differences of numbers, counted again in plain Python."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.checks.paired.numbers import Tolerance, number_difference, within

ANY = st.one_of(
    st.floats(-1e6, 1e6),
    st.sampled_from([0.0, math.nan, math.inf, -math.inf, 1e300, 5e-324, 65519.0]),
)


def arrays(*values: list[float]) -> list[np.ndarray]:
    return [np.array(each, np.float64) for each in values]


def test_worked_numbers():
    first, second = arrays([1.0, 2.0, 0.0, 4.0], [1.0, 2.5, 0.1, 3.0])
    found = number_difference(first, second, Tolerance(absolute=0.2, relative=0.1))
    assert (found.n, found.beyond) == (4, 2)  # allowed 0.3, 0.4, 0.2, 0.6
    assert found.largest == 1.0
    assert found.mean == pytest.approx(0.4)
    assert found.largest_relative == 0.25
    assert found.worst == (3, 1)
    assert found.share_beyond == 0.5


def test_steps_of_float16_and_float32():
    """Between 0.5 and 1 a float16 has steps of 2^-11, a float32 of 2^-24 (IEEE 754)."""
    first, second = arrays([0.75], [0.75 + 3 * 2.0**-11])
    found = number_difference(first, second, Tolerance())
    assert found.largest_steps == {"float16": 3.0, "float32": 3.0 * 2**13}
    wide = number_difference(*arrays([1e6, 1.0], [1e6, 1.0]), Tolerance())
    assert wide.largest_steps["float16"] is None
    assert wide.largest_steps["float32"] == 0


@pytest.mark.parametrize(
    ("name", "rounded"),
    [
        ("float32", lambda values: values.astype(np.float32).astype(np.float64)),
        ("float16", lambda values: values.astype(np.float16).astype(np.float64)),
    ],
)
def test_a_rounding_is_named(name, rounded):
    values = np.random.default_rng(1).random(500)
    assert number_difference(values, rounded(values), Tolerance()).rounding == name
    moved = rounded(values)
    moved[3] += 0.01
    assert number_difference(values, moved, Tolerance()).rounding is None
    assert number_difference(values, values, Tolerance()).rounding is None


def test_rounding_to_bfloat16_is_named():
    """1/3 in bfloat16 is 0.333984375 (0x3EAB)."""
    found = number_difference(*arrays([1 / 3, 1.0], [0.333984375, 1.0]), Tolerance())
    assert found.rounding == "bfloat16"


def test_missing_and_infinite_numbers():
    first, second = arrays(
        [math.nan, math.nan, 1.0, math.inf, math.inf, 1.0],
        [math.nan, 1.0, math.nan, math.inf, -math.inf, math.inf],
    )
    found = number_difference(first, second, Tolerance(absolute=1e9))
    assert (found.both_missing, found.one_missing, found.n) == (1, 4, 1)
    assert found.beyond == 4
    assert set(found.worst) == {1, 2, 4, 5}
    assert within(first, second, Tolerance(1e9)).tolist() == [
        True,
        False,
        False,
        True,
        False,
        False,
    ]


def test_the_ends_of_what_a_double_holds():
    largest = np.finfo(np.float64).max
    found = number_difference(*arrays([largest, 5e-324], [-largest, 0.0]), Tolerance(0, 1e300))
    assert found.largest == largest
    assert found.beyond == 0


@pytest.mark.parametrize(("second", "fine"), [(0.51, True), (0.49, True), (0.5100001, False)])
def test_a_tolerance_is_inclusive_as_it_is_written(second, fine):
    """As doubles, 0.51 and 0.5 are 0.010000000000000009 apart."""
    first, other = arrays([0.5], [second])
    assert within(first, other, Tolerance(0.01)).tolist() == [fine]
    assert number_difference(first, other, Tolerance(0.01)).beyond == (not fine)


def test_no_tolerance_is_none():
    first, second = arrays([1.0], [1.0 + 2**-52])
    assert number_difference(first, second, Tolerance()).beyond == 1
    assert within(first, second, Tolerance()).tolist() == [False]


def test_nothing_to_compare():
    found = number_difference(*arrays([], []), Tolerance())
    assert (found.n, found.largest, found.mean, found.share_beyond) == (0, None, None, 0.0)


@given(pairs=st.lists(st.tuples(ANY, ANY), max_size=30), absolute=st.floats(0, 10))
def test_counted_again(pairs, absolute):
    first, second = arrays([one for one, _ in pairs], [two for _, two in pairs])
    found = number_difference(first, second, Tolerance(absolute))
    finite = [(a, b) for a, b in pairs if math.isfinite(a) and math.isfinite(b)]
    gaps = [abs(b - a) for a, b in finite]
    assert found.largest == (max(gaps) if gaps else None)
    odd = [(a, b) for a, b in pairs if not (math.isfinite(a) and math.isfinite(b))]
    missing = [a != b and not (math.isnan(a) and math.isnan(b)) for a, b in odd]
    assert found.one_missing == sum(missing)
    far = [gap > absolute + 1e-9 * max(1, absolute, abs(a), abs(b)) for gap, (a, b) in
           zip(gaps, finite, strict=True)]  # fmt: skip
    assert sum(far) <= found.beyond - sum(missing) <= sum(gap > absolute for gap in gaps)
    assert (~within(first, second, Tolerance(absolute))).sum() == found.beyond
    json.dumps(found.to_json(), allow_nan=False)
