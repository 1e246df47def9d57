"""Parts add up to the same bytes in any order and grouping."""

from __future__ import annotations

import random

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from monitor.profiles.part import Part, merge

whole = st.integers(-(2**40), 2**40)
NAMES = ["cells/a.b", "cells/名", "sums/*", "x$[0]"]


@st.composite
def parts(draw: st.DrawFn) -> Part:
    dense = {
        name: np.array(draw(st.lists(whole, min_size=k + 1, max_size=k + 1)), np.int64)
        for k, name in enumerate(NAMES)
        if draw(st.booleans())
    }
    sparse = {}
    for name in ("log/t", "binary"):
        if draw(st.booleans()):
            keys = sorted(draw(st.sets(st.integers(-9, 9), max_size=6)))
            rows = [[draw(whole), draw(whole)] for _ in keys]
            sparse[name] = (np.array(keys, np.int64), np.array(rows, np.int64).reshape(-1, 2))
    return Part(dense, sparse)


def slow_sum(every: list[Part]) -> dict[tuple[str, int], list[int]]:
    """The same addition in Python integers."""
    found: dict[tuple[str, int], list[int]] = {}
    for part in every:
        entries = [((n, i), [int(v)]) for n, a in part.dense.items() for i, v in enumerate(a)]
        for name, (keys, values) in part.sparse.items():
            entries += [
                ((name, int(k)), [int(v) for v in row]) for k, row in zip(keys, values, strict=True)
            ]
        for key, row in entries:
            old = found.setdefault(key, [0] * len(row))
            found[key] = [a + b for a, b in zip(old, row, strict=True)]
    return found


@given(st.lists(parts(), max_size=6), st.integers(0, 999), st.integers(1, 4))
def test_any_order_and_grouping_gives_the_same_bytes(
    every: list[Part], seed: int, groups: int
) -> None:
    shuffled = random.Random(seed).sample(every, len(every))
    grouped = merge([merge(shuffled[k::groups]) for k in range(groups)])
    together = merge(every)
    assert grouped.canonical() == together.canonical()
    assert grouped.digest() == together.digest()
    assert grouped.to_bytes() == together.to_bytes()
    assert slow_sum([together]) == slow_sum(every)


@given(parts())
def test_bytes_survive_the_round_trip(part: Part) -> None:
    read = Part.from_bytes(part.to_bytes())
    assert read.canonical() == part.canonical()
    assert merge([read, Part()]).canonical() == part.canonical()


def test_merging_does_not_change_its_inputs() -> None:
    one = Part({"a": np.array([1, 2])})
    before = one.canonical()
    merge([one, one])
    assert one.canonical() == before


def test_parts_of_different_binnings_are_refused() -> None:
    with pytest.raises(AssertionError, match="different binnings"):
        merge([Part({"cells/a": np.zeros(3, np.int64)}), Part({"cells/a": np.zeros(4, np.int64)})])


def test_other_bytes_are_refused() -> None:
    with pytest.raises(AssertionError, match="another version"):
        Part.from_bytes(zstandard.ZstdCompressor().compress(b"something else"))
