"""What the trees read, from samples as the jobs store them, against the profiled views."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from monitor.checks.multivariate.features import feature_matrix, usable_views
from monitor.profiles.binning import Binning, fit_binning
from monitor.profiles.rows import RequestRows
from monitor.profiles.sample import merge_samples, sample_rows
from monitor.profiles.view_values import number_values
from monitor.profiles.views import View, views_of
from tests.unit.profiles.factories import START, contract_of, rows_of

KEY = bytes(range(16))
CONTRACT = contract_of(
    {"name": "age", "type": "number", "nullable": True},
    {"name": "visits", "type": "integer"},
    {"name": "member", "type": "boolean", "nullable": True},
    {"name": "born", "type": "timestamp", "nullable": True},
    {"name": "city", "type": "category", "nullable": True},
    {"name": "note", "type": "text", "nullable": True},
    {"name": "v", "type": "vector", "size": 3, "nullable": True},
    {"name": "p", "type": "class_scores", "categories": ("cat", "dog")},
    {"name": "top", "type": "ranked_list", "size": 2, "nullable": True},
)
VALUES: dict[str, list[Any]] = {
    "age": [1.5, None, 3.0, 4.0],
    "visits": [1, 2, 3, 4],
    "member": [1, 0, None, 1],
    "born": [START.timestamp() - 60, None, START.timestamp(), START.timestamp() + 1.5],
    "city": ["oslo", "rome", "oslo", None],
    "note": [[3, 1, 0.25, 0.5, 0, 0.125], None, [0] * 6, [7, 2, 0, 0, 0, 0]],
    "v": [[3, 4, 0], [None] * 3, [0, 0, 0], [1, 1, 1]],
    "p": [[0.2, 0.8], [0.9, 0.1], [0.6, 0.4], [0.7, 0.3]],
    "top": [["a", "b"], [None, None], ["b", None], ["b", "a"]],
}


def sampled() -> tuple[RequestRows, pa.Table, Binning]:
    rows = rows_of(CONTRACT, VALUES)
    return rows, sample_rows(rows, KEY), fit_binning(rows, CONTRACT)


def by_name(sample: pa.Table, views: tuple[View, ...], binning: Binning) -> dict[str, list[Any]]:
    matrix = feature_matrix(sample, views, binning)
    order = np.argsort(sample["request_id"].to_pylist())
    return {view.name: matrix[order, k].tolist() for k, view in enumerate(views)}


def test_number_views_are_those_of_profiles() -> None:
    rows, sample, binning = sampled()
    views = usable_views(views_of(CONTRACT), binning, sample)
    assert views == views_of(CONTRACT)
    found = by_name(sample, views, binning)
    tile = rows.number_tile(0, len(rows))
    for view in views:
        if not view.is_category and view.name != "born":
            wanted = number_values(rows, view, tile, 0, len(rows))
            np.testing.assert_array_equal(found[view.name], wanted, err_msg=view.name)


def test_times_lie_before_their_request_and_categories_are_places() -> None:
    _, sample, binning = sampled()
    found = by_name(sample, views_of(CONTRACT), binning)
    # row k was requested k seconds after START
    np.testing.assert_array_equal(found["born"], [60, np.nan, 2, 1.5])
    np.testing.assert_array_equal(found["city"], [0, 1, 0, np.nan])  # oslo is the most frequent
    np.testing.assert_array_equal(found["p.class"], [1, 0, 0, 0])  # three times cat
    np.testing.assert_array_equal(found["top.first"], [1, np.nan, 0, 0])  # two times b


def test_values_outside_the_top_share_one_number() -> None:
    cities = [f"c{k:02d}" for k in range(60) for _ in range(2)]
    contract = contract_of({"name": "city", "type": "category"})
    binning = fit_binning(rows_of(contract, {"city": cities}), contract)
    rows = rows_of(contract, {"city": ["c00", "c49", "c50", "c59", "never"]})
    found = by_name(sample_rows(rows, KEY), views_of(contract), binning)
    assert found["city"] == [0, 49, 50, 50, 50]


def test_a_view_needs_a_column_of_its_type_in_both_samples_and_cells_for_categories() -> None:
    _, sample, binning = sampled()
    views = views_of(CONTRACT)
    without = sample.drop_columns(["note.words", "age"])
    told = {view.name for view in views} - {
        v.name for v in usable_views(views, binning, sample, without)
    }
    assert told == {"note.words", "age"}
    retyped = sample.set_column(sample.column_names.index("visits"), "visits", pa.array(["x"] * 4))
    assert "visits" not in {v.name for v in usable_views(views, binning, sample, retyped)}
    bare = usable_views(views, Binning({}), sample)
    assert {v.name for v in bare} == {v.name for v in views if not v.is_category}
    empty = pa.table(
        {
            name: sample[name] if name != "age" else pa.nulls(4, pa.float64())
            for name in sample.column_names
        }
    )
    assert "age" in {v.name for v in usable_views(views, binning, sample, empty)}
    assert "age" not in {v.name for v in usable_views(views, binning, empty, empty)}


def test_lists_that_an_older_contract_lacked_are_missing() -> None:
    older = contract_of({"name": "age", "type": "number", "nullable": True})
    before = sample_rows(
        rows_of(older, {"age": [9.0]}, ids=["z"], times=[START + timedelta(1)]), KEY
    )
    _, sample, binning = sampled()
    merged = merge_samples([before, sample])
    views = tuple(v for v in views_of(CONTRACT) if v.column.name in {"v", "p", "top", "age"})
    found = by_name(merged, views, binning)
    assert found["age"][-1] == 9.0
    assert all(np.isnan(values[-1]) for name, values in found.items() if name != "age")
    alone = by_name(sample, views, binning)
    for name, values in found.items():
        np.testing.assert_array_equal(values[:-1], alone[name])
