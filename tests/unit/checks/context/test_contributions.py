"""Segments that carry a shift: the parts add up, and planted segments come first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from monitor.checks.context.contributions import (
    ColumnDidNotMove,
    Contributions,
    contributions,
    segment_parts,
)
from monitor.measurement import TooFew

_COUNTS = arrays.arrays(np.int64, (4, 3), elements=st.integers(0, 300))


def _shares(counts: np.ndarray) -> np.ndarray:
    return counts.sum(axis=0) / counts.sum()


@settings(max_examples=150, deadline=None)
@given(_COUNTS, _COUNTS)
def test_parts_add_up_to_the_change_of_shares(then, now):
    then[0, 0] += 1
    now[1, 1] += 1
    parts = segment_parts(then, now)
    total = (parts.mix + parts.within).sum(axis=0)
    np.testing.assert_allclose(total, _shares(now) - _shares(then), atol=1e-12)
    np.testing.assert_allclose(parts.change, _shares(now) - _shares(then), atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(_COUNTS, _COUNTS, st.integers(1, 4))
def test_shares_add_up_to_one(then, now, top):
    found = contributions("abcd", then, now, seed=1, top=top, draws=20)
    if isinstance(found, Contributions):
        assert sum(one.share.value for one in found.top) + found.others == pytest.approx(1)
        assert found.mix.value + found.within.value == pytest.approx(1)
        assert len(found.top) == top
        for one in found.top:
            assert one.mix + one.within == pytest.approx(one.share.value)


def test_a_segment_that_changed_inside_carries_it_all():
    then = np.array([[500, 500], [300, 300], [200, 200]])
    now = np.array([[500, 500], [500, 100], [200, 200]])
    found = contributions(("one", "two", "three"), then, now, seed=1)
    assert found.top[0].label == "two"
    assert found.top[0].share.value == pytest.approx(1)
    assert found.top[0].within == pytest.approx(1)
    assert (found.top[0].share.n, found.top[0].share.n_reference) == (600, 600)
    assert found.top[0].share.low > 0.5


def test_a_segment_that_grew_carries_it_by_its_size():
    then = np.array([[800, 200], [50, 50]])
    now = np.array([[480, 120], [200, 200]])
    found = contributions(("usual", "grown"), then, now, seed=1)
    assert found.within.value == pytest.approx(0)
    assert found.mix.value == pytest.approx(1)
    assert found.top[0].label == "grown"
    assert found.top[0].mix > 0.5


def test_a_segment_that_grew_but_is_like_the_whole_carries_nothing():
    then = np.array([[50, 50], [400, 100], [100, 400]])
    now = np.array([[500, 500], [400, 100], [100, 400]])
    parts = segment_parts(then, now)
    np.testing.assert_allclose(parts.mix[0], 0, atol=1e-12)
    assert abs(parts.mix[1, 0]) > 0.05


def test_a_new_segment_is_all_mix():
    then = np.array([[800, 200], [0, 0]])
    now = np.array([[800, 200], [0, 300]])
    found = contributions(("usual", "new"), then, now, seed=1)
    assert found.top[0].label == "new"
    assert found.within.value == pytest.approx(0)


def test_no_shift_has_no_parts_and_says_the_p_value():
    then, now = np.array([[500, 480], [300, 310]]), np.array([[490, 490], [305, 300]])
    found = contributions(("a", "b"), then, now, seed=1)
    assert isinstance(found, ColumnDidNotMove)
    table = np.stack((then.sum(axis=0), now.sum(axis=0)))
    expected = stats.chi2_contingency(table, correction=False).pvalue
    assert found.p_value == pytest.approx(expected)


def test_a_hundred_rows_are_needed_and_the_seed_decides():
    then, now = np.array([[50, 49]]), np.array([[500, 100]])
    assert contributions("a", then, now, seed=1) == TooFew(99, 100, "rows in all segments")
    then = np.array([[500, 100], [100, 100]])
    now = np.array([[300, 300], [100, 100]])
    assert contributions("ab", then, now, seed=1) == contributions("ab", then, now, seed=1)
    assert contributions("ab", then, now, seed=1) != contributions("ab", then, now, seed=2)
