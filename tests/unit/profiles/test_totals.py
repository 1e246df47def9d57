"""Sums by key against Python's own integers, on both ways of adding."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from monitor.profiles.arrays import add_tables, totals_by_key

KEYS = st.integers(-20, 20) | st.integers(-(2**40), 2**40)
VALUES = st.integers(-1000, 1000) | st.integers(-(2**57), 2**57)


@given(st.lists(st.tuples(KEYS, VALUES, st.integers(0, 2**30)), max_size=50))
def test_totals_are_exact(rows: list[tuple[int, int, int]]) -> None:
    keys, *columns = (
        np.array(c, np.int64) for c in (zip(*rows, strict=True) if rows else [[]] * 3)
    )
    expected: dict[int, list[int]] = {}
    for key, one, other in rows:
        old = expected.setdefault(key, [0, 0, 0])
        expected[key] = [old[0] + 1, old[1] + one, old[2] + other]
    found, values = totals_by_key(keys, columns)
    assert found.tolist() == sorted(expected)
    assert values.tolist() == [expected[key] for key in sorted(expected)]
    assert found.dtype == values.dtype == np.int64


@given(st.lists(st.tuples(KEYS, VALUES), max_size=40), st.integers(0, 40))
def test_added_tables_are_the_totals_of_all_rows(rows: list[tuple[int, int]], cut: int) -> None:
    tables = []
    for part in (rows[:cut], rows[cut:]):
        keys = np.array([key for key, _ in part], np.int64)
        tables.append(totals_by_key(keys, [np.array([v for _, v in part], np.int64)]))
    together = totals_by_key(
        np.array([key for key, _ in rows], np.int64), [np.array([v for _, v in rows], np.int64)]
    )
    found = add_tables(tables)
    assert found[0].tolist() == together[0].tolist()
    assert found[1].tolist() == together[1].tolist()
