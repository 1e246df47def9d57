"""Prediction blocks and the joining of late labels, against a slow join in plain Python."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.keys import keyed_hash
from monitor.profiles.block import PredictionBlock
from monitor.profiles.label_arrays import LabelArrays, source_ranks
from monitor.profiles.label_join import UnmatchedReason, join_labels
from monitor.records import LABEL_SCHEMA, REQUEST_SCHEMA
from tests.unit.profiles.factories import START, contract_of, rows_of

KEY = bytes(range(16))
CONTRACT = contract_of(
    {"name": "s", "type": "number", "role": "score"},
    {"name": "p", "type": "boolean", "role": "prediction"},
    label={"name": "late", "sources": ("court", "clerk")},
)


def block_of(ids: list[str], seconds: list[int] | None = None) -> PredictionBlock:
    n = len(ids)
    times = [START + timedelta(seconds=s) for s in (seconds or range(n))]
    rows = rows_of(CONTRACT, {"s": [k / n for k in range(n)], "p": [0] * n}, ids=ids, times=times)
    return PredictionBlock.from_rows(rows, KEY, np.zeros(n, int), CONTRACT)


def labels_of(*labels: dict[str, Any]) -> LabelArrays:
    defaults = {
        "project_id": 1,
        "model_id": 1,
        "label_name": "late",
        "source": "court",
        "observed_at": START + timedelta(hours=1),
        "arrived_at": START + timedelta(hours=2),
        "event_time": None,
        "leg": "live",
        "value": 1.0,
        "text": None,
    }
    records = [defaults | label for label in labels]
    return LabelArrays.from_table(pa.Table.from_pylist(records, LABEL_SCHEMA), CONTRACT, KEY)


def label_of(block: PredictionBlock, request_id: str) -> float | None:
    value = block.label[np.flatnonzero(block.keys == keyed_hash([request_id], KEY)[0])[0]]
    return None if np.isnan(value) else float(value)


def test_rows_are_sorted_and_survive_the_round_trip() -> None:
    block = block_of(["c", "a", "b"])
    assert (np.diff(block.keys) > 0).all()
    joined = join_labels(block, labels_of({"request_id": "a"})).block
    read = PredictionBlock.from_bytes(joined.to_bytes())
    assert read.to_bytes() == joined.to_bytes()
    assert label_of(read, "a") == 1.0
    assert (read.task, read.view) == (block.task, block.view)


def test_row_order_is_of_no_account() -> None:
    one = block_of(["a", "b", "c"], [0, 1, 2])
    rows = rows_of(
        CONTRACT,
        {"s": [2 / 3, 0, 1 / 3], "p": [0] * 3},
        ids=["c", "a", "b"],
        times=[START + timedelta(seconds=s) for s in (2, 0, 1)],
    )
    other = PredictionBlock.from_rows(rows, KEY, np.zeros(3, int), CONTRACT)
    assert one.to_bytes() == other.to_bytes()


def test_one_id_at_two_times_is_kept_in_time_order() -> None:
    block = block_of(["a", "b", "a"], [60, 0, 0])
    times = block.event_time[block.ambiguous]
    assert np.diff(times).tolist() == [60_000_000]


def test_unknown_requests_and_unusable_values_are_named() -> None:
    block = block_of(["a", "b"])
    joined, matched, unmatched = join_labels(
        block,
        labels_of(
            {"request_id": "nobody"},
            {"request_id": "a"},
            {"request_id": "b", "value": 0.3},
            {"request_id": "b", "event_time": START + timedelta(days=1)},
        ),
    )
    assert matched.tolist() == [1]
    assert unmatched.places.tolist() == [0, 2, 3]
    assert unmatched.reasons == (
        UnmatchedReason.NO_REQUEST,
        UnmatchedReason.UNUSABLE_VALUE,
        UnmatchedReason.OTHER_TIME,
    )
    assert (label_of(joined, "a"), label_of(joined, "b")) == (1.0, None)


def test_a_label_without_time_is_ambiguous_when_the_id_came_twice() -> None:
    block = block_of(["a", "a", "b"], [0, 60, 0])
    assert block.ambiguous.sum() == 2
    without = join_labels(block, labels_of({"request_id": "a"}))
    assert without.unmatched.reasons == (UnmatchedReason.AMBIGUOUS,)
    assert without.block is block
    named = labels_of({"request_id": "a", "event_time": START + timedelta(seconds=60)})
    joined = join_labels(block, named)
    assert joined.matched.tolist() == [0]
    rows = np.flatnonzero(joined.block.labelled)
    assert joined.block.event_time[rows].tolist() == [int(START.timestamp() * 1e6) + 60_000_000]


@pytest.mark.parametrize(
    ("earlier", "later", "wins"),
    [
        ({"source": "court"}, {"source": "clerk", "observed_at": START + timedelta(days=9)}, 0),
        ({"source": "clerk"}, {"source": "stranger"}, 0),
        ({"source": "clerk"}, {"source": "court"}, 1),
        ({}, {"observed_at": START + timedelta(hours=3)}, 1),
        ({"observed_at": START + timedelta(hours=3)}, {"arrived_at": START + timedelta(days=5)}, 0),
        ({}, {"arrived_at": START + timedelta(days=5)}, 1),
    ],
)
def test_the_trusted_then_the_later_label_counts(
    earlier: dict[str, Any], later: dict[str, Any], wins: int
) -> None:
    first = {"request_id": "a", "value": 0.0} | earlier
    second = {"request_id": "a", "value": 1.0} | later
    block = block_of(["a"])
    together = join_labels(block, labels_of(first, second)).block
    swapped = join_labels(block, labels_of(second, first)).block
    one_by_one = join_labels(join_labels(block, labels_of(first)).block, labels_of(second)).block
    for joined in (together, swapped, one_by_one):
        assert label_of(joined, "a") == wins


label = st.fixed_dictionaries(
    {
        "request_id": st.sampled_from("abcxy"),
        "source": st.sampled_from(["court", "clerk", "stranger"]),
        "observed_at": st.integers(0, 3).map(lambda h: START + timedelta(hours=h)),
        "arrived_at": st.integers(0, 3).map(lambda h: START + timedelta(hours=h)),
        "event_time": st.none() | st.sampled_from([START, START + timedelta(seconds=60)]),
        "value": st.sampled_from([0.0, 1.0]),
    }
)


def slow_join(requests: list[tuple[str, Any]], labels: list[dict[str, Any]]) -> list[float | None]:
    """The label each request ends with, one request and one label at a time."""
    order = {"court": 0, "clerk": -1, "stranger": -2}
    found: list[float | None] = []
    for request_id, time in requests:
        alone = [r for r, _ in requests].count(request_id) == 1
        fitting = [
            v
            for v in labels
            if v["request_id"] == request_id
            and (v["event_time"] == time or (v["event_time"] is None and alone))
        ]
        ranked = [
            (order[v["source"]], v["observed_at"], v["arrived_at"], v["value"]) for v in fitting
        ]
        found.append(max(ranked)[-1] if ranked else None)
    return found


@settings(max_examples=60, deadline=None)
@given(
    st.lists(label, min_size=1, max_size=25), st.integers(1, 3), st.randoms(use_true_random=False)
)
def test_joining_in_any_batches_equals_the_slow_join(
    labels: list[dict[str, Any]], batches: int, random: Any
) -> None:
    requests = [("a", 0), ("b", 0), ("b", 60), ("c", 60)]
    block = block_of([r for r, _ in requests], [s for _, s in requests])
    expected = slow_join([(r, START + timedelta(seconds=s)) for r, s in requests], labels)
    shuffled = random.sample(labels, len(labels))
    joined = block
    for k in range(batches):
        if shuffled[k::batches]:
            joined = join_labels(joined, labels_of(*shuffled[k::batches])).block
    for (request_id, seconds), value in zip(requests, expected, strict=True):
        time = int((START + timedelta(seconds=seconds)).timestamp() * 1e6)
        row = joined.rows_at(keyed_hash([request_id], KEY), np.array([time]))[0]
        found = joined.label[row]
        assert (None if np.isnan(found) else found) == value


def test_labels_stay_when_a_late_row_rebuilds_the_block() -> None:
    before = join_labels(block_of(["a", "b"]), labels_of({"request_id": "a"})).block
    rows = rows_of(CONTRACT, {"s": [0.1] * 3, "p": [0] * 3}, ids=["a", "b", "z"])
    after = PredictionBlock.from_rows(rows, KEY, np.zeros(3, int), CONTRACT, before)
    assert (label_of(after, "a"), label_of(after, "b"), label_of(after, "z")) == (1.0, None, None)
    assert after.source_rank[after.labelled].tolist() == [0]


def test_empty_blocks_and_no_labels() -> None:
    rows = rows_of(CONTRACT, {"s": [0.1], "p": [0]})
    empty = block_of(["a"])
    assert join_labels(empty, labels_of({"request_id": "a"}).take(np.zeros(0, int))).block is empty
    layout = rows.layout
    table = pa.Table.from_pylist([], schema=REQUEST_SCHEMA)
    nothing = PredictionBlock.from_rows(
        type(rows).from_table(table, layout, CONTRACT), KEY, np.zeros(0, int), CONTRACT
    )
    assert len(PredictionBlock.from_bytes(nothing.to_bytes())) == 0
    assert join_labels(nothing, labels_of({"request_id": "a"})).unmatched.places.tolist() == [0]


def test_sources_not_listed_come_last() -> None:
    assert source_ranks(["clerk", "x", "court"], ("court", "clerk")).tolist() == [1, 2, 0]


def test_an_entity_keeps_its_group() -> None:
    contract = contract_of(
        {"name": "s", "type": "number", "role": "score"},
        {"name": "who", "type": "category", "role": "entity", "nullable": True},
    )
    people = [f"p{k % 40}" for k in range(400)] + [None] * 400
    rows = rows_of(contract, {"s": [0.5] * 800, "who": people})
    block = PredictionBlock.from_rows(rows, KEY, np.zeros(800, int), contract)
    by_key = dict(zip(block.keys.tolist(), block.group.tolist(), strict=True))
    groups = [by_key[key] for key in keyed_hash(rows.request_ids, KEY).tolist()]
    assert all(groups[k] == groups[k % 40] for k in range(400))
    # without an entity the request ids spread evenly: 400 rows in 20 groups, 20 each ± 5 sd
    counts = np.bincount(groups[400:], minlength=20)
    assert counts.min() > 0
    assert counts.max() < 20 + 5 * np.sqrt(20)
