"""Stored rows as arrays: no copies, nulls, rows of older contracts, sliced and chunked tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from monitor.layout import TextNumber, extend
from monitor.profiles.binning import fit_binning
from monitor.profiles.projections import directions
from monitor.profiles.rows import RequestRows
from monitor.profiles.view_values import category_values, number_values
from monitor.profiles.views import views_of
from tests.unit.profiles.factories import (
    START,
    contract_of,
    narrow_text_layout,
    request_table,
    rows_of,
)

OLD = contract_of({"name": "x", "type": "number"}, {"name": "c", "type": "category"})
NEW = contract_of(
    *({"name": n, "type": t} for n, t in [("x", "number"), ("y", "number"), ("c", "category")])
)


def test_numbers_share_the_arrow_buffer_when_nothing_is_null() -> None:
    rows = rows_of(OLD, {"x": [1.0, 2.0], "c": ["a", "b"]})
    assert rows.numbers.ctypes.data == rows.slots.buffers()[1].address
    assert rows.numbers.tolist() == [[1.0], [2.0]]


def test_null_is_nan_and_text_null_stays_null() -> None:
    rows = rows_of(OLD, {"x": [1.0, None], "c": [None, "b"]})
    assert np.array_equal(rows.numbers, [[1.0], [np.nan]], equal_nan=True)
    assert rows.text_column(0).to_pylist() == [None, "b"]
    assert np.array_equal(rows.number_column(0), [1.0, np.nan], equal_nan=True)


def test_rows_of_an_older_contract_are_filled_up_with_nulls() -> None:
    old_layout = extend(None, OLD)
    layout = extend(old_layout, NEW)
    tables = [
        request_table(old_layout, {"x": [1.0], "c": ["a"]}),
        request_table(layout, {"x": [2.0], "y": [3.0], "c": ["b"]}, ids=["n"]),
    ]
    rows = RequestRows.from_table(pa.concat_tables(tables), layout, NEW)
    assert np.array_equal(rows.numbers, [[1.0, np.nan], [2.0, 3.0]], equal_nan=True)
    assert rows.text_column(0).to_pylist() == ["a", "b"]
    newer = RequestRows.from_table(pa.concat_tables(tables), old_layout, OLD)
    assert newer.numbers.tolist() == [[1.0], [2.0]]


def test_sliced_and_empty_tables() -> None:
    layout = extend(None, OLD)
    table = request_table(layout, {"x": [1.0, None, 3.0], "c": ["a", None, "d"]})
    rows = RequestRows.from_table(table.slice(1), layout, OLD)
    assert np.array_equal(rows.numbers, [[np.nan], [3.0]], equal_nan=True)
    assert rows.text_column(0).to_pylist() == [None, "d"]
    assert rows.event_time[0] == int(START.timestamp() * 1e6) + 1_000_000
    assert len(RequestRows.from_table(table.slice(0, 0), layout, OLD)) == 0


def test_violations_name_their_rows() -> None:
    rows = rows_of(OLD, {"x": [1, 2, 3], "c": ["a"] * 3}, violations=[[65], [], [66, 129]])
    assert rows.violation_rows.tolist() == [0, 2, 2]
    assert rows.violation_codes.tolist() == [65, 66, 129]


def test_views_of_every_column_type() -> None:
    contract = contract_of(
        {"name": "note", "type": "text"},
        {"name": "note.length", "type": "number"},
        {"name": "v", "type": "vector", "size": 2},
        {"name": "p", "type": "class_scores", "categories": ("cat", "dog")},
        {"name": "top", "type": "ranked_list", "size": 3},
        {"name": "user", "type": "category", "role": "entity"},
    )
    rows = rows_of(
        contract,
        {
            "note": [[3, 1, 0.25, 0.5, 0.125, 0], None],
            "note.length": [7, 8],
            "v": [[3, 4], [None, 1]],
            "p": [[0.2, 0.8], [0.5, 0.5]],
            "top": [["a", "b"], [None]],
            "user": ["u", "w"],
        },
    )
    found = _values(rows)
    first, second = directions(2, 2) / 2.0**26
    assert found.pop("v.projection1") == [pytest.approx(first @ [0.6, 0.8], abs=1e-7), None]
    assert found.pop("v.projection2") == [pytest.approx(second @ [0.6, 0.8], abs=1e-7), None]
    assert found == {
        "note.length (derived)": [3.0, None],
        "note.words": [1.0, None],
        "note.digits": [0.25, None],
        "note.upper_case": [0.5, None],
        "note.beyond_ascii": [0.125, None],
        "note.punctuation": [0.0, None],
        "note.length": [7.0, 8.0],
        "v.norm": [5.0, None],
        "p.confidence": [0.8, 0.5],
        "p.class": ["dog", "cat"],
        "top.first": ["a", None],
        "top.length": [2.0, None],
    }


def _values(rows: RequestRows) -> dict[str, list[Any]]:
    n = len(rows)
    tile = rows.number_tile(0, n)
    return {
        view.name: category_values(rows, view, 0, n).to_pylist()
        if view.is_category
        else [None if np.isnan(v) else v for v in number_values(rows, view, tile, 0, n).tolist()]
        for view in views_of(rows.contract)
    }


@pytest.mark.parametrize("size", [1e300, 1e-300, 0.0])
def test_norms_neither_overflow_nor_vanish(size: float) -> None:
    contract = contract_of({"name": "v", "type": "vector", "size": 2})
    rows = rows_of(contract, {"v": [[3 * size, 4 * size]]})
    norm = number_values(rows, views_of(contract)[0], rows.number_tile(0, 1), 0, 1)
    assert norm[0] == pytest.approx(5 * size, rel=1e-14)


def test_rows_of_a_layout_without_descriptors_have_their_length_alone() -> None:
    contract = contract_of({"name": "note", "type": "text"})
    layout = narrow_text_layout(contract)
    table = request_table(layout, {"note": [5, 6]})
    rows = RequestRows.from_table(table, layout, contract)
    assert _values(rows) == {
        "note.length": [5.0, 6.0],
        **{f"note.{name}": [None, None] for name in list(TextNumber)[1:]},
    }
    assert set(fit_binning(rows, contract).views) == {"note.length"}
    wide = extend(layout, contract)
    again = RequestRows.from_table(request_table(wide, {"note": [[5, 1]]}), wide, contract)
    assert _values(again)["note.words"] == [1.0]
    assert set(fit_binning(again, contract).views) == {view.name for view in views_of(contract)}


def test_the_views_of_a_column_name_it() -> None:
    contract = contract_of({"name": "v", "type": "vector", "size": 300})
    found = views_of(contract)
    assert {view.column.name for view in found} == {"v"}
    assert [view.name for view in found] == ["v.norm", *(f"v.projection{k}" for k in range(1, 9))]
