"""Many blocks counted at once are what each counted alone is; labels are found as by looking at
every pair.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.profiles import label_bunches
from monitor.profiles.block import PredictionBlock
from monitor.profiles.label_arrays import LabelArrays
from monitor.profiles.label_bunches import parts_of_blocks
from monitor.profiles.label_search import LabelSearch
from monitor.profiles.label_tables import labels_parts
from tests.unit.profiles.factories import contract_of, rows_of

KEY = bytes(range(16))
CONTRACT = contract_of(
    {"name": "s", "type": "number", "role": "score", "nullable": True},
    {"name": "p", "type": "boolean", "role": "prediction", "nullable": True},
    label={"name": "late"},
)
MINUTE = 60_000_000


def block_of(rng: np.random.Generator, n: int, width: int, first: int = 0) -> PredictionBlock:
    """n predictions, each in the whole and in up to `width` segments more; some have a label."""
    scores = [None if rng.random() < 0.1 else float(rng.random()) for _ in range(n)]
    values = {"s": scores, "p": [bool(rng.random() < 0.5) for _ in range(n)]}
    rows = rows_of(CONTRACT, values, ids=[f"r{first + k}" for k in range(n)])
    segments = np.array([[10 * c + 10 for c in range(width)]] * n).reshape(n, width)
    segments = np.where(rng.random((n, width)) < 0.3, -1, segments + rng.integers(0, 3, (n, width)))
    block = PredictionBlock.from_rows(
        rows, KEY, np.column_stack([np.zeros(n, int), segments]), CONTRACT
    )
    chosen = np.flatnonzero(rng.random(n) < 0.6)
    m = len(chosen)
    observed = block.event_time[chosen] + rng.integers(-5, 10_000, m) * MINUTE
    return block.with_labels(
        chosen, rng.integers(0, 2, m).astype(float), observed, observed, np.zeros(m, np.int16)
    )


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), sizes=st.lists(st.integers(1, 40), max_size=8))
def test_blocks_at_once_are_counted_as_one_by_one(seed: int, sizes: list[int]) -> None:
    rng = np.random.default_rng(seed)
    blocks = [block_of(rng, n, width=int(rng.integers(0, 3))) for n in sizes]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(label_bunches, "ROWS_A_BUNCH", int(rng.integers(1, 80)))
        found = list(parts_of_blocks(blocks))
    alone = {
        (place, segment): part
        for place, block in enumerate(blocks)
        for segment, part in labels_parts(block).items()
    }
    assert {(one.block, one.segment) for one in found} == set(alone)
    assert len(found) == len(alone)
    for one in found:
        assert one.part.digest() == alone[one.block, one.segment].digest()
        assert one.n == int((blocks[one.block].segment_ids == one.segment).any(1).sum())


def labels_at(keys: np.ndarray, observed: np.ndarray) -> LabelArrays:
    m = len(keys)
    zeros = np.zeros(m, np.int64)
    return LabelArrays(keys, np.ones(m), observed, observed, np.zeros(m, np.int16), zeros)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), make=st.sampled_from([0, 1, 30]))
def test_labels_find_the_rows_that_a_look_at_every_pair_finds(seed: int, make: int) -> None:
    rng = np.random.default_rng(seed)
    blocks = [block_of(rng, int(rng.integers(1, 15)), 0, int(rng.integers(0, 8))) for _ in range(4)]
    known = np.concatenate([block.keys for block in blocks])
    keys = rng.choice(np.append(known, [7, -7]), make)
    times = np.concatenate([block.event_time for block in blocks])
    labels = labels_at(keys, times.min() + rng.integers(-3, 90, make) * MINUTE)
    legs, block_legs = rng.integers(0, 2, make).astype(np.int32), [0, 1, 0, -1]
    reach = timedelta(minutes=40)
    found = LabelSearch(labels, legs, reach).pairs(blocks, block_legs)
    expected = [
        (label, place)
        for place, block in enumerate(blocks)
        for row in range(len(block))
        for label in range(make)
        if block.keys[row] == keys[label]
        and legs[label] == block_legs[place]
        and labels.observed_at[label] - block.event_time[row] <= 40 * MINUTE
    ]
    assert sorted(zip(*map(np.ndarray.tolist, found), strict=True)) == sorted(expected)


@pytest.mark.parametrize("nothing", [lambda block: [], lambda block: [block]])
def test_no_blocks_and_no_labels(
    nothing: Callable[[PredictionBlock], list[PredictionBlock]],
) -> None:
    block = block_of(np.random.default_rng(1), 5, 0)
    empty = np.zeros(0, np.int64)
    search = LabelSearch(labels_at(empty, empty), empty.astype(np.int32), timedelta(1))
    label_of, block_of_label = search.pairs(nothing(block), [0] * len(nothing(block)))
    assert (len(label_of), len(block_of_label)) == (0, 0)
    assert list(parts_of_blocks([])) == []
