"""Label tables of all four tasks against slow counting and formulas written out."""

from __future__ import annotations

import math
from collections import Counter
from datetime import timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.contract import Contract
from monitor.profiles.binning import fit_binning
from monitor.profiles.block import PredictionBlock
from monitor.profiles.cells import NumberCells
from monitor.profiles.delays import DELAY_EDGES, delay_buckets
from monitor.profiles.label_arrays import LabelArrays
from monitor.profiles.label_join import join_labels
from monitor.profiles.label_tables import NEGATIVE_DELAYS, labels_parts
from monitor.profiles.labels import binary_counts
from monitor.profiles.labels_multiclass import confusion_counts, one_vs_rest_counts
from monitor.profiles.labels_ranking import rank_counts
from monitor.profiles.labels_regression import RELATIVE, regression_counts, relative_counts
from monitor.profiles.part import Part, merge
from monitor.profiles.rows import RequestRows
from monitor.records import LABEL_SCHEMA
from tests.unit.profiles.factories import START, contract_of, rows_of

KEY = bytes(range(16))
BINARY = contract_of(
    {"name": "s", "type": "number", "role": "score", "nullable": True},
    {"name": "p", "type": "boolean", "role": "prediction", "nullable": True},
    label={"name": "late"},
)
HOUR = timedelta(hours=1)


def labels_for(
    contract: Contract, values: list[Any], delays: list[timedelta] | None = None
) -> LabelArrays:
    """Labels of requests r0, r1, ..., all seconds apart from START; None leaves one out."""
    records = []
    for k, value in enumerate(values):
        if value is None:
            continue
        observed = START + timedelta(seconds=k) + (delays[k] if delays else HOUR)
        is_text = isinstance(value, str)
        records.append(
            {
                "project_id": 1,
                "model_id": 1,
                "label_name": "late",
                "request_id": f"r{k}",
                "source": "default",
                "observed_at": observed,
                "arrived_at": observed,
                "leg": "live",
                "value": None if is_text else float(value),
                "text": value if is_text else None,
            }
        )
    table = pa.Table.from_pylist(records, LABEL_SCHEMA)
    return LabelArrays.from_table(table, contract, KEY)


def labelled(
    contract: Contract,
    values: dict[str, list[Any]],
    labels: list[Any],
    segments: Any = None,
    delays: list[timedelta] | None = None,
) -> tuple[RequestRows, PredictionBlock]:
    rows = rows_of(contract, values)
    ids = np.zeros(len(rows), int) if segments is None else np.asarray(segments)
    block = PredictionBlock.from_rows(rows, KEY, ids, contract)
    return rows, join_labels(block, labels_for(contract, labels, delays)).block


score = st.none() | st.floats(0, 1) | st.sampled_from([0.0, 1.0, 0.5, 1 / 512])
flag = st.none() | st.sampled_from([0, 1])
judged = st.lists(st.tuples(score, flag, flag), min_size=1, max_size=40)


@settings(max_examples=80, deadline=None)
@given(judged)
def test_binary_counts_equal_slow_counting(rows: list[tuple[Any, Any, Any]]) -> None:
    scores, predicted, truths = map(list, zip(*rows, strict=True))
    _, block = labelled(BINARY, {"s": scores, "p": predicted}, truths)
    counts = binary_counts(labels_parts(block)[0])
    cells = [None if s is None else min(511, math.floor(s * 512)) for s in scores]
    for name, truth in (("positives", 1), ("negatives", 0), ("unlabelled", None)):
        expected = Counter(
            c for c, y in zip(cells, truths, strict=True) if y == truth and c is not None
        )
        found = getattr(counts, name)
        assert {int(c): int(found[c]) for c in np.flatnonzero(found)} == dict(expected)
    pairs = Counter(zip(predicted, truths, strict=True))
    assert (counts.tp, counts.fp, counts.fn, counts.tn) == tuple(
        pairs[key] for key in ((1, 1), (1, 0), (0, 1), (0, 0))
    )
    assert counts.without_score == tuple(
        sum(s is None and y == t for s, y in zip(scores, truths, strict=True)) for t in (0, 1, None)
    )
    assert counts.n == len(rows)
    assert counts.n_labelled == sum(y is not None for y in truths)
    both = [(s, y) for s, y in zip(scores, truths, strict=True) if None not in (s, y)]
    if both:
        brier = sum((s - y) ** 2 for s, y in both) / len(both)
        assert counts.brier == pytest.approx(brier, abs=4 * 2.0**-30)
        assert counts.score_sums.sum() == pytest.approx(sum(s for s, _ in both), abs=40 * 2.0**-30)
    else:
        assert counts.brier is None


@settings(max_examples=50, deadline=None)
@given(judged, st.randoms(use_true_random=False))
def test_segments_are_counted_apart_and_add_up(
    rows: list[tuple[Any, Any, Any]], random: Any
) -> None:
    scores, predicted, truths = map(list, zip(*rows, strict=True))
    values = {"s": scores, "p": predicted}
    own = [random.choice([3, 7]) for _ in rows]
    _, block = labelled(BINARY, values, truths, [[0, k] for k in own])
    parts = labels_parts(block)
    assert set(parts) == {0, *own}
    assert merge([parts[k] for k in sorted(set(own))]).to_bytes() == parts[0].to_bytes()
    for segment in set(own):
        _, alone = labelled(BINARY, values, truths, [s if s == segment else -1 for s in own])
        assert labels_parts(alone)[segment].canonical() == parts[segment].canonical()


def test_groups_and_delays_narrow_the_counts() -> None:
    delays = [timedelta(seconds=30), timedelta(days=2), timedelta(days=800), -HOUR] * 25
    _, block = labelled(
        BINARY, {"s": [0.25] * 100, "p": [1] * 100}, [1, 0, 1, 0] * 25, delays=delays
    )
    part = labels_parts(block)[0]
    whole = binary_counts(part)
    assert part.dense[NEGATIVE_DELAYS].tolist() == [25]
    assert whole.delay_counts[0] == 50
    assert whole.delay_counts[31] == 25
    assert binary_counts(part, delays=[31]).tp == 25
    by_group = [binary_counts(part, groups=[g]) for g in range(20)]
    assert sum(g.n for g in by_group) == 100
    assert [g.tp for g in by_group] == whole.confusion_by_group[:, 1, 1].tolist()
    assert [g.positives[128] for g in by_group] == whole.positives_by_group[:, 128].tolist()


def test_delay_edges_run_evenly_from_a_minute_to_a_year() -> None:
    assert (DELAY_EDGES[0], DELAY_EDGES[-1]) == (60_000_000, 365 * 86_400_000_000)
    ratios = [b / a for a, b in pairwise(DELAY_EDGES)]
    assert ratios == pytest.approx([525_600 ** (1 / 30)] * 30, rel=1e-7)
    probes = np.array([-1, 0, DELAY_EDGES[0] - 1, DELAY_EDGES[0], DELAY_EDGES[30], 10**18])
    assert delay_buckets(probes).tolist() == [0, 0, 0, 1, 31, 31]


def test_empty_part_counts_nothing() -> None:
    counts = binary_counts(Part())
    assert (counts.n, counts.tp, counts.coverage, counts.brier) == (0, 0, None, None)


@pytest.mark.parametrize(
    ("positive", "truths", "expected"),
    [
        (None, [1, 0, "true", "0"], [1, 0, 1, 0]),
        (False, [1, 0, "true", "false"], [0, 1, 0, 1]),
        ("late", ["late", "on time", "late", "x"], [1, 0, 1, 0]),
        ("2", [2, 1, "2", "3"], [1, 0, 1, 0]),
    ],
)
def test_binary_labels_are_read_by_the_declared_positive(
    positive: Any, truths: list[Any], expected: list[int]
) -> None:
    label = {"name": "late", "positive": positive}
    contract = contract_of({"name": "s", "type": "number", "role": "score"}, label=label)
    assert labels_for(contract, truths).value.tolist() == expected


@pytest.mark.parametrize(
    ("column", "values", "positive", "expected"),
    [
        ({"type": "boolean"}, [1, 0, None], None, [1, 0, -1]),
        ({"type": "boolean"}, [1, 0, None], False, [0, 1, -1]),
        ({"type": "category"}, ["late", "on time", None], "late", [1, 0, -1]),
        ({"type": "category"}, ["true", "false", None], None, [1, 0, -1]),
        ({"type": "category"}, ["true", "false", None], False, [0, 1, -1]),
        ({"type": "integer"}, [2, 1, None], "2", [1, 0, -1]),
    ],
)
def test_binary_predictions_are_read_by_the_declared_positive(
    column: dict[str, Any], values: list[Any], positive: Any, expected: list[int]
) -> None:
    contract = contract_of(
        {"name": "p", "role": "prediction", "nullable": True} | column,
        label={"name": "late", "positive": positive},
    )
    _, block = labelled(contract, {"p": values}, [None] * 3)
    by_time = block.predicted[np.argsort(block.event_time)]
    assert by_time.tolist() == expected


def test_without_a_prediction_column_the_threshold_decides() -> None:
    contract = contract_of(
        {"name": "s", "type": "number", "role": "score"},
        label={"name": "late"},
        decision_threshold=0.3,
    )
    _, block = labelled(contract, {"s": [0.3, 0.29, None]}, [1, 1, 1])
    counts = binary_counts(labels_parts(block)[0])
    assert (counts.tp, counts.fn, counts.n_labelled) == (1, 1, 3)


MULTI = contract_of(
    {"name": "p", "type": "class_scores", "categories": ("cat", "dog", "eel"), "role": "score"},
    task="multiclass",
    label={"name": "late"},
)


def test_multiclass_confusion_and_one_against_the_rest() -> None:
    scores = [[0.7, 0.2, 0.1], [0.1, 0.5, 0.4], [0.2, 0.3, 0.5], [None, 0.5, 0.5], [0.9, 0.1, 0.0]]
    _, block = labelled(MULTI, {"p": scores}, ["cat", "eel", "eel", "dog", None])
    part = labels_parts(PredictionBlock.from_bytes(block.to_bytes()))[0]
    counts = confusion_counts(part, 3)
    assert counts.matrix.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
    assert counts.unlabelled.tolist() == [1, 0, 0]
    assert (counts.without_class, counts.n, counts.delay_counts.sum()) == (1, 5, 4)
    eel = one_vs_rest_counts(part, 2)
    assert np.flatnonzero(eel.positives).tolist() == [int(0.4 * 512), int(0.5 * 512)]
    assert np.flatnonzero(eel.negatives).tolist() == [int(0.1 * 512), int(0.5 * 512)]
    assert eel.unlabelled[0] == 1
    assert eel.score_label_sums.sum() == pytest.approx(0.9, abs=1e-8)
    assert eel.score_square_sums.sum() == pytest.approx(0.01 + 0.16 + 0.25 + 0.25, abs=1e-8)
    assert eel.positives_by_group.sum() == 2
    confidence = binary_counts(Part({}, {"binary": part.sparse["confidence"]}))
    assert (confidence.tp, confidence.fp) == (2, 1)


def test_multiclass_prediction_column_and_unknown_classes() -> None:
    contract = contract_of(
        {"name": "p", "type": "category", "categories": ("1", "2"), "role": "prediction"},
        task="multiclass",
        label={"name": "late"},
    )
    _, block = labelled(contract, {"p": ["1", "2", "9", None]}, [1, 1, "2", "nine"])
    counts = confusion_counts(labels_parts(block)[0], 2)
    assert counts.matrix.tolist() == [[1, 0], [1, 0]]
    assert (counts.without_class, counts.delay_counts.sum()) == (2, 3)


REGRESSION = contract_of(
    {"name": "y", "type": "number", "role": "prediction", "nullable": True},
    task="regression",
    label={"name": "late"},
)


def test_regression_sums_equal_the_formulas() -> None:
    rng = np.random.default_rng(6)
    truth = rng.normal(50, 20, 600)
    predicted = truth + rng.normal(1, 5, 600)
    labels: list[Any] = [None if k % 6 == 0 else v for k, v in enumerate(truth)]
    values: list[Any] = [None if k % 50 == 1 else v for k, v in enumerate(predicted)]
    rows, block = labelled(REGRESSION, {"y": values}, labels)
    binning = fit_binning(rows, REGRESSION)
    cells = binning.views["y"]
    assert isinstance(cells, NumberCells)
    counts = regression_counts(labels_parts(block, binning)[0], cells)
    both = np.array(
        [(p, y) for p, y in zip(values, labels, strict=True) if p is not None and y is not None]
    )
    error = both[:, 0] - both[:, 1]
    deviation = both[:, 1] - both[:, 1].mean()
    step = cells.scale / 65_536
    assert counts.total.n == len(both)
    assert counts.not_judged == 600 - len(both)
    assert counts.total.mae == pytest.approx(np.abs(error).mean(), abs=step)
    assert counts.total.rmse == pytest.approx(np.sqrt((error**2).mean()), abs=step)
    assert counts.total.r_squared == pytest.approx(
        1 - (error**2).sum() / (deviation**2).sum(), abs=1e-4
    )
    assert counts.total.label / counts.total.n == pytest.approx(both[:, 1].mean(), abs=step)
    assert sum(g.n for g in counts.by_group) == sum(p.n for p in counts.by_prediction) == len(both)
    assert counts.residuals.sum() == counts.delay_counts.sum() == len(both)
    # residual cells from 30 on hold errors of zero and more
    assert counts.residuals[:, 30:].sum() == (error >= 0).sum()
    assert counts.total.clipped == 0


def test_relative_errors_equal_the_formulas_and_leave_zeros_out() -> None:
    rng = np.random.default_rng(7)
    truth = np.where(rng.random(600) < 0.1, 0.0, rng.normal(50, 20, 600))
    predicted = truth + rng.normal(1, 5, 600)
    labels: list[Any] = [None if k % 6 == 0 else v for k, v in enumerate(truth)]
    rows, block = labelled(REGRESSION, {"y": list(predicted)}, labels)
    binning = fit_binning(rows, REGRESSION)
    cells = binning.views["y"]
    assert isinstance(cells, NumberCells)
    part = labels_parts(block, binning)[0]
    found = relative_counts(part, cells)
    known = np.arange(600) % 6 != 0
    filled = known & (truth != 0)
    ratio = np.minimum(np.abs((predicted - truth)[filled] / truth[filled]), 1_000)
    assert (found.total.n, found.total.zeros) == (known.sum(), (known & (truth == 0)).sum())
    assert found.total.mape == pytest.approx(ratio.mean(), abs=2.0**-26)
    assert found.total.label_size == pytest.approx(np.abs(truth[known]).sum(), rel=1e-4)
    assert sum(group.n for group in found.by_group) == found.total.n
    assert sum(group.ratio for group in found.by_group) == pytest.approx(found.total.ratio)
    # A part stored before the table existed reads as before, and has no relative errors.
    old = Part(part.dense, {k: v for k, v in part.sparse.items() if k != RELATIVE})
    assert regression_counts(old, cells).total == regression_counts(part, cells).total
    assert relative_counts(old, cells).total.n == 0
    both = relative_counts(merge([old, part]), cells)
    assert both.total == found.total


def test_ratios_too_large_to_add_up_are_cut_and_counted() -> None:
    rows, block = labelled(REGRESSION, {"y": [1.0, 2.0, 3.0]}, [1e-9, 2.5, 1e300])
    binning = fit_binning(rows, REGRESSION)
    cells = binning.views["y"]
    assert isinstance(cells, NumberCells)
    total = relative_counts(labels_parts(block, binning)[0], cells).total
    assert total.clipped == 2
    assert total.ratio == pytest.approx(1_000 + 0.2 + 1.0, abs=1e-6)


def test_regression_without_binning_or_labels() -> None:
    rows, block = labelled(REGRESSION, {"y": [1.0, 2.0]}, [None, None])
    with pytest.raises(AssertionError, match="binning"):
        labels_parts(block)
    binning = fit_binning(rows, REGRESSION)
    cells = binning.views["y"]
    assert isinstance(cells, NumberCells)
    total = regression_counts(labels_parts(block, binning)[0], cells).total
    assert (total.n, total.mae, total.rmse, total.r_squared) == (0, None, None, None)


def test_ranking_counts_the_rank_of_the_relevant_item() -> None:
    contract = contract_of(
        {"name": "top", "type": "ranked_list", "size": 3, "role": "prediction"},
        task="ranking",
        label={"name": "late"},
    )
    lists = [["a", "b", "c"], ["a", "b"], ["a", "b", "c"], ["7", "8", "9"], ["a", "b", "c"]]
    _, block = labelled(contract, {"top": lists}, ["b", "c", "a", 9, None])
    counts = rank_counts(labels_parts(block)[0], 3)
    assert counts.ranks.tolist() == [1, 1, 1, 1]
    assert (counts.unlabelled, counts.n, counts.by_group.sum()) == (1, 5, 4)
    # Asked for less than the lists hold, the ranks go as far as they do.
    assert rank_counts(labels_parts(block)[0], 1).ranks.tolist() == [1, 1, 1, 1]
