"""Daily samples: the smallest hashes, whatever the parts; real names and values."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.keys import keyed_hash
from monitor.profiles.sample import (
    SAMPLE_ROWS,
    merge_samples,
    sample_from_bytes,
    sample_rows,
    sample_to_bytes,
)
from tests.unit.profiles.factories import START, contract_of, rows_of

KEY = bytes(range(16))
CONTRACT = contract_of(
    {"name": "a.b", "type": "number", "nullable": True},
    {"name": "名", "type": "category"},
    {"name": "ok", "type": "boolean"},
    {"name": "note", "type": "text"},
    {"name": "when", "type": "timestamp", "nullable": True},
    {"name": "v", "type": "vector", "size": 2},
    {"name": "top", "type": "ranked_list", "size": 2},
    {"name": "s", "type": "number", "role": "score"},
)


def rows_named(ids: list[str]) -> Any:
    n = len(ids)
    values: dict[str, list[Any]] = {
        "a.b": [None if i.endswith("7") else float(len(i)) for i in ids],
        "名": [None if i.endswith("3") else i for i in ids],
        "ok": [1] * n,
        "note": [[3, 1, 0.25, 0.5, 0.0, 0.125]] * n,
        "when": [None if i.endswith("5") else START.timestamp() + 0.25 for i in ids],
        "v": [[1, 2]] * n,
        "top": [["x", None]] * n,
        "s": [0.5] * n,
    }
    return rows_of(CONTRACT, values, ids=ids, times=[START] * n)


def test_values_come_back_under_their_names() -> None:
    sample = sample_from_bytes(sample_to_bytes(sample_rows(rows_named(["one"]), KEY)))
    assert sample.to_pylist() == [
        {
            "request_hash": int(keyed_hash(["one"], KEY)[0]),
            "event_time": START,
            "request_id": "one",
            "outcome": 1,
            "a.b": 3.0,
            "note": None,
            "note.beyond_ascii": 0.0,
            "note.digits": 0.25,
            "note.length": 3.0,
            "note.punctuation": 0.125,
            "note.upper_case": 0.5,
            "note.words": 1.0,
            "ok": True,
            "s": 0.5,
            "top": ["x", None],
            "v": [1.0, 2.0],
            "when": START + timedelta(seconds=0.25),
            "名": "one",
        }
    ]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 9_999).map(str), unique=True, min_size=1, max_size=40),
    st.integers(1, 4),
    st.integers(1, 10),
    st.randoms(use_true_random=False),
)
def test_merged_samples_equal_the_sample_of_the_whole(
    ids: list[str], pieces: int, limit: int, random: Any
) -> None:
    whole = sample_rows(rows_named(ids), KEY, limit)
    shuffled = random.sample(ids, len(ids))
    parts = [shuffled[k::pieces] for k in range(pieces) if shuffled[k::pieces]]
    samples = [sample_rows(rows_named(part), KEY, limit) for part in parts]
    merged = merge_samples(samples, limit)
    assert sample_to_bytes(merged) == sample_to_bytes(whole)
    assert sample_to_bytes(merge_samples([*samples, whole], limit)) == sample_to_bytes(whole)
    hashes = sorted(keyed_hash(ids, KEY).tolist())[:limit]
    assert merged["request_hash"].to_pylist() == hashes


def test_two_thousand_rows_are_kept() -> None:
    contract = contract_of({"name": "x", "type": "number"})
    rows = rows_of(contract, {"x": list(range(2_500))})
    sample = sample_rows(rows, KEY)
    assert len(sample) == SAMPLE_ROWS == 2_000
    kept = set(sample["x"].to_pylist())
    hashes = keyed_hash(rows.request_ids, KEY)
    assert kept == set(np.argsort(hashes)[:2_000].astype(float))


def test_contract_versions_merge() -> None:
    one = contract_of({"name": "x", "type": "number"}, {"name": "c", "type": "number"})
    other = contract_of({"name": "x", "type": "number"}, {"name": "c", "type": "category"})
    samples = [
        sample_rows(rows_of(one, {"x": [1], "c": [5]}, ids=["a"]), KEY),
        sample_rows(
            rows_of(other, {"x": [2], "c": ["red"]}, ids=["b"], times=[START + timedelta(1)]), KEY
        ),
    ]
    merged = merge_samples(samples)
    found = {row["request_id"]: row for row in merged.to_pylist()}
    assert found["a"]["c (double)"] == 5.0
    assert found["b"]["c (string)"] == "red"
    assert found["a"]["c (string)"] is None
    assert merged.schema.field("event_time").type == pa.timestamp("us", "UTC")


@given(st.lists(st.integers(0, 9), min_size=8, max_size=40), st.integers(1, 12))
def test_sample_among_some_rows_equals_the_sample_of_those_rows(
    marks: list[int], limit: int
) -> None:
    ids = [f"{place}" for place in range(len(marks))]
    among = np.flatnonzero(np.array(marks) < 5)
    chosen = sample_rows(rows_named(ids), KEY, limit, among)
    alone = sample_rows(rows_named([ids[place] for place in among]), KEY, limit)
    assert chosen.equals(alone)


def test_rows_with_one_hash_are_told_apart_by_time() -> None:
    rows = rows_of(
        contract_of({"name": "x", "type": "number"}),
        {"x": [1.0, 2.0, 3.0]},
        ids=["same"] * 3,
        times=[START + timedelta(minutes=late) for late in (2, 0, 1)],
    )
    assert sample_rows(rows, KEY, 2)["x"].to_pylist() == [2.0, 3.0]
