"""Labels parts by delay, row by row against plain counting, for every task's table."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.profiles.arrays import totals_by_key
from monitor.profiles.cells import NumberCells
from monitor.profiles.label_delays import (
    ALL_CLASSES,
    class_losses,
    delays_by_class,
    labels_until,
    silence_as_negatives,
)
from monitor.profiles.labels import BINARY, NO_SCORE, SCORE_CELLS, UNIT, binary_counts, pack_binary
from monitor.profiles.labels_multiclass import CONFUSION, confusion_counts, pack_confusion
from monitor.profiles.labels_ranking import RANK, pack_rank, rank_counts
from monitor.profiles.labels_regression import (
    REGRESSION,
    RESIDUAL_UNLABELLED,
    pack_regression,
    regression_counts,
)
from monitor.profiles.part import Part

Row = tuple[int, float | None, int, int, int]
"""Predicted class (2 unknown), score, label (2 none), delay bucket, entity group."""

ROWS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from([None, 0.0, 0.25, 0.6, 1.0]),
        st.integers(0, 2),
        st.integers(0, 31),
        st.integers(0, 19),
    ),
    max_size=60,
)


def binary_part(rows: list[Row]) -> Part:
    columns = [np.array([row[i] for row in rows], np.int64) for i in (0, 2, 3, 4)]
    predicted, label, delay, group = columns
    delay = np.where(label == 2, 0, delay)
    score = np.array([-1.0 if row[1] is None else row[1] for row in rows])
    cell = np.minimum(np.floor(np.maximum(score, 0) * SCORE_CELLS), SCORE_CELLS - 1)
    cell = np.where(score < 0, NO_SCORE, cell).astype(np.int64)
    fixed = np.rint(np.maximum(score, 0) * UNIT).astype(np.int64)
    squares = np.rint(np.maximum(score, 0) ** 2 * UNIT).astype(np.int64)
    keys = pack_binary(predicted, cell, label, delay, group)
    sums = [fixed, squares, np.where(label == 1, fixed, 0)]
    return Part({}, {BINARY: totals_by_key(keys, sums)})


@settings(max_examples=60, deadline=None, derandomize=True)
@given(ROWS)
def test_delays_of_each_class_equal_counting(rows: list[Row]) -> None:
    found = delays_by_class(binary_part(rows))
    assert set(found) == {ALL_CLASSES} | {row[0] for row in rows if row[0] < 2}
    for number, one in found.items():
        mine = [row for row in rows if number in (ALL_CLASSES, row[0])]
        expected = Counter(row[3] for row in mine if row[2] < 2)
        assert [int(count) for count in one.labelled] == [expected[k] for k in range(32)]
        assert one.unlabelled == sum(row[2] == 2 for row in mine)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(ROWS, st.integers(-1, 31))
def test_a_part_as_it_was_earlier_is_that_of_the_labels_known_then(
    rows: list[Row], bucket: int
) -> None:
    then = [(p, s, 2 if delay > bucket else y, delay, g) for p, s, y, delay, g in rows]
    found = labels_until(binary_part(rows), bucket)
    assert found.canonical() == binary_part(then).canonical()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(ROWS)
def test_squared_errors_and_labels_by_class_equal_counting(rows: list[Row]) -> None:
    found = class_losses(binary_part(rows))
    for p in range(3):
        for y in range(2):
            assert int(found.rows[p, y].sum()) == sum(r[0] == p and r[2] == y for r in rows)
        scored = [(s, y) for q, s, y, _, _ in rows if q == p and y < 2 and s is not None]
        assert int(found.scored[p].sum()) == len(scored)
        expected = sum((s - y) ** 2 for s, y in scored)
        assert float(found.squared_error[p].sum()) == pytest.approx(expected, abs=1e-6)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(ROWS)
def test_silence_becomes_a_negative(rows: list[Row]) -> None:
    told = [row for row in rows if row[2] != 0]  # only positives are ever told
    found = binary_counts(silence_as_negatives(binary_part(told), {0: 1.0, 1: 1.0, 2: 1.0}))
    as_known = binary_counts(binary_part([(p, s, y % 2, 0, g) for p, s, y, _, g in told]))
    assert (found.tp, found.fp, found.fn, found.tn) == (
        *(as_known.tp, as_known.fp, as_known.fn, as_known.tn),
    )
    assert found.n == found.n_labelled == len(told)
    assert found.brier == pytest.approx(as_known.brier) if as_known.brier is not None else True
    np.testing.assert_array_equal(found.positives, as_known.positives)


def test_positives_still_to_come_are_taken_from_their_own_class() -> None:
    rows: list[Row] = [(1, 0.6, 1, 3, n % 20) for n in range(30)]
    rows += [(1, 0.6, 2, 0, n % 20) for n in range(70)]
    rows += [(0, 0.25, 1, 3, n % 20) for n in range(5)]
    rows += [(0, 0.25, 2, 0, n % 20) for n in range(95)]
    found = binary_counts(silence_as_negatives(binary_part(rows), {1: 0.5, 0: 0.25}))
    assert (found.tp, found.fp) == (60, 40)
    assert (found.fn, found.tn) == (20, 80)
    assert found.score_label_sums.sum() == pytest.approx(60 * 0.6 + 20 * 0.25, abs=1e-6)
    assert found.brier == pytest.approx(
        (60 * 0.16 + 40 * 0.36 + 20 * 0.5625 + 80 * 0.0625) / 200, abs=1e-6
    )


def test_other_tasks_lose_their_late_labels_too() -> None:
    predicted, label = np.array([0, 1, 1]), np.array([0, 0, -1])
    delay, group = np.array([2, 9, 0]), np.zeros(3, np.int64)
    confusion = totals_by_key(pack_confusion(predicted, label, delay, group), [])
    young = labels_until(Part({}, {CONFUSION: confusion}), 5)
    counts = confusion_counts(young, 2)
    assert counts.matrix.tolist() == [[1, 0], [0, 0]]
    assert counts.unlabelled.tolist() == [0, 2]
    assert delays_by_class(young)[1].unlabelled == 2

    residual = np.array([10, 20, RESIDUAL_UNLABELLED])
    keys = pack_regression(np.array([1, 1, 1]), residual, delay, group)
    sums = [np.array([5, 7, 0])] * 8
    part = Part({}, {REGRESSION: totals_by_key(keys, sums)})
    cells = NumberCells(edges=(0.0, 1.0), centre=0.0, scale=1.0)
    now, then = (regression_counts(p, cells) for p in (part, labels_until(part, 5)))
    assert (now.total.n, then.total.n, then.not_judged, then.n) == (2, 1, 2, 3)
    assert then.total.error < now.total.error
    assert delays_by_class(part)[ALL_CLASSES].unlabelled == 1

    ranks = pack_rank(np.array([1, 3, 0]), np.array([True, True, False]), delay, group)
    ranked = Part({}, {RANK: totals_by_key(ranks, [])})
    assert rank_counts(labels_until(ranked, 5), 3).unlabelled == 2
    assert delays_by_class(ranked)[ALL_CLASSES].n == 3
    assert delays_by_class(Part())[ALL_CLASSES].n == 0
